// Implements Storage: allocates its memory, and frees it once no tensor uses it.
#include "tandem/core/storage.h"

#include "tandem/core/allocator.h"
#include "tandem/core/cuda/allocator.h"

namespace tandem {

StorageImpl::StorageImpl(Device on, int64_t size) : Buffer{nullptr}, bytes(size), device(on) {
  check_device_exists(on);
  const auto size_in_bytes = static_cast<size_t>(bytes);
  if (bytes > 0)
    data = static_cast<char*>(device.is_cpu() ? allocate(device.index(), size_in_bytes)
                                              : cuda::allocate(device, size_in_bytes));
}
StorageImpl::StorageImpl(Device on, int64_t size, void* memory, std::function<void(void*)> free)
    : Buffer{static_cast<char*>(memory)}, bytes(size), device(on), deleter(std::move(free)) {}

StorageImpl::~StorageImpl() { free_memory(); }

void StorageImpl::free_memory() {
  if (deleter)
    deleter(data);
  else if (data && device.is_cuda())
    cuda::deallocate(device, data);
  else if (data)
    deallocate(device.index(), data, static_cast<size_t>(bytes));
}
void StorageImpl::reset_data(char* new_data) {
  free_memory();
  data = new_data;
  deleter = [](void*) {};
}

}  // namespace tandem
