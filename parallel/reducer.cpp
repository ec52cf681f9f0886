// Implements Reducer: begins and ends a synchronized backward. Gradients, GradientTracker, StatusExchange and Transport
// do the work.
#include "tandem/parallel/reducer.h"

#include <algorithm>

#include "tandem/autograd/engine.h"
#include "tandem/core/trace/tracer.h"
#include "tandem/ops/factory/tensor.h"

namespace tandem::nn::parallel::detail {

/// Name with which errors of Gradients, GradientTracker, StatusExchange and transports begin.
static constexpr const char* kErrorPrefix = "DistributedDataParallel";

Reducer::Reducer(std::string name, const NamedParameters& parameters, distributed::ProcessGroupPtr group,
                 ReducerOptions options)
    : ddp_name_(std::move(name)),
      group_(std::move(group)),
      options_(options),
      status_exchange_(kErrorPrefix, ddp_name_, group_, options.weighted, options.static_graph),
      gradients_(kErrorPrefix, parameters, options.gradient_as_bucket_view),
      tracker_(kErrorPrefix, gradients_.names(),
               {options.find_unused_parameters, options.static_graph,
                (!options.find_unused_parameters || options.static_graph) && group_->size() > 1}),
      transport_(new AllReduceTransport(group_, gradients_.buckets())),
      divisor_(group_->size()) {
  allocate_buckets(make_bucket_plan({}));
  gradients_.add_post_hooks([this](size_t i) { autograd_hook(i); });
}

BucketPlan Reducer::make_bucket_plan(std::vector<size_t> order) const {
  std::vector<BucketItem> items;
  items.reserve(gradients_.size());
  for (const Tensor& p : parameters()) items.push_back({p.dtype(), p.device(), p.nbytes()});
  return plan_buckets(items, options_.first_bucket_bytes, options_.bucket_cap_bytes, std::move(order));
}
void Reducer::allocate_buckets(BucketPlan plan) {
  if (plan.empty()) return;
  const bool any_float64 =
      std::any_of(parameters().begin(), parameters().end(), [](auto& p) { return p.dtype() == kFloat64; });
  const int64_t status =
      status_exchange_.num_status_elements(parameters()[plan.back()[0]].dtype(), any_float64, *transport_);
  const bool is_single_rank = group_->size() == 1 && !has_comm_hook_ && !options_.weighted && !options_.static_graph;
  gradients_.allocate(std::move(plan), status, is_single_rank);
  status_exchange_.allocate_status(gradients_.buckets().status(), any_float64, parameters()[0].device());
  tracker_.set_buckets(gradients_.buckets().bucket_of_parameter(), buckets().size());
  transport_->release_last_step();
}
/// Lays the buckets out in the order in which gradients arrived on rank 0, so that bucket 0 fills first, then bucket 1,
/// and so on.
void Reducer::rebuild_buckets() {
  const NoGradGuard guard;
  std::vector<size_t> order = tracker_.take_gradient_order();
  const Tensor order_tensor = tensor(std::vector<int64_t>(order.begin(), order.end()), kInt64).to(group_->device());
  group_->broadcast(order_tensor, 0, ddp_name_ + ": the order of gradients on rank 0")->synchronize();
  const Tensor here = order_tensor.cpu();
  const int64_t* const first = here.data_ptr<int64_t>();
  order.assign(first, first + order.size());
  if (BucketPlan better = make_bucket_plan(std::move(order)); better != buckets()) allocate_buckets(std::move(better));
}
void Reducer::register_comm_hook(CommHook hook) {
  const NoGradGuard guard;
  const std::lock_guard lock(mutex_);
  TANDEM_CHECK(!has_comm_hook_ && !tracker_.has_started(), kErrorPrefix, ": ",
               has_comm_hook_ ? "register_comm_hook or register_builtin_comm_hook can only be called once."
                              : "register_comm_hook cannot be called while backward runs");
  if (!hook) return;
  has_comm_hook_ = true;
  transport_ =
      std::make_unique<CommHookTransport>(kErrorPrefix, group_, gradients_.buckets(), parameters(), std::move(hook));
  allocate_buckets(BucketPlan(buckets()));
}
void Reducer::set_bucket_callback(std::function<void(size_t)> f) {
  const std::lock_guard lock(mutex_);
  bucket_callback_ = std::move(f);
}

ForwardStatePtr Reducer::begin_forward(bool synchronize, double weight) {
  const NoGradGuard guard;
  const std::lock_guard lock(mutex_);
  std::vector<bool> requires_grad(gradients_.size());
  bool any = false;
  for (size_t i = 0; i < requires_grad.size(); ++i) {
    requires_grad[i] = gradients_.begin_forward(i);
    any = any || requires_grad[i];
  }
  if (tracker_.should_rebuild_buckets() && synchronize && any) rebuild_buckets();
  return tracker_.begin_forward(synchronize, weight, std::move(requires_grad),
                                ThreadContext::current().next_sequence_nr);
}
void Reducer::start_backward(const ForwardStatePtr& forward) {
  const NoGradGuard guard;
  const std::lock_guard lock(mutex_);
  tracker_.is_running();
  expect_gradients(*forward);
}
/// Expects a gradient of each parameter that required one in the forward, if this backward adds to it. Adds the weight
/// of the forward to the weight of this rank's gradients.
void Reducer::expect_gradients(ForwardState& forward) {
  bool adds = false;
  for (size_t i = 0; i < gradients_.size(); ++i) {
    if (!(*forward.requires_grad)[i] || !gradients_.accumulates_in_backward(i)) continue;
    adds = true;
    if (tracker_.should_expect_gradient(i)) expect_gradient_of(i);
  }
  if (adds) tracker_.add_forward_weight(forward);
}
void Reducer::expect_gradient_of(size_t i) {
  if (!tracker_.has_started()) {
    const auto token = std::make_shared<const bool>(true);
    begin_reduction(token);
    autograd::queue_callback([this, token] { finalize_backward(); });
  }
  if (!tracker_.expect_gradients(i)) gradients_.fill_slot(i, tracker_.may_be_globally_unused(i));
}
void Reducer::begin_reduction(const std::weak_ptr<const bool>& token) {
  tracker_.begin_backward(token);
  transport_->begin_step();
  gradients_.drop_saved_gradients();
  for (size_t i = 0; i < gradients_.size(); ++i)
    if (!parameters()[i].grad().defined()) tracker_.mark_unused(i);
  reduce_times_ = {};
  has_launched_bucket_ = false;
  backward_start_time_ = std::chrono::steady_clock::now();
}

void Reducer::autograd_hook(size_t i) {
  const NoGradGuard guard;
  const std::lock_guard lock(mutex_);
  if (Tracer* const tracer = current_tracer()) {
    TraceEvent event{.kind = TraceEvent::Kind::gradient, .name = gradients_.names()[i]};
    event.start = event.end = trace_clock_seconds();
    event.bytes = parameters()[i].nbytes();
    tracer->add_event(std::move(event));
  }
  tracker_.mark_used(i);
  gradients_.finalize_gradient(i);
  ForwardState& forward = tracker_.forward();
  if (!tracker_.synchronizes() || !(tracker_.is_running() || forward.has_no_output_hook)) {
    if (forward.has_no_output_hook) tracker_.add_forward_weight(forward);
    return;
  }
  if (!tracker_.has_started()) expect_gradients(forward);
  if (tracker_.should_expect_gradient(i)) expect_gradient_of(i);
  tracker_.count_gradient(i);
  gradients_.copy_to_slot(i);
  last_gradient_time_ = std::chrono::steady_clock::now();
  if (!status_exchange_.has_weight_scale() || tracker_.should_delay_launch()) return;
  while (const auto full = tracker_.take_next_full_bucket()) launch_bucket(*full, /*all_used=*/true);
}
/// Sends a bucket. With the last bucket, also sends the status.
/// @param all_used  whether this rank used all parameters; only read for the last bucket
void Reducer::launch_bucket(size_t b, bool all_used) {
  const Buckets& buckets = gradients_.buckets();
  const bool last = b + 1 == buckets.size();
  if (!tracker_.is_bucket_in_use(b) && !last) return;  // skip: all parameters of the bucket are frozen
  if (!std::exchange(has_launched_bucket_, true)) first_launch_time_ = std::chrono::steady_clock::now();
  if (options_.weighted) status_exchange_.add_forward_weight(buckets.gradients(b), tracker_.weight());
  if (last) status_exchange_.set_status(all_used, tracker_.weight());
  if (gradients_.is_single_rank()) return;
  transport_->send_bucket(b, ddp_name_ + ": gradients, bucket " + std::to_string(b) + " of " +
                                 std::to_string(buckets.size()) + tracker_.describe_unexpected() + ", from " +
                                 gradients_.names()[buckets.plan()[b][0]]);
  if (last) transport_->send_after_buckets(status_exchange_.start_all_reduce());
}
void Reducer::launch_remaining_buckets(bool all_used) {
  if (!status_exchange_.has_weight_scale()) status_exchange_.all_reduce_weight_scale(tracker_.weight());
  while (const auto next = tracker_.take_next_bucket()) launch_bucket(*next, all_used);
}

/// Ends a backward: launches the remaining buckets, waits for all of them, and copies the averages to grad().
void Reducer::finalize_backward() {
  const NoGradGuard guard;
  const PhaseSpan phase("reduce");
  const std::lock_guard lock(mutex_);
  const bool all_gradients_arrived = tracker_.all_gradients_arrived();
  // If gradients are missing on this rank, send the buckets nevertheless: the other ranks wait for them and must learn
  // that gradients are missing.
  for (size_t i = 0; !all_gradients_arrived && i < gradients_.size(); ++i)
    if (tracker_.is_missing(i)) gradients_.fill_slot(i, tracker_.may_be_globally_unused(i));
  tracker_.record_static_graph();
  const std::vector<bool> got_expected = tracker_.got_expected_gradients();
  launch_remaining_buckets(std::all_of(got_expected.begin(), got_expected.end(), [](bool each) { return each; }));
  complete_reduction(all_gradients_arrived);
}
void Reducer::shadow_backward() {
  begin_forward(/*synchronize=*/true, /*weight=*/0);
  if (parameters().empty()) return;
  const NoGradGuard guard;
  const PhaseSpan phase("reduce");
  const std::lock_guard lock(mutex_);
  begin_reduction({});
  tracker_.shadow_backward();
  for (size_t i = 0; i < gradients_.size(); ++i)
    if (tracker_.is_expected(i)) gradients_.fill_slot(i, tracker_.may_be_globally_unused(i));
  const Buckets& buckets = gradients_.buckets();
  for (size_t b = 0; b < buckets.size() && tracker_.weight() == 0; ++b) buckets.gradients(b).zero_();
  // if all_used is false, the ranks exchange which parameters each of them used
  launch_remaining_buckets(/*all_used=*/!tracker_.allows_unused_parameters());
  complete_reduction(/*all_gradients_arrived=*/false);
}
void Reducer::complete_reduction(bool all_gradients_arrived) {
  tracker_.set_averaged_locally();
  const bool in_order = bucket_callback_ && all_gradients_arrived && !options_.weighted && divisor_ == group_->size() &&
                        !tracker_.allows_unused_parameters();
  const auto on_bucket_reduced = [this](size_t b) {
    gradients_.copy_from_bucket(b, tracker_.averaged_parameters());
    bucket_callback_(b);
  };
  transport_->finish_step(in_order ? std::function<void(size_t)>(on_bucket_reduced) : nullptr);
  status_exchange_.rescale_buckets(*transport_, gradients_.buckets(), divisor_);
  reduce_times_.has_overlap = all_gradients_arrived && first_launch_time_ < last_gradient_time_;
  reduce_times_.num_unused_parameters = tracker_.num_unused_parameters();
  tracker_.set_averaged_globally(status_exchange_.globally_used(
      tracker_.got_expected_gradients(), tracker_.allows_unused_parameters(), gradients_.names()));
  for (size_t b = 0; b < buckets().size() && !in_order; ++b)
    gradients_.copy_from_bucket(b, tracker_.averaged_parameters());
  gradients_.drop_saved_gradients();
  if (bucket_callback_) bucket_callback_(buckets().size());
  reduce_times_.backward_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - backward_start_time_).count();
  ++iterations_;
  tracker_.finish_backward();
}
ReduceTimes Reducer::last_reduce_times() const {
  ReduceTimes times = reduce_times_;
  transport_->add_times(times);
  return times;
}

}  // namespace tandem::nn::parallel::detail
