// Instance normalization: instance_norm.
#include "tandem/ops/nn/instance_norm.h"

#include "tandem/ops/nn/batch_norm.h"
#include "tandem/ops/nn/norm_helpers.h"

namespace tandem {

TANDEM_CAST_POLICY(none, instance_norm);

Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                     const Tensor& running_var, Flag use_input_stats, double momentum, double eps) {
  check_channel_params("instance_norm", x, weight, bias);
  TANDEM_CHECK(use_input_stats || (running_mean.defined() && running_var.defined()),
               "instance_norm: Expected running_mean and running_var to be defined when use_input_stats is false");
  const int64_t samples = x.size(0), channels = x.size(1);
  TANDEM_CHECK(samples * channels > 0 || !(weight.defined() || bias.defined()), "instance_norm: x is ", x.sizes(),
               "; with a weight or a bias, it must have samples and channels");
  const auto each = [&](const Tensor& part) { return part.defined() ? part.reshape({-1}).repeat({samples}) : part; };
  Shape sizes = x.sizes();
  sizes[0] = 1;
  sizes[1] = samples * channels;
  const Tensor mean = each(running_mean), var = each(running_var);
  // True if each channel of each sample has one value, which is its own mean.
  const bool single = use_input_stats && x.numel() > 0 && x.numel() == samples * channels;
  const Tensor rows = x.reshape(sizes),
               y = single ? batch_norm(rows.sub(rows), each(weight), each(bias), zeros({sizes[1]}, x.options()),
                                       ones({sizes[1]}, x.options()), false, momentum, eps)
                          : batch_norm(rows, each(weight), each(bias), mean, var, use_input_stats, momentum, eps);
  if (single && mean.defined()) mean.mul_(1 - momentum).add_(rows.detach().reshape({-1}).to(mean.dtype()), momentum);
  if (use_input_stats) {
    const NoGradGuard guard;
    for (const auto& [running, updated] : {std::pair(running_mean, mean), std::pair(running_var, var)})
      if (running.defined()) Tensor(running).copy_(updated.view({samples, channels}).mean({0}));
  }
  return reshape_result(y, x.sizes());
}

}  // namespace tandem
