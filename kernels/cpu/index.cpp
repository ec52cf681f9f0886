// Indexing kernels. They move whole elements or rows, so they are not compiled once per instruction set. Every index is
// checked before it is used.
#include <cstring>

#include "tandem/kernels/cpu/planner.h"
#include "tandem/kernels/index.h"

namespace tandem::kernels::cpu {
namespace {

[[noreturn]] void throw_index_error(const char* op, int64_t position, int64_t value, int64_t size) {
  tandem::detail::throw_error<IndexError>(__FILE__, __LINE__, op, ": index ", position, " is ", value,
                                          "; accepted: 0 to ", size - 1, " (index out of range in self)");
}
bool is_out_of_range(int64_t index, int64_t size) {
  return static_cast<uint64_t>(index) >= static_cast<uint64_t>(size);
}
/// Checks that the `count` indices at `at` lie in [0, size). `first` is the position of at[0] in the whole index, for
/// the error message. The checks are combined in one sign bit, so that valid indices take a single branch.
void check_index_range(const char* op, const int64_t* at, int64_t first, int64_t count, int64_t size) {
  int64_t signs = 0;
  for (int64_t i = 0; i < count; ++i) signs |= at[i] | (size - 1 - at[i]);
  if (signs >= 0) [[likely]]
    return;
  for (int64_t i = 0; i < count; ++i)
    if (is_out_of_range(at[i], size)) throw_index_error(op, first + i, at[i], size);
}
struct IndexCheck {
  const char* op;
  int64_t size;
};
/// Checks that all indices lie in [0, size), in a separate pass over the index.
void check_indices(const char* op, const Tensor& index, int64_t size) {
  const auto check = [](const IndexCheck& c, const Loop& loop, int64_t begin, int64_t end) {
    check_index_range(c.op, data<int64_t>(loop, 0) + begin, begin, end - begin, c.size);
  };
  run(plan_call("check_indices", kInt64, {}, {index}, IndexCheck{op, size}, check, index.numel(), index.numel()));
}
template <class T> T wrapping_add(T a, T b) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return T(float(a) + float(b));
  else if constexpr (std::is_integral_v<T>)
    // Adds as unsigned integers, so that overflow wraps.
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}
/// Calls the visitor with the unsigned integer type of `bytes` bytes, for elements that are moved unchanged. Returns
/// false if there is no such type.
template <class Visitor> bool visit_bytes(int64_t bytes, Visitor&& visitor) {
  switch (bytes) {
    case 1: visitor.template operator()<uint8_t>(); break;
    case 2: visitor.template operator()<uint16_t>(); break;
    case 4: visitor.template operator()<uint32_t>(); break;
    case 8: visitor.template operator()<uint64_t>(); break;
    default: return false;
  }
  return true;
}

/// Sizes of x (outer, n, inner) and of an index with m positions along the middle dimension. `bytes` is the number of
/// bytes that are moved at once: a row of `inner` elements in index_select, one element in the other operations.
struct IndexShape {
  const char* op;
  int64_t outer, n, m, inner, bytes;
};
}  // namespace

void index_select(const char* op, const Tensor& x, const Tensor& index, Tensor& y) {
  const IndexShape shape{op, x.size(0), x.size(1), index.numel(), x.size(2), x.size(2) * x.itemsize()};
  if (shape.outer * shape.bytes == 0) return check_indices(op, index, shape.n);
  const auto run_rows = [&]<class Copy>(Copy) {
    const auto body = [](const IndexShape& s, const Loop& loop, int64_t begin, int64_t end) {
      char *const to = data<char>(loop, 0), *const from = data<char>(loop, 1);
      const int64_t* const at = data<int64_t>(loop, 2);
      int64_t o = begin / s.m, k = begin % s.m;
      for (int64_t i = begin; i < end; ++i) {
        if (is_out_of_range(at[k], s.n)) [[unlikely]]
          throw_index_error(s.op, k, at[k], s.n);
        Copy()(to + i * s.bytes, from + (o * s.n + at[k]) * s.bytes, s.bytes);
        if (++k == s.m) {
          k = 0;
          ++o;
        }
      }
    };
    run(plan_call(op, y.dtype(), {y}, {x, index}, shape, body, shape.outer * shape.m,
                  std::max<int64_t>(65536 / shape.bytes, 1)));
  };
  const bool small = visit_bytes(shape.bytes, [&]<class T>() {
    run_rows([](char* to, const char* from, int64_t) { std::memcpy(to, from, sizeof(T)); });
  });
  if (!small)
    run_rows([](char* to, const char* from, int64_t bytes) { std::memcpy(to, from, static_cast<size_t>(bytes)); });
}

namespace {
struct ScatterRows {
  IndexShape shape;
  int64_t parts;  // number of parts into which the rows of y are divided; 0 if the columns are divided instead
};
/// Combines slice x[:, i, :] of x (outer, m, inner) with slice y[:, index[i], :] of y (outer, n, inner), for each i in
/// order. Calls join(pointer into y, pointer into x, number of elements, bytes per element) for each contiguous run.
/// Each thread gets some of the columns or, if rows are long, some of the rows of y, so that equal indices are combined
/// in order of i. If the rows are divided, each part scans the whole index for its rows.
template <class Join> void scatter_rows(const char* op, const Tensor& x, const Tensor& index, Tensor& y, Join) {
  check_indices(op, index, y.size(1));
  const IndexShape shape{op, y.size(0), y.size(1), index.numel(), y.size(2), y.itemsize()};
  const auto body = [](const ScatterRows& scatter_run, const Loop& loop, int64_t begin, int64_t end) {
    const IndexShape& s = scatter_run.shape;
    const int64_t* const at = data<int64_t>(loop, 2);
    const auto join = [&](int64_t o, int64_t i, int64_t column, int64_t width) {
      Join()(data<char>(loop, 0) + ((o * s.n + at[i]) * s.inner + column) * s.bytes,
             data<char>(loop, 1) + ((o * s.m + i) * s.inner + column) * s.bytes, width, s.bytes);
    };
    for (; scatter_run.parts > 0 && begin < end; ++begin) {
      const int64_t o = begin / scatter_run.parts, part = begin % scatter_run.parts,
                    low = s.n * part / scatter_run.parts, count = s.n * (part + 1) / scatter_run.parts - low;
      for (int64_t i = 0; i < s.m; ++i)
        if (!is_out_of_range(at[i] - low, count)) join(o, i, 0, s.inner);
    }
    for (int64_t first = begin; first < end;) {
      const int64_t o = first / s.inner, column = first % s.inner, width = std::min(s.inner - column, end - first);
      for (int64_t i = 0; i < s.m; ++i) join(o, i, column, width);
      first += width;
    }
  };
  const int64_t parts = std::min({shape.inner / 32, shape.m * shape.inner / 32768, shape.n, int64_t(16)});
  const bool by_rows = parts > 1;
  run(plan_call(op, y.dtype(), {y}, {x, index, y}, ScatterRows{shape, by_rows ? parts : 0}, body,
                shape.outer * (by_rows ? parts : shape.inner),
                by_rows ? 1 : std::max<int64_t>(32768 / std::max<int64_t>(shape.m, 1), 16)));
}
}  // namespace

void index_add(const Tensor& x, const Tensor& index, Tensor& y) {
  visit_dtype(y.dtype(), [&]<class T>() {
    scatter_rows("index_add", x, index, y, [](char* y_run, const char* x_run, int64_t width, int64_t) {
      T* const to = reinterpret_cast<T*>(y_run);
      const T* const from = reinterpret_cast<const T*>(x_run);
      for (int64_t c = 0; c < width; ++c) to[c] = wrapping_add(to[c], from[c]);
    });
  });
}
void index_copy(const char* op, const Tensor& x, const Tensor& index, Tensor& y) {
  scatter_rows(op, x, index, y, [](char* to, const char* from, int64_t width, int64_t bytes) {
    std::memcpy(to, from, static_cast<size_t>(width * bytes));
  });
}

void gather(const Tensor& x, const Tensor& index, Tensor& y) {
  const IndexShape shape{"gather", x.size(0), x.size(1), y.size(1), x.size(2), y.itemsize()};
  visit_bytes(shape.bytes, [&]<class T>() {
    const auto body = [](const IndexShape& s, const Loop& loop, int64_t begin, int64_t end) {
      // A run is a contiguous range of the index that can use one base pointer into x: `inner` indices or, if inner is
      // 1, m indices.
      const int64_t run = s.inner == 1 ? s.m : s.inner, runs_per_base = s.inner == 1 ? 1 : s.m;
      for (int64_t first = begin; first < end;) {
        const int64_t column = first % run, width = std::min(run - column, end - first);
        const T* const from = data<T>(loop, 1) + first / run / runs_per_base * s.n * s.inner;
        T* const to = data<T>(loop, 0) + first;
        const int64_t* const at = data<int64_t>(loop, 2) + first;
        check_index_range(s.op, at, first, width, s.n);
        if (s.inner == 1)
          for (int64_t i = 0; i < width; ++i) to[i] = from[at[i]];
        else
          for (int64_t i = 0; i < width; ++i) to[i] = from[at[i] * s.inner + column + i];
        first += width;
      }
    };
    run(plan_call("gather", y.dtype(), {y}, {x, index}, shape, body, y.numel(), 16384));
  });
}

namespace {
/// Calls join(element of y, element of source) for every element of the index. Each thread gets some of the columns, so
/// that equal indices are combined in the order of the source.
template <class T, class Join>
void scatter_columns(const char* op, const Tensor& index, const Tensor& source, Tensor& y, Join) {
  const IndexShape shape{op, y.size(0), y.size(1), index.size(1), y.size(2), y.itemsize()};
  const auto body = [](const IndexShape& s, const Loop& loop, int64_t begin, int64_t end) {
    // Combines `count` elements of the source, starting at offset `position`, with the elements of y that their indices
    // select. These lie in one column of y if inner is 1, otherwise in adjacent columns; `to` points to row 0 of the
    // first column.
    const auto scatter_run = [&](int64_t position, int64_t count, T* to) {
      const int64_t* const at = data<int64_t>(loop, 1) + position;
      const T* const from = data<T>(loop, 2) + position;
      check_index_range(s.op, at, position, count, s.n);
      if (s.inner == 1)
        for (int64_t i = 0; i < count; ++i) Join()(to[at[i]], from[i]);
      else
        for (int64_t i = 0; i < count; ++i) Join()(to[at[i] * s.inner + i], from[i]);
    };
    T* const to = data<T>(loop, 0);
    if (s.inner == 1) {
      for (int64_t o = begin; o < end; ++o) scatter_run(o * s.m, s.m, to + o * s.n);
      return;
    }
    for (int64_t first = begin; first < end;) {
      const int64_t o = first / s.inner, column = first % s.inner, width = std::min(s.inner - column, end - first);
      for (int64_t i = 0; i < s.m; ++i)
        scatter_run((o * s.m + i) * s.inner + column, width, to + o * s.n * s.inner + column);
      first += width;
    }
  };
  run(plan_call(op, y.dtype(), {y}, {index, source, y}, shape, body, shape.outer * shape.inner,
                std::max<int64_t>(16384 / std::max<int64_t>(shape.m, 1), 1)));
}
}  // namespace

void scatter(const char* op, const Tensor& index, const Tensor& source, bool accumulate, Tensor& y) {
  if (accumulate)
    visit_dtype(y.dtype(), [&]<class T>() {
      scatter_columns<T>(op, index, source, y, [](T& to, T from) { to = wrapping_add(to, from); });
    });
  else
    visit_bytes(y.itemsize(),
                [&]<class T>() { scatter_columns<T>(op, index, source, y, [](T& to, T from) { to = from; }); });
}

namespace {
constexpr int64_t kMaskBlock = 4096;

/// Writes the coordinates of the true elements in [begin, end) of a mask of shape `sizes`.
void write_coordinates(const bool* mask, int64_t begin, int64_t end, IntArrayRef sizes, int64_t* to) {
  uint16_t hits[kMaskBlock + 1];
  int64_t count = 0;
  // This loop does not branch on mask[i], because the processor would often mispredict such a branch.
  for (int64_t i = begin; i < end; ++i) {
    hits[count] = static_cast<uint16_t>(i - begin);
    count += mask[i];
  }
  const int64_t rank = static_cast<int64_t>(sizes.size());
  if (rank == 0 || count == 0) return;
  // Coordinates of the row that contains element `begin` of the mask. The loop below advances them from row to row.
  int64_t at[kMaxDims] = {}, rest = begin;
  for (int64_t d = rank - 1; d >= 0; rest /= sizes[static_cast<size_t>(d--)])
    at[d] = rest % sizes[static_cast<size_t>(d)];
  const int64_t width = sizes.back();
  int64_t row = begin - at[rank - 1];
  for (int64_t k = 0; k < count; ++k, to += rank) {
    const int64_t i = begin + hits[k];
    for (; i >= row + width; row += width)
      for (int64_t d = rank - 2; d >= 0; --d) {
        if (++at[d] < sizes[static_cast<size_t>(d)]) break;
        at[d] = 0;
      }
    for (int64_t d = 0; d + 1 < rank; ++d) to[d] = at[d];
    to[rank - 1] = i - row;
  }
}
}  // namespace

void nonzero(const Tensor& mask, Tensor& coordinates) {
  const int64_t blocks = (mask.numel() + kMaskBlock - 1) / kMaskBlock;
  // For each block of the mask, the first row of `coordinates` that the block writes.
  Tensor starts = core::empty({blocks + 1}, kInt64, mask.device());
  const auto count_hits = [](int64_t total, const Loop& loop, int64_t begin, int64_t end) {
    const bool* const m = data<bool>(loop, 1);
    for (int64_t b = begin; b < end; ++b) {
      int64_t count = 0;
      for (int64_t i = b * kMaskBlock; i < std::min((b + 1) * kMaskBlock, total); ++i) count += m[i];
      data<int64_t>(loop, 0)[b + 1] = count;
    }
  };
  run(plan_call("nonzero", kBool, {starts}, {mask}, mask.numel(), count_hits, blocks, 16));
  auto* const start = starts.data<int64_t>();
  start[0] = 0;
  for (int64_t b = 1; b <= blocks; ++b) start[b] += start[b - 1];
  coordinates = core::empty({start[blocks], mask.dim()}, kInt64, mask.device());
  const auto write_blocks = [](const Shape& sizes, const Loop& loop, int64_t begin, int64_t end) {
    const int64_t total = numel_of(sizes), rank = static_cast<int64_t>(sizes.size());
    for (int64_t b = begin; b < end; ++b)
      write_coordinates(data<bool>(loop, 1), b * kMaskBlock, std::min((b + 1) * kMaskBlock, total), sizes,
                        data<int64_t>(loop, 0) + data<int64_t>(loop, 2)[b] * rank);
  };
  run(plan_call("nonzero", kBool, {coordinates}, {mask, starts}, Shape(mask.sizes()), write_blocks, blocks, 4));
}

}  // namespace tandem::kernels::cpu
