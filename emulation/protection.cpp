// Implements access control for device memory by protection keys or mprotect, and explains faults in a signal handler.
#include "tandem/emulation/protection.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "tandem/core/device.h"
#include "tandem/emulation/emulation.h"

namespace tandem::emulation {
namespace {

constexpr int kMaxProtectionKeys = 15;  // the processor has 16 keys; key 0 is for all other memory
struct ProtectionKeys {
  int count = 0;
  std::array<int, kMaxProtectionKeys> key{};
  ProtectionKeys() {
    while (count < kMaxProtectionKeys) {
      const int next = pkey_alloc(0, PKEY_DISABLE_ACCESS);
      if (next < 0) break;
      key[static_cast<size_t>(count++)] = next;
    }
  }
};
const ProtectionKeys& protection_keys() {
  static const ProtectionKeys all;
  return all;
}

/// Access control by mprotect, the replacement for protection keys if TANDEM_EMULATION_GUARD=1. A device's memory is
/// accessible to all threads while at least one thread may access it, and otherwise to no thread.
struct PageProtection {
  std::mutex mutex;
  std::array<int, kMaxDevices> num_threads_with_access{};  // number of threads that may access the device's memory
  // maps the address of each range of allocated pages to the size of the range
  std::array<std::map<uintptr_t, size_t>, kMaxDevices> memory;

  static bool is_enabled() {
    static const bool asked = [] {
      const char* const text = std::getenv("TANDEM_EMULATION_GUARD");
      return text && std::strcmp(text, "1") == 0 && protection_keys().count == 0;
    }();
    return asked;
  }
  static bool protect(uintptr_t begin, size_t bytes, bool accessible) {
    return mprotect(reinterpret_cast<void*>(begin), bytes, accessible ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
  }
  /// Returns whether the address is allocated memory of the device, or false if another thread holds the lock. Used
  /// only for messages about faults.
  bool contains(size_t device, uintptr_t address) {
    const std::unique_lock lock(mutex, std::try_to_lock);
    if (!lock) return false;
    const auto next = memory[device].upper_bound(address);
    return next != memory[device].begin() && address < std::prev(next)->first + std::prev(next)->second;
  }
  void apply_access(uint64_t before, uint64_t now) {
    const std::lock_guard lock(mutex);
    for (int device = 0; device < kMaxDevices; ++device) {
      const bool had = (before & device_bit(device)) != 0, has = (now & device_bit(device)) != 0;
      if (had == has) continue;
      int& count = num_threads_with_access[static_cast<size_t>(device)];
      count += has ? 1 : -1;
      if (count > (has ? 1 : 0)) continue;
      for (const auto& [begin, bytes] : memory[static_cast<size_t>(device)]) protect(begin, bytes, has);
    }
  }
};
PageProtection& page_protection() {
  static PageProtection& only = *new PageProtection;
  return only;
}

thread_local uint64_t accessible_devices = 0;  // bit mask of the devices whose memory this thread may access
thread_local const char* running_work_name = nullptr;

void set_accessible_devices(uint64_t devices) {
  const uint64_t before = std::exchange(accessible_devices, devices);
  if (PageProtection::is_enabled()) return page_protection().apply_access(before, devices);
  const ProtectionKeys& all = protection_keys();
  for (int k = 0; k < all.count; ++k) {
    bool any = false;
    for (int device = k; device < kMaxDevices; device += all.count)
      any = any || (accessible_devices & device_bit(device)) != 0;
    pkey_set(all.key[static_cast<size_t>(k)], any ? 0 : PKEY_DISABLE_ACCESS);
  }
}

/// Address range of a device. Uses atomics because signal handlers read it.
struct WatchedRange {
  std::atomic<uintptr_t> begin{0}, end{0};
};
// address range of each device; the last one is for page-locked memory
std::array<WatchedRange, kMaxDevices + 1> watched_ranges;
struct sigaction previous_action;  // the previous signal handler, which is called after the explanation
std::atomic<bool> has_explained_fault{false};

void handle_segfault(int signal, siginfo_t* info, void* context) {
  struct sigaction default_action {};
  default_action.sa_handler = SIG_DFL;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (size_t i = 0; i < watched_ranges.size(); ++i) {
    if (address < watched_ranges[i].begin.load() || address >= watched_ranges[i].end.load()) continue;
    std::array<char, 32> memory{"page-locked memory"};
    if (i < kMaxDevices) std::snprintf(memory.data(), memory.size(), "memory of cuda:%d", static_cast<int>(i));
    bool forbidden = i < kMaxDevices && page_protection().contains(i, address);
#ifdef SEGV_PKUERR
    forbidden = forbidden || info->si_code == SEGV_PKUERR;
#endif
    const char* const why = !forbidden          ? "which is not allocated: it is out of bounds, or was freed"
                            : running_work_name ? "which is another device's, without peer access"
                                                : "which only kernels and copies of that device may touch";
    std::array<char, 256> text;
    const int length =
        std::snprintf(text.data(), text.size(), "emulated CUDA: %s touched %s at %p, %s\n",
                      running_work_name ? running_work_name : "host code", memory.data(), info->si_addr, why);
    if (length > 0 && write(STDERR_FILENO, text.data(), static_cast<size_t>(length)) < 0) break;  // best effort
  }
  if (has_explained_fault.exchange(true)) {
    sigaction(signal, &default_action, nullptr);
  } else if (previous_action.sa_flags & SA_SIGINFO) {
    previous_action.sa_sigaction(signal, info, context);
  } else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
    previous_action.sa_handler(signal);
  } else {
    // When the handler returns, the faulting access is repeated, and the default action ends the program.
    sigaction(signal, &default_action, nullptr);
  }
}

}  // namespace

bool is_memory_protected() { return protection_keys().count > 0 || PageProtection::is_enabled(); }

bool commit_memory(int device, void* begin, size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(begin);
  if (device < 0) return PageProtection::protect(address, bytes, true);
  const auto index = static_cast<size_t>(device);
  if (PageProtection::is_enabled()) {
    const std::lock_guard lock(page_protection().mutex);
    page_protection().memory[index][address] = bytes;
    madvise(begin, bytes, MADV_HUGEPAGE);  // without huge pages, changing access rights takes ten times as long
    return PageProtection::protect(address, bytes, page_protection().num_threads_with_access[index] > 0);
  }
  const ProtectionKeys& all = protection_keys();
  const int key = all.count == 0 ? -1 : all.key[static_cast<size_t>(device % all.count)];
  return pkey_mprotect(begin, bytes, PROT_READ | PROT_WRITE, key) == 0;
}
void decommit_memory(int device, void* begin, size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(begin);
  if (device >= 0 && PageProtection::is_enabled()) {
    const std::lock_guard lock(page_protection().mutex);
    page_protection().memory[static_cast<size_t>(device)].erase(address);
  }
  madvise(begin, bytes, MADV_DONTNEED);
  PageProtection::protect(address, bytes, false);
}

void explain_faults(int device, const void* begin, size_t bytes) {
  WatchedRange& range = watched_ranges[static_cast<size_t>(device < 0 ? kMaxDevices : device)];
  range.begin = reinterpret_cast<uintptr_t>(begin);
  range.end = reinterpret_cast<uintptr_t>(begin) + bytes;
  struct sigaction now {};
  sigaction(SIGSEGV, nullptr, &now);
  if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == handle_segfault) return;
  previous_action = now;
  struct sigaction action {};
  action.sa_sigaction = handle_segfault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
}

DeviceAccess::DeviceAccess(uint64_t devices, const char* work_name)
    : saved_devices_(accessible_devices), saved_work_name_(running_work_name) {
  running_work_name = work_name;
  set_accessible_devices(devices);
}
DeviceAccess::~DeviceAccess() {
  running_work_name = saved_work_name_;
  set_accessible_devices(saved_devices_);
}

}  // namespace tandem::emulation
