// Functional form of DataParallel, as in LibTorch. Each call builds new replicas.
#pragma once
#include "tandem/parallel/data_parallel.h"

namespace tandem::nn::parallel {

/// Copies a module to `devices`; the module must be on the first one. Autograd records one node for all copies: in
/// backward, it adds the gradients of their parameters in device order and passes the sums on to the module's
/// parameters.
template <class M>
std::vector<std::shared_ptr<M>> replicate(const std::shared_ptr<M>& module, const std::vector<Device>& devices) {
  std::vector<std::shared_ptr<M>> replicas = detail::make_replicas(*module, detail::validate_devices(devices));
  const detail::HistorySwapGuard none =
      detail::Replicas(*module, detail::to_module_pointers(replicas), devices).update_replicas(devices.size());
  return replicas;
}
template <class M>
std::vector<ModuleHolder<M>> replicate(const ModuleHolder<M>& module, const std::vector<Device>& devices) {
  const std::vector<std::shared_ptr<M>> replicas = replicate(module.ptr(), devices);
  return {replicas.begin(), replicas.end()};
}

/// Calls modules[r] with inputs[r], for all r at the same time, including the modules' hooks.
/// @param devices  device of each module, to which its input is moved. Default: the devices of the inputs
template <class ModuleType>
std::vector<Tensor> parallel_apply(const std::vector<ModuleType>& modules, const std::vector<Tensor>& inputs,
                                   std::optional<std::vector<Device>> devices = {}) {
  if (!devices) {
    devices.emplace();
    for (const Tensor& input : inputs) devices->push_back(input.device());
  }
  TANDEM_CHECK(modules.size() == inputs.size(), "parallel_apply: Must have as many inputs as modules, but got ",
               inputs.size(), " inputs and ", modules.size(), " modules");
  TANDEM_CHECK(modules.size() == devices->size(), "parallel_apply: Must have as many devices as modules, but got ",
               devices->size(), " devices and ", modules.size(), " modules");
  TANDEM_CHECK(!modules.empty(), "parallel_apply: there are no modules; accepted: one or more");
  std::vector<Tensor> local = inputs, outputs(modules.size());
  for (size_t r = 0; r < local.size(); ++r) local[r] = local[r].to((*devices)[r]);
  detail::DeviceThreads(*devices).run_on_devices(
      modules.size(), [&](size_t r) { outputs[r] = tandem::detail::call_module(*modules[r], local[r]); });
  return outputs;
}

/// Returns module(input) on `output_device`, by default the first device. The rows of `input` along `dim` are split
/// over the devices. If you call a module repeatedly, use a DataParallel object, which keeps its replicas and threads.
/// @param devices  by default all devices of the module's device type
template <class H>
auto data_parallel(H&& module, const Tensor& input, const std::optional<std::vector<Device>>& devices = {},
                   std::optional<Device> output_device = {}, int64_t dim = 0) {
  const detail::ModuleRef<detail::ModuleOfT<H>> ref(module);
  DataParallel<detail::ModuleOfT<H>> dp(ref, devices ? *devices : detail::devices_from_ids(*ref.ptr), output_device,
                                        DataParallelOptions().dim(dim));
  return dp(input);
}

}  // namespace tandem::nn::parallel
