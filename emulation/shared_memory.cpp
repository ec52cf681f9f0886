// Implements SharedMemory: allocates a block's shared arrays between guard zones, and reports writes outside of the
// arrays.
#include "tandem/emulation/shared_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/emulation/sanitizer.h"

namespace tandem::emulation {

constexpr size_t kAlignment = 128;
// Minimum size of a guard zone; the zone after an array is extended to a multiple of kAlignment
constexpr size_t kGuardBytes = 256;
constexpr unsigned char kNanByte = 0xff, kGuardByte = 0xa5;
static const SharedArray dynamic_declaration{"dynamic shared memory", {"", 0}};

static constexpr size_t padded_size(size_t bytes) {
  return kGuardBytes + (bytes + kGuardBytes + kAlignment - 1) / kAlignment * kAlignment;
}

void* SharedMemory::find_or_allocate_array(const SharedArray& declaration, size_t bytes) {
  for (const Allocation& allocation : allocations_)
    if (allocation.declaration == &declaration) return allocation.memory + kGuardBytes;
  static_bytes_ += bytes;
  TANDEM_CHECK_AS(CudaError, static_bytes_ <= kMaxStaticBytes, "shared array ", declaration.name, " of ", bytes,
                  " bytes: the block's static arrays take ", static_bytes_, "; accepted: up to ", kMaxStaticBytes,
                  " bytes");
  // As in CUDA, the larger limit requires a call of allow_shared_memory(), which a launch makes only if it has more
  // than kMaxStaticBytes dynamic bytes.
  const size_t limit = dynamic_bytes_ > kMaxStaticBytes ? kMaxBytes : kMaxStaticBytes;
  TANDEM_CHECK_AS(CudaError, static_bytes_ + dynamic_bytes_ <= limit, "shared array ", declaration.name, " of ", bytes,
                  " bytes: with ", dynamic_bytes_, " dynamic bytes the block takes ", static_bytes_ + dynamic_bytes_,
                  "; accepted: up to ", limit, " bytes");
  return allocate_array(declaration, bytes);
}

void* SharedMemory::allocate_dynamic_array() {
  for (const Allocation& allocation : allocations_)
    if (allocation.declaration == &dynamic_declaration) return allocation.memory + kGuardBytes;
  return allocate_array(dynamic_declaration, dynamic_bytes_);
}

void* SharedMemory::allocate_array(const SharedArray& declaration, size_t bytes) {
  const TsanIgnoreGuard ignore_guard;
  char* const memory = static_cast<char*>(std::aligned_alloc(kAlignment, padded_size(bytes)));
  if (!memory) throw std::bad_alloc();
  std::memset(memory, kGuardByte, padded_size(bytes));
  std::memset(memory + kGuardBytes, kNanByte, bytes);
  forbid_access(memory, kGuardBytes);
  forbid_access(memory + kGuardBytes + bytes, padded_size(bytes) - kGuardBytes - bytes);
  allocations_.push_back({&declaration, memory, bytes});
  return memory + kGuardBytes;
}

bool SharedMemory::contains(const void* address, size_t bytes) const {
  const auto first = reinterpret_cast<uintptr_t>(address);
  return std::any_of(allocations_.begin(), allocations_.end(), [&](const Allocation& allocation) {
    const auto begin = reinterpret_cast<uintptr_t>(allocation.memory + kGuardBytes);
    return first >= begin && first + bytes <= begin + allocation.bytes;
  });
}

std::string SharedMemory::describe_damage() const {
  // AddressSanitizer reports such writes itself, and forbids reading guard zones
  if constexpr (kAsanEnabled) return "";
  const TsanIgnoreGuard ignore_guard;
  const auto damaged = [](char byte) { return static_cast<unsigned char>(byte) != kGuardByte; };
  for (const auto& [declaration, memory, bytes] : allocations_) {
    const char* const begin = memory + kGuardBytes;
    const bool before = std::any_of(static_cast<const char*>(memory), begin, damaged);
    if (!before && !std::any_of(begin + bytes, static_cast<const char*>(memory) + padded_size(bytes), damaged))
      continue;
    std::string text =
        std::string(before ? "a write before the start of " : "a write past the end of ") + declaration->name;
    if (declaration != &dynamic_declaration) text += " [" + declaration->location.text() + "]";
    return text;
  }
  return "";
}

void SharedMemory::clear() {
  const TsanIgnoreGuard ignore_guard;
  for (const Allocation& allocation : allocations_) {
    allow_access(allocation.memory, padded_size(allocation.bytes));
    std::free(allocation.memory);
  }
  allocations_.clear();
  static_bytes_ = 0;
}

}  // namespace tandem::emulation
