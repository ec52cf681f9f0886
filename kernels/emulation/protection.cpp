#include "tandem/kernels/emulation/protection.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "tandem/core/device.h"
#include "tandem/kernels/emulation/emulation.h"

namespace tandem::emulation {
namespace {

constexpr int kMaxKeys = 15;  // of 16; the first is that of all other memory
struct Keys {
  int count = 0;
  std::array<int, kMaxKeys> key{};
  Keys() {
    while (count < kMaxKeys) {
      const int next = pkey_alloc(0, PKEY_DISABLE_ACCESS);
      if (next < 0) break;
      key[static_cast<size_t>(count++)] = next;
    }
  }
};
const Keys& keys() {
  static const Keys all;
  return all;
}

thread_local uint64_t allowed = 0;  // devices that this thread may touch
thread_local const char* running = nullptr;

void apply_rights() {
  const Keys& all = keys();
  for (int k = 0; k < all.count; ++k) {
    bool any = false;
    for (int device = k; device < kMaxDevices; device += all.count) any = any || (allowed & device_bit(device)) != 0;
    pkey_set(all.key[static_cast<size_t>(k)], any ? 0 : PKEY_DISABLE_ACCESS);
  }
}

/// A range of addresses that belongs to a device. Plain atomics: signal handlers read them.
struct Watched {
  std::atomic<uintptr_t> begin{0}, end{0};
};
std::array<Watched, kMaxDevices + 1> watched;  // the last is page-locked memory
struct sigaction before;                       // what a fault did without us
std::atomic<bool> explained{false};

void explain(int signal, siginfo_t* info, void* context) {
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (size_t i = 0; i < watched.size(); ++i) {
    if (address < watched[i].begin.load() || address >= watched[i].end.load()) continue;
    std::array<char, 32> memory{"page-locked memory"};
    if (i < kMaxDevices) std::snprintf(memory.data(), memory.size(), "memory of cuda:%d", static_cast<int>(i));
#ifdef SEGV_PKUERR
    const bool forbidden = info->si_code == SEGV_PKUERR;
#else
    const bool forbidden = false;
#endif
    const char* const why = !forbidden ? "which is not allocated: it is out of bounds, or was freed"
                            : running  ? "which is another device's, without peer access"
                                       : "which only kernels and copies of that device may touch";
    std::array<char, 256> text;
    const int length = std::snprintf(text.data(), text.size(), "emulated CUDA: %s touched %s at %p, %s\n",
                                     running ? running : "host code", memory.data(), info->si_addr, why);
    if (length > 0 && write(STDERR_FILENO, text.data(), static_cast<size_t>(length)) < 0) break;  // nobody reads it
  }
  if (explained.exchange(true)) {
    sigaction(signal, &usual, nullptr);
  } else if (before.sa_flags & SA_SIGINFO) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  } else {
    sigaction(signal, &usual, nullptr);  // the access is repeated, and ends the program
  }
}

}  // namespace

bool guards_memory() { return keys().count > 0; }
int protection_key(int device) {
  const Keys& all = keys();
  return all.count == 0 ? -1 : all.key[static_cast<size_t>(device % all.count)];
}

void explain_faults(int device, const void* begin, size_t bytes) {
  Watched& range = watched[static_cast<size_t>(device < 0 ? kMaxDevices : device)];
  range.begin = reinterpret_cast<uintptr_t>(begin);
  range.end = reinterpret_cast<uintptr_t>(begin) + bytes;
  struct sigaction now {};
  sigaction(SIGSEGV, nullptr, &now);
  if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == explain) return;
  before = now;
  struct sigaction action {};
  action.sa_sigaction = explain;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
}

DeviceAccess::DeviceAccess(uint64_t devices, const char* who) : saved_devices_(allowed), saved_who_(running) {
  allowed = devices;
  running = who;
  apply_rights();
}
DeviceAccess::~DeviceAccess() {
  allowed = saved_devices_;
  running = saved_who_;
  apply_rights();
}

}  // namespace tandem::emulation
