#include "tandem/parallel/data_parallel.h"

#include "tandem/core/internal.h"

namespace tandem::nn::parallel::detail {

std::vector<Device> checked_devices(std::vector<Device> devices) {
  TANDEM_CHECK(!devices.empty(), "DataParallel: the list of devices is empty; accepted: one device or more");
  for (const Device device : devices) check_device_exists(device);
  return devices;
}

std::vector<Device> all_devices(const Module& module) {
  const NamedParameters tensors = module.state_dict();
  const DeviceType type = tensors.is_empty() ? kCPU : tensors.front()->device().type();
  std::vector<Device> devices;
  devices.reserve(static_cast<size_t>(device_count(type)));
  for (int i = 0; i < device_count(type); ++i) devices.emplace_back(type, i);
  return devices;
}

std::shared_ptr<Module> clone_to(const Module& module, Device device) {
  Generator scratch;
  const GeneratorGuard guard(scratch);
  return module.clone(device);
}

}  // namespace tandem::nn::parallel::detail
