#include "tandem/parallel/reducer.h"

#include <cmath>
#include <cstdio>
#include <set>

#include "tandem/autograd/engine.h"
#include "tandem/core/tracer.h"
#include "tandem/ops/copy.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/factory.h"
#include "tandem/ops/ops.h"

namespace tandem::nn::parallel {

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
    : name_(std::move(name)),
      group_(std::move(group)),
      options_(options),
      unit_known_(!options.weighted),
      divisor_(group_->size()) {
  std::vector<BucketItem> items;
  DType widest = kFloat32;
  for (const auto& item : parameters) {
    if (!item.value().requires_grad()) continue;
    names_.push_back(item.key());
    parameters_.push_back(item.value());
    items.push_back({item.value().dtype(), item.value().device(), item.value().nbytes()});
    if (item.value().dtype() == kFloat64) widest = kFloat64;
  }
  BucketPlan plan = plan_buckets(items, options_.first_bucket_bytes, options_.bucket_bytes);
  const size_t n = parameters_.size();
  accumulators_.resize(n), hooks_.resize(n);
  expected_.resize(n), arrived_.resize(n), used_.resize(n), averaged_.resize(n);
  progress_.resize(plan.size());
  const int64_t elements = options_.weighted ? 2 : 1;
  const bool together = n > 0 && (!options_.weighted || items[plan.back()[0]].dtype == widest);
  buckets_ = Buckets(std::move(plan), parameters_, together ? elements : 0);
  if (n > 0 && !together) status_apart_ = zeros({elements}, TensorOptions(widest).device(parameters_[0].device()));
  if (n > 0) {
    const Tensor& status = together ? buckets_.status() : status_apart_;
    all_used_ = status.narrow(0, 0, 1);
    if (options_.weighted) rank_weight_ = status.narrow(0, 1, 1);
  }
  // Made here, before there are collectives: to lock pages the driver may wait for what is under way on the GPU.
  if (all_used_.defined() && all_used_.is_cuda()) all_used_here_ = core::empty_pinned({1}, all_used_.dtype());
  take_parameters();
  forward_ = std::make_shared<Forward>(Forward{std::make_shared<const std::vector<bool>>(n, true)});
  for (size_t i = 0; i < n; ++i) {
    if (options_.gradient_as_bucket_view) {
      if (parameters_[i].grad().defined()) to_slot(i);
      accumulators_[i]->set_slot(buckets_.slot(i));
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
  Tensor slot = buckets_.slot(i);
  if (grad.is_same(slot)) return;
  slot.copy_(grad.detach());
  if (options_.gradient_as_bucket_view) parameters_[i].set_grad(slot);
}

ForwardPtr Reducer::begin(bool synchronize, double weight) {
  const NoGradGuard guard;
  const std::lock_guard lock(mutex_);
  synchronize_ = synchronize;
  if (std::exchange(running_, false)) weight_ = 0;
  std::vector<bool> learning(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor &p = parameters_[i], &slot = buckets_.slot(i);
    TANDEM_CHECK(accumulators_[i]->fits(0, p), "DistributedDataParallel: ", names_[i], " was ", slot.dtype(),
                 slot.sizes(), " on ", slot.device(), " when the module was wrapped, and is ", p.dtype(), p.sizes(),
                 " on ", p.device(), " now; move or convert a module before it is wrapped");
    learning[i] = p.requires_grad();
    // The gradient of one that was frozen stays as it is, though its bucket may be averaged.
    if (!learning[i] && p.grad().defined() && p.grad().storage() == slot.storage()) p.set_grad(p.grad().clone());
  }
  const auto& last = forward_->learning;
  forward_ = std::make_shared<Forward>(
      Forward{*last == learning ? last : std::make_shared<const std::vector<bool>>(std::move(learning)), weight});
  return forward_;
}
void Reducer::start_backward(const ForwardPtr& forward) {
  const std::lock_guard lock(mutex_);
  expect_locked(*forward);
}
/// Expects what this backward adds to of what learned in that forward, whose weight counts from now on.
void Reducer::expect_locked(Forward& forward) {
  bool adds = false;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!(*forward.learning)[i] || !autograd::accumulates_into(*accumulators_[i])) continue;
    adds = true;
    if (synchronize_ && !(running_ && expected_[i])) expect_one(i);
  }
  if (adds) weight_ += std::exchange(forward.weight, 0.);
}
void Reducer::expect_one(size_t i) {
  if (!running_) {
    start();
    autograd::queue_callback([this] { finish(); });
  }
  const size_t b = buckets_.of(i);
  TANDEM_CHECK(
      b >= next_, "DistributedDataParallel: ", names_[i],
      " got a gradient after its bucket was reduced; it was frozen in the forward that this backward began with");
  expected_[i] = true;
  progress_[b].in_use = true;
  ++progress_[b].pending;
}
void Reducer::start() {
  running_ = true;
  next_ = 0;
  times_ = {};
  done_.clear();
  launched_ = false;
  untouched_.clear();
  expected_.assign(expected_.size(), false);
  arrived_.assign(arrived_.size(), false);
  progress_.assign(progress_.size(), {});
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
  if (options_.gradient_as_bucket_view)
    to_slot(i);  // somebody may have given the parameter another gradient
  else if (parameters_[i].grad().requires_grad())
    parameters_[i].set_grad(parameters_[i].grad().detach());
  if (!synchronize_) {
    weight_ += std::exchange(forward_->weight, 0.);
    return;
  }
  if (!running_) expect_locked(*forward_);
  if (!running_ || !expected_[i]) expect_one(i);
  TANDEM_CHECK(!arrived_[i], "DistributedDataParallel: ", names_[i],
               " got a second gradient in one backward; use no_sync() for all backwards but the last");
  to_slot(i);
  arrived_[i] = true;
  last_gradient_ = std::chrono::steady_clock::now();
  --progress_[buckets_.of(i)].pending;
  launch_full_buckets();
}
void Reducer::launch_full_buckets() {
  if (!unit_known_) return;
  while (next_ < progress_.size() && progress_[next_].pending == 0) launch(next_++, /*all_used=*/true);
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
/// @param all_used  what this rank says, with the last bucket
void Reducer::launch(size_t b, bool all_used) {
  const bool last = b + 1 == progress_.size();
  if (!progress_[b].in_use && !last) return;  // all of it is frozen
  if (!std::exchange(launched_, true)) first_launch_ = std::chrono::steady_clock::now();
  if (options_.weighted) weigh(b);
  if (last) {
    all_used_.fill_(all_used);
    if (options_.weighted) rank_weight_.fill_(weight_);
  }
  progress_[b].work = group_->all_reduce(buckets_.flat(b), distributed::ReduceOp::AVG,
                                         name_ + ": gradients, bucket " + std::to_string(b) + " of " +
                                             std::to_string(progress_.size()) + ranges_without(expected_));
  if (last && status_apart_.defined())
    status_work_ = group_->all_reduce(status_apart_, distributed::ReduceOp::AVG, name_ + ": the ranks' weights");
}
void Reducer::weigh(size_t b) {
  Tensor gradients = buckets_.gradients(b);
  if (weight_ == 0)
    gradients.zero_();  // the mean of no examples is NaN, and so are its gradients
  else if (weight_ != unit_)
    gradients.mul_(weight_ / unit_);
}

void Reducer::finish() {
  const NoGradGuard guard;
  const PhaseSpan phase("reduce");
  const std::lock_guard lock(mutex_);
  const bool all_arrived = std::all_of(progress_.begin(), progress_.end(), [](auto& b) { return b.pending == 0; });
  // Some gradients may not come. The others wait for their buckets all the same, and must hear of it.
  if (!all_arrived) fill_what_did_not_arrive();
  launch_rest(all_arrived);
  complete(all_arrived);
}
void Reducer::launch_rest(bool all_used) {
  if (!unit_known_) agree_on_unit();
  while (next_ < progress_.size()) launch(next_++, all_used);
}
/// Of the first backward, before anything is launched.
void Reducer::agree_on_unit() {
  const Tensor weight = full({1}, weight_, TensorOptions(kFloat64).device(group_->device()));
  group_->all_reduce(weight, distributed::ReduceOp::AVG, name_ + ": the ranks' first weights")->synchronize();
  const double mean = weight.item<double>();
  if (mean > 0) unit_ = std::exp2(std::round(std::log2(mean))), unit_known_ = true;
}
void Reducer::shadow_backward() {
  const ForwardPtr forward = begin(/*synchronize=*/true, /*weight=*/0);
  if (parameters_.empty()) return;
  const NoGradGuard guard;
  const PhaseSpan phase("reduce");
  const std::lock_guard lock(mutex_);
  start();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!(*forward->learning)[i]) continue;
    expected_[i] = progress_[buckets_.of(i)].in_use = true;
    if (!options_.find_unused_parameters) used_[i] = true;  // this rank has nothing to complain of
  }
  fill_what_did_not_arrive();
  if (weight_ == 0)
    for (size_t b = 0; b < progress_.size(); ++b) buckets_.gradients(b).zero_();
  launch_rest(/*all_used=*/!options_.find_unused_parameters);
  complete(/*all_arrived=*/false);
}
void Reducer::complete(bool all_arrived) {
  running_ = false;
  wait_for_all();
  rescale();
  times_.overlapped = all_arrived && first_launch_ < last_gradient_;
  for (size_t i = 0; i < averaged_.size(); ++i) averaged_[i] = expected_[i] && used_[i];
  check_used();
  hand_back();
  used_.assign(used_.size(), false);
  weight_ = 0;
}
void Reducer::fill_what_did_not_arrive() {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (arrived_[i] || !expected_[i]) continue;
    const Tensor& grad = parameters_[i].grad();
    if (!grad.defined()) {
      Tensor(buckets_.slot(i)).zero_();
    } else {
      if (options_.find_unused_parameters && options_.gradient_as_bucket_view && !used_[i])
        untouched_[i] = grad.clone();
      to_slot(i);
    }
  }
}
/// From the buckets to where the gradients are.
void Reducer::hand_back() {
  for (auto& [i, grad] : untouched_)
    if (!averaged_[i]) Tensor(buckets_.slot(i)).copy_(grad);
  untouched_.clear();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!averaged_[i]) continue;
    const Tensor& slot = buckets_.slot(i);
    if (Tensor grad = parameters_[i].grad(); !grad.defined())
      parameters_[i].set_grad(options_.gradient_as_bucket_view ? slot : slot.clone());
    else if (!options_.gradient_as_bucket_view)
      grad.copy_(slot);
  }
}

void Reducer::wait_for_all() {
  const PhaseSpan phase("exposed communication");
  const Device device = all_used_.device();
  const auto start = std::chrono::steady_clock::now();
  if (device.is_cuda()) wait_begin_.record(cuda::current_stream(device));
  for (Progress& bucket : progress_) {
    if (!bucket.work) continue;
    bucket.work->wait();
    done_.push_back(bucket.work);
  }
  if (status_work_) {
    status_work_->wait();
    done_.push_back(std::exchange(status_work_, nullptr));
  }
  if (device.is_cuda()) wait_end_.record(cuda::current_stream(device));
  times_.exposed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
/// From the mean over all ranks to that over what counts.
void Reducer::rescale() {
  double factor = static_cast<double>(group_->size()) / divisor_;
  Tensor factor_there;  // of weights on a GPU, for which the host does not wait
  if (options_.weighted && rank_weight_.is_cuda()) {
    factor_there = unit_ / rank_weight_.clamp_min(1e-30);
  } else if (options_.weighted) {
    const double mean = rank_weight_.item<double>();
    factor = mean > 0 ? unit_ / mean : 0;
  }
  if (factor == 1 && !factor_there.defined()) return;
  for (size_t b = 0; b < progress_.size(); ++b) {
    if (!progress_[b].work) continue;
    Tensor gradients = buckets_.gradients(b);
    if (!factor_there.defined())
      gradients.mul_(factor);
    else if (gradients.dtype() == factor_there.dtype())
      gradients.mul_(factor_there);
    else
      gradients.copy_(gradients.to(factor_there.dtype()).mul_(factor_there));
  }
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
