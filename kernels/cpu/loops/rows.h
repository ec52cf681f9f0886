// Helpers for loops over whole rows: sums in a fixed order, groups of adjacent columns, and rows that are read in
// bands.
#pragma once
#include "tandem/kernels/cpu/loops/elements.h"
#include "tandem/kernels/cpu/loops/transpose.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

constexpr int kLanes = 16;
struct Add {
  template <class T> static T combine(T a, T b) { return a + b; }
};

/// A sum in 16 lanes, which are then added in pairs. The order of the additions depends on the number of elements
/// alone.
template <class T> struct Lanes {
  T lane[kLanes];
  void clear() {
    for (T& each : lane) each = T(0);
  }
  /// Adds f(i) for i < n. If more is added afterwards, n must be a multiple of 16, because each call starts with lane
  /// 0.
  template <class F> void add(int64_t n, F f) {
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      for (int k = 0; k < kLanes; ++k) lane[k] += f(i + k);
    for (int k = 0; i < n; ++i, ++k) lane[k] += f(i);
  }
  T fold() { return reduce_lane_array<Add, kLanes>(lane); }
};
template <class T, class F> T lane_sum(int64_t n, F f) {
  Lanes<T> lanes = {};
  lanes.add(n, f);
  return lanes.fold();
}

/// Number of elements that a ChunkedSum adds in type C before it adds their sum to a double.
constexpr int64_t kSumChunk = 4096;
template <class C> struct ChunkedSum {
  double total = 0;
  template <class F> void add(int64_t n, F f) {
    for (int64_t from = 0; from < n; from += kSumChunk)
      total += double(lane_sum<C>(n - from < kSumChunk ? n - from : kSumChunk, [&](int64_t i) { return f(from + i); }));
  }
};
template <class C, class F> double chunked_sum(int64_t n, F f) {
  ChunkedSum<C> sum;
  sum.add(n, f);
  return sum.total;
}
/// Returns whether a sum of squares must be computed again in double. In float the sum may have overflowed, or squares
/// below the smallest normal float, 1.2e-38, may have lost digits.
template <class C> bool needs_double_precision(double squares) {
  return sizeof(C) == sizeof(float) && !(squares > 1e-30 && squares < 3e38);
}

constexpr int64_t kColumnGroup = 32;  // number of columns that are computed side by side

/// Calls f(c) for c < width. The usual width, kColumnGroup, is a constant, so that such rows are a few vectors without
/// a remainder.
template <class F> TANDEM_HD void for_each_column(int64_t width, F f) {
  if (width == kColumnGroup) {
    TANDEM_IVDEP
    for (int64_t c = 0; c < kColumnGroup; ++c) f(c);
  } else {
    TANDEM_IVDEP
    for (int64_t c = 0; c < width; ++c) f(c);
  }
}

/// Sums of columns, each added in the same order as by lane_sum().
template <class T> struct ColumnLanes {
  T lane[kLanes][kColumnGroup];
  ColumnLanes() : lane{} {}
  T* of(int64_t row) { return lane[row % kLanes]; }
  /// Adds f(i, c) to the sum of each column c < width, for i < n. f(i, c) is the value in row first + i.
  template <class F> void add(int64_t first, int64_t n, int64_t width, F f) {
    for (int64_t i = 0; i < n; ++i) {
      T* const to = of(first + i);
      for_each_column(width, [&](int64_t c) { to[c] += f(i, c); });
    }
  }
  /// Writes the sum of each column over the n rows that were added.
  TANDEM_NOINLINE void fold(int64_t n, int64_t width, T* sums) {
    const int64_t used = n < kLanes ? n : kLanes;
    for (int half = kLanes / 2; half > 0; half /= 2)
      for (int k = 0; k < half && k + half < used; ++k)
        for (int64_t c = 0; c < width; ++c) lane[k][c] += lane[k + half][c];
    for (int64_t c = 0; c < width; ++c) sums[c] = lane[0][c];
  }
};

/// A row of n elements of an operand, or n rows of `width` elements that are `stride` apart, over which a loop makes
/// several passes. Half types are read in bands, so that one Scratch is enough for any shape.
template <class C> class RowBands {
 public:
  RowBands(const OperandElements<C>& all, int64_t at, int64_t n, int64_t stride = 1, int64_t width = 1)
      : all_(all), at_(at), n_(n), memory_stride_(stride), width_(width) {
    const int64_t most = stride == 1 ? kBandSize : kBandSize / kColumnGroup;
    // A band is so short that the elements stay in the L1 cache while a loop reads them several times.
    band_length_ = !all.is_reduced_floating_point() || n <= most ? n : most / 4;
  }
  int64_t size() const { return n_; }
  /// Returns whether there is only one band. If so, a pass finds the values that the previous pass computed in place.
  bool is_single_band() const { return n_ <= band_length_; }
  /// Returns the distance between rows of the elements that a pass reads or writes.
  int64_t stride() const { return all_.is_reduced_floating_point() ? width_ : memory_stride_; }
  C* read(int64_t first, int64_t count) {
    if (first == cached_first_) return elements_;
    cached_first_ = first;
    return elements_ = all_.read_rows(at_ + first * memory_stride_, count, memory_stride_, width_, scratch_.data());
  }
  /// Calls f(first, count, elements) for each band.
  template <class F> void for_each_band(F f) {
    for (int64_t first = 0; first < n_; first += band_length_) {
      const int64_t count = n_ - first < band_length_ ? n_ - first : band_length_;
      f(first, count, read(first, count));
    }
  }
  /// Returns the memory in which to compute the elements of `result` that correspond to a band: in place or, for a half
  /// type, `scratch`, which may also hold the elements read.
  C* output_buffer(const OperandElements<C>& result, int64_t first, C* scratch) const {
    return result.output_buffer(at_ + first * memory_stride_, scratch);
  }
  void write(const OperandElements<C>& result, int64_t first, int64_t count, const C* values) const {
    result.write_rows(at_ + first * memory_stride_, count, memory_stride_, width_, values);
  }

 private:
  const OperandElements<C>& all_;
  const int64_t at_, n_, memory_stride_, width_;
  int64_t band_length_, cached_first_ = -1;
  C* elements_ = nullptr;
  Scratch<C> scratch_;
};
constexpr int64_t kMaxShortRow = 32;
/// A transposed copy of `width` rows of at most kMaxShortRow elements. Such short rows would leave lanes empty, so they
/// become columns of the copy. Sums over columns have the same order as sums over rows.
template <class C> class TransposedRows {
 public:
  TransposedRows(int64_t n, int64_t width) : n_(n), width_(width) {}
  static bool is_applicable(int64_t n, int64_t inner) { return inner == 1 && n <= kMaxShortRow; }
  /// Calls f(first row, number of rows) for groups of at most kColumnGroup rows in [begin, end).
  template <class F> static void for_each_group(int64_t begin, int64_t end, F f) {
    for (int64_t r = begin; r < end; r += kColumnGroup) f(r, end - r < kColumnGroup ? end - r : kColumnGroup);
  }
  void read(const OperandElements<C>& from, int64_t row) {
    if (width_ < kColumnGroup)
      for (C& each : columns_) each = C(0);
    transpose(from.read(row * n_, width_ * n_, scratch_), n_, columns_, kColumnGroup, width_, n_);
  }
  void write(const OperandElements<C>& to, int64_t row) {
    C* const y = to.output_buffer(row * n_, scratch_);
    transpose(columns_, kColumnGroup, y, n_, n_, width_);
    to.write(row * n_, width_ * n_, y);
  }
  OperandElements<C> elements() { return OperandElements<C>(columns_); }

 private:
  int64_t n_, width_;
  alignas(64) C columns_[kMaxShortRow * kColumnGroup];
  C scratch_[kMaxShortRow * kColumnGroup];
};
/// A tensor (outer, n, inner) has outer * inner columns of n elements. Divides columns [begin, end) into groups whose
/// columns are adjacent in memory, and calls f(offset of the group's first element, number of columns) for each group.
template <class F> void for_columns(int64_t n, int64_t inner, int64_t begin, int64_t end, F f) {
  while (begin < end) {
    const int64_t column = begin % inner, left = inner - column < end - begin ? inner - column : end - begin;
    const int64_t width = left < kColumnGroup ? left : kColumnGroup;
    f(begin / inner * n * inner + column, width);
    begin += width;
  }
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA
