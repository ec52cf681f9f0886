// Access to contiguous operands in loops over floating dtypes. Each loop body is compiled twice, for float and for
// double. Elements of a half type are converted to float in bands of limited length, and rounded when they are written.
#pragma once
#include "tandem/kernels/cpu/loops/elementwise.h"

namespace tandem::kernels::cpu::TANDEM_ISA {

/// widen() converts `rows` rows of n elements from a half type to float, and narrow() converts them back
/// (half_types.cpp). In memory, rows are `stride` elements apart; the floats are contiguous.
void widen(DType dtype, const char* from, float* to, int64_t n, int64_t rows = 1, int64_t stride = 0);
void narrow(DType dtype, const float* from, char* to, int64_t n, int64_t rows = 1, int64_t stride = 0);

namespace {

/// Number of elements of a half type that are converted to float at a time: 32 KiB of floats. A loop has a Scratch (a
/// buffer of this size) for at most two operands, so it needs 64 KiB for any shape. Longer rows pass through the
/// Scratch in bands, whose length is a multiple of the number of lanes of a sum.
constexpr int64_t kBandSize = 8192;
template <class C> struct Scratch {
  alignas(64) float floats[kBandSize];
  C* data() { return reinterpret_cast<C*>(floats); }  // not used for double
};

/// Returns a pointer to the contiguous elements of operand k; null if the tensor is undefined.
template <class T> T* data(const Loop& loop, int k) {
  const Operand& o = loop.operands[k];
  return o.buffer ? reinterpret_cast<T*>(o.buffer->data + o.offset) : nullptr;
}

/// Calls f with the element type of `dtype` as template argument. C is the type in which the elements are computed.
template <class C, class F> void visit_type(DType dtype, F f) {
  if constexpr (__is_same(C, float)) {
    if (dtype == DType::float16) return f.template operator()<Half>();
    if (dtype == DType::bfloat16) return f.template operator()<BFloat16>();
  }
  f.template operator()<C>();
}

/// Operand k as contiguous elements of the loop's dtype, which are computed in C. Elements of a half type are accessed
/// through float copies, in memory that the caller provides.
template <class C> class OperandElements {
 public:
  OperandElements(const Loop& loop, int k) : OperandElements(loop, k, loop.dtype) {}
  OperandElements(const Loop& loop, int k, DType dtype) : data_(data<char>(loop, k)), dtype_(dtype) {}
  /// Wraps an array of type C that is not an operand of a loop.
  explicit OperandElements(C* elements)
      : data_(reinterpret_cast<char*>(elements)), dtype_(__is_same(C, float) ? DType::float32 : DType::float64) {}
  explicit operator bool() const { return data_; }
  bool is_reduced_floating_point() const { return __is_same(C, float) && dtype_ != DType::float32; }

  /// Returns elements [at, at + n): in place or, for a half type, a copy in `scratch`. After changing them, call
  /// write().
  C* read(int64_t at, int64_t n, C* scratch) const { return read_rows(at, 1, n, n, scratch); }
  /// Returns the memory in which to compute elements from `at` on: in place or, for a half type, `scratch`. Call
  /// write() afterwards.
  C* output_buffer(int64_t at, C* scratch) const {
    return is_reduced_floating_point() ? scratch : reinterpret_cast<C*>(address(at));
  }
  void write(int64_t at, int64_t n, const C* values) const { write_rows(at, 1, n, n, values); }

  /// Like read() and write(), for rows of `width` elements that are `stride` apart. Copies of the rows are contiguous.
  C* read_rows(int64_t at, int64_t rows, int64_t stride, int64_t width, C* scratch) const {
    if constexpr (__is_same(C, float))
      if (is_reduced_floating_point()) {
        widen(dtype_, address(at), scratch, width, rows, stride);
        return scratch;
      }
    return reinterpret_cast<C*>(address(at));
  }
  void write_rows(int64_t at, int64_t rows, int64_t stride, int64_t width, const C* values) const {
    if constexpr (__is_same(C, float))
      if (is_reduced_floating_point()) narrow(dtype_, values, address(at), width, rows, stride);
  }
  /// Stores n elements that were not computed in the memory that output_buffer() returns, but in `values`.
  void store(int64_t at, int64_t n, const C* values) const {
    if (is_reduced_floating_point()) return write(at, n, values);
    C* const to = reinterpret_cast<C*>(address(at));
    for (int64_t i = 0; i < n; ++i) to[i] = values[i];
  }
  /// Writes n values, rounded to this operand's half type, to `rounded`. n is at most kTileSize.
  void round(int64_t n, const C* values, C* rounded) const {
    if constexpr (__is_same(C, float)) {
      uint16_t bits[kTileSize];
      narrow(dtype_, values, reinterpret_cast<char*>(bits), n);
      widen(dtype_, reinterpret_cast<const char*>(bits), rounded, n);
    }
  }
  C get(int64_t at) const {
    C value;
    return *read(at, 1, &value);
  }
  void set(int64_t at, C value) const { store(at, 1, &value); }
  void set_zero(int64_t at, int64_t n) const { __builtin_memset(address(at), 0, uint64_t(n * size())); }

  /// Calls f(first, count) for consecutive pieces of n elements: one piece or, for a half type, pieces of kStep
  /// elements.
  template <int64_t kStep = kTileSize, class F> void for_chunks(int64_t n, F f) const {
    const int64_t step = is_reduced_floating_point() ? kStep : n;
    for (int64_t first = 0; first < n; first += step) f(first, n - first < step ? n - first : step);
  }

 private:
  int64_t size() const { return is_reduced_floating_point() ? int64_t(sizeof(Half)) : int64_t(sizeof(C)); }
  char* address(int64_t at) const { return data_ + at * size(); }

  char* data_;
  DType dtype_;
};

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

// Defines the dispatch table (loop bodies by dtype) of a loop with two bodies: one computes float32 and the half types
// in float, the other computes float64 in double.
#define TANDEM_COMPUTE_TYPE_DISPATCH_TABLE(op, BODY, F) \
  TANDEM_DISPATCH_TABLE(op, BODY(F, float), BODY(F, double), BODY(F, float), BODY(F, float))
#define TANDEM_COMPUTE_TYPE_LOOP(op, body) TANDEM_COMPUTE_TYPE_DISPATCH_TABLE(op, TANDEM_TYPED_BODY, body)
