#include "tandem/core/storage.h"

#include "tandem/core/allocator.h"
#include "tandem/core/cuda/allocator.h"

namespace tandem {

StorageImpl::StorageImpl(Device on, int64_t size) : buffer{nullptr}, bytes(size), device(on) {
  check_device_exists(on);
  const auto size_in_bytes = static_cast<size_t>(bytes);
  if (bytes > 0)
    buffer.data = static_cast<char*>(device.is_cpu() ? allocate(device.index(), size_in_bytes)
                                                     : cuda::allocate(device, size_in_bytes));
}
StorageImpl::StorageImpl(Device on, int64_t size, void* data, std::function<void(void*)> free)
    : buffer{static_cast<char*>(data)}, bytes(size), device(on), deleter(std::move(free)) {}

StorageImpl::~StorageImpl() {
  if (deleter)
    deleter(buffer.data);
  else if (buffer.data && device.is_cuda())
    cuda::deallocate(device, buffer.data);
  else if (buffer.data)
    deallocate(device.index(), buffer.data, static_cast<size_t>(bytes));
}

}  // namespace tandem
