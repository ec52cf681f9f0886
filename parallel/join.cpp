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
    : modules_(std::move(modules)), options_(options), uncaught_exceptions_(std::uncaught_exceptions()) {
  TANDEM_CHECK(!modules_.empty(), "Join: The join context manager requires at least one joinable, as in Join({&ddp})");
  for (const auto* module : modules_) {
    TANDEM_CHECK(module->group_ == modules_[0]->group_,
                 "Join: Using join context manager with multiple process groups is not supported; accepted: modules of "
                 "one group");
    TANDEM_CHECK(!module->join_, "Join: ", module->ddp_name_,
                 " is already in a Join, and can only be in one at a time");
  }
  if (!options_.enable()) modules_.clear();
  for (auto* module : modules_) module->join_ = this;
}
Join::~Join() {
  try {
    if (std::uncaught_exceptions() == uncaught_exceptions_) finish();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "Join: %s\n", error.what());
  }
  detach_modules();
}
void Join::detach_modules() {
  for (auto* module : modules_) {
    module->join_ = nullptr;
    module->buffer_source_rank_ = 0;
    module->reducer_->set_divisor(module->group_->size());
  }
  modules_.clear();
}

Join::RankStatus Join::exchange_status(DistributedDataParallelBase& module, bool active, bool synchronizes) {
  const distributed::ProcessGroup& group = *module.group_;
  const TensorOptions options = TensorOptions(kInt64).device(group.device());
  const Tensor mine = tensor(std::vector<int64_t>{active, synchronizes, module.buffers_may_differ_}, kInt64);
  Tensor all = empty({group.size(), 3}, options);
  module.group_
      ->all_gather_into_tensor(all, mine.view({1, 3}).to(group.device()),
                               module.ddp_name_ + ": which ranks continue in a Join")
      ->synchronize();
  all = all.cpu();
  const int64_t* row = all.data_ptr<int64_t>();
  RankStatus status{{}, false, false};
  for (int r = 0; r < group.size(); ++r, row += 3) {
    if (!row[0]) continue;
    if (status.active_ranks.empty()) status.synchronizes = row[1], status.must_broadcast_buffers = row[2];
    status.active_ranks.push_back(r);
  }
  const size_t going = status.active_ranks.size();
  if (going > 0) last_active_ranks_ = status.active_ranks;
  if (going == 0 || going == static_cast<size_t>(group.size())) return status;
  if (options_.throw_on_early_termination()) {
    detach_modules();
    std::string exhausted_ranks;
    for (int r = 0; r < group.size(); ++r)
      if (!std::count(last_active_ranks_.begin(), last_active_ranks_.end(), r))
        exhausted_ranks.append(exhausted_ranks.empty() ? "" : ", ").append(std::to_string(r));
    TANDEM_CHECK(
        false,
        "Join: Detected at least one rank that exhausted inputs. Throwing across all ranks. No batches left on rank ",
        exhausted_ranks, "; give all ranks the same number, or do not pass throw_on_early_termination(true)");
  }
  if (!options_.divide_by_initial_world_size()) module.reducer_->set_divisor(static_cast<int>(going));
  return status;
}
int Join::notify_join_context(DistributedDataParallelBase& module, bool synchronizes) {
  const PhaseSpan phase("exposed communication");
  const RankStatus status = exchange_status(module, /*active=*/true, synchronizes);
  return std::exchange(module.buffer_source_rank_, status.active_ranks[0]);
}

void Join::shadow_step(DistributedDataParallelBase& module, const RankStatus& status) {
  module.buffers_may_differ_ = status.must_broadcast_buffers;
  module.sync_buffers(std::exchange(module.buffer_source_rank_, status.active_ranks[0]));
  module.buffers_may_differ_ = status.synchronizes;
  if (status.synchronizes) module.reducer_->shadow_backward();
}
void Join::finish() {
  try {
    shadow_until_all_join();
  } catch (...) {
    detach_modules();
    throw;
  }
  detach_modules();
}
void Join::shadow_until_all_join() {
  if (modules_.empty()) return;
  for (;;)
    for (auto* module : modules_) {
      const RankStatus status = exchange_status(*module, /*active=*/false, /*synchronizes=*/false);
      if (status.active_ranks.empty()) return sync_final_model();
      shadow_step(*module, status);
    }
}
void Join::sync_final_model() {
  if (last_active_ranks_.empty()) return;
  for (const auto* module : modules_)
    module->broadcast_tensors(module->module_states(), "the model of rank " + std::to_string(last_active_ranks_[0]),
                              last_active_ranks_[0]);
}

}  // namespace tandem::nn::parallel
