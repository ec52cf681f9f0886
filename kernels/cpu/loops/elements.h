// Contiguous operands of floating loops. Of a body there are two copies, for float and for double: half types are read
// as floats, and an element is rounded when it is written.
#pragma once
#include "tandem/kernels/cpu/loops/elementwise.h"

namespace tandem::kernels::cpu::TANDEM_ISA {

/// n elements of a half type as floats, and back (half_types.cpp).
void widen(DType dtype, const char* from, float* to, int64_t n);
void narrow(DType dtype, const float* from, char* to, int64_t n);

namespace {

/// Operand k as contiguous elements; null where the tensor was undefined.
template <class T> T* data(const Loop& loop, int k) {
  const Operand& o = loop.operands[k];
  return o.buffer ? reinterpret_cast<T*>(o.buffer->data + o.offset) : nullptr;
}

/// Operand k as contiguous elements of the loop's dtype, which are computed in C: of a half type as copies that are
/// floats, for which the caller has room.
template <class C> class Elements {
 public:
  Elements(const Loop& loop, int k) : data_(data<char>(loop, k)), dtype_(loop.dtype) {}
  explicit operator bool() const { return data_; }
  bool is_half() const { return __is_same(C, float) && dtype_ != DType::float32; }

  /// Elements [at, at + n): where they lie, or a copy in `room`. To be changed only if they are put back by write().
  C* read(int64_t at, int64_t n, C* room) const {
    if constexpr (__is_same(C, float))
      if (is_half()) return widen(dtype_, address(at), room, n), room;
    return reinterpret_cast<C*>(address(at));
  }
  /// Where elements from `at` on are to be made: at their place, or in `room`. write() finishes them.
  C* place(int64_t at, C* room) const { return is_half() ? room : reinterpret_cast<C*>(address(at)); }
  void write(int64_t at, int64_t n, const C* made) const {
    if constexpr (__is_same(C, float))
      if (is_half()) narrow(dtype_, made, address(at), n);
  }
  C get(int64_t at) const {
    C value;
    return *read(at, 1, &value);
  }
  void set(int64_t at, C value) const {
    *place(at, &value) = value;
    write(at, 1, &value);
  }
  void set_zero(int64_t at, int64_t n) const { __builtin_memset(address(at), 0, uint64_t(n * size())); }

  /// Calls f(first, count) for pieces of n elements: all of them or, of a half type, kTile at a time.
  template <class F> void in_pieces(int64_t n, F f) const {
    const int64_t step = is_half() ? kTile : n;
    for (int64_t first = 0; first < n; first += step) f(first, n - first < step ? n - first : step);
  }

 private:
  int64_t size() const { return is_half() ? int64_t(sizeof(Half)) : int64_t(sizeof(C)); }
  char* address(int64_t at) const { return data_ + at * size(); }

  char* data_;
  DType dtype_;
};
/// Room for as many floats as the planner said (plan_rows), where the dtype is a half type.
template <class C> C* scratch() { return reinterpret_cast<C*>(loop_scratch()); }

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

// One body for float and the half types, and one for double.
#define TANDEM_COMPUTED_ROW(op, BODY, F) TANDEM_ROW(op, BODY(F, float), BODY(F, double), BODY(F, float), BODY(F, float))
#define TANDEM_EACH_FLOATING(op, body) TANDEM_COMPUTED_ROW(op, TANDEM_BY_TYPE, body)
