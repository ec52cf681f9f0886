// Constants, sequences, random numbers and dropout. A thread computes four numbers from one or two Philox blocks and
// stores them together: the arithmetic of Philox takes about as long as writing the numbers to memory.
//
// Compiled without contraction into fused multiply-adds, like kernels/cpu/loops/random.cpp, so that integers, uniform
// numbers and masks have the same bits on both backends.
#include "tandem/kernels/fill.h"

#include <cstring>

#include "tandem/kernels/cuda/copy.h"
#include "tandem/kernels/cuda/elementwise.cuh"
#include "tandem/kernels/cuda/launch.h"
#include "tandem/kernels/cuda/planner.h"
#include "tandem/kernels/elementwise.h"
#include "tandem/kernels/philox.h"

namespace tandem::kernels::cuda {
namespace {

constexpr int kThreads = 128, kNumbersPerThread = 4;  // threads per block (at most), and random numbers per thread

/// Contiguous output elements.
struct OutputElements {
  ElementOperand y;
  int64_t count;
  bool aligned;  // aligned for vectors
};
OutputElements output_elements(const Tensor& y) {
  OutputElements t{{}, y.numel(), false};
  t.y.data = static_cast<char*>(y.raw_data());
  t.y.dtype = y.dtype();
  t.y.size = static_cast<uint8_t>(y.itemsize());
  const int64_t bytes = std::min(kNumbersPerThread * y.itemsize(), int64_t{16});
  t.aligned = reinterpret_cast<uintptr_t>(t.y.data) % static_cast<uintptr_t>(bytes) == 0;
  return t;
}
/// Stores elements first to first + 3, except elements after the end.
template <class C> __device__ inline void store_numbers(const OutputElements& t, int64_t first, const Word<C>* bits) {
  const int64_t left = t.count - first;
  if (t.aligned) {
    store_vector<C, kNumbersPerThread>(t.y, first * t.y.size,
                                       left < kNumbersPerThread ? uint32_t(left) : kNumbersPerThread, bits);
  } else {
#pragma unroll
    for (int i = 0; i < kNumbersPerThread; ++i)
      if (i < left) store<C>(t.y.data + (first + i) * t.y.size, bits[i], t.y.size);
  }
}
/// Converts the integer n to `dtype`, and returns the bits of the result.
TANDEM_HD Bits integer_bits(int64_t n, DType dtype) {
  switch (dtype) {
    case DType::float32:
    case DType::float16:
    case DType::bfloat16: return to_bits(float(n), dtype);
    case DType::float64: return to_bits(double(n), dtype);
    default: return to_bits(n, dtype);
  }
}
TANDEM_HD uint64_t to_uint64(const uint32_t* words) { return uint64_t(words[1]) << 32 | words[0]; }

// Distributions. Each is a functor that maps kWordsPerNumber random 32-bit words to one number of type Result, which is
// then converted to y's dtype.
template <class C> struct Uniform {
  using Result = C;
  static constexpr int kWordsPerNumber = math::kIsSameType<C, double> ? 2 : 1;
  C low, width;
  TANDEM_HD C operator()(const uint32_t* words, DType) const {
    if constexpr (kWordsPerNumber == 2)
      return low + width * uniform_double(to_uint64(words));
    else
      return low + width * uniform_float(words[0]);
  }
};
/// Normal distribution by Box-Muller; each number uses a separate pair of words.
template <class C> struct Normal {
  using Result = C;
  static constexpr int kWordsPerNumber = 2;
  C mean, std;
  TANDEM_HD C operator()(const uint32_t* words, DType) const {
    if constexpr (math::kIsSameType<C, double>) {
      const double u = (double(words[0]) + 0.5) * 0x1p-32, v = double(words[1]) * 0x1p-32;
      return mean + std * (math::sqrt(-2.0 * math::log(u)) * math::cos(6.283185307179586 * v));
    } else {
      const float u = (float(words[0]) + 0.5f) * 0x1p-32f, v = float(int32_t(words[1])) * 0x1p-32f;
      return mean + std * (math::sqrt(-2.0f * math::log(u)) * math::cos_of_turns(v));
    }
  }
};
struct Bernoulli {
  using Result = Bits;
  static constexpr int kWordsPerNumber = 1;
  float p;
  TANDEM_HD Bits operator()(const uint32_t* words, DType dtype) const {
    return integer_bits(uniform_float(words[0]) < p, dtype);
  }
};
struct RandInt {
  using Result = Bits;
  static constexpr int kWordsPerNumber = 2;
  int64_t low;
  uint64_t width;
  TANDEM_HD Bits operator()(const uint32_t* words, DType dtype) const {
    return integer_bits(int64_t(uint64_t(low) + to_uint64(words) % width), dtype);
  }
};

template <class Number>
__global__ void __launch_bounds__(kThreads)
    random_kernel(Number number, const uint64_t* state, uint64_t offset, OutputElements target) {
  constexpr int kWordsPerNumber = Number::kWordsPerNumber;
  using Result = typename Number::Result;
  const int64_t thread = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (thread * kNumbersPerThread >= target.count) return;
  PhiloxBlock blocks[kWordsPerNumber];
#pragma unroll
  for (int b = 0; b < kWordsPerNumber; ++b)
    blocks[b] = philox(state[0], state[1], state[2] + offset + uint64_t(thread * kWordsPerNumber + b));
  Word<Result> bits[kNumbersPerThread];
#pragma unroll
  for (int i = 0; i < kNumbersPerThread; ++i)
    bits[i] =
        to_bits(number(&blocks[i * kWordsPerNumber / 4].word[i * kWordsPerNumber % 4], target.y.dtype), target.y.dtype);
  store_numbers<Result>(target, thread * kNumbersPerThread, bits);
}

/// Computes mask = uniform < keep and y = mask ? x * scale : 0.
template <class C>
__global__ void __launch_bounds__(kThreads) dropout_kernel(ElementOperand x, float keep, C scale, const uint64_t* state,
                                                           uint64_t offset, OutputElements y, OutputElements mask) {
  const int64_t thread = int64_t(blockIdx.x) * blockDim.x + threadIdx.x, first = thread * kNumbersPerThread;
  if (first >= y.count) return;
  const int64_t left = y.count - first;
  Word<C> bits[kNumbersPerThread] = {};
  if (y.aligned) {
    const uint32_t count = left < kNumbersPerThread ? uint32_t(left) : kNumbersPerThread;
    load_vector<C, kNumbersPerThread>(x, first * x.size, count, bits);
    unpack_vector<C, kNumbersPerThread>(x, count, bits);
  } else {
#pragma unroll
    for (int i = 0; i < kNumbersPerThread; ++i)
      if (i < left) bits[i] = load<C>(x.data + (first + i) * x.size, x.size);
  }
  const PhiloxBlock block = philox(state[0], state[1], state[2] + offset + uint64_t(thread));
  uint32_t kept[kNumbersPerThread];
#pragma unroll
  for (int i = 0; i < kNumbersPerThread; ++i) {
    C value;
    from_bits(bits[i], x.dtype, value);
    kept[i] = uniform_float(block.word[i]) < keep;
    bits[i] = to_bits(kept[i] ? value * scale : C(0), y.y.dtype);
  }
  store_numbers<C>(y, first, bits);
  store_numbers<bool>(mask, first, kept);
}

template <class C>
__global__ void __launch_bounds__(kThreads)
    dropout_backward_kernel(ElementOperand dy, const uint8_t* __restrict__ mask, C scale, OutputElements dx) {
  const int64_t first = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) * kNumbersPerThread;
  if (first >= dx.count) return;
  const int64_t left = dx.count - first;
  const uint32_t count = left < kNumbersPerThread ? uint32_t(left) : kNumbersPerThread;
  Word<C> bits[kNumbersPerThread] = {};
  if (dx.aligned) {
    load_vector<C, kNumbersPerThread>(dy, first * dy.size, count, bits);
    unpack_vector<C, kNumbersPerThread>(dy, count, bits);
  } else {
#pragma unroll
    for (int i = 0; i < kNumbersPerThread; ++i)
      if (i < left) bits[i] = load<C>(dy.data + (first + i) * dy.size, dy.size);
  }
#pragma unroll
  for (int i = 0; i < kNumbersPerThread; ++i) {
    C value;
    from_bits(bits[i], dy.dtype, value);
    bits[i] = to_bits(i < left && mask[first + i] ? value * scale : C(0), dx.y.dtype);
  }
  store_numbers<C>(dx, first, bits);
}

template <class C> __global__ void __launch_bounds__(kThreads) arange_kernel(C start, C step, OutputElements y) {
  const int64_t first = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) * kNumbersPerThread;
  if (first >= y.count) return;
  Bits bits[kNumbersPerThread];
#pragma unroll
  for (int i = 0; i < kNumbersPerThread; ++i) {
    const C number = start + C(first + i) * step;
    if constexpr (math::kIsSameType<C, int64_t>)
      bits[i] = to_bits(number, y.y.dtype);
    else
      bits[i] = y.y.dtype == DType::float64 ? to_bits(number, DType::float64) : to_bits(float(number), y.y.dtype);
  }
  store_numbers<Bits>(y, first, bits);
}

constexpr size_t kMaxWords = 16;
struct Words {
  uint64_t word[kMaxWords];
};
__global__ void store_words_kernel(Words words, uint64_t* to) { to[threadIdx.x] = words.word[threadIdx.x]; }

LaunchShape launch_shape(int64_t count) {
  const int64_t threads = ceil_div(count, kNumbersPerThread), block = std::min<int64_t>(threads, kThreads);
  return {checked_grid_size(ceil_div(threads, block)), static_cast<unsigned>(block)};
}
const uint64_t* state_words(const Tensor& state) { return static_cast<const uint64_t*>(state.raw_data()); }
/// Fills y with random numbers in logical (row-major) order. If y is not contiguous, fills a contiguous temporary first
/// and copies it.
template <class Number>
void fill_random(const char* op, Number number, const Tensor& state, uint64_t offset, Tensor& y) {
  if (y.numel() == 0) return;
  Tensor target = y.is_contiguous() ? y : core::empty(y.sizes(), y.dtype(), y.device());
  launch(op, random_kernel<Number>, launch_shape(y.numel()), y.device(), number, state_words(state), offset,
         output_elements(target));
  if (!target.is_same(y)) copy(target, y);
}
void check_supported(const char* op, DType dtype, bool exists, const char* accepted) {
  TANDEM_CHECK_AS(NotImplementedError, exists, op, ": not implemented for '", dtype, "'; accepted: ", accepted);
}

}  // namespace

void fill(const Scalar& value, Tensor& y) {
  // called only for its check: throws if y's dtype is an integer dtype that cannot represent the value
  value.loop_scalar(y.dtype());
  uint64_t bits = 0;
  visit_dtype(y.dtype(), [&]<class T>() {
    const T element = value.to_wrapped<T>();
    std::memcpy(&bits, &element, sizeof(T));
  });
  PlannedElements elements = plan_elements("fill", y, {});
  add_scalar_operand(elements, bits, y.dtype());
  elements.plan.plain_vectors_per_thread = 1;
  run_elements("fill", copy_bits, kVectorWidth<Bits>, elements, y.device());
}

void arange(const Scalar& start, const Scalar& step, Tensor& y) {
  check_supported("arange", y.dtype(), y.dtype() != kBool, "numbers");
  const LoopScalar from = start.loop_scalar(y.dtype()), by = step.loop_scalar(y.dtype());
  if (y.numel() == 0) return;
  if (y.is_floating_point())
    launch("arange", arange_kernel<double>, launch_shape(y.numel()), y.device(), from.real, by.real,
           output_elements(y));
  else
    launch("arange", arange_kernel<int64_t>, launch_shape(y.numel()), y.device(), from.integer, by.integer,
           output_elements(y));
}

void uniform(double low, double high, const Tensor& state, uint64_t offset, Tensor& y) {
  check_supported("uniform", y.dtype(), y.is_floating_point(), "floating point");
  if (y.dtype() == kFloat64)
    fill_random("uniform", Uniform<double>{low, high - low}, state, offset, y);
  else
    fill_random("uniform", Uniform<float>{static_cast<float>(low), static_cast<float>(high - low)}, state, offset, y);
}

void normal(double mean, double std, const Tensor& state, uint64_t offset, Tensor& y) {
  check_supported("normal", y.dtype(), y.is_floating_point(), "floating point");
  if (y.dtype() == kFloat64)
    fill_random("normal", Normal<double>{mean, std}, state, offset, y);
  else
    fill_random("normal", Normal<float>{static_cast<float>(mean), static_cast<float>(std)}, state, offset, y);
}

void bernoulli(double p, const Tensor& state, uint64_t offset, Tensor& y) {
  fill_random("bernoulli", Bernoulli{static_cast<float>(p)}, state, offset, y);
}

void randint(int64_t low, int64_t high, const Tensor& state, uint64_t offset, Tensor& y) {
  fill_random("randint", RandInt{low, static_cast<uint64_t>(high) - static_cast<uint64_t>(low)}, state, offset, y);
}

void dropout(const Tensor& x, double keep, double scale, const Tensor& state, uint64_t offset, Tensor& y,
             Tensor& mask) {
  check_supported("dropout", x.dtype(), x.is_floating_point(), "floating point");
  if (x.numel() == 0) return;
  OutputElements to = output_elements(y);
  OutputElements from = output_elements(x);
  from.y.strides[0] = x.itemsize();
  to.aligned = to.aligned && from.aligned;
  const auto run = [&]<class C>(void (*kernel)(ElementOperand, float, C, const uint64_t*, uint64_t, OutputElements,
                                               OutputElements)) {
    launch("dropout", kernel, launch_shape(x.numel()), x.device(), from.y, static_cast<float>(keep),
           static_cast<C>(scale), state_words(state), offset, to, output_elements(mask));
  };
  if (x.dtype() == kFloat64)
    run(dropout_kernel<double>);
  else
    run(dropout_kernel<float>);
}

void dropout_backward(const Tensor& dy, const Tensor& mask, double scale, Tensor& dx) {
  if (dy.numel() == 0) return;
  OutputElements to = output_elements(dx);
  OutputElements from = output_elements(dy);
  from.y.strides[0] = dy.itemsize();
  to.aligned = to.aligned && from.aligned;
  const auto run = [&]<class C>(void (*kernel)(ElementOperand, const uint8_t*, C, OutputElements)) {
    launch("dropout_backward", kernel, launch_shape(dy.numel()), dy.device(), from.y,
           static_cast<const uint8_t*>(mask.raw_data()), static_cast<C>(scale), to);
  };
  if (dy.dtype() == kFloat64)
    run(dropout_backward_kernel<double>);
  else
    run(dropout_backward_kernel<float>);
}

void store_words(ArrayRef<uint64_t> words, Tensor& y) {
  TANDEM_CHECK(words.size() <= kMaxWords, "store_words: internal error: ", words.size(), " words, but at most ",
               kMaxWords, " are accepted; please report it");
  Words by_value{};
  std::copy(words.begin(), words.end(), by_value.word);
  launch("store_words", store_words_kernel, {1, static_cast<unsigned>(words.size())}, y.device(), by_value,
         static_cast<uint64_t*>(y.raw_data()));
}

}  // namespace tandem::kernels::cuda
