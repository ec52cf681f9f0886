// Implements Reducer: begins and ends a synchronized backward. Gradients, GradientTracker, StatusExchange and Transport
// do the work.
#include "tandem/parallel/reducer.h"

#include <algorithm>

#include "tandem/autograd/engine.h"
#include "tandem/core/trace/tracer.h"
#include "tandem/ops/factory/tensor.h"

namespace tandem::nn::parallel::detail {

/// Name with which errors of Gradients, GradientTracker, StatusExchange and transports begin.
static constexpr const char* kOwner = "DistributedDataParallel";

Reducer::Reducer(std::string name, const NamedParameters& parameters, distributed::ProcessGroupPtr group,
                 ReducerOptions options)
    : name_(std::move(name)),
      group_(std::move(group)),
      options_(options),
      agreement_(kOwner, name_, group_, options.weighted, options.static_graph),
      gradients_(kOwner, parameters, options.gradient_as_bucket_view),
      arrivals_(kOwner, gradients_.names(),
                {options.find_unused_parameters, options.static_graph,
                 (!options.find_unused_parameters || options.static_graph) && group_->size() > 1}),
      transport_(new AllReduce(group_, gradients_.buckets())),
      divisor_(group_->size()) {
  lay_out(plan({}));
  gradients_.watch([this](size_t i) { on_gradient(i); });
}

BucketPlan Reducer::plan(std::vector<size_t> order) const {
  std::vector<BucketItem> items;
  items.reserve(gradients_.size());
  for (const Tensor& p : parameters()) items.push_back({p.dtype(), p.device(), p.nbytes()});
  return plan_buckets(items, options_.first_bucket_bytes, options_.bucket_bytes, std::move(order));
}
void Reducer::lay_out(BucketPlan plan) {
  if (plan.empty()) return;
  const bool wide =
      std::any_of(parameters().begin(), parameters().end(), [](auto& p) { return p.dtype() == kFloat64; });
  const int64_t status = agreement_.elements_in(parameters()[plan.back()[0]].dtype(), wide, *transport_);
  const bool is_alone = group_->size() == 1 && !hooked_ && !options_.weighted && !options_.static_graph;
  gradients_.lay_out(std::move(plan), status, is_alone);
  agreement_.lay_out(gradients_.buckets().status(), wide, parameters()[0].device());
  arrivals_.set_buckets(gradients_.buckets().of_parameters(), buckets().size());
  transport_->forget();
}
/// Lays the buckets out in the order in which gradients arrived on rank 0, so that bucket 0 fills first, then bucket 1,
/// and so on.
void Reducer::rebuild_buckets() {
  const NoGradGuard guard;
  std::vector<size_t> order = arrivals_.take_order();
  const Tensor there = tensor(std::vector<int64_t>(order.begin(), order.end()), kInt64).to(group_->device());
  group_->broadcast(there, 0, name_ + ": the order of gradients on rank 0")->synchronize();
  const Tensor here = there.cpu();
  const int64_t* const first = here.data_ptr<int64_t>();
  order.assign(first, first + order.size());
  if (BucketPlan better = plan(std::move(order)); better != buckets()) lay_out(std::move(better));
}
void Reducer::register_comm_hook(CommHook hook) {
  const NoGradGuard guard;
  const std::lock_guard lock(mutex_);
  TANDEM_CHECK(!hooked_ && !arrivals_.has_started(), kOwner, ": ",
               hooked_ ? "register_comm_hook or register_builtin_comm_hook can only be called once."
                       : "register_comm_hook cannot be called while backward runs");
  if (!hook) return;
  hooked_ = true;
  transport_ = std::make_unique<ReduceByHook>(kOwner, group_, gradients_.buckets(), parameters(), std::move(hook));
  lay_out(BucketPlan(buckets()));
}
void Reducer::set_after_bucket(std::function<void(size_t)> f) {
  const std::lock_guard lock(mutex_);
  after_bucket_ = std::move(f);
}

ForwardPtr Reducer::begin(bool synchronize, double weight) {
  const NoGradGuard guard;
  const std::lock_guard lock(mutex_);
  std::vector<bool> learning(gradients_.size());
  bool any = false;
  for (size_t i = 0; i < learning.size(); ++i) {
    learning[i] = gradients_.begin_forward(i);
    any = any || learning[i];
  }
  if (arrivals_.order_is_due() && synchronize && any) rebuild_buckets();
  return arrivals_.begin(synchronize, weight, std::move(learning), RankContext::current().next_sequence);
}
void Reducer::start_backward(const ForwardPtr& forward) {
  const NoGradGuard guard;
  const std::lock_guard lock(mutex_);
  arrivals_.is_running();
  expect(*forward);
}
/// Expects a gradient of each parameter that required one in the forward, if this backward adds to it. Counts the
/// weight of the forward.
void Reducer::expect(Forward& forward) {
  bool adds = false;
  for (size_t i = 0; i < gradients_.size(); ++i) {
    if (!(*forward.learning)[i] || !gradients_.is_added_to(i)) continue;
    adds = true;
    if (arrivals_.is_news(i)) expect_one(i);
  }
  if (adds) arrivals_.weigh(forward);
}
void Reducer::expect_one(size_t i) {
  if (!arrivals_.has_started()) {
    const auto token = std::make_shared<const bool>(true);
    start(token);
    autograd::queue_callback([this, token] { finish(); });
  }
  if (!arrivals_.expect(i)) gradients_.fill(i, arrivals_.may_stay_unused(i));
}
void Reducer::start(const std::weak_ptr<const bool>& token) {
  arrivals_.start(token);
  transport_->start();
  gradients_.forget();
  for (size_t i = 0; i < gradients_.size(); ++i)
    if (!parameters()[i].grad().defined()) arrivals_.drop(i);
  times_ = {};
  launched_ = false;
  backward_start_ = std::chrono::steady_clock::now();
}

void Reducer::on_gradient(size_t i) {
  const NoGradGuard guard;
  const std::lock_guard lock(mutex_);
  if (Tracer* const tracer = current_tracer()) {
    TraceEvent event{.kind = TraceEvent::Kind::gradient, .name = gradients_.names()[i]};
    event.start = event.end = trace_clock();
    event.bytes = parameters()[i].nbytes();
    tracer->add(std::move(event));
  }
  arrivals_.use(i);
  gradients_.settle(i);
  Forward& forward = arrivals_.forward();
  if (!arrivals_.synchronizes() || !(arrivals_.is_running() || forward.unwatched)) {
    if (forward.unwatched) arrivals_.weigh(forward);
    return;
  }
  if (!arrivals_.has_started()) expect(forward);
  if (arrivals_.is_news(i)) expect_one(i);
  arrivals_.count(i);
  gradients_.to_slot(i);
  last_gradient_ = std::chrono::steady_clock::now();
  if (!agreement_.knows_unit() || arrivals_.holds_back()) return;
  while (const auto full = arrivals_.next_full()) launch(*full, /*all_used=*/true);
}
/// Sends a bucket. With the last bucket, also sends the status.
/// @param all_used  whether this rank used all parameters; only read for the last bucket
void Reducer::launch(size_t b, bool all_used) {
  const Buckets& buckets = gradients_.buckets();
  const bool last = b + 1 == buckets.size();
  if (!arrivals_.is_in_use(b) && !last) return;  // skip: all parameters of the bucket are frozen
  if (!std::exchange(launched_, true)) first_launch_ = std::chrono::steady_clock::now();
  if (options_.weighted) agreement_.weigh(buckets.gradients(b), arrivals_.weight());
  if (last) agreement_.say(all_used, arrivals_.weight());
  if (gradients_.is_alone()) return;
  transport_->send(b, name_ + ": gradients, bucket " + std::to_string(b) + " of " + std::to_string(buckets.size()) +
                          arrivals_.without() + ", from " + gradients_.names()[buckets.plan()[b][0]]);
  if (last) transport_->send_beside(agreement_.send());
}
void Reducer::launch_rest(bool all_used) {
  if (!agreement_.knows_unit()) agreement_.agree_on_unit(arrivals_.weight());
  while (const auto next = arrivals_.next()) launch(*next, all_used);
}

/// Ends a backward: launches the remaining buckets, waits for all of them, and copies the averages to grad().
void Reducer::finish() {
  const NoGradGuard guard;
  const PhaseSpan phase("reduce");
  const std::lock_guard lock(mutex_);
  const bool all_came = arrivals_.all_came();
  // If gradients are missing on this rank, send the buckets nevertheless: the other ranks wait for them and must learn
  // that gradients are missing.
  for (size_t i = 0; !all_came && i < gradients_.size(); ++i)
    if (arrivals_.is_missing(i)) gradients_.fill(i, arrivals_.may_stay_unused(i));
  arrivals_.learn_graph();
  const std::vector<bool> fine = arrivals_.as_expected();
  launch_rest(std::all_of(fine.begin(), fine.end(), [](bool each) { return each; }));
  complete(all_came);
}
void Reducer::shadow_backward() {
  begin(/*synchronize=*/true, /*weight=*/0);
  if (parameters().empty()) return;
  const NoGradGuard guard;
  const PhaseSpan phase("reduce");
  const std::lock_guard lock(mutex_);
  start({});
  arrivals_.shadow();
  for (size_t i = 0; i < gradients_.size(); ++i)
    if (arrivals_.is_expected(i)) gradients_.fill(i, arrivals_.may_stay_unused(i));
  const Buckets& buckets = gradients_.buckets();
  for (size_t b = 0; b < buckets.size() && arrivals_.weight() == 0; ++b) buckets.gradients(b).zero_();
  // false makes the ranks exchange which rank used which parameter
  launch_rest(/*all_used=*/!arrivals_.allows_unused());
  complete(/*all_came=*/false);
}
void Reducer::complete(bool all_came) {
  arrivals_.guess_averaged();
  const bool in_order =
      after_bucket_ && all_came && !options_.weighted && divisor_ == group_->size() && !arrivals_.allows_unused();
  const auto arrived = [this](size_t b) {
    gradients_.hand_back(b, arrivals_.averaged());
    after_bucket_(b);
  };
  transport_->finish(in_order ? std::function<void(size_t)>(arrived) : nullptr);
  agreement_.rescale(*transport_, gradients_.buckets(), divisor_);
  times_.overlapped = all_came && first_launch_ < last_gradient_;
  times_.unused = arrivals_.unused();
  arrivals_.agree(agreement_.used_anywhere(arrivals_.as_expected(), arrivals_.allows_unused(), gradients_.names()));
  for (size_t b = 0; b < buckets().size() && !in_order; ++b) gradients_.hand_back(b, arrivals_.averaged());
  gradients_.forget();
  if (after_bucket_) after_bucket_(buckets().size());
  times_.backward = std::chrono::duration<double>(std::chrono::steady_clock::now() - backward_start_).count();
  ++iterations_;
  arrivals_.finish();
}
ReduceTimes Reducer::last_times() const {
  ReduceTimes times = times_;
  transport_->add_times(times);
  return times;
}

}  // namespace tandem::nn::parallel::detail
