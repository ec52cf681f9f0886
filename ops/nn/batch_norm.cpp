// Batch normalization and its gradient: batch_norm, native_batch_norm; norm_relu_pool, which fuses it with relu and a
// max pool.
#include "tandem/ops/nn/batch_norm.h"

#include "tandem/core/trace/op_span.h"
#include "tandem/kernels/norm.h"
#include "tandem/ops/fusion.h"
#include "tandem/ops/nn/activation.h"
#include "tandem/ops/nn/max_pool.h"
#include "tandem/ops/nn/norm_helpers.h"

namespace tandem {

TANDEM_CAST_POLICY(none, batch_norm, native_batch_norm);

namespace {
/// Returns x in the form that batch norm's kernels take: (N, C, L), or (pixels, C, 1) if channels-last.
Tensor to_batch_norm_layout(const Tensor& x, bool channels_last) {
  const NoGradGuard guard;
  const int64_t channels = x.size(1);
  if (!channels_last) {
    const int64_t length = numel_of(x.sizes().slice(2, x.sizes().size() - 2));
    return core::try_view(x.contiguous(), {x.size(0), channels, x.numel() ? length : 0});
  }
  const Tensor pixels = core::permute(x.contiguous(MemoryFormat::ChannelsLast), {0, 2, 3, 1});
  return core::try_view(pixels, {x.numel() / channels, channels, 1});
}
Tensor empty_like_in_layout(const Tensor& x, bool channels_last) {
  return core::empty_like(x, x.dtype(), x.device(),
                          channels_last ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous);
}

void check_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                      const Tensor& running_var, bool training) {
  check_floating_point("batch_norm", input);
  TANDEM_CHECK(input.dim() >= 2, "batch_norm: x is ", input.sizes(), "; accepted: (N, C, ...)");
  const int64_t channels = input.size(1);
  TANDEM_CHECK(channels > 0 || !(weight.defined() || bias.defined()), "batch_norm: x is ", input.sizes(),
               "; with a weight or a bias, it must have one channel or more");
  check_parameter("batch_norm", "weight", weight, channels, input);
  check_parameter("batch_norm", "bias", bias, channels, input);
  check_parameter("batch_norm", "running_mean", running_mean, channels, input);
  check_parameter("batch_norm", "running_var", running_var, channels, input);
  TANDEM_CHECK(training || (running_mean.defined() && running_var.defined()),
               "batch_norm: ", running_mean.defined() ? "running_var" : "running_mean",
               " must be defined in evaluation mode");
}
/// Returns whether a kernel can update running statistics from batch statistics of `dtype`.
bool can_update_in_kernel(const Tensor& running, DType dtype) {
  return running.defined() && running.dtype() == dtype && running.is_contiguous();
}
/// Sets running = (1 - momentum) * running + part * batch. `part` is the factor of the batch statistics.
void update_running_stats(const Tensor& running, const Tensor& batch, double momentum, double part) {
  const NoGradGuard guard;
  // Running statistics of a half type are updated in the dtype of `batch`, and rounded once, at the end.
  const Tensor wide = is_reduced_floating_point(running.dtype()) ? running.to(batch.dtype()) : running;
  wide.mul_(1 - momentum).add_(batch.to(wide.dtype()), part);
  if (!wide.is_same(running)) running.copy_(wide);
}
/// Statistics that normalize the channels. num_values: number of values per channel in the whole batch, which may be
/// distributed over ranks.
struct BatchStatistics {
  Tensor mean, rstd;
  int64_t num_values;
};
/// In training, returns the statistics of x, and updates the running statistics. In evaluation, returns the running
/// statistics.
/// @param x  the input in the form that kernels take
BatchStatistics compute_statistics(const Tensor& input, const Tensor& x, const Tensor& running_mean,
                                   const Tensor& running_var, const Tensor& num_batches_tracked, bool training,
                                   double momentum, double eps, const detail::BatchStatsReducer* stats_reducer) {
  const int64_t channels = input.size(1);
  const DType statistic = accumulate_type(input.dtype());
  int64_t count = channels ? x.numel() / channels : 0;
  if (!training) {
    const NoGradGuard guard;
    return {running_mean.to(statistic).clone(), (running_var.to(statistic) + eps).rsqrt(), count};
  }
  Tensor mean = core::empty({channels}, statistic, x.device()), rstd = core::empty({channels}, statistic, x.device()),
         var = core::empty({channels}, statistic, x.device());
  const auto check_count = [&](int64_t values) {
    TANDEM_CHECK(values != 1, "batch_norm: Expected more than 1 value per channel when training, got input size ",
                 input.sizes());
  };
  // Checks the number of values per channel, even if there are no channels. (With a stats_reducer, the values of all
  // ranks count.)
  if (!stats_reducer) check_count(input.size(0) * numel_of(input.sizes().slice(2, input.sizes().size() - 2)));
  const bool update_fused = count > 0 && !stats_reducer && x.is_cuda() &&
                            can_update_in_kernel(running_mean, statistic) &&
                            can_update_in_kernel(running_var, statistic) &&
                            (!num_batches_tracked.defined() ||
                             (num_batches_tracked.dtype() == kInt64 && num_batches_tracked.device() == x.device()));
  if (num_batches_tracked.defined() && !update_fused) num_batches_tracked.add_(1);
  if (count == 0) {  // without values, any finite statistics will do; zeros make the gradient of weight zero
    mean.zero_();
    rstd.zero_();
    var.zero_();
  } else if (update_fused) {
    // updates the running statistics in the launch that computes the batch statistics: a second launch would take as
    // long
    Tensor updated_mean = running_mean, updated_var = running_var, updated_batches = num_batches_tracked;
    updated_mean.bump_version();
    updated_var.bump_version();
    if (updated_batches.defined()) updated_batches.bump_version();
    TANDEM_DISPATCH_CUDA(x.device(), batch_norm_update_stats, x, eps, momentum, updated_mean, updated_var,
                         updated_batches, mean, var, rstd);
    return {mean, rstd, count};
  } else {
    TANDEM_DISPATCH(x.device(), batch_norm_stats, x, eps, mean, var, rstd);
  }
  if (stats_reducer) {
    count = stats_reducer->combine_stats(mean, var, count);
    rstd = (var + eps).rsqrt();
    check_count(count);
  }
  if (running_mean.defined() && count > 0) {
    update_running_stats(running_mean, mean, momentum, momentum);
    update_running_stats(running_var, var, momentum,
                         momentum * static_cast<double>(count) / static_cast<double>(count - 1));
  }
  return {mean, rstd, count};
}
}  // namespace

Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                  const Tensor& running_var, Flag training, double momentum, double eps) {
  return detail::batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps, nullptr);
}
Tensor detail::batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                          const Tensor& running_var, Flag training, double momentum, double eps,
                          const std::shared_ptr<const BatchStatsReducer>& given_stats_reducer,
                          const Tensor& num_batches_tracked) {
  const AutocastOffGuard uncast;
  check_batch_norm(input, weight, bias, running_mean, running_var, training);
  const OpSpan span("batch_norm");
  const std::shared_ptr<const BatchStatsReducer> stats_reducer =
      training && given_stats_reducer && !given_stats_reducer->is_single_rank() ? given_stats_reducer : nullptr;
  const bool last = !input.is_contiguous() && input.suggest_memory_format() == MemoryFormat::ChannelsLast;
  const Tensor x = to_batch_norm_layout(input, last), w = prepare_parameter(weight, x.dtype()),
               b = prepare_parameter(bias, x.dtype());
  Tensor y = empty_like_in_layout(input, last), y_rows = to_batch_norm_layout(y, last);
  // Evaluation without gradients saves nothing for backward, so one fused launch suffices.
  if (!training && x.is_cuda() && !autograd::any_requires_grad({input, weight, bias})) {
    const Tensor mean = prepare_parameter(running_mean, x.dtype()), var = prepare_parameter(running_var, x.dtype());
    TANDEM_DISPATCH_CUDA(x.device(), batch_norm_evaluate, x, mean, var, eps, w, b, y_rows);
    return y;
  }
  const BatchStatistics statistics = compute_statistics(input, x, running_mean, running_var, num_batches_tracked,
                                                        training, momentum, eps, stats_reducer.get());
  TANDEM_DISPATCH(x.device(), batch_norm_apply, x, statistics.mean, statistics.rstd, w, b, y_rows);
  const auto backward = [training, eps, last, stats_reducer, count = statistics.num_values](const BackwardContext& ctx,
                                                                                            const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0), mean = ctx.saved(1), rstd = ctx.saved(2), weight = ctx.saved(3);
    if (is_grad_enabled()) {  // second derivatives are required: computes the same formula with public operations
      TANDEM_CHECK_AS(NotImplementedError, !stats_reducer,
                      "SyncBatchNorm: second derivatives over several ranks are not implemented; call backward without "
                      "create_graph");
      Shape others{0}, along(static_cast<size_t>(x.dim()), 1);
      for (int64_t d = 2; d < x.dim(); ++d) others.push_back(d);
      along[1] = -1;
      const Tensor m = training ? x.mean(others, true) : mean.to(x.dtype()).view(along);
      const Tensor r = training ? compute_rstd(x, m, others, eps) : rstd.to(x.dtype()).view(along);
      const Tensor xhat = (x - m) * r;
      // Brings dy into the layout of x, so that dx has the strides that the kernel would give it.
      const Tensor even = dy.contiguous(x.suggest_memory_format());
      const Tensor g = weight.defined() ? even * weight.to(x.dtype()).reshape(along) : even;
      Tensor dx = g;
      if (training) dx = g - g.mean(others, true) - xhat * (g * xhat).mean(others, true);
      const Tensor dw = weight.defined() ? (dy * xhat).sum(others) : Tensor();
      return {ctx.attach_zero_derivative({0, 1}, dx * r), ctx.attach_zero_derivative({0, 1}, dw),
              ctx.attach_zero_derivative({0, 1}, dy.sum(others))};
    }
    Tensor sum_dy = core::empty(mean.sizes(), mean.dtype(), x.device()),
           sum_xhat = core::empty(mean.sizes(), mean.dtype(), x.device());
    Tensor dx = empty_like_in_layout(x, last), dx_rows = to_batch_norm_layout(dx, last);
    const Tensor g = to_batch_norm_layout(dy, last), from = to_batch_norm_layout(x, last),
                 w = prepare_parameter(weight, x.dtype());
    TANDEM_DISPATCH(x.device(), batch_norm_backward, g, from, mean, rstd, w, training && !stats_reducer, sum_dy,
                    sum_xhat, dx_rows);
    // If the batch is distributed over ranks, dx lacks the derivative through the joint statistics: -(sum_dy + xhat
    // sum_xhat) / count rstd weight.
    if (stats_reducer) {
      const Tensor sums = stack({sum_dy, sum_xhat}), rest = empty_like_in_layout(x, last);
      stats_reducer->all_reduce_sums(sums);
      Tensor scale = rstd * (-1.0 / static_cast<double>(std::max<int64_t>(count, 1))),
             rest_rows = to_batch_norm_layout(rest, last);
      if (w.defined()) scale.mul_(w);
      TANDEM_DISPATCH(x.device(), batch_norm_apply, from, mean, rstd, sums[1] * scale, sums[0] * scale, rest_rows);
      dx.add_(rest);
    }
    return {dx, sum_xhat, sum_dy};
  };
  return record_op("batch_norm", y, {input, weight, bias}, {input, statistics.mean, statistics.rstd, weight}, backward);
}
std::tuple<Tensor, Tensor, Tensor> native_batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                                     const Tensor& running_mean, const Tensor& running_var,
                                                     Flag training, double momentum, double eps) {
  const AutocastOffGuard uncast;
  const Tensor y = batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps);
  if (!training) return {y, x.new_empty({0}), x.new_empty({0})};
  Shape dims;
  for (int64_t d = 0; d < x.dim(); ++d)
    if (d != 1) dims.push_back(d);
  const auto [mean, inverse] = compute_mean_and_rstd(x, weight, dims, eps, /*keepdim=*/false);
  return {y, mean, inverse};
}

bool detail::can_norm_relu_pool(const Tensor& x) { return kernels::has_norm_relu_pool(x); }
bool detail::can_norm_relu_pool(const Tensor& x, Pair kernel, Pair stride, Pair padding, Pair dilation,
                                bool ceil_mode) {
  const auto tiles_dimension = [&](size_t d) {
    return kernel[d] == stride[d] && padding[d] == 0 && dilation[d] == 1 && kernel[d] > 0 &&
           x.size(static_cast<int64_t>(d) + 2) >= kernel[d] &&
           (!ceil_mode || x.size(static_cast<int64_t>(d) + 2) % kernel[d] == 0);
  };
  return tiles_dimension(0) && tiles_dimension(1) && kernel[0] * kernel[1] <= 250;
}
Tensor detail::norm_relu_pool(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                              const Tensor& running_var, Flag training, double momentum, double eps, Pair kernel) {
  const AutocastOffGuard uncast;
  check_batch_norm(input, weight, bias, running_mean, running_var, training);
  const OpSpan span("batch_norm_relu_max_pool2d");
  const int64_t kh = kernel[0], kw = kernel[1];
  const auto images = [](const Tensor& t) {
    const NoGradGuard guard;
    return core::alias(t.contiguous(MemoryFormat::ChannelsLast));
  };
  const Tensor x = images(input), w = prepare_parameter(weight, x.dtype()), b = prepare_parameter(bias, x.dtype());
  const BatchStatistics statistics = compute_statistics(input, to_batch_norm_layout(input, true), running_mean,
                                                        running_var, {}, training, momentum, eps, nullptr);
  const Shape sizes{x.size(0), x.size(1), x.size(2) / kh, x.size(3) / kw};
  const auto make = [&](DType dtype) {
    return core::empty_dense(sizes, core::strides_of("max_pool2d", sizes, MemoryFormat::ChannelsLast), dtype,
                             x.device());
  };
  Tensor y = make(x.dtype()), argmax = make(kUInt8);
  TANDEM_DISPATCH(x.device(), norm_relu_pool, x, statistics.mean, statistics.rstd, w, b, kh, kw, y, argmax);
  const auto backward = [=, training = bool(training)](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0), mean = ctx.saved(1), rstd = ctx.saved(2), weight = ctx.saved(3), bias = ctx.saved(4),
                 argmax = ctx.saved(5);
    if (is_grad_enabled()) {  // second derivatives are required: recomputes with batch_norm, relu and max_pool2d
      const Tensor variance = training ? Tensor() : rstd.pow(-2) - eps, center = training ? Tensor() : mean;
      return compute_composed_gradients(
          [&](const std::vector<Tensor>& in) {
            return max_pool2d(
                relu(tandem::batch_norm(in[0], in[1], in[2], center, variance, training, /*momentum=*/0, eps)), kernel);
          },
          {x, weight, bias}, dy);
    }
    Tensor sum_dy = core::empty(mean.sizes(), mean.dtype(), x.device()),
           sum_xhat = core::empty(mean.sizes(), mean.dtype(), x.device());
    Tensor dx = empty_like_in_layout(x, true);
    const Tensor g = images(dy), from = images(x), w = prepare_parameter(weight, x.dtype());
    TANDEM_DISPATCH(x.device(), norm_relu_pool_backward, g, argmax, from, mean, rstd, w, training, kh, kw, sum_dy,
                    sum_xhat, dx);
    return {dx, sum_xhat, sum_dy};
  };
  return record_op(kh * kw == 1 ? "batch_norm_relu" : "batch_norm_relu_max_pool2d", y, {input, weight, bias},
                   {input, statistics.mean, statistics.rstd, weight, bias, argmax}, backward);
}

}  // namespace tandem
