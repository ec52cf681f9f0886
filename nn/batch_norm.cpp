// Implements batch norm and instance norm modules: running statistics, checks of sizes, and printing.
#include "tandem/nn/batch_norm.h"

#include "tandem/nn/init.h"
#include "tandem/nn/module/print.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace nn {
template class Cloneable<BatchNorm1dImpl>;
template class Cloneable<BatchNorm2dImpl>;
template class Cloneable<BatchNorm3dImpl>;
template class Cloneable<InstanceNorm1dImpl>;
template class Cloneable<InstanceNorm2dImpl>;
template class Cloneable<InstanceNorm3dImpl>;
}  // namespace nn

void detail::NormTensors::register_norm_tensors(nn::Module& module, const char* name, int64_t n, bool affine,
                                                bool track_running_stats) {
  TANDEM_CHECK(n > 0, name, ": num_features is ", n, "; it must be positive");
  if (affine) {
    weight = module.register_parameter("weight", ones({n}));
    bias = module.register_parameter("bias", zeros({n}));
  }
  if (track_running_stats) {
    running_mean = module.register_buffer("running_mean", zeros({n}));
    running_var = module.register_buffer("running_var", ones({n}));
    num_batches_tracked = module.register_buffer("num_batches_tracked", zeros({}, kInt64));
  }
}
void detail::NormTensors::reset_running_stats() {
  if (!running_mean.defined()) return;
  running_mean.zero_();
  running_var.fill_(1);
  num_batches_tracked.zero_();
}
void detail::NormTensors::reset_parameters() {
  reset_running_stats();
  if (!weight.defined()) return;
  nn::init::ones_(weight);
  nn::init::zeros_(bias);
}

namespace {
template <class Options>
void print_norm_module(std::ostream& out, const std::string& name, const Options& o, const std::string& momentum) {
  using nn::to_python_string;
  out << name << "(" << o.num_features() << ", eps=" << to_python_string(o.eps()) << ", momentum=" << momentum
      << ", affine=" << to_python_string(o.affine()) << ", bias=" << to_python_string(o.affine())
      << ", track_running_stats=" << to_python_string(o.track_running_stats()) << ")";
}
}  // namespace
void detail::print_norm(std::ostream& out, const std::string& name, const nn::BatchNormOptions& o) {
  print_norm_module(out, name, o, o.momentum() ? nn::to_python_string(*o.momentum()) : "None");
}
void detail::print_norm(std::ostream& out, const std::string& name, const nn::InstanceNormOptions& o) {
  print_norm_module(out, name, o, nn::to_python_string(o.momentum()));
}

bool detail::update_num_batches_tracked(const nn::Module& module, NormTensors& t) {
  if (module.is_training() && t.num_batches_tracked.defined()) t.num_batches_tracked.add_(1);
  return module.is_training() || !t.running_mean.defined();
}
Tensor detail::normalize_batch(const nn::Module& module, NormTensors& t, const nn::BatchNormOptions& o, size_t dims,
                               const Tensor& x) {
  const auto most = static_cast<int64_t>(dims) + 2, least = dims == 1 ? 2 : most;
  TANDEM_CHECK(x.dim() >= least && x.dim() <= most, module.name(), ": expected ", least == most ? "" : "2D or ", most,
               "D input (got ", x.dim(), "D input); x is ", x.sizes());
  const bool training = module.is_training() || !t.running_mean.defined();
  if (module.is_training() && t.num_batches_tracked.defined() && !o.momentum() && t.running_mean.defined()) {
    update_num_batches_tracked(module, t);
    // Makes the running statistics the averages over all batches. The number of batches stays on the device, so that a
    // captured Graph reads its current value.
    const Tensor mean = zeros_like(t.running_mean), var = zeros_like(t.running_var);
    const Tensor y = batch_norm(x, t.weight, t.bias, mean, var, training, /*momentum=*/1, o.eps(), t.stats_reducer);
    const Tensor share = t.num_batches_tracked.to(kFloat64).reciprocal();
    t.running_mean.mul_(1 - share).add_(mean * share);
    t.running_var.mul_(1 - share).add_(var * share);
    return y;
  }
  return batch_norm(x, t.weight, t.bias, t.running_mean, t.running_var, training, o.momentum().value_or(0), o.eps(),
                    module.is_training() ? t.stats_reducer : nullptr,
                    module.is_training() ? t.num_batches_tracked : Tensor());
}
Tensor detail::normalize_instances(const nn::Module& module, const NormTensors& t, const nn::InstanceNormOptions& o,
                                   size_t dims, const Tensor& x) {
  const auto single = static_cast<int64_t>(dims) + 1;
  const bool batched = x.dim() == single + 1;
  TANDEM_CHECK(batched || x.dim() == single, module.name(), ": expected ", single, "D or ", single + 1, "D input (got ",
               x.dim(), "D input); x is ", x.sizes());
  const bool any = t.weight.defined() || t.running_mean.defined();  // whether any tensor in t has num_features elements
  TANDEM_CHECK(!any || x.size(batched ? 1 : 0) == o.num_features(), module.name(),
               ": expected input's size at dim=", batched ? 1 : 0, " to match num_features (", o.num_features(),
               "), but got: ", x.size(batched ? 1 : 0), ". x is ", x.sizes());
  const Tensor y = instance_norm(batched ? x : x.unsqueeze(0), t.weight, t.bias, t.running_mean, t.running_var,
                                 module.is_training() || !t.running_mean.defined(), o.momentum(), o.eps());
  return batched ? y : y.squeeze(0);
}

}  // namespace tandem
