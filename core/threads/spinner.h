// Spinner: busy-waits for a limited time. Internal.
#pragma once
#include <chrono>
#include <thread>

namespace tandem::detail {

/// Usage: for (Spinner spinner; !done() && spinner.keep_spinning();) {}
class Spinner {
 public:
  /// Waits a moment; returns false when the caller should sleep instead. Pauses for about 5 us, then yields the core
  /// between checks until about 50 us have passed.
  bool keep_spinning() {
    if (++spin_count_ <= kMaxPauses) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#elif defined(__aarch64__)
      __asm__ __volatile__("isb");
#endif
      return true;
    }
    const auto now = std::chrono::steady_clock::now();
    // The limit, 50 us, is about the time between two small operations.
    if (spin_count_ == kMaxPauses + 1) deadline_ = now + std::chrono::microseconds(50);
    std::this_thread::yield();
    return now < deadline_;
  }

 private:
  static constexpr int kMaxPauses = 128;
  int spin_count_ = 0;
  std::chrono::steady_clock::time_point deadline_;
};

}  // namespace tandem::detail
