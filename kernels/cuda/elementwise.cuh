// Elementwise kernels. They handle everything except the operation itself: strides, broadcasting, vectors, the partial
// last vector, and conversion from and to the dtypes in memory. A functor therefore computes in one of three types
// instead of ten dtypes, and is compiled into one kernel per type.
//
// The kernels are memory-bound. If all operands are contiguous, a thread computes eight elements in vectors of 128 bits
// ("plain" plans). If every operand is contiguous or constant along the innermost dimension only, it computes two
// vectors (of four elements; of two in double) with loads of up to 128 bits. In any other layout it computes four
// elements, each blockDim.x after the previous one. A thread issues all its loads before it computes: enough loads are
// then in flight, and y may alias an input exactly. Branches on dtype and layout are uniform over all threads. In plain
// plans there are few, because a multiprocessor executes about two hundred instructions while a warp waits for its
// vectors; ci/sass.py counts them.
#pragma once
#include <type_traits>

#include "tandem/kernels/cuda/element_plan.h"
#include "tandem/kernels/cuda/packet.cuh"
#include "tandem/kernels/functors.h"
#if !defined(__CUDACC__)
#include "tandem/emulation/simt.h"
#endif

namespace tandem::kernels::cuda {

/// Compute type of operations that only move elements of any dtype.
using Bits = uint64_t;
/// Functions that construct a functor from the launch's scalars: each member of the functor gets one scalar of the
/// compute type.
template <class C> TANDEM_HD C scalar_as(const LoopScalar& s) {
  if constexpr (math::kIsFloatingType<C>)
    return C(s.real);
  else
    return C(s.integer);
}
template <class F, class C> TANDEM_HD F make_functor(const LoopScalar* s) {
  if constexpr (requires(C c) { F{c, c}; })
    return F{scalar_as<C>(s[0]), scalar_as<C>(s[1])};
  else if constexpr (requires(C c) { F{c}; })
    return F{scalar_as<C>(s[0])};
  else
    return F{};
}

// ---- addresses of items

/// Computes the address of item i: sets offset[k] to its byte offset in operand k.
template <int N> TANDEM_HD void compute_offsets(const ElementPlan& plan, uint32_t i, int64_t* offset) {
#pragma unroll
  for (int k = 0; k < N; ++k) offset[k] = 0;
#pragma unroll 1
  for (int d = 0; d < plan.rank; ++d) {
    const uint32_t rest = d + 1 < plan.rank ? plan.dividers[d].divide(i) : 0,
                   here = i - rest * plan.dividers[d].divisor();
#pragma unroll
    for (int k = 0; k < N; ++k) offset[k] += here * plan.operands[k].strides[d];
    i = rest;
  }
}

// ---- elements: bits in memory, numbers of type C (compute or result type) in registers

/// Unsigned integer type that holds the bits of an element with compute type C. 32 bits are enough for float and bool,
/// because no dtype with these compute types is larger.
template <class C> struct BitsOf { using type = uint32_t; };
template <> struct BitsOf<double> { using type = uint64_t; };
template <> struct BitsOf<int64_t> { using type = uint64_t; };
template <> struct BitsOf<Bits> { using type = Bits; };
template <class C> using Word = typename BitsOf<C>::type;
/// Largest and smallest sizes in bytes of the dtypes with compute type C.
template <class C> constexpr int kMaxElementSize = math::kIsSameType<C, bool> ? 1 : sizeof(C);
template <class C>
constexpr int kMinElementSize = math::kIsSameType<C, float>                                     ? 2
                                : math::kIsSameType<C, double> || math::kIsSameType<C, int32_t> ? sizeof(C)
                                                                                                : 1;
/// Calls visit(x), where x is an unsigned integer with `size` bytes.
template <class C, class Visitor> TANDEM_HD void visit_size(int size, Visitor visit) {
  constexpr int kMost = kMaxElementSize<C>, kLeast = kMinElementSize<C>;
  if constexpr (kMost == 8)
    if (kLeast == 8 || size == 8) return visit(uint64_t());
  if constexpr (kMost >= 4 && kLeast <= 4)
    if (kLeast == 4 || size == 4) return visit(uint32_t());
  if constexpr (kMost >= 2 && kLeast <= 2)
    if (kLeast == 2 || size == 2) return visit(uint16_t());
  if constexpr (kLeast == 1) visit(uint8_t());
}

TANDEM_HD void from_bits(uint32_t bits, DType dtype, float& x) {
  if (dtype == DType::float32)
    x = __builtin_bit_cast(float, bits);
  else if (dtype == DType::float16)
    x = __builtin_bit_cast(Half, uint16_t(bits));
  else
    x = __builtin_bit_cast(BFloat16, uint16_t(bits));
}
TANDEM_HD void from_bits(uint64_t bits, DType, double& x) { x = __builtin_bit_cast(double, bits); }
TANDEM_HD void from_bits(uint64_t bits, DType dtype, int64_t& x) {
  switch (dtype) {
    case DType::int64: x = int64_t(bits); break;
    case DType::int32: x = int32_t(bits); break;
    case DType::int16: x = int16_t(bits); break;
    case DType::int8: x = int8_t(bits); break;
    default: x = uint8_t(bits);
  }
}
TANDEM_HD void from_bits(Bits bits, DType, Bits& x) { x = bits; }
TANDEM_HD uint32_t to_bits(float y, DType dtype) {
  return dtype == DType::float32   ? __builtin_bit_cast(uint32_t, y)
         : dtype == DType::float16 ? Half(y).bits
                                   : BFloat16(y).bits;
}
TANDEM_HD uint64_t to_bits(double y, DType) { return __builtin_bit_cast(uint64_t, y); }
TANDEM_HD uint64_t to_bits(int64_t y, DType dtype) { return dtype == DType::boolean ? Bits(y != 0) : Bits(y); }
TANDEM_HD uint32_t to_bits(int32_t y, DType) { return uint32_t(y); }
TANDEM_HD uint32_t to_bits(bool y, DType) { return uint32_t(y); }
TANDEM_HD Bits to_bits(Bits y, DType) { return y; }

template <class C> TANDEM_HD Word<C> load(const char* from, int size) {
  Word<C> bits;
  visit_size<C>(size, [&](auto type) { bits = *reinterpret_cast<const decltype(type)*>(from); });
  return bits;
}
template <class C> TANDEM_HD void store(char* to, Word<C> bits, int size) {
  visit_size<C>(size, [&](auto type) { *reinterpret_cast<decltype(type)*>(to) = decltype(type)(bits); });
}

/// Loads a vector with `count` valid elements. The loaded values are not used here, so that all loads of a thread can
/// be in flight together. If one load instruction moves the vector, it stays packed in the first words of `bits` until
/// unpack_vector() unpacks it.
template <class C, int W>
TANDEM_HD void load_vector(const ElementOperand& x, int64_t offset, uint32_t count, Word<C>* bits) {
  const char* const from = x.data + offset;
  if (!x.data) {
    bits[0] = Word<C>(x.value);
  } else if (W == 1 || x.strides[0] == 0) {
    bits[0] = load<C>(from, x.size);
  } else if (count < W) {
#pragma unroll
    for (int v = 0; v < W; ++v) bits[v] = uint32_t(v) < count ? load<C>(from + v * x.size, x.size) : 0;
  } else if constexpr (W > 1) {
    visit_size<C>(x.size, [&](auto type) {
      constexpr int kBytes = W * sizeof(type);
      using Part = std::conditional_t<(kBytes < sizeof(Word<C>)), uint32_t, Word<C>>;
      const auto all = word_at<Packet<Part, kBytes / sizeof(Part)>>(from);
#pragma unroll
      for (int i = 0; i < kBytes / int(sizeof(Part)); ++i) bits[i] = all[i];
    });
  }
}
/// Unpacks the vector that load_vector() stored in `bits`, so that each element has its own word.
template <class C, int W> TANDEM_HD void unpack_vector(const ElementOperand& x, uint32_t count, Word<C>* bits) {
  if (!x.data || x.strides[0] == 0) {
#pragma unroll
    for (int v = 1; v < W; ++v) bits[v] = bits[0];
  } else if (count >= W) {
    visit_size<C>(x.size, [&](auto type) {
      constexpr int kEach = sizeof(Word<C>) / sizeof(type);
#pragma unroll
      for (int v = W - 1; v >= 0; --v) bits[v] = decltype(type)(bits[v / kEach] >> (v % kEach * 8 * sizeof(type)));
    });
  }
}
template <class C, int W>
TANDEM_HD void store_vector(const ElementOperand& y, int64_t offset, uint32_t count, const Word<C>* bits) {
  char* const to = y.data + offset;
  if (count < W) {
#pragma unroll
    for (int v = 0; v < W; ++v)
      if (uint32_t(v) < count) store<C>(to + v * y.size, bits[v], y.size);
  } else {
    visit_size<C>(y.size, [&](auto type) {
      using Part = decltype(type);
      Packet<Part, W> all;
#pragma unroll
      for (int v = 0; v < W; ++v) all[v] = Part(bits[v]);
      word_at<Packet<Part, W>>(to) = all;
    });
  }
}

// ---- the kernel

template <int N, class F, class C> TANDEM_HD auto apply(const F& f, const C (&x)[N]) {
  if constexpr (N == 1)
    return f(x[0]);
  else if constexpr (N == 2)
    return f(x[0], x[1]);
  else
    return f(x[0], x[1], x[2]);
}

// In the following functions, items are vectors of W elements. The u-th item of a thread is item first + u * blockDim.x
// of the plan.

/// Loads the thread's items with load_vector(). Sets to[u] to the byte offset of item u in the output.
template <int kItems, int W, class C, int N, int kMost>
TANDEM_HD void load_items(const ElementPlan& plan, uint32_t first, int64_t* to, Word<C> (&bits)[N][kMost]) {
#pragma unroll
  for (int u = 0; u < kItems; ++u) {
    const uint32_t item = first + u * blockDim.x;
    int64_t at[1 + N];
    if (item >= plan.items) break;
    compute_offsets<1 + N>(plan, item, at);
    to[u] = at[0];
#pragma unroll
    for (int k = 0; k < N; ++k)
      load_vector<C, W>(plan.operands[1 + k], at[1 + k], plan.count - item * W, &bits[k][u * W]);
  }
}
/// Stores the thread's items.
template <int kItems, int W, class Result>
TANDEM_HD void store_items(const ElementPlan& plan, uint32_t first, const int64_t* to, const Word<Result>* y) {
#pragma unroll
  for (int u = 0; u < kItems; ++u) {
    const uint32_t item = first + u * blockDim.x;
    if (item < plan.items) store_vector<Result, W>(plan.operands[0], to[u], plan.count - item * W, &y[u * W]);
  }
}

// ---- plain plans. The branches of the general kernel would take as long as the computation if the tensor is small,
// and longer than the memory if its elements are small.

/// Calls visit(x), where x has the type in memory of an operand with compute type C.
template <class C, class Visitor> TANDEM_HD void visit_memory_type(const ElementOperand& operand, Visitor visit) {
  if constexpr (math::kIsSameType<C, Bits>) return visit_size<Bits>(operand.size, visit);
  if constexpr (math::kIsSameType<C, double> || math::kIsSameType<C, int32_t> || math::kIsSameType<C, bool>)
    return visit(C());
  if constexpr (math::kIsSameType<C, float>) {
    if (operand.dtype == DType::float32) return visit(float());
    if (operand.dtype == DType::bfloat16) return visit(BFloat16());
    return visit(Half());
  }
  if constexpr (math::kIsSameType<C, int64_t>) {
    if (operand.dtype == DType::int64) return visit(int64_t());
    if (operand.dtype == DType::int32) return visit(int32_t());
    if (operand.dtype == DType::int16) return visit(int16_t());
    if (operand.dtype == DType::int8) return visit(int8_t());
    if (operand.dtype == DType::boolean) return visit(bool());
    return visit(uint8_t());
  }
}

/// Returns the index of the thread's first vector. The u-th one is u * blockDim.x vectors after it.
TANDEM_HD uint32_t first_plain_vector(const ElementPlan& plan) {
  return blockIdx.x * (blockDim.x * plan.plain_vectors_per_thread) + threadIdx.x;
}
/// Loads the thread's vectors of an operand. Leaves those beyond the last vector of the plan uninitialized, and expects
/// that the first one exists.
template <class T, int W>
TANDEM_HD void load_plain(const ElementPlan& plan, const ElementOperand& from,
                          PackedVector<T, W> (&x)[kPlainElements / W]) {
  using Vector = PackedVector<T, W>;
  const uint32_t first = first_plain_vector(plan);
  if (!from.data) {  // the planner has filled the eight bytes of `value` with the element
#pragma unroll
    for (int u = 0; u < kPlainElements / W; ++u)
#pragma unroll
      for (int i = 0; i < Vector::kParts; ++i)
        x[u].parts[i] = typename Vector::Part(from.value >> (sizeof(T) == 8 ? i % 2 * 32 : 0));
    return;
  }
#pragma unroll
  for (int u = 0; u < kPlainElements / W; ++u) {
    const uint32_t item = first + u * blockDim.x;
    if (u == 0 || item < plan.items) x[u] = word_at<Vector>(from.data + size_t(item) * sizeof(Vector));
  }
}
/// Stores the thread's elements, converted to T, in vectors of W.
template <class T, int W, class Result>
TANDEM_HD void store_plain(const ElementPlan& plan, const Result (&y)[kPlainElements]) {
  const uint32_t first = first_plain_vector(plan);
#pragma unroll
  for (int u = 0; u < kPlainElements / W; ++u) {
    const uint32_t item = first + u * blockDim.x;
    if (u > 0 && item >= plan.items) return;
    Packet<T, W> packet;
#pragma unroll
    for (int v = 0; v < W; ++v) packet[v] = T(y[u * W + v]);
    word_at<Packet<T, W>>(plan.operands[0].data + size_t(item) * sizeof(packet)) = packet;
  }
}

/// Version of elementwise_kernel for plain plans whose inputs have one dtype. The result has the same dtype, or is
/// bool.
template <class F, class C, int N> TANDEM_HD void contiguous_elements(const ElementPlan& plan, const F& f) {
  using Result = decltype(apply<N>(f, *static_cast<const C(*)[N]>(nullptr)));
  if (first_plain_vector(plan) >= plan.items) return;
  C x[kPlainElements][N];
  visit_memory_type<C>(plan.operands[N], [&](auto type) {
    using T = decltype(type);
    constexpr int W = plain_width(sizeof(T));
    PackedVector<T, W> each[N][kPlainElements / W];
#pragma unroll
    for (int k = 0; k < N; ++k) load_plain(plan, plan.operands[1 + k], each[k]);
#pragma unroll
    for (int e = 0; e < kPlainElements; ++e)
#pragma unroll
      for (int k = 0; k < N; ++k) x[e][k] = C(each[k][e / W][e % W]);
  });
  Result y[kPlainElements];
#pragma unroll
  for (int e = 0; e < kPlainElements; ++e) y[e] = apply<N>(f, x[e]);
  visit_memory_type<C>(plan.operands[N], [&](auto type) {
    using T = decltype(type);
    constexpr int W = plain_width(sizeof(T));
    store_plain<std::conditional_t<math::kIsSameType<Result, bool>, bool, T>, W>(plan, y);
  });
}

/// Version of elementwise_kernel for every other plan, and any dtypes.
template <class F, class C, int N> TANDEM_HD void general_elements(const ElementPlan& plan, const F& f) {
  constexpr int W = kVectorWidth<C>;
  using Result = decltype(apply<N>(f, *static_cast<const C(*)[N]>(nullptr)));
  const uint32_t first =
      blockIdx.x * blockDim.x * (plan.is_vectorized ? kVectorsPerThread : kScalarsPerThread) + threadIdx.x;
  Word<C> bits[N][kVectorsPerThread * W] = {};
  int64_t to[kScalarsPerThread];
  if (plan.is_vectorized)
    load_items<kVectorsPerThread, W, C>(plan, first, to, bits);
  else
    load_items<kScalarsPerThread, 1, C>(plan, first, to, bits);
  Word<Result> y[kVectorsPerThread * W];
#pragma unroll
  for (int e = 0; e < kVectorsPerThread * W; ++e) {
    if (e == kScalarsPerThread && !plan.is_vectorized) break;
    if (e % W == 0 && plan.is_vectorized) {
#pragma unroll
      for (int k = 0; k < N; ++k)
        unpack_vector<C, W>(plan.operands[1 + k], plan.count - (first + e / W * blockDim.x) * W, &bits[k][e]);
    }
    C x[N];
#pragma unroll
    for (int k = 0; k < N; ++k) from_bits(bits[k][e], plan.operands[1 + k].dtype, x[k]);
    y[e] = to_bits(apply<N>(f, x), plan.operands[0].dtype);
  }
  if (plan.is_vectorized)
    store_items<kVectorsPerThread, W, Result>(plan, first, to, y);
  else
    store_items<kScalarsPerThread, 1, Result>(plan, first, to, y);
}

/// Computes y = f(x...) with N inputs, each converted to C.
template <class F, class C, int N>
__global__ void __launch_bounds__(kElementThreads) elementwise_kernel(ElementPlan plan) {
  const F f = make_functor<F, C>(plan.scalars);
  if constexpr (!math::kIsSameType<C, double>)  // functions of double are long: a second copy is not worth its size
    if (plan.plain_vectors_per_thread) return contiguous_elements<F, C, N>(plan, f);
  general_elements<F, C, N>(plan, f);
}

// Functions that return the table of kernels by dtype for functor F, one for each value of the column `accepts` in
// core/elementwise_ops.h. A null kernel means that the operation does not accept the dtype.
template <template <class> class F, int N> constexpr ElementKernelTable real_kernels() {
  return {elementwise_kernel<F<float>, float, N>, elementwise_kernel<F<double>, double, N>, nullptr, nullptr};
}
template <template <class> class F, int N> constexpr ElementKernelTable floating_kernels() {
  return real_kernels<F, N>();
}
template <template <class> class F, int N> constexpr ElementKernelTable rounded_kernels() {
  return real_kernels<F, N>();
}
template <template <class> class F, int N> constexpr ElementKernelTable integral_kernels() {
  return {nullptr, nullptr, elementwise_kernel<F<int64_t>, int64_t, N>, elementwise_kernel<F<int64_t>, int64_t, N>};
}
template <template <class> class F, int N> constexpr ElementKernelTable stepped_kernels() {
  return real_kernels<F, N>();
}
template <template <class> class F, int N> constexpr ElementKernelTable integers_kernels() {
  return {nullptr, nullptr, elementwise_kernel<F<int64_t>, int64_t, N>, nullptr};
}
template <template <class> class F, int N> constexpr ElementKernelTable any_kernels() {
  constexpr ElementKernelTable real = real_kernels<F, N>(), integral = integral_kernels<F, N>();
  return {real.float32, real.float64, integral.int64, integral.boolean};
}
template <template <class> class F, int N> constexpr ElementKernelTable numbers_kernels() {
  constexpr ElementKernelTable any = any_kernels<F, N>();
  return {any.float32, any.float64, any.int64, nullptr};
}
template <template <class> class F, int N> constexpr ElementKernelTable counted_kernels() {
  return numbers_kernels<F, N>();
}
template <template <class> class F, int N> constexpr ElementKernelTable divided_kernels() {
  return numbers_kernels<F, N>();
}
template <template <class> class F, int N> constexpr ElementKernelTable powers_kernels() {
  return numbers_kernels<F, N>();
}

}  // namespace tandem::kernels::cuda

/// Defines tables::op.
#define TANDEM_DEFINE_KERNEL_TABLE(op, ...)            \
  namespace tandem::kernels::cuda::tables {            \
  extern const ElementKernelTable op;                  \
  constinit const ElementKernelTable op = __VA_ARGS__; \
  }
