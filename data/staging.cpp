// Constructor of Staging: checks the device, and gets the stream on which batches are copied.
#include "tandem/data/staging.h"

#include "tandem/core/internal.h"

namespace tandem::data::detail {

Staging::Staging(bool pin_memory, std::optional<Device> device)
    : pin_memory_((pin_memory || (device && device->is_cuda())) && cuda::is_available()), device_(device) {
  if (!device) return;
  check_device_exists(*device);
  if (device->is_cuda()) copy_stream_.emplace(*device);
}

}  // namespace tandem::data::detail
