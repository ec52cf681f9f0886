// Selecting, gathering and scattering along the middle dimension of (outer, n, inner); all of these kernels are bound
// by memory. Reads through an index move elements as unsigned integers. If several elements are written to the same
// position of the output, they are written in the order of the index, so that sums have the same bits in every run (and
// on the CPU):
// - with few rows, or with many columns: a thread takes one column and goes through the index in order;
// - otherwise a stable sort of the indices comes first, and one thread does all writes to each position. If the index
//   has a value for each element, each column is sorted by itself, because elements of different columns never meet:
//   columns of up to 1024 elements are sorted in shared memory, in one pass.
// An index out of range is reported (fault.h), and its element is skipped.
#include "tandem/kernels/cuda/divider.cuh"
#include "tandem/kernels/cuda/fault.h"
#include "tandem/kernels/cuda/reduce.cuh"
#include "tandem/kernels/functors/base.h"
#include "tandem/kernels/index.h"
#include "tandem/kernels/reduce.h"

namespace tandem::kernels::cuda {
namespace {

// Maximum number of threads per block, and number of items per thread. Several items give a thread several loads in
// flight.
constexpr int kThreads = 128, kItemsPerThread = 4;
constexpr int64_t kFewWords = 262144;

/// Sixteen bytes, which one load or store moves.
struct alignas(16) Words {
  uint64_t half[2];
};

struct QuotientRemainder {
  int64_t quotient, remainder;
};
__device__ inline QuotientRemainder div_mod(int64_t n, int64_t divisor) {
  const int64_t q = quotient(n, divisor);
  return {q, n - q * divisor};
}

struct IndexShape {
  // n is the size of the indexed dimension (of x or y), m the number of indices along it, and inner the number of
  // elements per row.
  int64_t outer, n, m, inner;
};

/// Index tensor: it has one index for each row or, if `is_per_element`, for each element.
struct IndexTensor {
  const int64_t* index;
  bool is_per_element;
  IndexErrorReporter report;
  __device__ int64_t number(const IndexShape& g, int64_t outer, int64_t i, int64_t column) const {
    return is_per_element ? (outer * g.m + i) * g.inner + column : i;
  }
};

// ---- reading

/// Copies the rows (or elements) of x (outer, n, inner) that `indices` selects to y (outer, m, inner), in units of
/// Word. Each thread moves kEach Words.
template <class Word, int kEach>
__global__ void gather_kernel(IndexTensor indices, const Word* __restrict__ x, Word* __restrict__ y, IndexShape g,
                              Divider m_divider, Divider inner_divider) {
  const int64_t first = int64_t(blockIdx.x) * blockDim.x * kEach + threadIdx.x, count = g.outer * g.m * g.inner;
#pragma unroll
  for (int u = 0; u < kEach; ++u) {
    const int64_t item = first + u * int64_t(blockDim.x);
    if (item >= count) return;
    uint64_t column = uint64_t(item), i = inner_divider.div_mod(column);
    const uint64_t outer = m_divider.div_mod(i);
    const int64_t number = indices.is_per_element ? item : int64_t(i), position = __ldg(indices.index + number);
    if (is_out_of_range(position, g.n))
      indices.report(number, position, g.n);
    else
      word_at<Word>(y + item) = word_at<Word>(x + (int64_t(outer) * g.n + position) * g.inner + int64_t(column));
  }
}

// ---- joining rows

constexpr int kMaxCatInputs = 32;  // maximum number of tensors per launch
/// Tensors to concatenate along the rows of y, in units of words. Each tensor is a Part. The launch first has the
/// blocks of the first part, then those of the second part, and so on. Indices have 32 bits.
struct CatInputs {
  struct Part {
    const void* data;
    // Number of words in the part, number of words in a row of the part, and offset in words at which these rows start
    // in the rows of y.
    uint32_t items, length, column;
    uint32_t last_block;  // total number of blocks of this part and all previous parts
    Divider32 length_divider;
  };
  Part parts[kMaxCatInputs];
  int count;
  uint32_t pitch;  // words per row of y
};
template <class Word> __global__ void cat_kernel(CatInputs inputs, Word* __restrict__ y) {
  int p = 0;
  while (blockIdx.x >= inputs.parts[p].last_block) ++p;
  const CatInputs::Part& part = inputs.parts[p];
  const Word* const from = static_cast<const Word*>(part.data);
  const uint32_t block = blockIdx.x - (p > 0 ? inputs.parts[p - 1].last_block : 0);
  const uint32_t first = block * blockDim.x * kItemsPerThread + threadIdx.x;
  Word words[kItemsPerThread];
#pragma unroll
  for (int u = 0; u < kItemsPerThread; ++u)
    if (first + u * blockDim.x < part.items) words[u] = word_at<Word>(from + first + u * blockDim.x);
#pragma unroll
  for (int u = 0; u < kItemsPerThread; ++u) {
    const uint32_t item = first + u * blockDim.x;
    if (item >= part.items) return;
    const uint32_t row = part.length_divider.divide(item), column = item - row * part.length;
    word_at<Word>(y + row * inputs.pitch + part.column + column) = words[u];
  }
}

// ---- writing

struct SetOp {
  template <class T> __device__ static void accumulate(T& to, T from) { to = from; }
};
struct AddOp {
  template <class T> __device__ static void accumulate(T& to, T from) {
    if constexpr (math::kIsSameType<T, Half> || math::kIsSameType<T, BFloat16>)
      to = T(float(to) + float(from));
    else
      to = math::add(to, from);
  }
};

/// Writes or adds the rows (or elements) of x (outer, m, inner) to the positions of y (outer, n, inner) that `indices`
/// selects. Each thread processes one column, in the order of the index.
template <class T, class Join>
__global__ void scatter_columns_kernel(IndexTensor indices, const T* __restrict__ x, T* y, IndexShape g) {
  const int64_t item = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (item >= g.outer * g.inner) return;
  const QuotientRemainder at = div_mod(item, g.inner);
  const int64_t outer = at.quotient, column = at.remainder;
#pragma unroll 4
  for (int64_t i = 0; i < g.m; ++i) {
    const int64_t number = indices.number(g, outer, i, column), position = indices.index[number];
    if (is_out_of_range(position, g.n))
      indices.report(number, position, g.n);
    else
      Join::accumulate(y[(outer * g.n + position) * g.inner + column], x[(outer * g.m + i) * g.inner + column]);
  }
}

/// Writes a sort key for each index: the position that it selects, or n if the index is out of range. If each element
/// has its own index, the m keys of each column are adjacent.
template <class Key>
__global__ void make_sort_keys_kernel(IndexTensor indices, IndexShape g, int64_t count, Key* keys) {
  const int64_t number = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (number >= count) return;
  int64_t position = indices.index[number], to = number;
  if (is_out_of_range(position, g.n)) {
    indices.report(number, position, g.n);
    position = g.n;
  }
  if (indices.is_per_element) {
    const QuotientRemainder row = div_mod(number, g.inner), at = div_mod(row.quotient, g.m);
    to = (at.quotient * g.inner + row.remainder) * g.m + at.remainder;
  }
  keys[to] = static_cast<Key>(position);
}
/// Version of scatter_columns_kernel for sorted keys, with one thread for each column of each row. Among rows of a
/// column with equal keys, the thread of the first row processes all of them. With SetOp, only the last row is written.
template <class T, class Join, class Key>
__global__ void scatter_sorted_kernel(const Key* __restrict__ keys, const int64_t* __restrict__ order,
                                      const T* __restrict__ x, T* y, IndexShape g, bool is_per_element) {
  const int64_t item = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (item >= g.outer * g.m * g.inner) return;
  int64_t outer = 0, column = 0, p = 0;
  if (is_per_element) {
    const QuotientRemainder sorted = div_mod(item, g.m), at = div_mod(sorted.quotient, g.inner);
    outer = at.quotient, column = at.remainder, p = sorted.remainder;
    keys += sorted.quotient * g.m;
    order += sorted.quotient * g.m;
  } else {
    const QuotientRemainder row = div_mod(item, g.inner), at = div_mod(row.quotient, g.m);
    outer = at.quotient, column = row.remainder, p = at.remainder;
  }
  const Key key = keys[p];
  if (key == static_cast<Key>(g.n)) return;
  x += outer * g.m * g.inner + column;
  T& to = y[(outer * g.n + key) * g.inner + column];
  if constexpr (math::kIsSameType<Join, SetOp>) {
    if (p + 1 == g.m || keys[p + 1] != key) to = x[order[p] * g.inner];
  } else {
    if (p > 0 && keys[p - 1] == key) return;
    T sum = to;
#pragma unroll 4
    for (int64_t q = p; q < g.m && keys[q] == key; ++q) Join::accumulate(sum, x[order[q] * g.inner]);
    to = sum;
  }
}

LaunchShape launch_shape(int64_t items, int per_thread = 1) {
  const int64_t threads = ceil_div(items, per_thread), block = std::min<int64_t>(threads, kThreads);
  return {checked_grid_size(ceil_div(threads, block)), static_cast<unsigned>(block)};
}

template <class Key, class Visit>
void scatter_sorted(const IndexTensor& indices, const Tensor& x, const Tensor& y, const IndexShape& g,
                    Visit visit_type) {
  const Device device = y.device();
  const int64_t sorted = indices.is_per_element ? g.outer * g.inner : 1;  // number of sorted rows of m keys
  const Tensor keys = core::empty({sorted, g.m}, dtype_of<Key>(), device);
  Tensor in_order = core::empty(keys.sizes(), dtype_of<Key>(), device),
         order = core::empty(keys.sizes(), kInt64, device);
  launch(indices.report.op(), make_sort_keys_kernel<Key>, launch_shape(sorted * g.m), device, indices, g, sorted * g.m,
         keys.data<Key>());
  sort(keys, /*descending=*/false, in_order, order);
  visit_type([&]<class T, class Join>() {
    launch(indices.report.op(), scatter_sorted_kernel<T, Join, Key>, launch_shape(g.outer * g.m * g.inner), device,
           in_order.data<Key>(), order.data<int64_t>(), static_cast<const T*>(x.raw_data()),
           static_cast<T*>(y.raw_data()), g, indices.is_per_element);
  });
}
template <class Visit>
void scatter_dispatch(const IndexTensor& indices, const Tensor& x, Tensor& y, int64_t m, Visit visit_type) {
  constexpr int64_t kFewRows = 32, kManyColumns = 65536;
  const IndexShape g{y.size(0), y.size(1), m, y.size(2)};
  const int64_t columns = g.outer * g.inner;
  if (columns == 0 || m == 0) return;
  if (m <= kFewRows || columns >= kManyColumns)
    visit_type([&]<class T, class Join>() {
      launch(indices.report.op(), scatter_columns_kernel<T, Join>, launch_shape(columns), y.device(), indices,
             static_cast<const T*>(x.raw_data()), static_cast<T*>(y.raw_data()), g);
    });
  else if (g.n < 0x7fffffff)
    scatter_sorted<int32_t>(indices, x, y, g, visit_type);
  else
    scatter_sorted<int64_t>(indices, x, y, g, visit_type);
}
/// Calls the visitor with the unsigned integer type that has `bytes` bytes, or with Words if `bytes` is 16.
template <class Visitor> void visit_bytes(int64_t bytes, Visitor&& visitor) {
  switch (bytes) {
    case 1: return visitor.template operator()<uint8_t>();
    case 2: return visitor.template operator()<uint16_t>();
    case 4: return visitor.template operator()<uint32_t>();
    case 8: return visitor.template operator()<uint64_t>();
    default: return visitor.template operator()<Words>();
  }
}
/// Returns the largest power of two, up to 16, that divides all of the numbers.
int64_t common_word_size(ArrayRef<uintptr_t> numbers) {
  uintptr_t bits = 16;
  for (const uintptr_t n : numbers) bits |= n;
  return static_cast<int64_t>(bits & (~bits + 1));
}

void apply(const std::vector<Tensor>& parts, const Tensor& y, int64_t word) {
  CatInputs inputs{};
  inputs.pitch = static_cast<uint32_t>(y.size(1) * y.itemsize() / word);
  int64_t column = 0, blocks = 0;
  const auto flush = [&] {
    if (inputs.count == 0) return;
    visit_bytes(word, [&]<class Word>() {
      launch("cat", cat_kernel<Word>, {checked_grid_size(blocks), kThreads}, y.device(), inputs,
             static_cast<Word*>(y.raw_data()));
    });
    inputs.count = 0;
    blocks = 0;
  };
  for (const Tensor& part : parts) {
    const int64_t length = part.size(1) * part.itemsize() / word, items = part.size(0) * length;
    if (items == 0) continue;
    blocks += ceil_div(items, kThreads * kItemsPerThread);
    inputs.parts[inputs.count++] = {part.raw_data(),
                                    static_cast<uint32_t>(items),
                                    static_cast<uint32_t>(length),
                                    static_cast<uint32_t>(column),
                                    static_cast<uint32_t>(blocks),
                                    Divider32(length)};
    column += length;
    if (inputs.count == kMaxCatInputs) flush();
  }
  flush();
}
void gather_words(const IndexTensor& indices, const Tensor& x, Tensor& y, const IndexShape& g, int64_t word) {
  const int64_t count = g.outer * g.m * g.inner;
  visit_bytes(word, [&]<class Word>() {
    const auto run = [&](auto kernel, int each) {
      launch(indices.report.op(), kernel, launch_shape(count, each), y.device(), indices,
             static_cast<const Word*>(x.raw_data()), static_cast<Word*>(y.raw_data()), g, Divider(g.m),
             Divider(g.inner));
    };
    // If there are few words, each thread moves only one word, so that all multiprocessors have work.
    count > kFewWords ? run(gather_kernel<Word, kItemsPerThread>, kItemsPerThread) : run(gather_kernel<Word, 1>, 1);
  });
}
void scatter_add(const IndexTensor& indices, const Tensor& x, Tensor& y, int64_t m) {
  visit_dtype(y.dtype(), [&]<class T>() {
    scatter_dispatch(indices, x, y, m, [](auto run) { run.template operator()<T, AddOp>(); });
  });
}
void scatter_copy(const IndexTensor& indices, const Tensor& x, Tensor& y, int64_t m) {
  visit_bytes(y.itemsize(), [&]<class T>() {
    if constexpr (sizeof(T) <= 8)
      scatter_dispatch(indices, x, y, m, [](auto run) { run.template operator()<T, SetOp>(); });
  });
}

}  // namespace

void index_select(const char* op, const Tensor& x, const Tensor& index, Tensor& y) {
  if (y.numel() == 0) return;
  const auto bytes = static_cast<uintptr_t>(x.size(2) * x.itemsize());
  const int64_t word =
      common_word_size({bytes, reinterpret_cast<uintptr_t>(x.raw_data()), reinterpret_cast<uintptr_t>(y.raw_data())});
  gather_words({index.data<int64_t>(), false, {op, y.device()}}, x, y,
               {x.size(0), x.size(1), index.numel(), static_cast<int64_t>(bytes) / word}, word);
}
void gather(const Tensor& x, const Tensor& index, Tensor& y) {
  if (y.numel() == 0) return;
  gather_words({index.data<int64_t>(), true, {"gather", y.device()}}, x, y,
               {x.size(0), x.size(1), y.size(1), x.size(2)}, y.itemsize());
}
void cat(const std::vector<Tensor>& parts, Tensor& y) {
  std::vector<uintptr_t> numbers{reinterpret_cast<uintptr_t>(y.raw_data())};
  for (const Tensor& part : parts) {
    if (part.numel() == 0) continue;
    numbers.push_back(reinterpret_cast<uintptr_t>(part.raw_data()));
    numbers.push_back(static_cast<uintptr_t>(part.size(1) * part.itemsize()));
  }
  apply(parts, y, common_word_size(numbers));
}
void index_add(const Tensor& x, const Tensor& index, Tensor& y) {
  scatter_add({index.data<int64_t>(), false, {"index_add", y.device()}}, x, y, index.numel());
}
void index_copy(const char* op, const Tensor& x, const Tensor& index, Tensor& y) {
  scatter_copy({index.data<int64_t>(), false, {op, y.device()}}, x, y, index.numel());
}
void scatter(const char* op, const Tensor& index, const Tensor& source, bool add, Tensor& y) {
  const IndexTensor indices{index.data<int64_t>(), true, {op, y.device()}};
  if (add)
    scatter_add(indices, source, y, index.size(1));
  else
    scatter_copy(indices, source, y, index.size(1));
}

}  // namespace tandem::kernels::cuda
