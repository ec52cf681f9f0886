// Implements the parts of DataParallel that are not templates: chooses the devices, and checks modules and options.
#include "tandem/parallel/data_parallel.h"

#include <cstdio>

#include "tandem/core/cuda/cuda.h"
#include "tandem/core/internal.h"

namespace tandem::nn::parallel {
TANDEM_ARG_SETTER(DataParallelOptions, std::vector<std::optional<int64_t>>, input_dims);
TANDEM_ARG_SETTER(DataParallelOptions, std::vector<int64_t>, chunk_sizes);
TANDEM_ARG_SETTER(DataParallelOptions, std::vector<int>, device_ids);
}  // namespace tandem::nn::parallel

namespace tandem::nn::parallel::detail {

std::vector<Device> validate_devices(std::vector<Device> devices) {
  TANDEM_CHECK(!devices.empty(), "DataParallel: the list of devices is empty; accepted: one device or more");
  for (const Device device : devices) check_device_exists(device);
  return devices;
}

std::vector<Device> devices_from_ids(const Module& module, const std::vector<int>& ids) {
  const NamedParameters tensors = module.state_dict();
  const DeviceType type = tensors.is_empty() ? kCPU : tensors.front()->device().type();
  std::vector<Device> devices;
  devices.reserve(ids.size());
  for (const int id : ids) devices.emplace_back(type, id);
  if (!ids.empty()) return devices;
  devices.reserve(static_cast<size_t>(device_count(type)));
  for (int i = 0; i < device_count(type); ++i) devices.emplace_back(type, i);
  return devices;
}

std::string describe_imbalance(const std::vector<DeviceCapacity>& devices) {
  constexpr double kMinRatio = 0.75;
  const auto describe = [](const DeviceCapacity& d) {
    std::ostringstream out;
    out << d.device << " (" << d.name << ", " << (d.memory >> 20) << " MiB, " << d.multi_processor_count
        << " multiprocessors)";
    return out.str();
  };
  for (const DeviceCapacity& small : devices)
    for (const DeviceCapacity& large : devices)
      if (static_cast<double>(small.memory) < kMinRatio * static_cast<double>(large.memory) ||
          small.multi_processor_count < kMinRatio * large.multi_processor_count)
        return describe(small) + " has less than 75 % of the memory or the multiprocessors of " + describe(large) +
               ", and all devices wait for the slowest; leave it out (device_ids), or give it fewer rows (chunk_sizes)";
  return "";
}
void check_balance(const std::vector<Device>& devices) {
  std::vector<DeviceCapacity> all;
  for (const Device device : devices) {
    if (!device.is_cuda()) return;
    const auto& properties = cuda::get_device_properties(device);
    all.push_back({device, properties.name, properties.total_memory, properties.multi_processor_count});
  }
  if (const std::string text = describe_imbalance(all); !text.empty())
    std::fprintf(stderr, "tandem: warning: DataParallel: %s\n", text.c_str());
}

void check_chunk_sizes(const std::vector<int64_t>& chunk_sizes, size_t devices) {
  const bool positive = std::all_of(chunk_sizes.begin(), chunk_sizes.end(), [](int64_t size) { return size > 0; });
  TANDEM_CHECK(chunk_sizes.empty() || (positive && chunk_sizes.size() == devices), "DataParallel: chunk_sizes are ",
               IntArrayRef(chunk_sizes), " for ", devices,
               " device(s); accepted: a positive size for each device, or none");
}

std::shared_ptr<Module> clone_to_device(const Module& module, Device device) {
  Generator scratch;
  const GeneratorGuard guard(scratch);
  return module.clone(device);
}

}  // namespace tandem::nn::parallel::detail
