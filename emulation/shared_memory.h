// A block's shared memory. Every array lies by itself between guard zones and starts out as NaNs: a write past its end
// is found (at its line under AddressSanitizer, else when the block has ended), a read before a write shows in results.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "tandem/emulation/source_location.h"

namespace tandem::emulation {

/// A declaration TANDEM_SHARED(...) in a kernel. Its address says which array is meant.
struct SharedArray {
  const char* name;
  SourceLocation place;
};

class SharedMemory {
 public:
  static constexpr size_t kStaticLimit = 48 * 1024;  // bytes of static arrays, as nvcc has it
  static constexpr size_t kLimit = 227 * 1024;       // with the dynamic one: what a block of compute capability 9 gets

  SharedMemory() = default;
  SharedMemory(const SharedMemory&) = delete;
  ~SharedMemory() { clear(); }
  /// For the blocks of one launch.
  void set_dynamic_bytes(size_t bytes) { dynamic_bytes_ = bytes; }
  /// The running block's array of this declaration. @throws CudaError when there is not as much shared memory
  void* array(const SharedArray& declaration, size_t bytes);
  /// The bytes that the launch asked for; every use names the same ones.
  void* dynamic_array();
  /// After a block: what was damaged, in words, or nothing.
  std::string damage() const;
  void clear();

 private:
  struct Piece {
    const SharedArray* declaration;
    char* memory;  // guard zone, array, guard zone
    size_t bytes;  // of the array
  };
  void* make(const SharedArray& declaration, size_t bytes);

  std::vector<Piece> pieces_;
  size_t dynamic_bytes_ = 0, static_bytes_ = 0;
};

}  // namespace tandem::emulation
