// What loops over whole rows share: sums in a fixed order, columns side by side, and bands.
#pragma once
#include "tandem/kernels/cpu/loops/elements.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

constexpr int kLanes = 16;

/// Sums in 16 lanes, which are folded in pairs: an order that depends on their number alone.
template <class T> struct Lanes {
  T lane[kLanes];
  void clear() {
    for (T& each : lane) each = T(0);
  }
  /// f(i) for i < n. What is added after it must not find a lane left out: n is a multiple of 16 then.
  template <class F> void add(int64_t n, F f) {
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      for (int k = 0; k < kLanes; ++k) lane[k] += f(i + k);
    for (int k = 0; i < n; ++i, ++k) lane[k] += f(i);
  }
  T fold() {
    for (int width = kLanes / 2; width > 0; width /= 2)
      for (int k = 0; k < width; ++k) lane[k] += lane[k + width];
    return lane[0];
  }
};
template <class T, class F> T lane_sum(int64_t n, F f) {
  Lanes<T> lanes = {};
  lanes.add(n, f);
  return lanes.fold();
}

constexpr int64_t kColumns = 32;  // that are worked on side by side

/// Sums of columns, of each in the order of lane_sum.
template <class T> struct ColumnLanes {
  T lane[kLanes][kColumns];
  ColumnLanes() : lane{} {}
  /// f(i, c) of row first + i, for i < n.
  template <class F> void add(int64_t first, int64_t n, int64_t width, F f) {
    for (int64_t i = 0; i < n; ++i) {
      T* const to = lane[(first + i) % kLanes];
      TANDEM_IVDEP
      for (int64_t c = 0; c < width; ++c) to[c] += f(i, c);
    }
  }
  /// The sums over n rows.
  TANDEM_ONE_COPY void fold(int64_t n, int64_t width, T* sums) {
    const int64_t used = n < kLanes ? n : kLanes;
    for (int half = kLanes / 2; half > 0; half /= 2)
      for (int k = 0; k < half && k + half < used; ++k)
        for (int64_t c = 0; c < width; ++c) lane[k][c] += lane[k + half][c];
    for (int64_t c = 0; c < width; ++c) sums[c] = lane[0][c];
  }
};

/// A row of n elements of an operand or, `stride` apart, n rows of `width` of them, over which a loop goes several
/// times: of a half type band by band, so that no shape takes more than one Room.
template <class C> class Bands {
 public:
  Bands(const Elements<C>& all, int64_t at, int64_t n, int64_t stride = 1, int64_t width = 1)
      : all_(all), at_(at), n_(n), memory_stride_(stride), width_(width) {
    step_ = !all.is_half() ? n : stride == 1 ? kBand : kBand / kColumns;
  }
  int64_t size() const { return n_; }
  /// Whether all is read once: what a pass leaves in place of the elements, the next one finds.
  bool is_one() const { return n_ <= step_; }
  /// From one row of what was read, or is to be made, to the next.
  int64_t stride() const { return all_.is_half() ? width_ : memory_stride_; }
  C* read(int64_t first, int64_t count) {
    if (first == held_) return elements_;
    held_ = first;
    return elements_ = all_.read_rows(at_ + first * memory_stride_, count, memory_stride_, width_, room_.data());
  }
  /// Calls f(first, count, elements) for each band.
  template <class F> void each(F f) {
    for (int64_t first = 0; first < n_; first += step_) {
      const int64_t count = n_ - first < step_ ? n_ - first : step_;
      f(first, count, read(first, count));
    }
  }
  /// Where the same elements of `result` are to be made: at their place, or in `room`, which may be what was read.
  C* place(const Elements<C>& result, int64_t first, C* room) const {
    return result.place(at_ + first * memory_stride_, room);
  }
  void write(const Elements<C>& result, int64_t first, int64_t count, const C* made) const {
    result.write_rows(at_ + first * memory_stride_, count, memory_stride_, width_, made);
  }

 private:
  const Elements<C>& all_;
  const int64_t at_, n_, memory_stride_, width_;
  int64_t step_, held_ = -1;
  C* elements_ = nullptr;
  Room<C> room_;
};
/// Columns [begin, end) of the outer * inner ones of (outer, n, inner), in groups that lie beside each other: calls
/// f(offset of the first, how many).
template <class F> void for_columns(int64_t n, int64_t inner, int64_t begin, int64_t end, F f) {
  while (begin < end) {
    const int64_t column = begin % inner, left = inner - column < end - begin ? inner - column : end - begin;
    const int64_t width = left < kColumns ? left : kColumns;
    f(begin / inner * n * inner + column, width);
    begin += width;
  }
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA
