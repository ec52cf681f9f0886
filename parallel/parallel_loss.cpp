// Computes a loss as (sum, weight) for each shard of the batch, and adds the results of the shards.
#include "tandem/parallel/parallel_loss.h"

#include "tandem/core/trace/tracer.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/elementwise/where.h"
#include "tandem/parallel/broadcast.h"

namespace tandem::nn::parallel::detail {

Tensor total_target_weight(const Tensor& output, const Tensor& target, const Tensor& weight, int64_t ignore_index) {
  const NoGradGuard guard;
  const Tensor is_counted = target != ignore_index;
  if (!weight.defined()) return is_counted.to(output.dtype()).sum();
  // Targets that are ignored get class 0 here, and `is_counted` then multiplies the weight of that class by 0.
  const Tensor safe = where(is_counted, target, zeros_like(target)).reshape({-1});
  return (weight.to(output.dtype()).index_select(0, safe) * is_counted.reshape({-1}).to(output.dtype())).sum();
}

Tensor upcast_for_sum(const Tensor& y) { return y.to(accumulate_type(y.dtype())); }

Tensor total_loss(const std::vector<LossPart>& parts, Device device) {
  const PhaseSpan phase("gather");
  std::vector<std::vector<Tensor>> lists;
  lists.reserve(parts.size());
  for (const auto& [sum, weight] : parts) {
    TANDEM_CHECK(sum.defined() && sum.numel() == 1 && (!weight.defined() || weight.numel() == 1),
                 "DataParallel::loss: replica ", lists.size(), " returned a sum of ",
                 sum.defined() ? sum.sizes() : IntArrayRef(), " and a weight of ",
                 weight.defined() ? weight.sizes() : IntArrayRef(), "; accepted: one number each");
    lists.push_back({sum.reshape({}), weight.defined() ? weight.to(sum.device(), sum.dtype()).reshape({}) : Tensor()});
  }
  const std::vector<Tensor> totals = reduce_add_coalesced(lists, device);
  return totals[1].defined() ? totals[0] / totals[1] : totals[0];
}

}  // namespace tandem::nn::parallel::detail
