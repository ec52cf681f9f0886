// Types that the loops share with the public headers: element types, and the buffer of an operand. Uses no standard C++
// library, because the loops, which are compiled once per instruction set, include this file.
#pragma once
#include <stdint.h>

namespace tandem {

/// Element types: PyTorch's real dtypes. The half types are stored in 16 bits and computed in float32.
enum class DType : uint8_t {
  float32,
  float64,
  float16,
  bfloat16,
  int64,
  int32,
  int16,
  int8,
  uint8,
  boolean,
  // LibTorch's names
  Float = float32,
  Double = float64,
  Half = float16,
  BFloat16 = bfloat16,
  Long = int64,
  Int = int32,
  Short = int16,
  Char = int8,
  Byte = uint8,
  Bool = boolean
};

namespace detail {

constexpr int kDTypeCount = 10;
constexpr int kMaxDims = 8;  // maximum number of dimensions of a tensor or a loop

/// Address of the memory that holds an operand: the base class of StorageImpl. A recorded step may move the memory, so
/// a loop must not keep a copy of `data`.
struct Buffer {
  char* data;
};

}  // namespace detail
}  // namespace tandem
