// Indexing kernels: they move whole elements or rows, so they need no instruction set of their own. Indices are checked
// where they are used, before they are.
#include <cstring>

#include "tandem/core/thread_pool.h"
#include "tandem/kernels/index.h"

namespace tandem::kernels::cpu {
namespace {

[[noreturn]] void throw_index(const char* op, int64_t place, int64_t value, int64_t size) {
  tandem::detail::fail<IndexError>(__FILE__, __LINE__, op, ": index ", place, " is ", value, "; accepted: 0 to ",
                                   size - 1);
}
bool outside(int64_t index, int64_t size) { return static_cast<uint64_t>(index) >= static_cast<uint64_t>(size); }
/// Of `count` indices, the first of which is number `first`. The signs are gathered, so that there is one branch.
void check_run(const char* op, const int64_t* at, int64_t first, int64_t count, int64_t size) {
  int64_t signs = 0;
  for (int64_t i = 0; i < count; ++i) signs |= at[i] | (size - 1 - at[i]);
  if (signs >= 0) [[likely]]
    return;
  for (int64_t i = 0; i < count; ++i)
    if (outside(at[i], size)) throw_index(op, first + i, at[i], size);
}
void check_indices(const char* op, const Tensor& index, int64_t size) {
  check_run(op, index.data<int64_t>(), 0, index.numel(), size);
}
template <class T> T add(T a, T b) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return T(float(a) + float(b));
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));  // unsigned: what does not fit wraps
  else
    return a + b;
}
/// Calls the visitor with an unsigned integer of so many bytes, for what moves without being looked at; false if there
/// is none.
template <class Visitor> bool visit_bytes(int64_t bytes, Visitor&& visitor) {
  switch (bytes) {
    case 1: return visitor.template operator()<uint8_t>(), true;
    case 2: return visitor.template operator()<uint16_t>(), true;
    case 4: return visitor.template operator()<uint32_t>(), true;
    case 8: return visitor.template operator()<uint64_t>(), true;
    default: return false;
  }
}

}  // namespace

void index_select(const char* op, const Tensor& x, const Tensor& index, Tensor& y) {
  const int64_t outer = x.size(0), n = x.size(1), count = index.numel(), row = x.size(2) * x.itemsize();
  const int64_t* const at = index.data<int64_t>();
  const char* const from = static_cast<const char*>(x.raw_data());
  char* const to = static_cast<char*>(y.raw_data());
  if (outer * row == 0) return check_indices(op, index, n);
  const auto each_row = [&](auto copy) {
    parallel_for(outer * count, std::max<int64_t>(65536 / row, 1), [&](int64_t begin, int64_t end) {
      int64_t o = begin / count, k = begin % count;
      for (int64_t i = begin; i < end; ++i) {
        if (outside(at[k], n)) [[unlikely]]
          throw_index(op, k, at[k], n);
        copy(to + i * row, from + (o * n + at[k]) * row);
        if (++k == count) k = 0, ++o;
      }
    });
  };
  const bool small =
      visit_bytes(row, [&]<class T>() { each_row([](char* a, const char* b) { std::memcpy(a, b, sizeof(T)); }); });
  if (!small) each_row([row](char* a, const char* b) { std::memcpy(a, b, static_cast<size_t>(row)); });
}

namespace {
/// join(place in y, place in x, count) for runs of y (outer, n, inner)[index[i]] and x (outer, m, inner)[i]. Cut by
/// columns, so that rows that meet follow the order of the index.
template <class Join> void put_rows(const char* op, const Tensor& index, Tensor& y, Join join) {
  check_indices(op, index, y.size(1));
  const int64_t outer = y.size(0), n = y.size(1), inner = y.size(2), count = index.numel();
  const int64_t* const at = index.data<int64_t>();
  const int64_t grain = std::max<int64_t>(32768 / std::max<int64_t>(count, 1), 16);
  parallel_for(outer * inner, grain, [&](int64_t begin, int64_t end) {
    for (int64_t first = begin; first < end;) {
      const int64_t o = first / inner, column = first % inner, width = std::min(inner - column, end - first);
      for (int64_t i = 0; i < count; ++i)
        join((o * n + at[i]) * inner + column, (o * count + i) * inner + column, width);
      first += width;
    }
  });
}
}  // namespace

void index_add(const Tensor& x, const Tensor& index, Tensor& y) {
  visit_dtype(y.dtype(), [&]<class T>() {
    put_rows("index_add", index, y, [to = y.data<T>(), from = x.data<T>()](int64_t a, int64_t b, int64_t width) {
      for (int64_t c = 0; c < width; ++c) to[a + c] = add(to[a + c], from[b + c]);
    });
  });
}
void index_copy(const char* op, const Tensor& x, const Tensor& index, Tensor& y) {
  const int64_t size = y.itemsize();
  char* const to = static_cast<char*>(y.raw_data());
  const char* const from = static_cast<const char*>(x.raw_data());
  put_rows(op, index, y, [=](int64_t a, int64_t b, int64_t width) {
    std::memcpy(to + a * size, from + b * size, static_cast<size_t>(width * size));
  });
}

void gather(const Tensor& x, const Tensor& index, Tensor& y) {
  const int64_t n = x.size(1), inner = x.size(2), m = y.size(1);
  // Runs that share a base: of columns, or of a whole row where every row has but one.
  const int64_t run = inner == 1 ? m : inner, runs_per_base = inner == 1 ? 1 : m;
  const int64_t* const index_data = index.data<int64_t>();
  visit_bytes(y.itemsize(), [&]<class T>() {
    parallel_for(y.numel(), 16384, [&](int64_t begin, int64_t end) {
      for (int64_t first = begin; first < end;) {
        const int64_t column = first % run, width = std::min(run - column, end - first);
        const T* const from = static_cast<const T*>(x.raw_data()) + first / run / runs_per_base * n * inner;
        T* const to = static_cast<T*>(y.raw_data()) + first;
        const int64_t* const at = index_data + first;
        check_run("gather", at, first, width, n);
        if (inner == 1)
          for (int64_t i = 0; i < width; ++i) to[i] = from[at[i]];
        else
          for (int64_t i = 0; i < width; ++i) to[i] = from[at[i] * inner + column + i];
        first += width;
      }
    });
  });
}

namespace {
/// Cut by columns, so that what meets follows the order of the source.
template <class T, class Join>
void scatter_columns(const char* op, const Tensor& index, const Tensor& source, Tensor& y, Join join) {
  const int64_t n = y.size(1), inner = y.size(2), m = index.size(1), columns = y.size(0) * inner;
  const int64_t* const index_data = index.data<int64_t>();
  // A run of the source, `place` on, into y from `to` on: all into one column, or into columns side by side.
  const auto put = [&](int64_t place, int64_t count, T* to) {
    const T* const from = static_cast<const T*>(source.raw_data()) + place;
    const int64_t* const at = index_data + place;
    check_run(op, at, place, count, n);
    if (inner == 1)
      for (int64_t i = 0; i < count; ++i) join(to[at[i]], from[i]);
    else
      for (int64_t i = 0; i < count; ++i) join(to[at[i] * inner + i], from[i]);
  };
  parallel_for(columns, std::max<int64_t>(16384 / std::max<int64_t>(m, 1), 1), [&](int64_t begin, int64_t end) {
    T* const to = static_cast<T*>(y.raw_data());
    if (inner == 1) {
      for (int64_t o = begin; o < end; ++o) put(o * m, m, to + o * n);
      return;
    }
    for (int64_t first = begin; first < end;) {
      const int64_t o = first / inner, column = first % inner, width = std::min(inner - column, end - first);
      for (int64_t i = 0; i < m; ++i) put((o * m + i) * inner + column, width, to + o * n * inner + column);
      first += width;
    }
  });
}
}  // namespace

void scatter(const char* op, const Tensor& index, const Tensor& source, bool accumulate, Tensor& y) {
  if (accumulate)
    visit_dtype(y.dtype(), [&]<class T>() {
      scatter_columns<T>(op, index, source, y, [](T& to, T from) { to = add(to, from); });
    });
  else
    visit_bytes(y.itemsize(),
                [&]<class T>() { scatter_columns<T>(op, index, source, y, [](T& to, T from) { to = from; }); });
}

namespace {
constexpr int64_t kMaskBlock = 4096;

/// Writes the positions of the hits in [begin, end) of a mask, of shape `sizes`, each as its coordinates.
void write_places(const bool* mask, int64_t begin, int64_t end, IntArrayRef sizes, int64_t* to) {
  uint16_t hits[kMaskBlock + 1];
  int64_t count = 0;
  for (int64_t i = begin; i < end; ++i) {  // no branch: a processor would guess a mask wrong
    hits[count] = static_cast<uint16_t>(i - begin);
    count += mask[i];
  }
  const int64_t rank = static_cast<int64_t>(sizes.size());
  if (rank == 0 || count == 0) return;
  // Coordinates of the row that `begin` lies in, carried on from row to row.
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

void nonzero(const Tensor& mask, Tensor& places) {
  const int64_t total = mask.numel(), blocks = (total + kMaskBlock - 1) / kMaskBlock;
  const bool* const m = mask.data<bool>();
  std::vector<int64_t> start(static_cast<size_t>(blocks) + 1);  // the block's first row among the places
  parallel_for(blocks, 16, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      int64_t count = 0;
      for (int64_t i = b * kMaskBlock; i < std::min((b + 1) * kMaskBlock, total); ++i) count += m[i];
      start[static_cast<size_t>(b) + 1] = count;
    }
  });
  for (size_t b = 1; b < start.size(); ++b) start[b] += start[b - 1];
  places = core::empty({start.back(), mask.dim()}, kInt64, mask.device());
  parallel_for(blocks, 4, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      write_places(m, b * kMaskBlock, std::min((b + 1) * kMaskBlock, total), mask.sizes(),
                   places.data<int64_t>() + start[static_cast<size_t>(b)] * mask.dim());
  });
}

}  // namespace tandem::kernels::cpu
