// Decides whether a Sequential can compute batch norm, ReLU and max pooling in one pass, and computes that pass.
#include "tandem/nn/containers/layer_fusion.h"

#include "tandem/nn/activation.h"
#include "tandem/nn/batch_norm.h"
#include "tandem/nn/containers/sequential.h"
#include "tandem/nn/pooling.h"
#include "tandem/ops/fusion.h"
#include "tandem/ops/nn/batch_norm.h"
#include "tandem/ops/nn/expanding_array.h"

namespace tandem {

namespace {
/// Returns the module as an M. Returns null if its class is not exactly M, or if it has hooks, because the fused
/// computation runs no hooks.
template <class M> M* cast_if_unhooked(const nn::AnyModule& any) {
  nn::Module& module = *any.ptr();
  return typeid(module) == typeid(M) && !detail::ModuleAccess::find_hooks(module) ? static_cast<M*>(&module) : nullptr;
}
}  // namespace

void nn::set_layer_fusion(bool on) { detail::layer_fusion_enabled = on; }
bool nn::layer_fusion() { return detail::layer_fusion_enabled; }

size_t detail::try_fused_forward(const std::vector<nn::AnyModule>& modules, size_t first, nn::AnyValue& value) {
  if (first + 2 > modules.size() || !layer_fusion_enabled.load(std::memory_order_relaxed)) return 0;
  const Tensor* const x = value.try_get<Tensor>();
  if (!x || !can_norm_relu_pool(*x)) return 0;
  auto* const norm = cast_if_unhooked<nn::BatchNorm2dImpl>(modules[first]);
  if (!norm || norm->stats_reducer || !norm->options.momentum() || !cast_if_unhooked<nn::ReLUImpl>(modules[first + 1]))
    return 0;
  ExpandingArray<2> kernel = 1;
  size_t count = 2;
  if (const auto* const pool =
          first + 2 < modules.size() ? cast_if_unhooked<nn::MaxPool2dImpl>(modules[first + 2]) : nullptr) {
    const nn::MaxPool2dOptions& o = pool->options;
    if (can_norm_relu_pool(*x, o.kernel_size(), o.stride(), o.padding(), o.dilation(), o.ceil_mode()))
      kernel = o.kernel_size(), count = 3;
  }
  std::optional<ModuleSpan> span;
  if (is_any_trace_recording_kernels()) [[unlikely]]
    span.emplace(*norm, *modules[first + count - 1].ptr());
  const bool training = update_num_batches_tracked(*norm, *norm);
  value = nn::AnyValue(norm_relu_pool(*x, norm->weight, norm->bias, norm->running_mean, norm->running_var, training,
                                      *norm->options.momentum(), norm->options.eps(), kernel));
  return count;
}

}  // namespace tandem
