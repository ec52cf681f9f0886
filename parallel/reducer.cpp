#include "tandem/parallel/reducer.h"

#include <cstdio>
#include <map>
#include <set>

#include "tandem/autograd/engine.h"
#include "tandem/core/tracer.h"
#include "tandem/ops/copy.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/factory.h"

namespace tandem::nn::parallel {

namespace {
/// Nothing hides the bucket of the last gradients: it holds as many of them as fit into `cap`, and those before them
/// have a bucket that need not wait.
void split_last(std::vector<std::vector<size_t>>& plan, const std::vector<BucketItem>& items, int64_t cap) {
  if (plan.empty()) return;
  std::vector<size_t>& last = plan.back();
  size_t from = last.size();
  for (int64_t bytes = 0; from > 0 && (bytes += items[last[from - 1]].bytes) <= cap;) --from;
  if (from == 0 || from == last.size()) return;
  std::vector<size_t> rest(last.begin() + static_cast<ptrdiff_t>(from), last.end());
  last.resize(from);
  plan.push_back(std::move(rest));
}
}  // namespace

std::vector<std::vector<size_t>> detail::plan_buckets(const std::vector<BucketItem>& items, int64_t first_cap,
                                                      int64_t cap) {
  std::vector<std::vector<size_t>> plan;
  struct Open {
    size_t bucket;
    int64_t bytes;
  };
  std::map<std::pair<DType, Device>, Open> open;
  for (size_t i = items.size(); i-- > 0;) {
    const auto key = std::pair(items[i].dtype, items[i].device);
    const auto at = open.find(key);
    const bool first = at != open.end() && at->second.bucket == 0;
    if (at == open.end() || at->second.bytes + items[i].bytes > (first ? first_cap : cap)) {
      open[key] = {plan.size(), 0};
      plan.emplace_back();
    }
    Open& bucket = open[key];
    plan[bucket.bucket].push_back(i);
    bucket.bytes += items[i].bytes;
  }
  split_last(plan, items, first_cap);
  return plan;
}

namespace {
/// The accumulators that reducers of this process hook into. Two at one parameter would each reduce what the other has
/// under way.
struct Taken {
  std::mutex mutex;
  std::set<const autograd::AccumulateGrad*> accumulators;
};
Taken& taken() {
  static Taken all;
  return all;
}
}  // namespace

Reducer::Reducer(std::string name, const NamedParameters& parameters, distributed::ProcessGroupPtr group,
                 ReducerOptions options)
    : name_(std::move(name)), group_(std::move(group)), options_(options) {
  std::vector<BucketItem> items;
  for (const auto& item : parameters) {
    if (!item.value().requires_grad()) continue;
    names_.push_back(item.key());
    parameters_.push_back(item.value());
    items.push_back({item.value().dtype(), item.value().device(), item.value().nbytes()});
  }
  plan_ = plan_buckets(items, options_.first_bucket_bytes, options_.bucket_bytes);
  const size_t n = parameters_.size();
  // Where there is nobody else, gradients stay where backward puts them: a bucket is one element, which slots repeat.
  const bool is_alone = group_->size() == 1;
  slots_.resize(n), bucket_of_.resize(n), accumulators_.resize(n), hooks_.resize(n);
  expected_.resize(n), arrived_.resize(n), used_.resize(n), averaged_.resize(n);
  for (size_t b = 0; b < plan_.size(); ++b) {
    const bool last = b + 1 == plan_.size();
    const Tensor& like = parameters_[plan_[b][0]];
    // Each gradient begins at a multiple of 16 bytes, as the optimizers' kernels like it; the zeros between stay zeros.
    const int64_t vector = 16 / like.itemsize();
    const auto room = [&](size_t i) { return is_alone ? 0 : (parameters_[i].numel() + vector - 1) / vector * vector; };
    int64_t total = last, at = 0;
    for (const size_t i : plan_[b]) total += room(i);
    Bucket bucket;
    bucket.flat = zeros({is_alone ? 1 : total}, TensorOptions(like.dtype()).device(like.device()));
    for (const size_t i : plan_[b]) {
      const Tensor& p = parameters_[i];  // whose strides its gradient has
      const auto strides = is_alone ? tandem::detail::Shape(p.sizes().size(), 0) : core::preserved_strides(*p.impl());
      slots_[i] = core::as_strided(bucket.flat, p.sizes(), strides, at).data();
      bucket_of_[i] = b;
      at += room(i);
    }
    if (last) all_used_ = bucket.flat.narrow(0, at, 1);
    buckets_.push_back(std::move(bucket));
  }
  // Made here, before there are collectives: to lock pages the driver may wait for what is under way on the GPU.
  if (all_used_.defined() && all_used_.is_cuda()) all_used_here_ = core::empty_pinned({1}, all_used_.dtype());
  take_parameters();
  learning_ = std::make_shared<const std::vector<bool>>(n, true);
  for (size_t i = 0; i < n; ++i) {
    if (options_.gradient_as_bucket_view && !is_alone) {
      if (parameters_[i].grad().defined()) to_slot(i);
      accumulators_[i]->set_slot(slots_[i]);
    }
    hooks_[i] = accumulators_[i]->add_post_hook([this, i](const Tensor&) { on_gradient(i); });
  }
}
Reducer::~Reducer() {
  for (size_t i = 0; i < accumulators_.size(); ++i) {
    accumulators_[i]->remove_post_hook(hooks_[i]);
    accumulators_[i]->set_slot({});
  }
  {
    const std::lock_guard lock(taken().mutex);
    for (const auto& accumulator : accumulators_) taken().accumulators.erase(accumulator.get());
  }
  if (!used_under_way_) return;
  try {
    used_known_.synchronize();
    if (is_short(all_used_here_))
      std::fprintf(stderr, "DistributedDataParallel: parameters got no gradient in the last backward, on some rank\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "DistributedDataParallel: %s\n", error.what());
  }
}
void Reducer::take_parameters() {
  for (size_t i = 0; i < parameters_.size(); ++i) accumulators_[i] = autograd::grad_accumulator(parameters_[i]);
  const std::lock_guard lock(taken().mutex);
  for (size_t i = 0; i < parameters_.size(); ++i)
    TANDEM_CHECK(!taken().accumulators.count(accumulators_[i].get()), "DistributedDataParallel: ", names_[i],
                 " is in another DistributedDataParallel already; accepted: one at a time, so destroy that one first");
  for (const auto& accumulator : accumulators_) taken().accumulators.insert(accumulator.get());
}

/// Brings the gradient into the bucket, where it lives from now on if gradients are views of it.
void Reducer::to_slot(size_t i) {
  const Tensor& grad = parameters_[i].grad();
  if (grad.is_same(slots_[i]) || group_->size() == 1) return;
  slots_[i].copy_(grad.detach());
  if (options_.gradient_as_bucket_view) parameters_[i].set_grad(slots_[i]);
}

Learning Reducer::begin(bool synchronize) {
  const NoGradGuard guard;
  const std::lock_guard lock(mutex_);
  synchronize_ = synchronize;
  running_ = false;
  std::vector<bool> learning(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& p = parameters_[i];
    TANDEM_CHECK(accumulators_[i]->fits(0, p), "DistributedDataParallel: ", names_[i], " was ", slots_[i].dtype(),
                 slots_[i].sizes(), " on ", slots_[i].device(), " when the module was wrapped, and is ", p.dtype(),
                 p.sizes(), " on ", p.device(), " now; move or convert a module before it is wrapped");
    learning[i] = p.requires_grad();
    // The gradient of one that was frozen stays as it is, though its bucket may be averaged.
    if (!learning[i] && p.grad().defined() && p.grad().storage() == slots_[i].storage()) p.set_grad(p.grad().clone());
  }
  if (*learning_ != learning) learning_ = std::make_shared<const std::vector<bool>>(std::move(learning));
  return learning_;
}
void Reducer::start_backward(const Learning& learning) {
  const std::lock_guard lock(mutex_);
  if (synchronize_) expect_locked(*learning);
}
void Reducer::expect_locked(const std::vector<bool>& learning) {
  for (size_t i = 0; i < learning.size(); ++i)
    if (learning[i] && !(running_ && expected_[i]) && autograd::accumulates_into(*accumulators_[i])) expect_one(i);
}
void Reducer::expect_one(size_t i) {
  if (!running_) {
    running_ = true;
    next_ = 0;
    times_ = {};
    backward_start_ = std::chrono::steady_clock::now();
    done_.clear();
    launched_ = false;
    untouched_.clear();
    expected_.assign(expected_.size(), false);
    arrived_.assign(arrived_.size(), false);
    for (Bucket& bucket : buckets_) bucket.pending = 0, bucket.in_use = false, bucket.work = nullptr;
    autograd::queue_callback([this] { finish(); });
  }
  TANDEM_CHECK(
      bucket_of_[i] >= next_, "DistributedDataParallel: ", names_[i],
      " got a gradient after its bucket was reduced; it was frozen in the forward that this backward began with");
  expected_[i] = true;
  Bucket& bucket = buckets_[bucket_of_[i]];
  bucket.in_use = true;
  ++bucket.pending;
}

void Reducer::on_gradient(size_t i) {
  const NoGradGuard guard;
  const std::lock_guard lock(mutex_);
  if (Tracer* const tracer = current_tracer()) {
    TraceEvent event{.kind = TraceEvent::Kind::gradient, .name = names_[i]};
    event.start = event.end = trace_clock();
    event.bytes = parameters_[i].nbytes();
    tracer->add(std::move(event));
  }
  used_[i] = true;
  if (options_.gradient_as_bucket_view && group_->size() > 1)
    to_slot(i);  // somebody may have given the parameter another gradient
  else if (parameters_[i].grad().requires_grad())
    parameters_[i].set_grad(parameters_[i].grad().detach());
  if (!synchronize_) return;
  if (!running_) expect_locked(*learning_);
  if (!running_ || !expected_[i]) expect_one(i);
  TANDEM_CHECK(!arrived_[i], "DistributedDataParallel: ", names_[i],
               " got a second gradient in one backward; use no_sync() for all backwards but the last");
  to_slot(i);
  arrived_[i] = true;
  last_gradient_ = std::chrono::steady_clock::now();
  --buckets_[bucket_of_[i]].pending;
  launch_full_buckets();
}
void Reducer::launch_full_buckets() {
  while (next_ < buckets_.size() && buckets_[next_].pending == 0) {
    if (next_ + 1 == buckets_.size()) all_used_.fill_(1);
    launch(next_++);
  }
}
/// The ranks must expect the same of a backward, so that they say which parameters are not expected.
static std::string ranges_without(const std::vector<bool>& expected) {
  std::string out;
  for (size_t i = 0, end; i < expected.size(); i = end + 1) {
    for (end = i; end < expected.size() && !expected[end];) ++end;
    if (end == i) continue;
    out.append(out.empty() ? ", without parameters " : ", ").append(std::to_string(i));
    if (end > i + 1) out.append("-").append(std::to_string(end - 1));
  }
  return out;
}
void Reducer::launch(size_t b) {
  if (!buckets_[b].in_use && b + 1 < buckets_.size()) return;  // all of it is frozen
  if (!std::exchange(launched_, true)) first_launch_ = std::chrono::steady_clock::now();
  if (group_->size() == 1) return;  // its gradients are the average already
  buckets_[b].work =
      group_->all_reduce(buckets_[b].flat, distributed::ReduceOp::AVG,
                         name_ + ": gradients, bucket " + std::to_string(b) + " of " + std::to_string(buckets_.size()) +
                             ranges_without(expected_) + ", from " + names_[plan_[b][0]]);
}

void Reducer::finish() {
  const NoGradGuard guard;
  const PhaseSpan phase("reduce");
  const std::lock_guard lock(mutex_);
  running_ = false;
  const bool all_arrived = next_ == buckets_.size();
  if (!all_arrived) {
    // Some gradients will not come. The others wait for these buckets all the same, and must hear of it.
    fill_what_did_not_arrive();
    all_used_.fill_(0);
    while (next_ < buckets_.size()) launch(next_++);
  }
  wait_for_all();
  times_.overlapped = all_arrived && first_launch_ < last_gradient_;
  for (size_t i = 0; i < averaged_.size(); ++i) {
    averaged_[i] = expected_[i] && used_[i];
    times_.unused += expected_[i] && !used_[i];
  }
  check_used();
  hand_back();
  times_.backward = std::chrono::duration<double>(std::chrono::steady_clock::now() - backward_start_).count();
  ++iterations_;
  used_.assign(used_.size(), false);
}
void Reducer::fill_what_did_not_arrive() {
  if (group_->size() == 1) return;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (arrived_[i] || !expected_[i]) continue;
    const Tensor& grad = parameters_[i].grad();
    if (!grad.defined()) {
      slots_[i].zero_();
    } else {
      if (options_.find_unused_parameters && options_.gradient_as_bucket_view && !used_[i])
        untouched_[i] = grad.clone();
      to_slot(i);
    }
  }
}
/// From the buckets to where the gradients are.
void Reducer::hand_back() {
  if (group_->size() == 1) return;
  for (auto& [i, grad] : untouched_)
    if (!averaged_[i]) slots_[i].copy_(grad);
  untouched_.clear();
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!averaged_[i]) continue;
    if (Tensor grad = parameters_[i].grad(); !grad.defined())
      parameters_[i].set_grad(options_.gradient_as_bucket_view ? slots_[i] : slots_[i].clone());
    else if (!options_.gradient_as_bucket_view)
      grad.copy_(slots_[i]);
  }
}

void Reducer::wait_for_all() {
  const PhaseSpan phase("exposed communication");
  const Device device = all_used_.device();
  const auto start = std::chrono::steady_clock::now();
  if (device.is_cuda()) wait_begin_.record(cuda::current_stream(device));
  for (Bucket& bucket : buckets_) {
    if (!bucket.work) continue;
    bucket.work->wait();
    done_.push_back(std::exchange(bucket.work, nullptr));
  }
  if (device.is_cuda()) wait_end_.record(cuda::current_stream(device));
  times_.exposed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
ReduceTimes Reducer::last_times() const {
  ReduceTimes times = times_;
  for (const distributed::WorkPtr& work : done_) times.communication += work->seconds();
  if (!done_.empty() && all_used_.is_cuda()) {
    wait_end_.synchronize();
    times.exposed = wait_begin_.elapsed_time(wait_end_) / 1e3;
  }
  return times;
}

std::vector<int64_t> Reducer::bucket_sizes() const {
  std::vector<int64_t> sizes;
  for (const std::vector<size_t>& bucket : plan_) {
    sizes.push_back(0);
    for (const size_t i : bucket) sizes.back() += parameters_[i].nbytes();
  }
  return sizes;
}

// Note [Unused parameters on a GPU]: whether every rank used every parameter is a number on the device, which the host
// could only wait for, every step. Instead it is copied while the GPU goes on and looked at in the end of the next
// backward, by all ranks alike: the error comes one step late. With find_unused_parameters, where gradients depend on
// it, the host does wait.
void Reducer::check_used() {
  std::vector<bool> used = used_;
  for (size_t i = 0; i < used.size(); ++i) used[i] = used[i] || !expected_[i];
  if (all_used_.is_cpu() || options_.find_unused_parameters) {
    if (!is_short(all_used_)) return;
    const std::vector<bool> anywhere = used_on_any_rank(used);
    for (size_t i = 0; i < used.size(); ++i) averaged_[i] = expected_[i] && anywhere[i];
    return;
  }
  if (std::exchange(used_under_way_, false)) {
    used_known_.synchronize();
    if (is_short(all_used_here_)) used_on_any_rank(last_used_);
  }
  copy_elements(all_used_, all_used_here_, /*non_blocking=*/true);
  used_under_way_ = true;
  used_known_.record(cuda::current_stream(all_used_.device()));
  last_used_ = std::move(used);
}
/// 1 everywhere averages to 1 within rounding; a single 0 takes away 1 / size.
bool Reducer::is_short(const Tensor& used) const { return used.item<double>() < 1 - 0.5 / group_->size(); }

/// @throws Error naming the parameters that some rank did not use, unless that is allowed
std::vector<bool> Reducer::used_on_any_rank(const std::vector<bool>& used) const {
  const auto n = static_cast<int64_t>(names_.size());
  const Device device = group_->device();
  Tensor mine = zeros({n}, kBool);
  for (size_t i = 0; i < names_.size(); ++i) mine.data_ptr<bool>()[i] = used[i];
  std::vector<Tensor> all;
  all.reserve(static_cast<size_t>(group_->size()));
  for (int r = 0; r < group_->size(); ++r) all.push_back(empty({n}, TensorOptions(kBool).device(device)));
  group_->all_gather(all, mine.to(device), name_ + ": which parameters got a gradient")->synchronize();
  for (Tensor& flags : all) flags = flags.cpu();
  std::string unused;
  std::vector<bool> anywhere(names_.size());
  for (size_t i = 0; i < names_.size(); ++i) {
    std::string ranks;
    for (size_t r = 0; r < all.size(); ++r) {
      if (all[r].data_ptr<bool>()[i])
        anywhere[i] = true;
      else
        ranks += (ranks.empty() ? "" : ", ") + std::to_string(r);
    }
    if (!ranks.empty()) unused += (unused.empty() ? "" : "; ") + names_[i] + " on rank " + ranks;
  }
  TANDEM_CHECK(unused.empty() || options_.find_unused_parameters,
               "DistributedDataParallel: these parameters got no gradient",
               all_used_.is_cuda() ? " in the backward before" : "", ": ", unused,
               "; use them in the loss on every rank, or pass find_unused_parameters(true)");
  return anywhere;
}

}  // namespace tandem::nn::parallel
