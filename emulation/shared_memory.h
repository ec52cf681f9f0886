// Shared memory of a block. Every array has its own allocation between guard zones and is filled with NaN. A write
// outside an array is reported (at its line under AddressSanitizer, otherwise when the block has ended); a read before
// any write shows up as NaN in results.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "tandem/emulation/source_location.h"

namespace tandem::emulation {

/// A declaration TANDEM_SHARED(...) in a kernel. Its address identifies the array.
struct SharedArray {
  const char* name;
  SourceLocation place;
};

class SharedMemory {
 public:
  static constexpr size_t kStaticLimit = 48 * 1024;  // maximum bytes of static arrays, as in nvcc
  static constexpr size_t kLimit = 227 * 1024;  // maximum of static and dynamic bytes: a block of compute capability 9

  SharedMemory() = default;
  SharedMemory(const SharedMemory&) = delete;
  ~SharedMemory() { clear(); }
  /// Sets the number of dynamic bytes for the blocks of a launch.
  void set_dynamic_bytes(size_t bytes) { dynamic_bytes_ = bytes; }
  /// Returns the running block's array for this declaration. @throws CudaError if it exceeds the shared memory
  void* array(const SharedArray& declaration, size_t bytes);
  /// Returns the dynamic array of the launch; every call returns the same array.
  void* dynamic_array();
  /// Returns a description of the first damaged guard zone after a block has run, or an empty string.
  std::string damage() const;
  void clear();

 private:
  struct Piece {
    const SharedArray* declaration;
    char* memory;  // guard zone, array, guard zone
    size_t bytes;  // size of the array
  };
  void* make(const SharedArray& declaration, size_t bytes);

  std::vector<Piece> pieces_;
  size_t dynamic_bytes_ = 0, static_bytes_ = 0;
};

}  // namespace tandem::emulation
