#include "tandem/parallel/reducer.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <set>

#include "tandem/autograd/engine.h"
#include "tandem/core/trace/tracer.h"
#include "tandem/ops/elementwise/fill.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/elementwise/where.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/factory/zeros_ones_full.h"
#include "tandem/ops/shape/copy.h"

namespace tandem::nn::parallel {

namespace {
/// The accumulators that reducers of this process hook into. Two at one parameter would each reduce what the other has
/// under way.
struct Taken {
  std::mutex mutex;
  std::set<const autograd::AccumulateGrad*> accumulators;
};
Taken& taken() {
  static auto& all = *new Taken;  // never destroyed: modules may be static
  return all;
}
}  // namespace

Reducer::Reducer(std::string name, const NamedParameters& parameters, distributed::ProcessGroupPtr group,
                 ReducerOptions options)
    : name_(std::move(name)),
      group_(std::move(group)),
      options_(options),
      unit_known_(!options.weighted),
      divisor_(group_->size()),
      order_wanted_((!options.find_unused_parameters || options.static_graph) && group_->size() > 1) {
  for (const auto& item : parameters) {
    if (!item.value().requires_grad()) continue;
    names_.push_back(item.key());
    parameters_.push_back(item.value());
  }
  const size_t n = parameters_.size();
  accumulators_.resize(n), hooks_.resize(n);
  expected_.resize(n), arrivals_.resize(n), used_.resize(n), averaged_.resize(n);
  take_parameters();
  make_buckets(plan({}));
  forward_ = std::make_shared<Forward>(Forward{std::make_shared<const std::vector<bool>>(n, true)});
  for (size_t i = 0; i < n; ++i)
    hooks_[i] = accumulators_[i]->add_post_hook([this, i](const Tensor&) { on_gradient(i); });
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
    if (is_short(last_all_used_))
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

BucketPlan Reducer::plan(std::vector<size_t> order) const {
  std::vector<BucketItem> items;
  items.reserve(parameters_.size());
  for (const Tensor& p : parameters_) items.push_back({p.dtype(), p.device(), p.nbytes()});
  return plan_buckets(items, options_.first_bucket_bytes, options_.bucket_bytes, std::move(order));
}
/// Gradients that are there move into the buckets, if they are views.
void Reducer::make_buckets(BucketPlan plan) {
  if (plan.empty()) return;
  const bool wide = std::any_of(parameters_.begin(), parameters_.end(), [](auto& p) { return p.dtype() == kFloat64; });
  const DType exact = wide ? kFloat64 : kFloat32;  // for weights
  const bool together = !hook_ && (!options_.weighted || parameters_[plan.back()[0]].dtype() == exact);
  const int64_t elements = options_.weighted ? 2 : 1;
  progress_ = std::vector<Progress>(plan.size());
  done_.clear();
  is_alone_ = group_->size() == 1 && !hook_ && !options_.weighted && !options_.static_graph;
  buckets_ = Buckets(std::move(plan), parameters_, together ? elements : 0, is_alone_);
  status_apart_ = together ? Tensor() : zeros({elements}, TensorOptions(exact).device(parameters_[0].device()));
  const Tensor& status = together ? buckets_.status() : status_apart_;
  all_used_ = status.narrow(0, 0, 1);
  if (options_.weighted) rank_weight_ = status.narrow(0, 1, 1);
  // Made here, before there are collectives: to lock pages the driver may wait for what is under way on the GPU. Later,
  // when buckets are laid out anew, what the last backward has copied there is still to be looked at.
  if (all_used_.is_cuda() && (!all_used_here_.defined() || all_used_here_.dtype() != all_used_.dtype()))
    all_used_here_ = core::empty_pinned({1}, all_used_.dtype());
  if (!are_views()) return;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].requires_grad() && parameters_[i].grad().defined()) to_slot(i);
    accumulators_[i]->set_slot(buckets_.slot(i));
  }
}
/// After the first backward: as gradients came on rank 0, so that buckets fill one after the other.
void Reducer::rebuild_buckets() {
  const NoGradGuard guard;
  order_due_ = false;
  for (size_t i = parameters_.size(); i-- > 0;)
    if (!std::count(order_.begin(), order_.end(), i)) order_.push_back(i);
  const std::vector<int64_t> mine(order_.begin(), order_.end());
  const Tensor order = tensor(mine, kInt64).to(group_->device());
  group_->broadcast(order, 0, name_ + ": the order of gradients on rank 0")->synchronize();
  const Tensor here = order.cpu();
  const int64_t* const first = here.data_ptr<int64_t>();
  order_.assign(first, first + mine.size());
  if (BucketPlan better = plan(std::move(order_)); better != buckets_.plan()) make_buckets(std::move(better));
}
void Reducer::register_comm_hook(CommHook hook) {
  const NoGradGuard guard;
  const std::lock_guard lock(mutex_);
  TANDEM_CHECK(!hook_ && !running_, "DistributedDataParallel: ",
               hook_ ? "it has a communication hook already" : "a communication hook cannot come while backward runs");
  hook_ = std::move(hook);
  make_buckets(BucketPlan(buckets_.plan()));
}

void Reducer::set_after_bucket(std::function<void(size_t)> f) {
  const std::lock_guard lock(mutex_);
  after_bucket_ = std::move(f);
}

/// Brings the gradient into the bucket, where it lives from now on if gradients are views of it.
void Reducer::to_slot(size_t i) {
  const Tensor& grad = parameters_[i].grad();
  Tensor slot = buckets_.slot(i);
  if (grad.is_same(slot) || is_alone_) return;
  slot.copy_(grad.detach());
  if (options_.gradient_as_bucket_view) parameters_[i].set_grad(slot);
}

ForwardPtr Reducer::begin(bool synchronize, double weight) {
  const NoGradGuard guard;
  const std::lock_guard lock(mutex_);
  synchronize_ = synchronize;
  if (is_running()) forget_backward();
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
  if (order_due_ && synchronize && std::count(learning.begin(), learning.end(), true) > 0) rebuild_buckets();
  const auto& last = forward_->learning;
  forward_ = std::make_shared<Forward>(
      Forward{*last == learning ? last : std::make_shared<const std::vector<bool>>(std::move(learning)), weight,
              RankContext::current().next_sequence});
  return forward_;
}
void Reducer::forget_backward() {
  running_ = false;
  weight_ = 0;
}
/// Whether a backward that synchronizes is under way. If the last one threw, this forgets its state.
bool Reducer::is_running() {
  if (running_ && under_way_.expired()) forget_backward();
  return running_;
}
void Reducer::start_backward(const ForwardPtr& forward) {
  const NoGradGuard guard;
  const std::lock_guard lock(mutex_);
  is_running();
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
    const auto token = std::make_shared<const bool>(true);
    under_way_ = token;
    autograd::queue_callback([this, token] { finish(); });
  }
  const size_t b = buckets_.of(i);
  TANDEM_CHECK(
      b >= next_, "DistributedDataParallel: ", names_[i],
      " got a gradient after its bucket was reduced; it was frozen in the forward that this backward began with");
  expected_[i] = true;
  progress_[b].in_use = true;
  if (known_arrivals_.empty())
    ++progress_[b].pending;
  else if (known_arrivals_[i] > 0)
    progress_[b].pending += static_cast<size_t>(known_arrivals_[i]);
  else
    fill(i);
}
void Reducer::start() {
  running_ = true;
  next_ = 0;
  if (order_wanted_) order_.clear();  // of a backward that threw
  for (size_t i = 0; i < used_.size(); ++i)
    if (!parameters_[i].grad().defined()) used_[i] = false;  // it was dropped since
  times_ = {};
  backward_start_ = std::chrono::steady_clock::now();
  done_.clear();
  launched_ = false;
  untouched_.clear();
  expected_.assign(expected_.size(), false);
  arrivals_.assign(arrivals_.size(), 0);
  for (Progress& bucket : progress_) bucket = {};
  status_work_ = nullptr;
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
  if (are_views())
    to_slot(i);  // somebody may have given the parameter another gradient
  else if (parameters_[i].grad().requires_grad())
    parameters_[i].set_grad(parameters_[i].grad().detach());
  if (!synchronize_ || !(is_running() || forward_->unwatched)) {
    if (forward_->unwatched) weight_ += std::exchange(forward_->weight, 0.);
    return;
  }
  if (!running_) expect_locked(*forward_);
  if (!running_ || !expected_[i]) expect_one(i);
  const int most = !options_.static_graph ? 1 : known_arrivals_.empty() ? INT_MAX : known_arrivals_[i];
  ++arrivals_[i];
  TANDEM_CHECK(arrivals_[i] <= most || options_.static_graph, "DistributedDataParallel: ", names_[i],
               " got a second gradient in one backward; use no_sync() for all backwards but the last, or pass "
               "static_graph(true) where the graph is the same in each step");
  TANDEM_CHECK(arrivals_[i] <= most, "DistributedDataParallel: under static_graph ", names_[i], " got ", arrivals_[i],
               " gradients in a backward, and ", most, " in the first; the graph must be the same in each step");
  to_slot(i);
  if (order_wanted_ && arrivals_[i] == 1) order_.push_back(i);
  last_gradient_ = std::chrono::steady_clock::now();
  size_t& pending = progress_[buckets_.of(i)].pending;
  if (arrivals_[i] == 1 || !known_arrivals_.empty()) --pending;
  launch_full_buckets();
}
/// The first backward holds all back where it is the first that knows the unit of weights, or the static graph.
void Reducer::launch_full_buckets() {
  if (!unit_known_ || (options_.static_graph && known_arrivals_.empty())) return;
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
  if (is_alone_) return;
  std::string about = name_ + ": gradients, bucket " + std::to_string(b) + " of " + std::to_string(progress_.size()) +
                      ranges_without(expected_) + ", from " + names_[buckets_.plan()[b][0]];
  if (hook_)
    progress_[b].future = run_hook(b, std::move(about));
  else
    progress_[b].future.emplace(group_->all_reduce(buckets_.flat(b), distributed::ReduceOp::AVG, std::move(about)),
                                buckets_.gradients(b));
  if (last && status_apart_.defined())
    status_work_ = group_->all_reduce(status_apart_, distributed::ReduceOp::AVG, name_ + ": what the ranks used");
}
CommFuture Reducer::run_hook(size_t b, std::string about) {
  std::vector<Tensor> gradients, parameters;
  for (const size_t i : buckets_.plan()[b]) {
    gradients.push_back(buckets_.slot(i));
    parameters.push_back(parameters_[i]);
  }
  return hook_(group_, GradBucket(b, b + 1 == progress_.size(), buckets_.gradients(b), std::move(gradients),
                                  std::move(parameters), std::move(about)));
}
void Reducer::weigh(size_t b) {
  Tensor gradients = buckets_.gradients(b);
  if (weight_ == 0)
    gradients.zero_();  // the mean of no examples is NaN, and so are its gradients
  else if (weight_ != unit_)
    gradients.mul_(weight_ / unit_);
}

}  // namespace tandem::nn::parallel
