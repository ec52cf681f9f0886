// Fault words of GPUs: allocates them, reads them, and throws their errors.
#include "tandem/core/cuda/fault.h"

#include <array>
#include <atomic>
#include <mutex>
#include <new>
#include <utility>

#include "tandem/core/cuda/gpu_runtime.h"

namespace tandem::cuda {
namespace {

/// Fault word of each device, to which kernels report errors: null until a kernel first needs it, never freed.
std::atomic<Fault*> device_faults[kMaxDevices];

struct HostFailure {
  std::atomic<bool> is_set{false};
  std::mutex mutex;
  std::exception_ptr failure;
};
HostFailure& host_failure(Device device) {
  // Never destroyed, because static process groups may report failures while the process exits.
  static auto& all = *new std::array<HostFailure, kMaxDevices>();
  return all[static_cast<size_t>(device.index())];
}

std::atomic<Fault*>& device_fault_slot(Device device) { return device_faults[static_cast<size_t>(device.index())]; }

}  // namespace

Fault* device_fault(Device device) {
  std::atomic<Fault*>& word = device_fault_slot(device);
  Fault* known = word.load(std::memory_order_acquire);
  if (known) return known;
  // No lock is held here, because the driver may wait: see page_locked.cpp. If two threads allocate a fault word at
  // once, one of them frees its word again.
  const gpu::DeviceGuard guard(device.index());
  void* const memory = gpu::allocate_host(sizeof(Fault));
  TANDEM_CHECK_AS(OutOfMemoryError, memory, "fault_word: cannot allocate ", sizeof(Fault),
                  " bytes of page-locked memory, where kernels on ", device, " report indices that are out of range");
  Fault* const mine = new (memory) Fault{};
  if (word.compare_exchange_strong(known, mine, std::memory_order_acq_rel)) return mine;
  gpu::release_host(memory);
  return known;
}

void report_host_failure(Device device, std::exception_ptr failure) {
  HostFailure& mine = host_failure(device);
  const std::lock_guard lock(mine.mutex);
  mine.failure = std::move(failure);
  mine.is_set = mine.failure != nullptr;
}
static void check_host_failure(Device device) {
  HostFailure& mine = host_failure(device);
  if (!mine.is_set.load(std::memory_order_acquire)) [[likely]]
    return;
  const std::lock_guard lock(mine.mutex);
  mine.is_set = false;
  if (mine.failure) std::rethrow_exception(std::exchange(mine.failure, nullptr));
}

void check_faults(Device device) {
  check_host_failure(device);
  Fault* const word = device_fault_slot(device).load(std::memory_order_acquire);
  if (!word) return;
  const std::atomic_ref state(word->state);
  if (state.load(std::memory_order_acquire) != 2) return;
  const Fault found = *word;
  int complete = 2;  // only one thread resets the state from `complete` to 0 and throws the error
  if (!state.compare_exchange_strong(complete, 0, std::memory_order_acq_rel)) return;
  tandem::detail::throw_error<IndexError>(__FILE__, __LINE__, found.op, ": index ", found.position, " is ", found.index,
                                          "; accepted: 0 to ", found.limit - 1);
}

}  // namespace tandem::cuda
