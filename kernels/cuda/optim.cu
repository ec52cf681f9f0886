// Optimizer steps and gradient clipping: each launch processes many tensors. A model has dozens of parameter tensors
// with a few hundred to a few million elements; if each had its own launch, most launches would take longer than their
// work. All these kernels are bound by memory: Adam reads four numbers and writes three for some fifty operations.
//
// The addresses and sizes of the tensors are kernel parameters, not a table in device memory. Parameters hold 4 KiB: 62
// tensors for Adam, more for the others; further tensors take another launch. A table would need a copy of its own at
// every step, from page-locked memory that must not change until the copy is done. Parameters are part of the launch:
// they are ordered with it, and recorded with it when a step is captured.
#include <vector>

#include "tandem/kernels/cuda/launch.h"
#include "tandem/kernels/cuda/packet.cuh"
#include "tandem/kernels/functors/base.h"
#include "tandem/kernels/loss_scale.h"
#include "tandem/kernels/optim.h"
#include "tandem/kernels/types.h"
#include "tandem/kernels/visit_floating.h"

namespace tandem::kernels::cuda {
namespace {

/// The tensors of a launch, with kPointers arrays (such as parameter and gradient) for each. Blocks are assigned to the
/// tensors in order; each block processes `chunk_size` elements.
template <int kPointers> struct TensorListMetadata {
  static constexpr int kCapacity = 3840 / (kPointers * 8 + 8 + 4 + 1);
  void* data[kCapacity][kPointers];  // null for arrays that the update does not use
  int64_t size[kCapacity];
  unsigned last_block[kCapacity];  // total number of thread blocks for this tensor and all previous tensors
  bool aligned[kCapacity];
  int num_tensors;
  int chunk_size;

  /// Returns the index of this block's tensor, and sets `block` to the block's index within the tensor.
  __device__ int find_tensor(unsigned& block) const {
    int low = 0, high = num_tensors - 1;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (blockIdx.x < last_block[middle])
        high = middle;
      else
        low = middle + 1;
    }
    block = blockIdx.x - (low == 0 ? 0 : last_block[low - 1]);
    return low;
  }
};

/// Distributes the tensors over tables, each small enough for one launch. Calls run(table, number of blocks, number of
/// blocks in all earlier tables) for each table. arrays(i, data) must write to `data` the kPointers addresses of the
/// arrays of tensor i, which all have as many elements as sized[i].
template <int kPointers, class Arrays, class Run>
void for_tensor_lists(const std::vector<Tensor>& sized, int chunk_size, Arrays arrays, Run run) {
  TensorListMetadata<kPointers> table;
  table.chunk_size = chunk_size;
  table.num_tensors = 0;
  int64_t blocks = 0, before = 0;
  const auto flush = [&] {
    if (table.num_tensors == 0) return;
    run(table, checked_grid_size(blocks), before);
    before += blocks;
    blocks = 0;
    table.num_tensors = 0;
  };
  for (size_t i = 0; i < sized.size(); ++i) {
    if (sized[i].numel() == 0) continue;
    const int t = table.num_tensors++;
    arrays(i, table.data[t]);
    table.size[t] = sized[i].numel();
    blocks += ceil_div(sized[i].numel(), chunk_size);
    table.last_block[t] = checked_grid_size(blocks);
    table.aligned[t] = std::all_of(table.data[t], table.data[t] + kPointers,
                                   [](const void* p) { return p == nullptr || is_aligned(p, 16); });
    if (table.num_tensors == TensorListMetadata<kPointers>::kCapacity) flush();
  }
  flush();
}

constexpr int kPacket = 4;

/// dtypes of the gradients and the half copies of a launch whose gradients have another dtype than the parameters, or
/// that writes copies. Mixed updates (kMixed) compute in float.
struct MixedTypes {
  DType gradient, copy;
};
/// Calls f with a null pointer of the element type of `dtype`: Half, BFloat16 or float.
template <class F> __device__ void visit_mixed(DType dtype, F f) {
  if (dtype == DType::float16)
    f(static_cast<Half*>(nullptr));
  else if (dtype == DType::bfloat16)
    f(static_cast<BFloat16*>(nullptr));
  else
    f(static_cast<float*>(nullptr));
}
__device__ Packet<float, kPacket> load_as_float(const void* from, DType dtype, int64_t i, int64_t end, bool aligned) {
  Packet<float, kPacket> out;
  visit_mixed(dtype, [&]<class T>(T*) {
    const Packet<T, kPacket> packet = load_packet<kPacket>(static_cast<const T*>(from), i, end, aligned);
#pragma unroll
    for (int j = 0; j < kPacket; ++j) out[j] = float(packet[j]);
  });
  return out;
}
template <class From>
__device__ void store_rounded(const Packet<From, kPacket>& packet, void* to, DType dtype, int64_t i, int64_t end,
                              bool aligned) {
  visit_mixed(dtype, [&]<class T>(T*) {
    Packet<T, kPacket> rounded;
#pragma unroll
    for (int j = 0; j < kPacket; ++j) rounded[j] = T(float(packet[j]));
    store_packet(rounded, static_cast<T*>(to), i, end, aligned);
  });
}

/// Returns the master weight; or, if it does not round to the element of the half copy, that element: then the program
/// has changed the parameter since the last step.
__device__ float adopt_change(float weight, float copied, DType dtype) {
  const float rounded = dtype == DType::float16 ? float(Half(weight)) : float(BFloat16(weight));
  return rounded == copied ? weight : copied;
}

/// Applies `update` to every element of every tensor, in the compute type. An Update has
///   kStreams: number of arrays that are read elementwise (called streams); kWrittenStreams: how many of them, from the
///   first on, are also written
///   kPointers: number of arrays in the table; the update itself accesses those that are not streams
///   kMixed: if true, the last stream, the gradient, is of type types.gradient, and the last array of the table is null
///     or a copy of the first stream in types.copy
///   prepare(arrays of the tensor): called by all threads of a block, while their first loads are in flight. Returns
///     false, on all threads, if the update is to be skipped
///   operator()(elements): computes the update of one element of each stream
template <class T, class Update>
__global__ void multi_tensor_apply_kernel(TensorListMetadata<Update::kPointers> table, Update update) {
  constexpr int kStreams = Update::kStreams - Update::kMixed;  // streams of type T
  unsigned block;
  const int t = table.find_tensor(block);
  T* streams[kStreams];
#pragma unroll
  for (int s = 0; s < kStreams; ++s) streams[s] = static_cast<T*>(table.data[t][s]);
  const int64_t begin = int64_t(block) * table.chunk_size, end = math::min(begin + table.chunk_size, table.size[t]);
  const bool aligned = table.aligned[t];
  Packet<T, kPacket> packets[kStreams] = {};
  Packet<OpMath<T>, kPacket> gradient = {}, copied = {};  // of a mixed update
  const void* half_copy = nullptr;
  if constexpr (Update::kMixed) half_copy = table.data[t][Update::kPointers - 1];
  const auto load = [&](int64_t i) {
#pragma unroll
    for (int s = 0; s < kStreams; ++s)
      if (streams[s]) packets[s] = load_packet<kPacket>(streams[s], i, end, aligned);
    if constexpr (Update::kMixed) {
      gradient = load_as_float(table.data[t][kStreams], update.types.gradient, i, end, aligned);
      if (half_copy) copied = load_as_float(half_copy, update.types.copy, i, end, aligned);
    }
  };
  int64_t i = begin + threadIdx.x * kPacket;
  if (i < end) load(i);
  if (!update.prepare(table.data[t])) return;
  while (i < end) {
#pragma unroll
    for (int j = 0; j < kPacket; ++j) {
      OpMath<T> elements[Update::kStreams];
#pragma unroll
      for (int s = 0; s < kStreams; ++s) elements[s] = OpMath<T>(packets[s][j]);
      if constexpr (Update::kMixed) {
        elements[kStreams] = gradient[j];
        if (half_copy) elements[0] = adopt_change(elements[0], copied[j], update.types.copy);
      }
      update(elements);
#pragma unroll
      for (int s = 0; s < Update::kWrittenStreams; ++s) packets[s][j] = T(elements[s]);
    }
#pragma unroll
    for (int s = 0; s < Update::kWrittenStreams; ++s)
      if (streams[s]) store_packet(packets[s], streams[s], i, end, aligned);
    if constexpr (Update::kMixed)
      if (half_copy)
        store_rounded(packets[0], table.data[t][Update::kPointers - 1], update.types.copy, i, end, aligned);
    i += blockDim.x * kPacket;
    if (i < end) load(i);
  }
}
template <class T, class Update, class Arrays>
void multi_tensor_apply(const char* name, const std::vector<Tensor>& tensors, const Update& update, Arrays arrays) {
  int64_t total = 0, largest = 0;
  for (const Tensor& t : tensors) {
    total += t.numel();
    largest = std::max(largest, t.numel());
  }
  if (total == 0) return;
  const Device device = tensors[0].device();
  const int64_t block = std::min<int64_t>(ceil_div(ceil_div(largest, kPacket), kWarpSize) * kWarpSize, 256);
  // A chunk has up to 16 packets per thread, or fewer if there would be too few blocks to fill the device.
  const int64_t fill = gpu::properties(device.index()).multi_processor_count * 8;
  const int64_t packets = std::clamp<int64_t>(total / (block * kPacket * fill), 1, 16);
  for_tensor_lists<Update::kPointers>(
      tensors, static_cast<int>(block * kPacket * packets), arrays,
      [&](const TensorListMetadata<Update::kPointers>& table, unsigned blocks, int64_t) {
        launch(name, multi_tensor_apply_kernel<T, Update>, {blocks, static_cast<unsigned>(block)}, device, table,
               update);
      });
}

/// Multiplies a gradient by the factor of a GradScaler's step. In other steps, returns the gradient itself, so that the
/// compiler cannot fuse a multiplication by 1 with the next operation, which would change the rounding.
template <class T> __device__ T scale_gradient(T gradient, T factor) {
  return factor == T(1) ? gradient : gradient * factor;
}

/// Adam step. Arrays read elementwise: parameter, exp_avg, exp_avg_sq, max_exp_avg_sq (or null) and gradient. A sixth
/// pointer is the step count, a float.
template <class T, bool kMixedTypes> struct AdamUpdate {
  static constexpr int kStreams = 5, kWrittenStreams = 4, kPointers = 6 + kMixedTypes;
  static constexpr bool kMixed = kMixedTypes;
  const AdamValues* values;
  MixedTypes types;
  bool amsgrad;
  T step_size = 0, rsqrt_bias_correction2 = 0, eps = 0, b1 = 0, a1 = 0, b2 = 0, a2 = 0, decay_factor = 0,
    weight_decay = 0,
    factor = 1;  // set by prepare()

  /// Computes the two bias corrections (a power, a quotient and a root in double) from the step count, which is in
  /// device memory. Two threads of the block compute one correction each. If the block has several warps, these threads
  /// are in different warps.
  __device__ bool prepare(void* const* data) {
    TANDEM_SHARED(T, corrections, [2]);
    const bool first = threadIdx.x == 0;
    if (first || threadIdx.x == blockDim.x - 1) {
      const double beta = first ? values->beta1 : values->beta2;
      const double rest = 1 - ::pow(beta, double(*static_cast<const float*>(data[5])));
      corrections[first ? 0 : 1] = T(first ? values->lr / rest : 1 / math::sqrt(rest));
    }
    eps = T(values->eps);
    b1 = T(values->beta1);
    a1 = T(values->one_minus_beta1);
    b2 = T(values->beta2);
    a2 = T(values->one_minus_beta2);
    decay_factor = T(values->decay_factor);
    weight_decay = T(values->weight_decay);
    factor = T(values->scaling.factor);
    __syncthreads();
    step_size = corrections[0];
    rsqrt_bias_correction2 = corrections[1];
    return values->scaling.found_inf == 0;
  }
  __device__ void operator()(T (&e)[kStreams]) const {
    T &p = e[0], &m = e[1], &v = e[2], &top = e[3];
    const T grad = scale_gradient(e[4], factor) + weight_decay * p;
    m = b1 * m + a1 * grad;
    v = b2 * v + a2 * grad * grad;
    top = top > v ? top : v;
    p = p * decay_factor - step_size * m / (math::sqrt(amsgrad ? top : v) * rsqrt_bias_correction2 + eps);
  }
};

/// SGD step. Arrays read elementwise: parameter, momentum buffer (or null) and gradient.
template <class T, bool kMixedTypes> struct SgdUpdate {
  static constexpr int kStreams = 3, kWrittenStreams = 2, kPointers = 3 + kMixedTypes;
  static constexpr bool kMixed = kMixedTypes;
  const SgdValues* values;
  MixedTypes types;
  bool has_no_momentum, nesterov;
  T lr = 0, momentum = 0, weight_decay = 0, buffer_factor = 0, grad_factor = 0, factor = 1;  // set by prepare()

  __device__ bool prepare(void* const*) {
    lr = T(values->lr);
    momentum = T(values->momentum);
    weight_decay = T(values->weight_decay);
    buffer_factor = T(values->buffer_factor);
    grad_factor = T(values->grad_factor);
    factor = T(values->scaling.factor);
    return values->scaling.found_inf == 0;
  }
  __device__ void operator()(T (&e)[kStreams]) const {
    T &p = e[0], &buffer = e[1];
    const T grad = scale_gradient(e[2], factor) + weight_decay * p;
    buffer = buffer_factor * buffer + grad_factor * grad;
    p -= lr * (has_no_momentum ? grad : nesterov ? grad + momentum * buffer : buffer);
  }
};

template <class T> struct ScaleUpdate {
  static constexpr int kStreams = 1, kWrittenStreams = 1, kPointers = 1;
  static constexpr bool kMixed = false;
  T factor;
  __device__ bool prepare(void* const*) { return true; }
  __device__ void operator()(T (&e)[kStreams]) const { e[0] *= factor; }
};
template <class T> struct AddUpdate {
  static constexpr int kStreams = 1, kWrittenStreams = 1, kPointers = 1;
  static constexpr bool kMixed = false;
  T addend;
  const float* skip;  // null: never skipped
  __device__ bool prepare(void* const*) { return !skip || *skip == 0; }
  __device__ void operator()(T (&e)[kStreams]) const { e[0] += addend; }
};
/// Sets *found_inf to 1 if an element is infinite or NaN. With kWrite, also multiplies the elements by the factor.
template <class T, bool kWrite> struct UnscaleUpdate {
  static constexpr int kStreams = 1, kWrittenStreams = kWrite, kPointers = 1;
  static constexpr bool kMixed = false;
  const float* factor_pointer;
  float* found_inf;
  T factor = 1;  // set by prepare()
  __device__ bool prepare(void* const*) {
    if (kWrite) factor = T(*factor_pointer);
    return true;
  }
  __device__ void operator()(T (&e)[kStreams]) const {
    if (!(e[0] - e[0] == T(0))) atomicExch(found_inf, 1.0f);  // several threads may do so
    e[0] *= factor;
  }
};
__global__ void update_scale_kernel(const float* found_inf, double growth, double backoff, int64_t interval,
                                    float* scale, int32_t* growth_tracker) {
  next_scale(*found_inf, growth, backoff, interval, *scale, *growth_tracker);
}
/// Applies the functor make.operator()<C>() to every element of the tensors, where C is the compute type.
template <class Make> void update_all(const char* op, const std::vector<Tensor>& tensors, Make make) {
  if (tensors.empty()) return;
  visit_floating(op, tensors[0].dtype(), [&]<class T>() {
    multi_tensor_apply<T>(op, tensors, make.template operator()<OpMath<T>>(),
                          [&](size_t i, void** data) { data[0] = tensors[i].raw_data(); });
  });
}
/// Calls run.operator()<element type of the parameters, whether the update is mixed>(types). Does nothing if there are
/// no parameters.
template <class Run>
void visit_types(const char* op, const std::vector<Tensor>& parameters, const std::vector<Tensor>& gradients,
                 const std::vector<Tensor>& half_copies, Run run) {
  if (parameters.empty()) return;
  const DType dtype = parameters[0].dtype();
  const MixedTypes types{gradients[0].dtype(), half_copies[0].defined() ? half_copies[0].dtype() : dtype};
  visit_floating(op, dtype, [&]<class T>() {
    if constexpr (sizeof(T) < sizeof(double))
      if (types.gradient != dtype || types.copy != dtype) return run.template operator()<T, true>(types);
    run.template operator()<T, false>(types);
  });
}

constexpr int kSumThreads = 128;

struct SquareSum {
  static __device__ double identity() { return 0; }
  static __device__ double of(double x) { return x * x; }
  static __device__ double combine(double a, double b) { return a + b; }
};
struct AbsSum : SquareSum {
  static __device__ double of(double x) { return math::abs(x); }
};
struct AbsMax : AbsSum {
  static __device__ double combine(double a, double b) { return b > a || b != b ? b : a; }
};
struct AbsMin : AbsSum {
  static __device__ double identity() { return __builtin_inf(); }
  static __device__ double combine(double a, double b) { return b < a || b != b ? b : a; }
};
/// Reduces `value` over the block by a tree. Returns the result on thread 0, and 0 on all other threads.
template <class Op> __device__ double reduce_block(double value) {
  TANDEM_SHARED(double, values, [kSumThreads]);
  values[threadIdx.x] = value;
  for (int half = kSumThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (int(threadIdx.x) < half) values[threadIdx.x] = Op::combine(values[threadIdx.x], values[threadIdx.x + half]);
  }
  return threadIdx.x == 0 ? values[0] : 0;  // only thread 0 may read values[0] without a barrier
}
/// Reduces one chunk per block. The order of the reduction does not depend on the alignment of the tensors.
template <class Op, class T> __global__ void reduce_chunks(TensorListMetadata<1> table, double* numbers) {
  unsigned block;
  const int t = table.find_tensor(block);
  const T* const x = static_cast<const T*>(table.data[t][0]);
  const int64_t begin = int64_t(block) * table.chunk_size, end = math::min(begin + table.chunk_size, table.size[t]);
  double parts[kPacket];
  for (double& part : parts) part = Op::identity();
#pragma unroll 4
  for (int64_t i = begin + threadIdx.x * kPacket; i < end; i += kSumThreads * kPacket) {
    const Packet<T, kPacket> packet = load_packet<kPacket>(x, i, end, table.aligned[t]);
#pragma unroll
    for (int j = 0; j < kPacket; ++j)
      if (i + j < end) parts[j] = Op::combine(parts[j], Op::of(double(OpMath<T>(packet[j]))));
  }
  const double number = reduce_block<Op>(Op::combine(Op::combine(parts[0], parts[1]), Op::combine(parts[2], parts[3])));
  if (threadIdx.x == 0) numbers[blockIdx.x] = number;
}

}  // namespace

void adam(const Tensor& values, bool amsgrad, const std::vector<Tensor>& gradients, const std::vector<Tensor>& steps,
          std::vector<Tensor>& parameters, std::vector<Tensor>& exp_avgs, std::vector<Tensor>& exp_avg_sqs,
          std::vector<Tensor>& max_exp_avg_sqs, std::vector<Tensor>& half_copies) {
  visit_types("adam", parameters, gradients, half_copies, [&]<class T, bool kMixed>(const MixedTypes& types) {
    const AdamUpdate<OpMath<T>, kMixed> update{static_cast<const AdamValues*>(values.raw_data()), types, amsgrad};
    multi_tensor_apply<T>("adam", parameters, update, [&](size_t i, void** data) {
      data[0] = parameters[i].raw_data();
      data[1] = exp_avgs[i].raw_data();
      data[2] = exp_avg_sqs[i].raw_data();
      data[3] = amsgrad ? max_exp_avg_sqs[i].raw_data() : nullptr;
      data[4] = gradients[i].raw_data();
      data[5] = steps[i].raw_data();
      if constexpr (kMixed) data[6] = half_copies[i].defined() ? half_copies[i].raw_data() : nullptr;
    });
  });
}
void sgd(const Tensor& values, bool momentum, bool nesterov, const std::vector<Tensor>& gradients,
         std::vector<Tensor>& parameters, std::vector<Tensor>& momenta, std::vector<Tensor>& half_copies) {
  visit_types("sgd", parameters, gradients, half_copies, [&]<class T, bool kMixed>(const MixedTypes& types) {
    const SgdUpdate<OpMath<T>, kMixed> update{static_cast<const SgdValues*>(values.raw_data()), types, !momentum,
                                              nesterov};
    multi_tensor_apply<T>("sgd", parameters, update, [&](size_t i, void** data) {
      data[0] = parameters[i].raw_data();
      data[1] = momentum ? momenta[i].raw_data() : nullptr;
      data[2] = gradients[i].raw_data();
      if constexpr (kMixed) data[3] = half_copies[i].defined() ? half_copies[i].raw_data() : nullptr;
    });
  });
}

void reduce_blocks(const std::vector<Tensor>& tensors, double p, int64_t length, Tensor& numbers) {
  if (tensors.empty()) return;
  visit_floating("reduce_blocks", tensors[0].dtype(), [&]<class T>() {
    const auto kernel = p == 2   ? reduce_chunks<SquareSum, T>
                        : p == 1 ? reduce_chunks<AbsSum, T>
                        : p > 0  ? reduce_chunks<AbsMax, T>
                                 : reduce_chunks<AbsMin, T>;
    for_tensor_lists<1>(
        tensors, static_cast<int>(length), [&](size_t i, void** data) { data[0] = tensors[i].raw_data(); },
        [&](const TensorListMetadata<1>& table, unsigned blocks, int64_t before) {
          launch("reduce_blocks", kernel, {blocks, kSumThreads}, numbers.device(), table,
                 numbers.data<double>() + before);
        });
  });
}
void scale_all(double factor, std::vector<Tensor>& tensors) {
  update_all("scale_all", tensors, [&]<class C>() { return ScaleUpdate<C>{C(factor)}; });
}
void add_to_all(double number, const Tensor& skip, std::vector<Tensor>& tensors) {
  const float* const word = skip.defined() ? skip.data<float>() : nullptr;
  update_all("add_to_all", tensors, [&]<class C>() { return AddUpdate<C>{C(number), word}; });
}
void unscale_all(const Tensor& factor, std::vector<Tensor>& gradients, Tensor& found_inf) {
  update_all("unscale_all", gradients, [&]<class C>() {
    return UnscaleUpdate<C, true>{factor.data<float>(), found_inf.data<float>()};
  });
}
void find_non_finite(const std::vector<Tensor>& tensors, Tensor& found_inf) {
  update_all("find_non_finite", tensors, [&]<class C>() {
    return UnscaleUpdate<C, false>{nullptr, found_inf.data<float>()};
  });
}
void update_scale(const Tensor& found_inf, double growth, double backoff, int64_t interval, Tensor& scale,
                  Tensor& growth_tracker) {
  launch("update_scale", update_scale_kernel, {1, 1}, scale.device(), found_inf.data<float>(), growth, backoff,
         interval, scale.data<float>(), growth_tracker.data<int32_t>());
}

}  // namespace tandem::kernels::cuda
