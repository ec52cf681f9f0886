// Implements Metric: accumulates states, adds them up over the ranks, saves and loads them.
#include "tandem/train/metrics/metric.h"

#include <cstdio>

#include "tandem/core/internal.h"
#include "tandem/core/loop/run_loop.h"
#include "tandem/ops/ops.h"
#include "tandem/parallel/collectives/distributed.h"
#include "tandem/serialize/archive.h"
#include "tandem/train/metrics/gather_ranks.h"

namespace tandem::metrics {

using distributed::ProcessGroupPtr;

void Metric::update(const Tensor& preds, const Tensor& target) {
  check_not_recorded("Metric::update", "a replay would not add its batch to the metric");
  TANDEM_CHECK(preds.defined() && target.defined(), name(), ": ", preds.defined() ? "target" : "preds",
               " is an undefined tensor");
  TANDEM_CHECK(preds.device() == target.device(), name(), ": preds is on ", preds.device(), " and target on ",
               target.device(), "; accepted: one device");
  const NoGradGuard guard;
  const std::vector<Tensor> batch = batch_states(preds.detach(), target.detach());
  for (size_t i = 0; i < states_.size(); ++i) append(states_[i], batch.at(i));
  ++num_updates_;
}

Tensor Metric::compute() const { return compute_over(sync_group()); }
Tensor Metric::compute_on_this_rank() const { return compute_over(nullptr); }

Tensor Metric::compute_over(const ProcessGroupPtr& group) const {
  const NoGradGuard guard;
  int64_t num_updates = num_updates_;
  if (group) {
    const Tensor count = full({1}, num_updates, TensorOptions().dtype(kInt64).device(group->device()));
    group->all_reduce(count, distributed::ReduceOp::SUM, name() + ": number of updates")->wait();
    num_updates = count.item<int64_t>();
  }
  if (num_updates == 0) warn("compute() was called before update(); there are no batches");
  std::vector<Tensor> values;
  for (const State& state : states_) values.push_back(group ? value_over_ranks(state, group) : local_value(state));
  return compute_value(values);
}

void Metric::reset() {
  for (State& state : states_) state.values.clear();
  num_updates_ = 0;
}

void Metric::merge(const Metric& other) {
  const NoGradGuard guard;
  TANDEM_CHECK(name() == other.name() && states_.size() == other.states_.size(), name(), ": cannot merge with ",
               other.name(), "; accepted: a metric of the same class and options");
  for (size_t i = 0; i < states_.size(); ++i) {
    const Tensor &mine = states_[i].initial, &others = other.states_[i].initial;
    TANDEM_CHECK(mine.defined() == others.defined() && (!mine.defined() || mine.sizes() == others.sizes()), name(),
                 ": cannot merge with a metric whose state '", states_[i].name, "' is ",
                 others.defined() ? others.sizes() : IntArrayRef(), " and not ",
                 mine.defined() ? mine.sizes() : IntArrayRef(), "; accepted: a metric with the same options");
  }
  std::vector<State> merged = states_;
  for (size_t i = 0; i < merged.size(); ++i)
    for (const Tensor& value : std::vector<Tensor>(other.states_[i].values)) append(merged[i], value);
  states_ = std::move(merged);
  num_updates_ += other.num_updates_;
}

void Metric::save(serialize::OutputArchive& archive) const {
  archive.write("num_updates", IValue(num_updates_));
  for (const State& state : states_)
    if (const Tensor value = local_value(state); value.defined()) archive.write(state.name, value, /*is_buffer=*/true);
}

void Metric::load(serialize::InputArchive& archive) {
  IValue saved_updates;
  archive.read("num_updates", saved_updates);
  const int64_t num_updates = saved_updates.toInt();
  TANDEM_CHECK(num_updates >= 0, archive.name(), ": 'num_updates' of ", name(), " is ", num_updates,
               "; accepted: 0 or more");
  std::vector<State> loaded = states_;
  for (State& state : loaded) {
    Tensor value;
    const bool found = archive.try_read(state.name, value, /*is_buffer=*/true);
    TANDEM_CHECK(found || (num_updates == 0 && !state.initial.defined()), archive.name(), ": the state '", state.name,
                 "' of ", name(), " is missing");
    state.values.clear();
    if (!found) continue;
    TANDEM_CHECK(
        !state.initial.defined() || (value.sizes() == state.initial.sizes() && value.dtype() == state.initial.dtype()),
        archive.name(), ": the state '", state.name, "' of ", name(), " is ", value.sizes(), " of ", value.dtype(),
        "; accepted: ", state.initial.sizes(), " of ", state.initial.dtype());
    state.values.push_back(value);
  }
  states_ = std::move(loaded);
  num_updates_ = num_updates;
}

void Metric::add_state(std::string name, Tensor initial, Reduction reduction) {
  TANDEM_CHECK(initial.defined() || reduction == Reduction::CAT || reduction == Reduction::MERGE, this->name(),
               ": the state '", name, "' has no initial value; accepted without one: Reduction::CAT and MERGE");
  states_.push_back({std::move(name), std::move(initial), reduction, {}});
}

Tensor Metric::merge_states(const Tensor&, const Tensor&) const {
  TANDEM_FAIL(name(), ": a metric that has a state with Reduction::MERGE must override merge_states()");
}

void Metric::warn(const std::string& text) const {
  const ProcessGroupPtr group = sync_group();
  if (!group || group->rank() == 0) std::fprintf(stderr, "tandem: warning: %s: %s\n", name().c_str(), text.c_str());
}

/// Returns the group whose ranks are added up; null if there is only this rank.
ProcessGroupPtr Metric::sync_group() const {
  if (!sync_on_compute_) return nullptr;
  ProcessGroupPtr group = group_;
  if (!group && distributed::is_initialized()) group = distributed::default_group();
  return group && group->size() > 1 ? group : nullptr;
}

/// Returns the state over the batches of this rank.
Tensor Metric::local_value(const State& state) const {
  if (state.values.empty()) return state.initial;
  return state.values.size() == 1 ? state.values[0] : cat(state.values);
}

/// Returns the state over the batches of all ranks, on the device of this rank's state.
Tensor Metric::value_over_ranks(const State& state, const ProcessGroupPtr& group) const {
  const Tensor mine = local_value(state);
  const std::string about = name() + ": state " + state.name;
  if (state.reduction == Reduction::SUM || state.reduction == Reduction::MAX) {
    const Tensor value = mine.to(group->device()).clone();
    group
        ->all_reduce(value, state.reduction == Reduction::SUM ? distributed::ReduceOp::SUM : distributed::ReduceOp::MAX,
                     about)
        ->wait();
    return value.to(mine.device());
  }
  State all{state.name, state.initial, state.reduction, {}};
  for (const Tensor& value : gather_ranks(group, mine, about)) append(all, value);
  const Tensor value = local_value(all);
  return mine.defined() ? value.to(mine.device()) : value;
}

/// Adds the value of further batches to a state. Makes new tensors, because copies of the metric share the old ones.
void Metric::append(State& state, const Tensor& value) const {
  if (state.reduction == Reduction::CAT) {
    for (Tensor& each : state.values) each = each.to(value.device());
    return state.values.push_back(value);
  }
  const Tensor before = local_value(state).defined() ? local_value(state).to(value.device()) : Tensor();
  Tensor combined = value;
  if (before.defined() && state.reduction == Reduction::SUM) combined = before + value;
  if (before.defined() && state.reduction == Reduction::MAX) combined = maximum(before, value);
  if (before.defined() && state.reduction == Reduction::MERGE) combined = merge_states(before, value);
  state.values.assign(1, combined);
}

serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const Metric& metric) {
  metric.save(archive);
  return archive;
}
serialize::InputArchive& operator>>(serialize::InputArchive& archive, Metric& metric) {
  metric.load(archive);
  return archive;
}

}  // namespace tandem::metrics
