// Losses that the replicas of DataParallel compute as a sum and a weight, so that the total is the true mean over the
// batch.
#pragma once
#include <concepts>
#include <utility>

#include "tandem/nn/loss.h"
#include "tandem/ops/factory/zeros_ones_full.h"

namespace tandem::nn::parallel {

/// Contribution of a shard to a loss: the sum over its elements, and its weight, which is the number of elements or the
/// sum of their class weights. The loss of the batch is (sum of the sums) / (sum of the weights). If the weight is
/// undefined, the loss is the sum of the sums.
using LossPart = std::pair<Tensor, Tensor>;

namespace detail {
/// Returns the sum of the class weights of all targets that are not ignored. If `weight` is undefined, each class has
/// weight 1.
Tensor total_target_weight(const Tensor& output, const Tensor& target, const Tensor& weight, int64_t ignore_index);
/// Returns y. If it has a half type, converts it to float32, because a sum could overflow the half type.
Tensor upcast_for_sum(const Tensor& y);
/// Returns a loss module's reduction. KLDivLoss's batchmean counts as mean, but over the rows (is_batch_mean).
inline Reduction plain_reduction(Reduction reduction) { return reduction; }
inline Reduction plain_reduction(const KLDivLossOptions::reduction_t& reduction) {
  const Reduction* const plain = std::get_if<Reduction>(&reduction);
  return plain ? *plain : Reduction::mean;
}
template <class Options> bool is_batch_mean(const Options& options) {
  if constexpr (std::is_same_v<Options, KLDivLossOptions>)
    return std::holds_alternative<BatchMean>(options.reduction());
  else
    return false;
}
/// Returns a loss module's options for one shard: Reduction::sum, and class weights on the shard's device.
/// @throws Error for Reduction::none, and for weights that are per element instead of per class
template <class Options> Options shard_options(Options options, Device device) {
  TANDEM_CHECK(plain_reduction(options.reduction()) != Reduction::none,
               "DataParallel::loss: the loss has Reduction::none; accepted: mean or sum");
  bool is_per_element = false;
  if constexpr (requires { options.pos_weight(); }) is_per_element = options.pos_weight().defined();
  if constexpr (requires { options.weight(); }) {
    if constexpr (requires { options.ignore_index(); }) {
      if (options.weight().defined()) options.weight(options.weight().to(device));
    } else {
      is_per_element |= options.weight().defined();
    }
  }
  TANDEM_CHECK(
      !is_per_element,
      "DataParallel::loss: the loss has a weight for each element; accepted: class weights, or a function that "
      "returns the sum and the weight");
  return options.reduction(Reduction::sum);
}

template <class Impl>
concept LossModule = requires(Impl& loss, const Tensor& x) {
  { plain_reduction(loss.options.reduction()) } -> std::same_as<Reduction>;
  { loss.forward(x, x) } -> std::same_as<Tensor>;
};
template <class Loss, class Output, class Target>
concept LossFunction = std::is_invocable_r_v<LossPart, const Loss&, const Output&, const Target&>;

/// Whether a loss module has one loss for each row of scores; other losses of two inputs have one for each element, but
/// KLDivLoss's batchmean divides by the rows.
template <class Impl> constexpr bool has_loss_per_row() {
  return std::is_same_v<Impl, MultiMarginLossImpl> || std::is_same_v<Impl, MultiLabelMarginLossImpl> ||
         std::is_same_v<Impl, MultiLabelSoftMarginLossImpl>;
}
/// Returns the LossPart of one shard for a loss module such as nn::CrossEntropyLoss. Reduction::mean averages over the
/// whole batch, not over the shard.
template <LossModule Impl> LossPart loss_part(const ModuleHolder<Impl>& loss, const Tensor& y, const Tensor& target) {
  const Tensor output = upcast_for_sum(y);
  const auto options = shard_options(loss->options, output.device());
  Impl shard_loss(options);
  Tensor sum = tandem::detail::call_module(shard_loss, output, target), weight;
  if (plain_reduction(loss->options.reduction()) == Reduction::mean) {
    if constexpr (requires { options.ignore_index(); })
      weight = total_target_weight(output, target, options.weight(), options.ignore_index());
    else if (is_batch_mean(loss->options))
      weight = full({}, static_cast<double>(output.size(0)), output.options());
    else if constexpr (has_loss_per_row<Impl>())
      weight = full({}, output.dim() == 2 ? static_cast<double>(output.size(0)) : 1.0, output.options());
    else
      weight = full({}, static_cast<double>(output.numel()), output.options());
  }
  return {std::move(sum), std::move(weight)};
}
/// Returns the LossPart of one shard for a loss that is a function of (output, target) and returns a LossPart.
template <class Output, class Target, LossFunction<Output, Target> Loss>
LossPart loss_part(const Loss& loss, const Output& output, const Target& target) {
  return loss(output, target);
}

/// Returns the loss of the batch: adds the LossPart of each shard, in the order of the shards, on `device`.
Tensor total_loss(const std::vector<LossPart>& parts, Device device);
}  // namespace detail

}  // namespace tandem::nn::parallel
