#include "tandem/parallel/reducer.h"

#include <cstdio>
#include <map>
#include <set>

#include "tandem/autograd/copy.h"
#include "tandem/autograd/elementwise.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/factory.h"

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

std::vector<std::vector<size_t>> plan_buckets(const std::vector<BucketItem>& items, int64_t first_cap, int64_t cap) {
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

Reducer::Reducer(const NamedParameters& parameters, distributed::ProcessGroupPtr group, ReducerOptions options)
    : group_(std::move(group)), options_(options) {
  std::vector<BucketItem> items;
  for (const auto& item : parameters) {
    if (!item.value().requires_grad()) continue;
    names_.push_back(item.key());
    parameters_.push_back(item.value());
    items.push_back({item.value().dtype(), item.value().device(), item.value().nbytes()});
  }
  plan_ = plan_buckets(items, options_.first_bucket_bytes, options_.bucket_bytes);
  const size_t n = parameters_.size();
  slots_.resize(n), bucket_of_.resize(n), accumulators_.resize(n), hooks_.resize(n), arrived_.resize(n);
  for (size_t b = 0; b < plan_.size(); ++b) {
    const bool last = b + 1 == plan_.size();
    const Tensor& like = parameters_[plan_[b][0]];
    // Each gradient begins at a multiple of 16 bytes, as the optimizers' kernels like it; the zeros between stay zeros.
    const int64_t vector = 16 / like.itemsize();
    const auto room = [&](size_t i) { return (parameters_[i].numel() + vector - 1) / vector * vector; };
    int64_t total = last, at = 0;
    for (const size_t i : plan_[b]) total += room(i);
    Bucket bucket;
    bucket.flat = zeros({total}, TensorOptions(like.dtype()).device(like.device()));
    for (const size_t i : plan_[b]) {
      const Tensor place = bucket.flat.narrow(0, at, parameters_[i].numel());
      slots_[i] = place.view(parameters_[i].sizes()).data();  // a version of its own
      bucket_of_[i] = b;
      at += room(i);
    }
    if (last) all_used_ = bucket.flat.narrow(0, at, 1);
    buckets_.push_back(std::move(bucket));
  }
  take_parameters();
  for (size_t i = 0; i < n; ++i) {
    if (const Tensor& old = parameters_[i].grad(); old.defined()) {
      slots_[i].copy_(old);
      parameters_[i].set_grad(slots_[i]);
    }
    accumulators_[i]->set_slot(slots_[i]);
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
  if (!last_used_.defined()) return;
  try {
    used_known_.synchronize();
    if (is_short(last_used_))
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

void Reducer::begin(bool synchronize) {
  const std::lock_guard lock(mutex_);
  synchronize_ = synchronize;
  running_ = false;
}
void Reducer::start_backward() {
  const std::lock_guard lock(mutex_);
  if (synchronize_ && !running_ && !buckets_.empty()) start_locked();
}
void Reducer::start_locked() {
  running_ = true;
  next_ = 0;
  times_ = {};
  done_.clear();
  arrived_.assign(arrived_.size(), false);
  for (size_t b = 0; b < buckets_.size(); ++b) {
    buckets_[b].pending = plan_[b].size();
    buckets_[b].work = nullptr;
  }
  autograd::queue_callback([this] { finish(); });
}

void Reducer::on_gradient(size_t i) {
  const NoGradGuard guard;
  const std::lock_guard lock(mutex_);
  // Somebody may have given the parameter another gradient; what is reduced is the bucket.
  if (const Tensor& grad = parameters_[i].grad(); !grad.is_same(slots_[i])) {
    slots_[i].copy_(grad);
    parameters_[i].set_grad(slots_[i]);
  }
  if (!synchronize_) return;
  if (!running_) start_locked();
  TANDEM_CHECK(!arrived_[i], "DistributedDataParallel: ", names_[i],
               " got a second gradient in one backward; use no_sync() for all backwards but the last");
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
void Reducer::launch(size_t b) {
  if (b == 0) first_launch_ = std::chrono::steady_clock::now();
  buckets_[b].work =
      group_->all_reduce(buckets_[b].flat, distributed::ReduceOp::AVG,
                         "gradients, bucket " + std::to_string(b) + " of " + std::to_string(buckets_.size()));
}

void Reducer::finish() {
  const NoGradGuard guard;
  const std::lock_guard lock(mutex_);
  running_ = false;
  const bool all_arrived = next_ == buckets_.size();
  if (!all_arrived) {
    // Some gradients will not come. The others wait for these buckets all the same, and must hear of it.
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (arrived_[i]) continue;
      if (const Tensor& grad = parameters_[i].grad(); !grad.defined())
        slots_[i].zero_();
      else if (!grad.is_same(slots_[i]))
        slots_[i].copy_(grad);  // somebody has replaced it, and the bucket holds an older one
    }
    all_used_.fill_(0);
    while (next_ < buckets_.size()) launch(next_++);
  }
  wait_for_all();
  times_.overlapped = all_arrived && first_launch_ < last_gradient_;
  check_used();
}

void Reducer::wait_for_all() {
  const Device device = all_used_.device();
  const auto start = std::chrono::steady_clock::now();
  if (device.is_cuda()) wait_begin_.record(cuda::current_stream(device));
  for (Bucket& bucket : buckets_) {
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

// Note [Unused parameters on a GPU]: whether every rank used every parameter is a number on the device, which the host
// could only wait for, every step. Instead it is copied while the GPU goes on and looked at in the end of the next
// backward, by all ranks alike: the error comes one step late. With find_unused_parameters, where gradients depend on
// it, the host does wait.
void Reducer::check_used() {
  if (all_used_.is_cpu() || options_.find_unused_parameters) {
    if (is_short(all_used_)) settle_unused(arrived_);
    return;
  }
  if (last_used_.defined()) {
    used_known_.synchronize();
    if (is_short(std::exchange(last_used_, Tensor()))) settle_unused(last_arrived_);
  }
  last_used_ = all_used_.to(Device(kCPU), /*non_blocking=*/true);
  used_known_.record(cuda::current_stream(all_used_.device()));
  last_arrived_ = arrived_;
}
/// 1 everywhere averages to 1 within rounding; a single 0 takes away 1 / size.
bool Reducer::is_short(const Tensor& used) const { return used.item<double>() < 1 - 0.5 / group_->size(); }

void Reducer::settle_unused(const std::vector<bool>& arrived) {
  const auto n = static_cast<int64_t>(names_.size());
  const Device device = group_->device();
  Tensor mine = zeros({n}, kBool);
  for (size_t i = 0; i < names_.size(); ++i) mine.data_ptr<bool>()[i] = arrived[i];
  std::vector<Tensor> all;
  all.reserve(static_cast<size_t>(group_->size()));
  for (int r = 0; r < group_->size(); ++r) all.push_back(empty({n}, TensorOptions(kBool).device(device)));
  group_->all_gather(all, mine.to(device), "which parameters got a gradient")->wait();
  for (Tensor& flags : all) flags = flags.cpu();
  std::string unused;
  for (size_t i = 0; i < names_.size(); ++i) {
    std::string ranks;
    int users = 0;
    for (size_t r = 0; r < all.size(); ++r) {
      users += all[r].data_ptr<bool>()[i];
      if (!all[r].data_ptr<bool>()[i]) ranks += (ranks.empty() ? "" : ", ") + std::to_string(r);
    }
    if (!ranks.empty()) unused += (unused.empty() ? "" : "; ") + names_[i] + " on rank " + ranks;
    if (!arrived[i] && users > 0) parameters_[i].set_grad(slots_[i]);
  }
  TANDEM_CHECK(options_.find_unused_parameters, "DistributedDataParallel: these parameters got no gradient",
               all_used_.is_cuda() ? " in the backward before" : "", ": ", unused,
               "; use them in the loss on every rank, or pass find_unused_parameters(true)");
}

}  // namespace tandem::nn::parallel
