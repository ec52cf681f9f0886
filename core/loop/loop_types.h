// What loops share with the public headers: element types, and the bytes that an operand lies in. No std: the loops,
// which are compiled once per instruction set, include it.
#pragma once
#include <stdint.h>

namespace tandem {

/// Element types: PyTorch's real ones. The half types are stored as such and computed in float32.
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
  // LibTorch's names of the same
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
constexpr int kMaxDims = 8;  // of a tensor, and so of a loop

/// Where an operand's bytes are: part of a storage. A recorded step may point it elsewhere; a loop must not keep
/// `data`.
struct Buffer {
  char* data;
};

}  // namespace detail
}  // namespace tandem
