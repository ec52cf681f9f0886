// Contiguous operands of floating loops. Of a body there are two copies, for float and for double: half types are read
// as floats, a band at a time, and an element is rounded when it is written.
#pragma once
#include "tandem/kernels/cpu/loops/elementwise.h"

namespace tandem::kernels::cpu::TANDEM_ISA {

/// `rows` times n elements of a half type as floats, and back (half_types.cpp). In memory a row begins `stride`
/// elements behind the one before; the floats lie one behind the other.
void widen(DType dtype, const char* from, float* to, int64_t n, int64_t rows = 1, int64_t stride = 0);
void narrow(DType dtype, const float* from, char* to, int64_t n, int64_t rows = 1, int64_t stride = 0);

namespace {

/// How many elements of an operand of a half type are floats at a time: 32 KiB. A loop has such a room for at most two
/// operands, so that it takes 64 KiB whatever the shape. What is longer goes through the room in bands, which are whole
/// numbers of a sum's lanes.
constexpr int64_t kBand = 8192;
template <class C> struct Room {
  alignas(64) float floats[kBand];
  C* data() { return reinterpret_cast<C*>(floats); }  // double's, which nobody fills, is never looked at
};

/// Operand k as contiguous elements; null where the tensor was undefined.
template <class T> T* data(const Loop& loop, int k) {
  const Operand& o = loop.operands[k];
  return o.buffer ? reinterpret_cast<T*>(o.buffer->data + o.offset) : nullptr;
}

/// Calls f<T>() for the type of elements that are computed in C.
template <class C, class F> void visit_type(DType dtype, F f) {
  if constexpr (__is_same(C, float)) {
    if (dtype == DType::float16) return f.template operator()<Half>();
    if (dtype == DType::bfloat16) return f.template operator()<BFloat16>();
  }
  f.template operator()<C>();
}

/// Operand k as contiguous elements of the loop's dtype, which are computed in C: of a half type as copies that are
/// floats, for which the caller has room.
template <class C> class Elements {
 public:
  Elements(const Loop& loop, int k) : Elements(loop, k, loop.dtype) {}
  Elements(const Loop& loop, int k, DType dtype) : data_(data<char>(loop, k)), dtype_(dtype) {}
  /// Elements that lie elsewhere, as C.
  explicit Elements(C* elements)
      : data_(reinterpret_cast<char*>(elements)), dtype_(__is_same(C, float) ? DType::float32 : DType::float64) {}
  explicit operator bool() const { return data_; }
  bool is_half() const { return __is_same(C, float) && dtype_ != DType::float32; }

  /// Elements [at, at + n): where they lie, or a copy in `room`. To be changed only if they are put back by write().
  C* read(int64_t at, int64_t n, C* room) const { return read_rows(at, 1, n, n, room); }
  /// Where elements from `at` on are to be made: at their place, or in `room`. write() finishes them.
  C* place(int64_t at, C* room) const { return is_half() ? room : reinterpret_cast<C*>(address(at)); }
  void write(int64_t at, int64_t n, const C* made) const { write_rows(at, 1, n, n, made); }

  /// The same of rows of `width` elements that are `stride` apart; copies of them lie one behind the other.
  C* read_rows(int64_t at, int64_t rows, int64_t stride, int64_t width, C* room) const {
    if constexpr (__is_same(C, float))
      if (is_half()) {
        widen(dtype_, address(at), room, width, rows, stride);
        return room;
      }
    return reinterpret_cast<C*>(address(at));
  }
  void write_rows(int64_t at, int64_t rows, int64_t stride, int64_t width, const C* made) const {
    if constexpr (__is_same(C, float))
      if (is_half()) narrow(dtype_, made, address(at), width, rows, stride);
  }
  /// Stores what was made elsewhere.
  void put(int64_t at, int64_t n, const C* made) const {
    if (is_half()) return write(at, n, made);
    C* const to = reinterpret_cast<C*>(address(at));
    for (int64_t i = 0; i < n; ++i) to[i] = made[i];
  }
  C get(int64_t at) const {
    C value;
    return *read(at, 1, &value);
  }
  void set(int64_t at, C value) const { put(at, 1, &value); }
  void set_zero(int64_t at, int64_t n) const { __builtin_memset(address(at), 0, uint64_t(n * size())); }

  /// Calls f(first, count) for pieces of n elements: all of them or, of a half type, kStep at a time.
  template <int64_t kStep = kTile, class F> void in_pieces(int64_t n, F f) const {
    const int64_t step = is_half() ? kStep : n;
    for (int64_t first = 0; first < n; first += step) f(first, n - first < step ? n - first : step);
  }

 private:
  int64_t size() const { return is_half() ? int64_t(sizeof(Half)) : int64_t(sizeof(C)); }
  char* address(int64_t at) const { return data_ + at * size(); }

  char* data_;
  DType dtype_;
};

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

// One body for float and the half types, and one for double.
#define TANDEM_COMPUTED_ROW(op, BODY, F) TANDEM_ROW(op, BODY(F, float), BODY(F, double), BODY(F, float), BODY(F, float))
#define TANDEM_EACH_FLOATING(op, body) TANDEM_COMPUTED_ROW(op, TANDEM_BY_TYPE, body)
