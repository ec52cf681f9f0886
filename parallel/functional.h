// DataParallel as functions: one step at a time, with replicas that are made anew in each call. As LibTorch's.
#pragma once
#include "tandem/parallel/data_parallel.h"

namespace tandem::nn::parallel {

/// Copies of a module on `devices`, the first of which it is on. Their parameters are outputs of one node: the sum of
/// their gradients, in device order, goes to the module's own.
template <class M>
std::vector<std::shared_ptr<M>> replicate(const std::shared_ptr<M>& module, const std::vector<Device>& devices) {
  std::vector<std::shared_ptr<M>> replicas = detail::make_replicas(*module, detail::checked_devices(devices));
  const detail::Lent none = detail::Replicas(*module, detail::as_modules(replicas), devices).refresh(devices.size());
  return replicas;
}
template <class M>
std::vector<ModuleHolder<M>> replicate(const ModuleHolder<M>& module, const std::vector<Device>& devices) {
  const std::vector<std::shared_ptr<M>> replicas = replicate(module.ptr(), devices);
  return {replicas.begin(), replicas.end()};
}

/// Calls modules[r] with inputs[r], for all r at the same time. Hooks run.
/// @param devices  devices of the modules; inputs are moved there. Default: the devices of the inputs
template <class ModuleType>
std::vector<Tensor> parallel_apply(const std::vector<ModuleType>& modules, const std::vector<Tensor>& inputs,
                                   std::optional<std::vector<Device>> devices = {}) {
  if (!devices) {
    devices.emplace();
    for (const Tensor& input : inputs) devices->push_back(input.device());
  }
  TANDEM_CHECK(!modules.empty() && modules.size() == inputs.size() && modules.size() == devices->size(),
               "parallel_apply: ", modules.size(), " modules, ", inputs.size(), " inputs and ", devices->size(),
               " devices; accepted: one input and one device for each module");
  std::vector<Tensor> local = inputs, outputs(modules.size());
  for (size_t r = 0; r < local.size(); ++r) local[r] = local[r].to((*devices)[r]);
  detail::DeviceThreads(*devices).run(
      modules.size(), [&](size_t r) { outputs[r] = tandem::detail::call_module(*modules[r], local[r]); });
  return outputs;
}

/// module(input), the rows of which are shared out along `dim`; the output is on output_device, by default the first.
/// @param devices  all of the module's type unless given
/// For more than one call, a DataParallel object keeps replicas and threads.
template <class H>
auto data_parallel(H&& module, const Tensor& input, const std::optional<std::vector<Device>>& devices = {},
                   std::optional<Device> output_device = {}, int64_t dim = 0) {
  const detail::ModuleRef<detail::ModuleOfT<H>> ref(module);
  DataParallel<detail::ModuleOfT<H>> dp(ref, devices ? *devices : detail::devices_of(*ref.ptr), output_device,
                                        DataParallelOptions().dim(dim));
  return dp(input);
}

}  // namespace tandem::nn::parallel
