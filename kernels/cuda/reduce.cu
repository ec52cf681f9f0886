// Reductions over the middle dimension of (outer, n, inner), bound by memory bandwidth. If inner is 1, a team of
// threads reduces each row, with four 16-byte loads per thread in flight. If inner > 1, neighbouring threads reduce
// neighbouring columns, several rows at a time. If there are few results with many elements each, n is cut into chunks,
// and a second pass combines the states of the chunks. The number of chunks depends on the shape only, so no result
// depends on the GPU.
#include "tandem/kernels/reduce.h"

#include <algorithm>

#include "tandem/kernels/cuda/reduce.cuh"
#include "tandem/kernels/visit_floating.h"

namespace tandem::kernels::cuda {
namespace {

constexpr int kLoadsInFlight = 4;  // number of loads of a thread that are in flight at the same time
// Maximum bytes of a chunk, which one block reads. It is small, so that no multiprocessor is idle for long at the end.
constexpr int64_t kChunkBytes = 65536;
constexpr int64_t kFullGpuBlocks = 1024;  // number of blocks that keep every multiprocessor busy

// ---- elements and operations: an operation has accumulate(state, element, index along n, index of the result)

/// Element type that stands for int32, int16, int8, uint8 and bool, which share kernels. Elements are converted to
/// int32 when they are loaded.
struct SmallInt {
  int32_t value;
  TANDEM_HD operator int32_t() const { return value; }
};

}  // namespace
}  // namespace tandem::kernels::cuda
template <> struct tandem::kernels::OpMathOf<tandem::kernels::cuda::SmallInt> { using type = int32_t; };
namespace tandem::kernels::cuda {
namespace {

/// Input of a reduction. pack() loads N elements, by one load instruction if `aligned`.
template <class T> struct Source {
  static constexpr int kVectorElements = kPack<T>;
  const T* x;
  explicit Source(const T* x) : x(x) {}
  explicit Source(const Tensor& t) : x(t.data<T>()) {}
  bool is_aligned(int run) const { return cuda::is_aligned(x, sizeof(T) * static_cast<size_t>(run)); }
  template <int N> __device__ Pack<T, N> pack(int64_t i, bool aligned) const { return load_pack<T, N>(x + i, aligned); }
  __device__ T operator[](int64_t i) const { return x[i]; }
};
template <> struct Source<SmallInt> {
  static constexpr int kVectorElements = 8;
  const void* x;
  int bytes;
  bool is_unsigned;
  explicit Source(const Tensor& t)
      : x(t.raw_data()),
        bytes(static_cast<int>(t.itemsize())),
        is_unsigned(t.dtype() == kUInt8 || t.dtype() == kBool) {}
  bool is_aligned(int run) const { return cuda::is_aligned(x, static_cast<size_t>(bytes * run)); }
  template <int N> __device__ Pack<SmallInt, N> pack(int64_t i, bool aligned) const {
    Pack<SmallInt, N> all;
    if (bytes == 4)
      pack_as_small_int(load_pack<int32_t, N>(static_cast<const int32_t*>(x) + i, aligned), all);
    else if (bytes == 2)
      pack_as_small_int(load_pack<int16_t, N>(static_cast<const int16_t*>(x) + i, aligned), all);
    else if (is_unsigned)
      pack_as_small_int(load_pack<uint8_t, N>(static_cast<const uint8_t*>(x) + i, aligned), all);
    else
      pack_as_small_int(load_pack<int8_t, N>(static_cast<const int8_t*>(x) + i, aligned), all);
    return all;
  }
  __device__ SmallInt operator[](int64_t i) const { return pack<1>(i, true).at[0]; }

 private:
  template <class T, int N> __device__ static void pack_as_small_int(const Pack<T, N>& from, Pack<SmallInt, N>& to) {
#pragma unroll
    for (int k = 0; k < N; ++k) to.at[k] = {int32_t(from.at[k])};
  }
};
/// A pair of elements, from two tensors with equal layouts.
template <class T> struct ElementPair { T x, target; };
template <class T> struct Source<ElementPair<T>> {
  static constexpr int kVectorElements = kPack<T>;
  Source<T> x, target;
  Source(const Tensor& x, const Tensor& target) : x(x), target(target) {}
  bool is_aligned(int run) const { return x.is_aligned(run) && target.is_aligned(run); }
  template <int N> __device__ Pack<ElementPair<T>, N> pack(int64_t i, bool aligned) const {
    const Pack<T, N> left = x.template pack<N>(i, aligned), right = target.template pack<N>(i, aligned);
    Pack<ElementPair<T>, N> both;
#pragma unroll
    for (int k = 0; k < N; ++k) both.at[k] = {left.at[k], right.at[k]};
    return both;
  }
  __device__ ElementPair<T> operator[](int64_t i) const { return {x[i], target[i]}; }
};
/// Output elements of one dtype.
template <class T> struct Target {
  T* y;
  explicit Target(const Tensor& t) : y(t.data<T>()) {}
  template <class C> __device__ void store(int64_t i, C value) const { y[i] = T(value); }
};
template <> struct Target<SmallInt> {
  void* y;
  int bytes;
  int32_t min_value, max_value;  // range of the dtype, to which the result of an empty reduction is clamped
  explicit Target(const Tensor& t) : y(t.raw_data()), bytes(static_cast<int>(t.itemsize())) {
    const int32_t top = static_cast<int32_t>((int64_t(1) << (8 * bytes - 1)) - 1);
    min_value = t.dtype() == kUInt8 || t.dtype() == kBool ? 0 : -top - 1;
    max_value = t.dtype() == kBool ? 1 : t.dtype() == kUInt8 ? 255 : top;
  }
  __device__ void store(int64_t i, int32_t value) const {
    value = math::min(math::max(value, min_value), max_value);
    if (bytes == 4)
      static_cast<int32_t*>(y)[i] = value;
    else if (bytes == 2)
      static_cast<int16_t*>(y)[i] = static_cast<int16_t>(value);
    else
      static_cast<uint8_t*>(y)[i] = static_cast<uint8_t>(value);
  }
};

/// Sum or product of elements. `ReduceOp` is the reduction operator `SumOp` or `ProductOp`, and Out the output dtype.
/// Floating-point results are divided by `divisor` unless it is 1.
template <class ReduceOp, class Out> struct FoldOp : ReduceOp {
  using State = typename ReduceOp::State;
  Target<Out> y;
  State divisor;
  FoldOp(const Tensor& y, double divisor) : y(y), divisor(State(divisor)) {}
  template <class T> __device__ void accumulate(State& state, const T& x, int64_t, int64_t) const {
    state = ReduceOp::combine(state, State(x));
  }
  __device__ void write_result(int64_t i, const State& state) const {
    if constexpr (math::kIsFloatingType<State>)
      y.store(i, divisor == State(1) ? state : state / divisor);
    else
      y.store(i, state);
  }
  const FoldOp& second_pass() const { return *this; }
};
/// Sum of squared differences of the two elements of each pair, divided by `divisor`.
template <class T> struct SquaredError : SumOp<T> {
  Target<T> y;
  T divisor;
  SquaredError(const Tensor& y, double divisor) : y(y), divisor(T(divisor)) {}
  __device__ void accumulate(T& state, const ElementPair<T>& pair, int64_t, int64_t) const {
    const T off = pair.x - pair.target;
    state += off * off;
  }
  __device__ void accumulate(T& state, const T& sum, int64_t, int64_t) const { state += sum; }
  __device__ void write_result(int64_t i, const T& state) const { y.store(i, state / divisor); }
  const SquaredError& second_pass() const { return *this; }
};
/// Sum of (element - center)^2, where each result has its own center. It is computed in double, which can represent the
/// square of any float. In the second pass (`is_second_pass`) the elements are partial sums, which are added without
/// squaring.
struct Squares : SumOp<double> {
  Target<double> y;
  const double* center;  // null: all centers are 0
  bool is_second_pass = false;
  Squares(const Tensor& y, const Tensor& center) : y(y), center(center.defined() ? center.data<double>() : nullptr) {}
  template <class T> __device__ void accumulate(double& state, const T& x, int64_t, int64_t result) const {
    const double value = double(OpMath<T>(x)), off = center ? value - center[result] : value;
    state += is_second_pass ? value : off * off;
  }
  __device__ void write_result(int64_t i, const double& state) const { y.store(i, state); }
  Squares second_pass() const {
    Squares op = *this;
    op.is_second_pass = true;
    return op;
  }
};
/// Sum of (|element| / scale)^p in double, where each result has its own scale.
template <class C> struct Powers : SumOp<double> {
  Target<double> y;
  const C* scale;
  C p;
  bool is_second_pass = false;
  Powers(const Tensor& y, const Tensor& scale, double p) : y(y), scale(scale.data<C>()), p(C(p)) {}
  template <class T> __device__ void accumulate(double& state, const T& x, int64_t, int64_t result) const {
    state += is_second_pass ? double(OpMath<T>(x)) : double(math::pow(math::abs(C(x)) / scale[result], p));
  }
  __device__ void write_result(int64_t i, const double& state) const { y.store(i, state); }
  Powers second_pass() const {
    Powers op = *this;
    op.is_second_pass = true;
    return op;
  }
};
/// Largest element, or NaN if an element is NaN. The smallest element is computed as the negated maximum of the negated
/// elements.
template <class T> struct ExtremumOp : MaxOp<OpMath<T>> {
  using State = OpMath<T>;
  using Sign = std::conditional_t<math::kIsFloatingType<State>, State, int64_t>;
  Target<T> y;
  Sign input_sign, output_sign;  // signs of the inputs and of the results: a factor (float) or an XOR mask (integer)
  ExtremumOp(const Tensor& y, bool smallest)
      : y(y), input_sign(smallest ? Sign(-1) : kKeepSign), output_sign(input_sign) {}
  ExtremumOp second_pass() const {
    ExtremumOp op = *this;
    op.input_sign = kKeepSign;
    return op;
  }
  template <class X> __device__ void accumulate(State& state, const X& x, int64_t, int64_t) const {
    state = math::max(state, apply_sign(input_sign, State(x)));
  }
  __device__ void write_result(int64_t i, const State& state) const { y.store(i, apply_sign(output_sign, state)); }

 private:
  static constexpr Sign kKeepSign = math::kIsFloatingType<State> ? Sign(1) : Sign(0);
  __device__ static State apply_sign(Sign sign, State x) {
    if constexpr (math::kIsFloatingType<State>)
      return x * sign;
    else
      return State(x ^ sign);
  }
};

template <class C> struct IndexedValue {
  C value;
  int64_t position;  // index of the element along n; -1 if no element was accumulated yet
};
/// Largest or smallest element with its index. Chooses the first among equal elements, and NaN over any number.
template <class T> struct ArgExtremumOp {
  using State = IndexedValue<OpMath<T>>;
  Target<T> y;
  int64_t* index;
  bool smallest;
  // the second pass combines the states of the chunks by the same operator
  const ArgExtremumOp& second_pass() const { return *this; }
  __device__ static State identity() { return {OpMath<T>(0), -1}; }
  __device__ State combine(const State& a, const State& b) const {
    if (a.position < 0 || b.position < 0) return a.position < 0 ? b : a;
    const bool nan_a = a.value != a.value, nan_b = b.value != b.value;
    if (nan_a != nan_b) return nan_a ? a : b;
    if (!nan_a && a.value != b.value) return (a.value < b.value) == smallest ? a : b;
    return a.position < b.position ? a : b;
  }
  __device__ void accumulate(State& state, const T& x, int64_t position, int64_t) const {
    state = combine(state, {OpMath<T>(x), position});
  }
  __device__ void accumulate(State& state, const State& x, int64_t, int64_t) const { state = combine(state, x); }
  __device__ void write_result(int64_t i, const State& state) const {
    y.store(i, state.value);
    index[i] = state.position;
  }
};

// ---- kernels

/// Partition of n elements into `num_chunks` chunks of `length` elements; the last chunk may be shorter.
struct RowChunks {
  int64_t n, num_chunks, length;
};

/// Reduces x (rows, n). A unit is one chunk of a row; blockDim.x threads reduce it, and a block has blockDim.y units.
/// Stores the unit's state in parts[unit], or writes the result if `parts` is null.
template <class Op, class T>
__global__ void reduce_rows(Op op, Source<T> x, typename Op::State* parts, int64_t units, RowChunks cut, bool aligned) {
  using State = typename Op::State;
  constexpr int kWidth = Source<T>::kVectorElements;
  const int64_t unit = int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
  State state[kLoadsInFlight];
  for (int k = 0; k < kLoadsInFlight; ++k) state[k] = op.identity();
  if (unit < units) {
    const int64_t row = quotient(unit, cut.num_chunks), first = (unit - row * cut.num_chunks) * cut.length;
    const int64_t count = math::min(cut.n - first, cut.length), team = blockDim.x;
    const int64_t packs = count / kWidth;
    const int64_t from = row * cut.n + first;
    for_each_pipelined<kLoadsInFlight>(
        threadIdx.x, team, packs, [&](int64_t i) { return x.template pack<kWidth>(from + i * kWidth, aligned); },
        [&](int64_t i, const Pack<T, kWidth>& pack, int k) {
          for (int v = 0; v < kWidth; ++v) op.accumulate(state[k], pack.at[v], first + i * kWidth + v, row);
        });
    for (int64_t i = packs * kWidth + threadIdx.x; i < count; i += team)
      op.accumulate(state[0], x[from + i], first + i, row);
  }
  for (int width = kLoadsInFlight / 2; width > 0; width /= 2)
    for (int k = 0; k < width; ++k) state[k] = op.combine(state[k], state[k + width]);
  const State total = team_reduce(op, state[0]);
  if (threadIdx.x > 0 || unit >= units) return;
  if (parts)
    parts[unit] = total;
  else
    op.write_result(unit, total);
}

constexpr int kColumnThreads = 256;
/// Number of columns per thread.
template <class T> inline constexpr int kColumns = Source<T>::kVectorElements < 4 ? Source<T>::kVectorElements : 4;

/// Reduces x (outer, n, inner). A unit is one chunk of n for one outer index. A block reduces a strip of columns in one
/// or more units. Each threadIdx.x has kColumns<T> neighbouring columns, threads with different threadIdx.y take the
/// rows in turn, and threadIdx.z is the unit within the block.
template <class Op, class T>
__global__ void reduce_columns(Op op, Source<T> x, typename Op::State* parts, int64_t units, int64_t inner,
                               int64_t strips, RowChunks cut, bool aligned) {
  using State = typename Op::State;
  constexpr int kWidth = kColumns<T>;
  TANDEM_SHARED(State, of_block, [kColumnThreads * kWidth]);
  State* const states = of_block + threadIdx.z * blockDim.y * kWidth * blockDim.x;
  const int64_t group = quotient(blockIdx.x, strips), strip = blockIdx.x - group * strips;
  const int64_t unit = group * blockDim.z + threadIdx.z;
  const int64_t outer = quotient(unit, cut.num_chunks), first = (unit - outer * cut.num_chunks) * cut.length;
  const int64_t count = unit < units ? math::min(cut.n - first, cut.length) : 0;
  const int64_t column = (strip * blockDim.x + threadIdx.x) * kWidth, team = blockDim.y;
  State state[kWidth];
  for (int v = 0; v < kWidth; ++v) state[v] = op.identity();
  const int64_t from = (outer * cut.n + first) * inner + column;
  if (column + kWidth <= inner) {
    for_each_pipelined<kLoadsInFlight>(
        threadIdx.y, team, count, [&](int64_t r) { return x.template pack<kWidth>(from + r * inner, aligned); },
        [&](int64_t r, const Pack<T, kWidth>& pack, int) {
          for (int v = 0; v < kWidth; ++v) op.accumulate(state[v], pack.at[v], first + r, outer * inner + column + v);
        });
  } else {
    for (int v = 0; v < kWidth && column + v < inner; ++v)
      for (int64_t r = threadIdx.y; r < count; r += team)
        op.accumulate(state[v], x[from + r * inner + v], first + r, outer * inner + column + v);
  }
  for (int v = 0; v < kWidth; ++v) states[(threadIdx.y * kWidth + v) * blockDim.x + threadIdx.x] = state[v];
  __syncthreads();
  if (unit >= units) return;
  for (int v = static_cast<int>(threadIdx.y); v < kWidth && column + v < inner; v += static_cast<int>(team)) {
    State total = states[v * blockDim.x + threadIdx.x];
    for (int y = 1; y < team; ++y) total = op.combine(total, states[(y * kWidth + v) * blockDim.x + threadIdx.x]);
    if (parts)
      parts[unit * inner + column + v] = total;
    else
      op.write_result(unit * inner + column + v, total);
  }
}

// ---- launchers

/// Scratch memory for `n` states of chunks. It is released in stream order.
template <class State> struct Parts {
  Tensor bytes;
  Parts(int64_t n, Device device) : bytes(core::empty({n * int64_t(sizeof(State))}, kUInt8, device)) {}
  State* data() const { return static_cast<State*>(bytes.raw_data()); }
};

template <class Op, class T>
void launch_columns(const char* name, const Op& op, const Source<T>& x, int64_t outer, int64_t n, int64_t inner,
                    Device device) {
  using State = typename Op::State;
  constexpr int kWidth = kColumns<T>;
  const int64_t packs = ceil_div(inner, kWidth);
  const int64_t tall =
      next_power_of_two(ceil_div(n, 2 * kLoadsInFlight), 1, 8);  // value of blockDim.y if there are enough columns
  const int64_t wide = next_power_of_two(packs, 1, kColumnThreads / tall), strips = ceil_div(packs, wide);
  RowChunks cut{n, 1, n};
  if (n > 64 && outer * strips < kFullGpuBlocks / 2) {
    const int64_t most = std::max<int64_t>(kChunkBytes / (wide * kWidth * int64_t(sizeof(T))), 64);
    cut.length = std::clamp<int64_t>(ceil_div(n * outer * strips, kFullGpuBlocks), 32, most);
    cut.num_chunks = ceil_div(n, cut.length);
  }
  const int64_t units = outer * cut.num_chunks,
                high = next_power_of_two(ceil_div(cut.length, kLoadsInFlight), 1, kColumnThreads / wide);
  const int64_t most_deep = std::min<int64_t>(kColumnThreads / (wide * high), 64);  // CUDA limits blockDim.z to 64
  // Number of units that one block reduces. It is more than 1 if there are many small units (chunks of n for one outer
  // index).
  const int64_t deep = next_power_of_two(ceil_div(units, kFullGpuBlocks), 1, most_deep);
  const dim3 block(static_cast<unsigned>(wide), static_cast<unsigned>(high), static_cast<unsigned>(deep));
  const LaunchShape shape{checked_grid_size(ceil_div(units, deep) * strips), block};
  const bool aligned = inner % kWidth == 0 && x.is_aligned(kWidth);
  if (cut.num_chunks == 1)
    return launch(name, reduce_columns<Op, T>, shape, device, op, x, nullptr, units, inner, strips, cut, aligned);
  const Parts<State> parts(units * inner, device);
  launch(name, reduce_columns<Op, T>, shape, device, op, x, parts.data(), units, inner, strips, cut, aligned);
  launch_columns<Op, State>(name, op.second_pass(), Source<State>(parts.data()), outer, cut.num_chunks, inner, device);
}

template <class Op, class T>
void launch_rows(const char* name, const Op& op, const Source<T>& x, int64_t rows, int64_t n, Device device) {
  using State = typename Op::State;
  constexpr int kWidth = Source<T>::kVectorElements;
  constexpr int64_t kMost = kChunkBytes / int64_t(sizeof(T));
  RowChunks cut{n, 1, n};
  // Cut long rows into chunks if there are few rows. If a row exceeds 1 GiB, it has more than 16384 chunks, so the
  // second pass over their states is cut into chunks, too.
  if (n > 16384 && rows < kFullGpuBlocks / 2) {
    const int64_t length = std::clamp<int64_t>(ceil_div(n * rows, kFullGpuBlocks), 2048, kMost);
    cut.length = ceil_div(length, kWidth) * kWidth;
    cut.num_chunks = ceil_div(n, cut.length);
  }
  const int64_t units = rows * cut.num_chunks, packs = ceil_div(cut.length, kWidth);
  // Number of threads per row. Short rows have up to one warp, with up to 16 loads per lane, and at most as many lanes
  // as packs. Long rows have 128 or 256 threads.
  const int64_t team = packs <= 16 * kWarpSize
                           ? next_power_of_two(ceil_div(packs, packs < 32 ? 1 : kLoadsInFlight), 1, kWarpSize)
                           : next_power_of_two(ceil_div(packs, kLoadsInFlight), 128, 256);
  const dim3 block = team_block_dim(team, units);
  const LaunchShape shape{checked_grid_size(ceil_div(units, block.y)), block};
  const bool aligned = x.is_aligned(kWidth) && (n % kWidth == 0 || rows == 1);
  if (cut.num_chunks == 1) return launch(name, reduce_rows<Op, T>, shape, device, op, x, nullptr, units, cut, aligned);
  const Parts<State> parts(units, device);
  launch(name, reduce_rows<Op, T>, shape, device, op, x, parts.data(), units, cut, aligned);
  launch_rows<Op, State>(name, op.second_pass(), Source<State>(parts.data()), rows, cut.num_chunks, device);
}

template <class T, class Op> void reduce(const char* name, const Op& op, const Tensor& x) {
  const int64_t outer = x.size(0), n = x.size(1), inner = x.size(2);
  if (outer * inner == 0) return;
  if (inner == 1)
    launch_rows<Op, T>(name, op, Source<T>(x), outer, n, x.device());
  else
    launch_columns<Op, T>(name, op, Source<T>(x), outer, n, inner, x.device());
}

/// Calls f.operator()<T>() with the C++ type of the dtype, or with SmallInt for bool and integers of up to 32 bits.
template <class F> void visit_source(DType dtype, F f) {
  switch (dtype) {
    case kFloat32: return f.template operator()<float>();
    case kFloat64: return f.template operator()<double>();
    case kFloat16: return f.template operator()<Half>();
    case kBFloat16: return f.template operator()<BFloat16>();
    case kInt64: return f.template operator()<int64_t>();
    default: return f.template operator()<SmallInt>();
  }
}
/// Computes sums or products. Sums of floating dtypes have the accumulation type of x's dtype, or of y's dtype if that
/// is wider; integers and bool give int64.
template <template <class> class ReduceOp>
void reduce_sums(const char* name, const Tensor& x, const Tensor& y, double divisor = 1) {
  visit_source(x.dtype(), [&]<class T>() {
    if constexpr (!math::kIsSameType<T, OpMath<T>> && !math::kIsSameType<T, SmallInt>)
      if (y.dtype() != x.dtype()) return reduce<T>(name, FoldOp<ReduceOp<OpMath<T>>, OpMath<T>>(y, divisor), x);
    using Out = std::conditional_t<math::kIsSameType<T, SmallInt>, int64_t, T>;
    reduce<T>(name, FoldOp<ReduceOp<Accumulate<T>>, Out>(y, divisor), x);
  });
}
void reduce_values(const char* name, const Tensor& x, bool smallest, const Tensor& y) {
  visit_source(x.dtype(), [&]<class T>() { reduce<T>(name, ExtremumOp<T>(y, smallest), x); });
}
void reduce_with_index(const char* name, const Tensor& x, bool smallest, const Tensor& y, const Tensor& index) {
  visit_source(x.dtype(), [&]<class T>() {
    reduce<T>(name, ArgExtremumOp<T>{Target<T>(y), index.data<int64_t>(), smallest}, x);
  });
}

}  // namespace

void sum(const Tensor& x, Tensor& y) {
  if (x.dtype() == kFloat32 && y.dtype() == kFloat64)
    return reduce<float>("sum", FoldOp<SumOp<double>, double>(y, 1), x);
  reduce_sums<SumOp>("sum", x, y);
}
void mean(const Tensor& x, double divisor, Tensor& y) { reduce_sums<SumOp>("mean", x, y, divisor); }
void squared_error(const Tensor& x, const Tensor& target, double divisor, Tensor& y) {
  const auto launched = [&]<class T>() {
    launch_rows<SquaredError<T>, ElementPair<T>>("mse_loss", {y, divisor}, {x, target}, 1, x.numel(), x.device());
  };
  x.dtype() == kFloat64 ? launched.operator()<double>() : launched.operator()<float>();
}
void sum_of_squares_about(const Tensor& x, const Tensor& center, Tensor& y) {
  visit_floating("sum_of_squares", x.dtype(), [&]<class T>() { reduce<T>("sum_of_squares", Squares(y, center), x); });
}
void sum_of_powers(const Tensor& x, const Tensor& scale, double p, Tensor& y) {
  visit_floating("sum_of_powers", x.dtype(),
                 [&]<class T>() { reduce<T>("sum_of_powers", Powers<OpMath<T>>(y, scale, p), x); });
}
void prod(const Tensor& x, Tensor& y) { reduce_sums<ProductOp>("prod", x, y); }
void amax(const Tensor& x, Tensor& y) { reduce_values("amax", x, false, y); }
void amin(const Tensor& x, Tensor& y) { reduce_values("amin", x, true, y); }
void any(const Tensor& x, Tensor& y) { reduce_values("any", x, false, y); }
void all(const Tensor& x, Tensor& y) { reduce_values("all", x, true, y); }
void max_with_index(const Tensor& x, Tensor& y, Tensor& index) {
  reduce_with_index("max_with_index", x, false, y, index);
}
void min_with_index(const Tensor& x, Tensor& y, Tensor& index) {
  reduce_with_index("min_with_index", x, true, y, index);
}

}  // namespace tandem::kernels::cuda
