#include "tandem/core/storage.h"

#include "tandem/core/allocator.h"

namespace tandem {

StorageImpl::StorageImpl(Device on, int64_t size) : buffer{nullptr}, bytes(size), device(on) {
  check_device_exists(on);
  if (bytes > 0) buffer.data = static_cast<char*>(allocate(device.index(), static_cast<size_t>(bytes)));
}
StorageImpl::StorageImpl(Device on, int64_t size, void* data, std::function<void(void*)> free)
    : buffer{static_cast<char*>(data)}, bytes(size), device(on), deleter(std::move(free)) {}

StorageImpl::~StorageImpl() {
  if (deleter)
    deleter(buffer.data);
  else if (buffer.data)
    deallocate(device.index(), buffer.data, static_cast<size_t>(bytes));
}

}  // namespace tandem
