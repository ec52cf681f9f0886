// Implements Join: ranks without batches take part in the collectives of the other ranks until no rank has a batch.
#include "tandem/parallel/join.h"

#include <algorithm>
#include <cstdio>
#include <exception>

#include "tandem/core/trace/tracer.h"
#include "tandem/ops/factory/empty.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/parallel/reducer.h"

namespace tandem::nn::parallel {

Join::Join(std::vector<DistributedDataParallelBase*> modules, const JoinOptions& options)
    : modules_(std::move(modules)), options_(options), exceptions_(std::uncaught_exceptions()) {
  TANDEM_CHECK(!modules_.empty(), "Join: The join context manager requires at least one joinable, as in Join({&ddp})");
  for (const auto* module : modules_) {
    TANDEM_CHECK(module->group_ == modules_[0]->group_,
                 "Join: Using join context manager with multiple process groups is not supported");
    TANDEM_CHECK(!module->join_, "Join: ", module->number_, " is already in a Join, and can only be in one at a time");
  }
  if (!options_.enable()) modules_.clear();
  for (auto* module : modules_) module->join_ = this;
}
Join::~Join() {
  try {
    if (std::uncaught_exceptions() == exceptions_) finish();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "Join: %s\n", error.what());
  }
  leave();
}
void Join::leave() {
  for (auto* module : modules_) {
    module->join_ = nullptr;
    module->buffers_from_ = 0;
    module->reducer_->divide_by(module->group_->size());
  }
  modules_.clear();
}

Join::Told Join::tell(DistributedDataParallelBase& module, bool going_on, bool synchronizes) {
  const distributed::ProcessGroup& group = *module.group_;
  const TensorOptions options = TensorOptions(kInt64).device(group.device());
  const Tensor mine = tensor(std::vector<int64_t>{going_on, synchronizes, module.buffers_may_differ_}, kInt64);
  Tensor all = empty({group.size(), 3}, options);
  module.group_
      ->all_gather_into_tensor(all, mine.view({1, 3}).to(group.device()),
                               module.number_ + ": which ranks continue in a Join")
      ->synchronize();
  all = all.cpu();
  const int64_t* row = all.data_ptr<int64_t>();
  Told told{{}, false, false};
  for (int r = 0; r < group.size(); ++r, row += 3) {
    if (!row[0]) continue;
    if (told.going_on.empty()) told.synchronizes = row[1], told.has_buffers = row[2];
    told.going_on.push_back(r);
  }
  const size_t going = told.going_on.size();
  if (going > 0) last_ = told.going_on;
  if (going == 0 || going == static_cast<size_t>(group.size())) return told;
  if (options_.throw_on_early_termination()) {
    leave();
    std::string out_of;
    for (int r = 0; r < group.size(); ++r)
      if (!std::count(last_.begin(), last_.end(), r))
        out_of.append(out_of.empty() ? "" : ", ").append(std::to_string(r));
    TANDEM_CHECK(
        false,
        "Join: Detected at least one rank that exhausted inputs. Throwing across all ranks. No batches left on rank ",
        out_of, "; give all ranks the same number, or do not pass throw_on_early_termination(true)");
  }
  if (!options_.divide_by_initial_world_size()) module.reducer_->divide_by(static_cast<int>(going));
  return told;
}
int Join::tell_others(DistributedDataParallelBase& module, bool synchronizes) {
  const PhaseSpan phase("exposed communication");
  const Told told = tell(module, /*going_on=*/true, synchronizes);
  return std::exchange(module.buffers_from_, told.going_on[0]);
}

void Join::shadow(DistributedDataParallelBase& module, const Told& told) {
  module.buffers_may_differ_ = told.has_buffers;
  module.send_buffers(std::exchange(module.buffers_from_, told.going_on[0]));
  module.buffers_may_differ_ = told.synchronizes;
  if (told.synchronizes) module.reducer_->shadow_backward();
}
void Join::finish() {
  try {
    shadow_all();
  } catch (...) {
    leave();
    throw;
  }
  leave();
}
void Join::shadow_all() {
  if (modules_.empty()) return;
  for (;;)
    for (auto* module : modules_) {
      const Told told = tell(*module, /*going_on=*/false, /*synchronizes=*/false);
      if (told.going_on.empty()) return take_last_model();
      shadow(*module, told);
    }
}
void Join::take_last_model() {
  if (last_.empty()) return;
  for (const auto* module : modules_)
    module->broadcast(module->model(), "the model of rank " + std::to_string(last_[0]), last_[0]);
}

}  // namespace tandem::nn::parallel
