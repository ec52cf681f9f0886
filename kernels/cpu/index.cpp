// Indexing kernels: they move whole elements or rows, so they need no instruction set of their own.
#include <cstring>

#include "tandem/core/thread_pool.h"
#include "tandem/kernels/nn.h"

namespace tandem::kernels::cpu {
namespace {

void check_indices(const char* op, const Tensor& index, int64_t size) {
  const int64_t* const p = index.data<int64_t>();
  for (int64_t i = 0; i < index.numel(); ++i)
    TANDEM_CHECK_AS(IndexError, p[i] >= 0 && p[i] < size, op, ": index ", i, " is ", p[i], "; accepted: 0 to ",
                    size - 1);
}
template <class T> T add(T a, T b) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return T(float(a) + float(b));
  else
    return static_cast<T>(a + b);
}

}  // namespace

void index_select(const Tensor& x, const Tensor& index, Tensor& y) {
  check_indices("index_select", index, x.size(1));
  const int64_t outer = x.size(0), n = x.size(1), count = index.numel(), row = x.size(2) * x.itemsize();
  const int64_t* const at = index.data<int64_t>();
  const char* const from = static_cast<const char*>(x.raw_data());
  char* const to = static_cast<char*>(y.raw_data());
  if (row == 0) return;
  parallel_for(outer * count, std::max<int64_t>(65536 / row, 1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::memcpy(to + i * row, from + (i / count * n + at[i % count]) * row, static_cast<size_t>(row));
  });
}

void index_add(const Tensor& x, const Tensor& index, Tensor& y) {
  check_indices("index_add", index, y.size(1));
  const int64_t outer = y.size(0), n = y.size(1), inner = y.size(2), count = index.numel();
  const int64_t* const at = index.data<int64_t>();
  visit_dtype(y.dtype(), [&]<class T>() {
    // Cut by columns, so that rows that meet are added in the order of the index.
    const int64_t grain = std::max<int64_t>(32768 / std::max<int64_t>(count, 1), 16);
    parallel_for(outer * inner, grain, [&](int64_t begin, int64_t end) {
      for (int64_t first = begin; first < end;) {
        const int64_t o = first / inner, column = first % inner, width = std::min(inner - column, end - first);
        for (int64_t i = 0; i < count; ++i) {
          const T* const from = x.data<T>() + (o * count + i) * inner + column;
          T* const to = y.data<T>() + (o * n + at[i]) * inner + column;
          for (int64_t c = 0; c < width; ++c) to[c] = add(to[c], from[c]);
        }
        first += width;
      }
    });
  });
}

void gather(const Tensor& x, const Tensor& index, Tensor& y) {
  check_indices("gather", index, x.size(1));
  const int64_t n = x.size(1), inner = x.size(2), m = y.size(1);
  const int64_t* const at = index.data<int64_t>();
  visit_dtype(y.dtype(), [&]<class T>() {
    parallel_for(y.numel(), 16384, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        y.data<T>()[i] = x.data<T>()[(i / (m * inner) * n + at[i]) * inner + i % inner];
    });
  });
}

void scatter(const Tensor& index, const Tensor& source, bool accumulate, Tensor& y) {
  check_indices("scatter", index, y.size(1));
  const int64_t n = y.size(1), inner = y.size(2), m = index.size(1), columns = y.size(0) * inner;
  const int64_t* const at = index.data<int64_t>();
  visit_dtype(y.dtype(), [&]<class T>() {
    parallel_for(columns, std::max<int64_t>(16384 / std::max<int64_t>(m, 1), 1), [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c)
        for (int64_t i = 0; i < m; ++i) {
          const int64_t from = (c / inner * m + i) * inner + c % inner;
          T& to = y.data<T>()[(c / inner * n + at[from]) * inner + c % inner];
          to = accumulate ? add(to, source.data<T>()[from]) : source.data<T>()[from];
        }
    });
  });
}

}  // namespace tandem::kernels::cpu
