// Sorting and top-k selection along rows. Each element becomes an entry, which consists of an unsigned key with the
// same order as the element and, in the less significant bits, the element's position. No two entries are equal, so any
// sorting algorithm gives the same, stable order. A block sorts a tile in shared memory (bitonic sort). The sorted
// tiles of longer rows are merged; each block finds its share of the two runs by binary search (merge path). topk keeps
// the first k entries of each tile, and sorts the kept entries again until one tile is left. With two or more merges,
// memory limits the speed.
#include <utility>

#include "tandem/kernels/cuda/reduce.cuh"
#include "tandem/kernels/reduce.h"

namespace tandem::kernels::cuda {
namespace {

constexpr int kTile = 1024;  // number of entries that a thread block sorts or merges
constexpr int kMergeThreads = 128;
constexpr int kEntriesPerThread = kTile / kMergeThreads;

/// Entry with a key of up to 32 bits and a position below 2^32 - 1.
struct NarrowEntry {
  uint64_t bits;
  __device__ static NarrowEntry of(uint64_t key, int64_t at) { return {key << 32 | uint64_t(at)}; }
  __device__ static NarrowEntry sentinel() { return {~uint64_t(0)}; }
  __device__ int64_t at() const { return int64_t(bits & 0xffffffffu); }
  __device__ bool operator<(const NarrowEntry& other) const { return bits < other.bits; }
};
struct alignas(16) WideEntry {
  uint64_t key, position;
  __device__ static WideEntry of(uint64_t key, int64_t at) { return {key, uint64_t(at)}; }
  __device__ static WideEntry sentinel() { return {~uint64_t(0), ~uint64_t(0)}; }
  __device__ int64_t at() const { return int64_t(position); }
  __device__ bool operator<(const WideEntry& other) const {
    return key != other.key ? key < other.key : position < other.position;
  }
};

enum class KeyType { unsigned_integer, signed_integer, floating };
/// Input rows of any dtype, whose elements are read as bits. If `descending`, keys are inverted.
struct SortInput {
  const void* x;
  int64_t n;
  uint64_t infinity;  // bits of infinity, if the dtype is a floating-point dtype
  int element_bytes;
  KeyType key_type;
  bool descending;

  SortInput(const Tensor& t, bool descending)
      : x(t.raw_data()),
        n(t.size(1)),
        infinity(0),
        element_bytes(static_cast<int>(t.itemsize())),
        descending(descending) {
    const DType dtype = t.dtype();
    key_type = t.is_floating_point()               ? KeyType::floating
               : dtype == kUInt8 || dtype == kBool ? KeyType::unsigned_integer
                                                   : KeyType::signed_integer;
    infinity = dtype == kFloat64    ? 0x7ff0000000000000u
               : dtype == kFloat32  ? 0x7f800000u
               : dtype == kBFloat16 ? 0x7f80u
                                    : 0x7c00u;
  }
  __device__ uint64_t bits(int64_t i) const {
    switch (element_bytes) {
      case 1: return static_cast<const uint8_t*>(x)[i];
      case 2: return static_cast<const uint16_t*>(x)[i];
      case 4: return static_cast<const uint32_t*>(x)[i];
      default: return static_cast<const uint64_t*>(x)[i];
    }
  }
  /// Returns the sort key of element i. NaN has the largest key, and 0 and -0 have equal keys.
  __device__ uint64_t key(int64_t i) const {
    const uint64_t ones = element_bytes == 8 ? ~uint64_t(0) : (uint64_t(1) << (8 * element_bytes)) - 1,
                   sign = ones - ones / 2;
    uint64_t u = bits(i);
    if (key_type == KeyType::signed_integer) u ^= sign;
    if (key_type == KeyType::floating) {
      if (u == sign) u = 0;
      u = (u & ~sign) > infinity ? ones : u & sign ? ~u & ones : u | sign;
    }
    return descending ? u ^ ones : u;
  }
};

/// Output rows: `count` sorted elements per row, and their positions.
struct SortOutput {
  void* y;
  int64_t* index;
  int64_t count;
  __device__ void write(const SortInput& from, int64_t row, int64_t i, int64_t at) const {
    const int64_t to = row * count + i, source = row * from.n + at;
    index[to] = at;
    switch (from.element_bytes) {
      case 1: static_cast<uint8_t*>(y)[to] = static_cast<uint8_t>(from.bits(source)); break;
      case 2: static_cast<uint16_t*>(y)[to] = static_cast<uint16_t>(from.bits(source)); break;
      case 4: static_cast<uint32_t*>(y)[to] = static_cast<uint32_t>(from.bits(source)); break;
      default: static_cast<uint64_t*>(y)[to] = from.bits(source);
    }
  }
};

/// Sorts tiles of rows in shared memory, blockDim.y tiles per block. A tile has `size` entries, a power of two. The n
/// entries of a row are read from `entries` or, if `entries` is null, made from the elements of x. The first `keep`
/// entries of each sorted tile are written to `kept`, which has `width` entries per row. If `kept` is null, a row is a
/// single tile, and its first sorted elements are written to `result`.
template <class Entry>
__global__ void sort_tiles(SortInput x, const Entry* entries, int64_t rows, int64_t n, int size, Entry* kept,
                           int64_t keep, int64_t width, SortOutput result) {
  TANDEM_DYNAMIC_SHARED(Entry, shared);
  Entry* const tile = shared + threadIdx.y * static_cast<unsigned>(size);
  const int64_t tiles = ceil_div(n, size), unit = int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
  const int64_t row = quotient(unit, tiles), first = (unit - row * tiles) * size;
  const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
  const int64_t count = row < rows ? math::min<int64_t>(n - first, size) : 0;
  for (int i = thread; i < size; i += threads) {
    const int64_t at = first + i;
    tile[i] = i >= count ? Entry::sentinel() : entries ? entries[row * n + at] : Entry::of(x.key(row * n + at), at);
  }
  for (int run = 2; run <= size; run *= 2)
    for (int step = run / 2; step > 0; step /= 2) {
      __syncthreads();
      for (int pair = thread; pair < size / 2; pair += threads) {
        const int low = 2 * pair - (pair & (step - 1)), high = low + step;
        const Entry a = tile[low], b = tile[high];
        if ((b < a) == ((low & run) == 0)) {
          tile[low] = b;
          tile[high] = a;
        }
      }
    }
  __syncthreads();
  if (row >= rows) return;
  const int64_t to = first / size * keep;
  for (int i = thread; i < math::min<int64_t>(keep, width - to); i += threads) {
    if (kept)
      kept[row * width + to + i] = tile[i];
    else
      result.write(x, row, i, tile[i].at());
  }
}

/// Returns how many of the first `d` entries of the merge of a (na entries) and b (nb entries) come from a.
template <class Entry>
__device__ int64_t merge_split(const Entry* a, int64_t na, const Entry* b, int64_t nb, int64_t d) {
  int64_t low = math::max<int64_t>(0, d - nb), high = math::min(d, na);
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (a[middle] < b[d - 1 - middle])
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// Merges pairs of neighbouring sorted runs of `length` entries, a multiple of kTile. Each block writes one tile of the
/// output.
template <class Entry>
__global__ void merge_runs(const Entry* __restrict__ from, Entry* __restrict__ to, int64_t n, int64_t length) {
  TANDEM_SHARED(Entry, tile, [kTile]);
  TANDEM_SHARED(int64_t, split, [2]);
  const int64_t tiles = ceil_div(n, kTile), row = quotient(blockIdx.x, tiles),
                start = (blockIdx.x - row * tiles) * kTile;
  // start of the pair of runs that this tile belongs to, and offset of the tile from that start
  const int64_t pair = start / (2 * length) * (2 * length), offset = start - pair;
  const Entry* const a = from + row * n + pair;
  const int64_t na = math::min(length, n - pair), nb = math::min(length, n - pair - na);
  const Entry* const b = a + na;
  const int64_t end = math::min(offset + kTile, na + nb);
  if (threadIdx.x < 2) split[threadIdx.x] = merge_split(a, na, b, nb, threadIdx.x == 0 ? offset : end);
  __syncthreads();
  const int64_t a0 = split[0], b0 = offset - a0;
  const int count = static_cast<int>(end - offset), from_a = static_cast<int>(split[1] - a0), from_b = count - from_a;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kMergeThreads)
    tile[i] = i < from_a ? a[a0 + i] : b[b0 + i - from_a];
  __syncthreads();
  Entry mine[kEntriesPerThread];
  const int first = math::min(static_cast<int>(threadIdx.x) * kEntriesPerThread, count);
  int i = static_cast<int>(merge_split<Entry>(tile, from_a, tile + from_a, from_b, first)), j = first - i;
#pragma unroll
  for (int k = 0; k < kEntriesPerThread; ++k) {
    if (first + k >= count) continue;
    const bool take_a = j >= from_b || (i < from_a && tile[i] < tile[from_a + j]);
    mine[k] = take_a ? tile[i++] : tile[from_a + j++];
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kEntriesPerThread; ++k)
    if (first + k < count) tile[first + k] = mine[k];
  __syncthreads();
  for (int k = static_cast<int>(threadIdx.x); k < count; k += kMergeThreads) to[row * n + start + k] = tile[k];
}

/// Writes the elements and positions of sorted entries, n per row, to `result`.
template <class Entry>
__global__ void write_sorted(SortInput x, const Entry* __restrict__ entries, int64_t rows, int64_t n,
                             SortOutput result) {
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < rows * result.count;
       i += int64_t(gridDim.x) * blockDim.x) {
    const int64_t row = quotient(i, result.count), k = i - row * result.count;
    result.write(x, row, k, entries[row * n + k].at());
  }
}

template <class Entry> struct Entries {
  Tensor bytes;
  Entries(int64_t n, Device device) : bytes(core::empty({n * int64_t(sizeof(Entry))}, kUInt8, device)) {}
  Entry* data() const { return static_cast<Entry*>(bytes.raw_data()); }
};

/// Returns the number of entries that remain of a row of n entries if each tile keeps its first `keep` entries.
int64_t kept_width(int64_t n, int64_t keep) {
  const int64_t whole = n / kTile;
  return whole * math::min<int64_t>(keep, kTile) + math::min<int64_t>(keep, n % kTile);
}
template <class Entry>
void launch_sort_tiles(const char* name, const SortInput& x, const Entry* entries, int64_t rows, int64_t n, Entry* kept,
                       int64_t keep, const SortOutput& result, Device device) {
  const int64_t size = next_power_of_two(n, 2, kTile), units = rows * ceil_div(n, size);
  const dim3 block = team_block_dim(next_power_of_two(size / 2, 1, 256), units, 128);
  launch(name, sort_tiles<Entry>,
         {checked_grid_size(ceil_div(units, block.y)), block, static_cast<size_t>(size) * block.y * sizeof(Entry)},
         device, x, entries, rows, n, static_cast<int>(size), kept, keep, kept_width(n, keep), result);
}
template <class Entry>
void launch_write_sorted(const char* name, const SortInput& x, const Entry* entries, int64_t rows, int64_t n,
                         const SortOutput& result, Device device) {
  const int64_t count = rows * result.count;
  launch(name, write_sorted<Entry>, {checked_grid_size(math::min<int64_t>(ceil_div(count, 256), 4096)), dim3(256)},
         device, x, entries, rows, n, result);
}

/// Sorts whole rows and writes the first result.count elements of each row to `result`.
template <class Entry>
void sort_rows(const char* name, const SortInput& x, int64_t rows, const SortOutput& result, Device device) {
  const int64_t n = x.n;
  if (n <= kTile) return launch_sort_tiles<Entry>(name, x, nullptr, rows, n, nullptr, result.count, result, device);
  Entries<Entry> from(rows * n, device), to(rows * n, device);
  launch_sort_tiles<Entry>(name, x, nullptr, rows, n, from.data(), kTile, result, device);
  for (int64_t length = kTile; length < n; length *= 2) {
    launch(name, merge_runs<Entry>, {checked_grid_size(rows * ceil_div(n, kTile)), dim3(kMergeThreads)}, device,
           from.data(), to.data(), n, length);
    std::swap(from, to);
  }
  launch_write_sorted<Entry>(name, x, from.data(), rows, n, result, device);
}

/// Writes the first k elements of each sorted row to `result`. Each pass sorts tiles and keeps the first k entries of
/// each tile, until a row is a single tile.
template <class Entry>
void select_rows(const char* name, const SortInput& x, int64_t rows, const SortOutput& result, Device device) {
  const int64_t k = result.count;
  if (k > kTile / 2) return sort_rows<Entry>(name, x, rows, result, device);
  int64_t n = x.n;
  Entries<Entry> left(0, device);
  const Entry* entries = nullptr;  // null in the first pass, which reads the elements of x
  while (n > kTile) {
    const int64_t width = kept_width(n, k);
    const Entries<Entry> kept(rows * width, device);
    launch_sort_tiles<Entry>(name, x, entries, rows, n, kept.data(), k, result, device);
    left = kept;
    entries = left.data();
    n = width;
  }
  launch_sort_tiles<Entry>(name, x, entries, rows, n, nullptr, k, result, device);
}

/// Calls f.operator()<Entry>() with the smallest entry type that can hold the keys of x and the positions in a row.
template <class F> void visit_entry(const Tensor& x, F f) {
  if (x.itemsize() <= 4 && x.size(1) < int64_t(1) << 32)
    f.template operator()<NarrowEntry>();
  else
    f.template operator()<WideEntry>();
}

}  // namespace

void sort(const Tensor& x, bool descending, Tensor& y, Tensor& index) {
  if (y.numel() == 0) return;
  const SortOutput result{y.raw_data(), index.data<int64_t>(), x.size(1)};
  visit_entry(
      x, [&]<class Entry>() { sort_rows<Entry>("sort", SortInput(x, descending), x.size(0), result, x.device()); });
}

void topk(const Tensor& x, bool largest, Tensor& y, Tensor& index) {
  if (y.numel() == 0) return;
  const SortOutput result{y.raw_data(), index.data<int64_t>(), y.size(1)};
  visit_entry(x,
              [&]<class Entry>() { select_rows<Entry>("topk", SortInput(x, largest), x.size(0), result, x.device()); });
}

}  // namespace tandem::kernels::cuda
