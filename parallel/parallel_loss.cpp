#include "tandem/parallel/parallel_loss.h"

#include "tandem/autograd/elementwise.h"
#include "tandem/autograd/factory.h"
#include "tandem/autograd/index.h"
#include "tandem/parallel/broadcast.h"

namespace tandem::nn::parallel::detail {

Tensor counted_weight(const Tensor& output, const Tensor& target, const Tensor& weight, int64_t ignore_index) {
  const NoGradGuard guard;
  const Tensor counts = target != ignore_index;
  if (!weight.defined()) return counts.to(output.dtype()).sum();
  const Tensor safe = where(counts, target, zeros_like(target)).reshape({-1});  // any class, for what counts as nothing
  return (weight.to(output.dtype()).index_select(0, safe) * counts.reshape({-1}).to(output.dtype())).sum();
}

LossOptions shard_options(const LossOptions& options, Device device, bool class_weights) {
  TANDEM_CHECK(options.reduction() != Reduction::none,
               "DataParallel::loss: the loss has Reduction::none; accepted: mean or sum");
  TANDEM_CHECK(class_weights || (!options.weight().defined() && !options.pos_weight().defined()),
               "DataParallel::loss: the loss weighs single elements; accepted: weights of classes, or a function that "
               "returns sum and weight");
  LossOptions out = options;
  out.reduction(Reduction::sum);
  if (out.weight().defined()) out.weight(out.weight().to(device));
  return out;
}

Tensor total_loss(const std::vector<LossPart>& parts, Device device) {
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
