// Losses computed inside the replicas, as a sum and a weight, so that their total is the batch's true mean.
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
/// Returns the sum of the class weights of the targets that are not ignored. Each class weighs 1 if `weight` is
/// undefined.
Tensor counted_weight(const Tensor& output, const Tensor& target, const Tensor& weight, int64_t ignore_index);
/// Returns y, converted from half types to float32, because a sum could overflow them.
Tensor summable(const Tensor& y);
/// Returns a loss module's options for one shard: with Reduction::sum, and class weights on the shard's device.
/// @throws Error for Reduction::none, and for weights of single elements
template <class Options> Options shard_options(Options options, Device device) {
  TANDEM_CHECK(options.reduction() != Reduction::none,
               "DataParallel::loss: the loss has Reduction::none; accepted: mean or sum");
  bool of_elements = false;
  if constexpr (requires { options.pos_weight(); }) of_elements = options.pos_weight().defined();
  if constexpr (requires { options.weight(); }) {
    if constexpr (requires { options.ignore_index(); }) {
      if (options.weight().defined()) options.weight(options.weight().to(device));
    } else {
      of_elements |= options.weight().defined();
    }
  }
  TANDEM_CHECK(!of_elements,
               "DataParallel::loss: the loss weighs single elements; accepted: weights of classes, or a function that "
               "returns sum and weight");
  return options.reduction(Reduction::sum);
}

template <class Impl>
concept LossModule = requires(Impl& loss, const Tensor& x) {
  { loss.options.reduction() } -> std::convertible_to<Reduction>;
  { loss.forward(x, x) } -> std::same_as<Tensor>;
};
template <class Loss, class Output, class Target>
concept LossFunction = std::is_invocable_r_v<LossPart, const Loss&, const Output&, const Target&>;

/// Returns one shard's part of a loss module such as nn::CrossEntropyLoss. Reduction::mean averages over the whole
/// batch.
template <LossModule Impl> LossPart loss_part(const ModuleHolder<Impl>& loss, const Tensor& y, const Tensor& target) {
  const Tensor output = summable(y);
  const auto options = shard_options(loss->options, output.device());
  Impl of_shard(options);
  Tensor sum = tandem::detail::call_module(of_shard, output, target), weight;
  if (loss->options.reduction() == Reduction::mean) {
    if constexpr (requires { options.ignore_index(); })
      weight = counted_weight(output, target, options.weight(), options.ignore_index());
    else
      weight = full({}, static_cast<double>(output.numel()), output.options());
  }
  return {std::move(sum), std::move(weight)};
}
/// Returns one shard's part of a loss given as a function of (output, target) that returns a LossPart.
template <class Output, class Target, LossFunction<Output, Target> Loss>
LossPart loss_part(const Loss& loss, const Output& output, const Target& target) {
  return loss(output, target);
}

/// Returns the loss of the batch: adds the parts of its shards in order, on `device`.
Tensor total_loss(const std::vector<LossPart>& parts, Device device);
}  // namespace detail

}  // namespace tandem::nn::parallel
