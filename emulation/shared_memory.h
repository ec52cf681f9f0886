// SharedMemory: the shared memory of an emulated block. Every array has its own allocation between guard zones, and is
// filled with NaN. A write outside of an array is reported (under AddressSanitizer at once, otherwise when the block
// has ended). An element that is read before it is written gives NaN, which shows in the results.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "tandem/emulation/source_location.h"

namespace tandem::emulation {

/// A TANDEM_SHARED(...) declaration in a kernel. The address of this object identifies the shared array.
struct SharedArray {
  const char* name;
  SourceLocation location;
};

class SharedMemory {
 public:
  static constexpr size_t kMaxStaticBytes = 48 * 1024;  // maximum bytes of all static arrays together, as in nvcc
  // Maximum bytes of static and dynamic arrays, as in compute capability 9
  static constexpr size_t kMaxBytes = 227 * 1024;

  SharedMemory() = default;
  SharedMemory(const SharedMemory&) = delete;
  ~SharedMemory() { clear(); }
  /// Sets the number of dynamic bytes for the blocks of a launch.
  void set_dynamic_bytes(size_t bytes) { dynamic_bytes_ = bytes; }
  /// Returns the running block's array for this declaration; allocates it at the first call. @throws CudaError if the
  /// block then has too much shared memory
  void* find_or_allocate_array(const SharedArray& declaration, size_t bytes);
  /// Returns the dynamic array of the launch; every call returns the same array.
  void* allocate_dynamic_array();
  /// Returns whether all these bytes are in one array.
  bool contains(const void* address, size_t bytes) const;
  /// Returns a description of the first damaged guard zone after a block has run, or an empty string.
  std::string describe_damage() const;
  void clear();

 private:
  struct Allocation {
    const SharedArray* declaration;
    char* memory;  // start of the first guard zone; the array follows, then the second guard zone
    size_t bytes;  // size of the array
  };
  void* allocate_array(const SharedArray& declaration, size_t bytes);

  std::vector<Allocation> allocations_;
  size_t dynamic_bytes_ = 0, static_bytes_ = 0;
};

}  // namespace tandem::emulation
