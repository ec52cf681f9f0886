// Batch normalisation of (N, C, L), bound by memory bandwidth. A first pass computes sums per channel: each block sums
// a chunk of one channel or, if planes are small, of 32 neighbouring channels. A second pass computes the result
// elementwise. If channels are cut into several chunks, a launch in between combines the chunks. The number of chunks
// depends on the shape only.
#include <algorithm>

#include "tandem/kernels/cuda/moments.cuh"
#include "tandem/kernels/cuda/rows.cuh"
#include "tandem/kernels/norm.h"
#include "tandem/kernels/reduce.h"

namespace tandem::kernels::cuda {
namespace {

constexpr int kLoadsInFlight = 4, kThreads = 256;

/// Layout of a tensor of images * channels planes. Each plane has `packs` packs of elements. The packs of a channel,
/// in all images, are divided into `num_chunks` chunks of `length` packs.
struct ChannelLayout {
  int64_t images, channels, packs;     // packs: number of packs in a plane
  int64_t num_chunks, length, blocks;  // blocks: number of thread blocks for one chunk of all channels
  int64_t count;                       // elements of a channel
};

/// Position of a pack: the index of its plane, and its index within the plane. advance() moves the position by a
/// constant distance, without a division.
struct PackPosition {
  int64_t plane, at;
  __device__ PackPosition(int64_t pack, int64_t packs) : plane(quotient(pack, packs)), at(pack - plane * packs) {}
  __device__ void advance(const PackPosition& by, int64_t packs) {
    plane += by.plane;
    at += by.at;
    if (at >= packs) {
      at -= packs;
      ++plane;
    }
  }
};

/// Running statistics, which the first pass updates: running = running_factor * running + batch_..._factor * batch
/// statistic. Null pointers are skipped. `num_batches_tracked` counts the batches.
template <class C> struct RunningStats {
  C *mean = nullptr, *var = nullptr;
  C running_factor = C(1), batch_mean_factor = C(0), batch_var_factor = C(0);
  int64_t* num_batches_tracked = nullptr;
};

// Operators of the first pass, which computes sums per channel. kMaxThreads is the maximum number of threads in a
// block, limited by the registers. (A block that sums a whole channel saves the launch that combines chunks.)

/// Computes the mean and the variance of each channel.
template <class T, int V> struct BatchStatistics : Moments {
  static constexpr int kMaxThreads = sizeof(T) == 2 ? 512 : 1024;
  using C = OpMath<T>;
  using Loaded = Pack<T, V>;
  using Local = ShiftedSums<C>;
  const T* x;
  C *mean, *var, *rstd;
  double eps;
  bool aligned;
  RunningStats<C> running;
  __device__ Loaded load(int64_t i) const { return load_pack<T, V>(x + i, aligned); }
  __device__ void accumulate(Local& local, const Loaded& pack, int64_t) const { local.accumulate(widen(pack)); }
  __device__ static State to_running_state(const Local& local) { return local.state(); }
  __device__ void write_result(int64_t c, const State& s, int64_t count) const {
    const double variance = s.squares / double(count);
    mean[c] = C(count > 0 ? s.mean : variance);  // NaN for an empty channel
    var[c] = C(variance);
    rstd[c] = C(1.0 / math::sqrt(variance + eps));
    if (running.mean) running.mean[c] = running.mean[c] * running.running_factor + mean[c] * running.batch_mean_factor;
    if (running.var) running.var[c] = running.var[c] * running.running_factor + var[c] * running.batch_var_factor;
    if (running.num_batches_tracked && c == 0) ++*running.num_batches_tracked;
  }
};
/// Computes the variance (the sum of squared deviations divided by `divisor`), or the standard deviation.
template <class T, int V> struct Variance : Moments {
  static constexpr int kMaxThreads = 512;
  using Loaded = Pack<T, V>;
  using C = OpMath<T>;
  using Local = ShiftedSums<C, double>;
  const T* x;
  C* var_or_std;
  double divisor;
  bool aligned, is_std;
  __device__ Loaded load(int64_t i) const { return load_pack<T, V>(x + i, aligned); }
  __device__ void accumulate(Local& local, const Loaded& pack, int64_t) const { local.accumulate(widen(pack)); }
  __device__ static State to_running_state(const Local& local) { return local.state(); }
  __device__ void write_result(int64_t c, const State& s, int64_t) const {
    const double variance = s.squares / divisor;
    var_or_std[c] = C(is_std ? math::sqrt(variance) : variance);
  }
};
/// Sum over a divisor.
template <class T, int V> struct Mean : SumOp<double> {
  static constexpr int kMaxThreads = 1024;
  using C = OpMath<T>;
  using Loaded = Pack<T, V>;
  using Local = C;
  const T* x;
  C* mean;
  double divisor;
  bool aligned;
  __device__ Loaded load(int64_t i) const { return load_pack<T, V>(x + i, aligned); }
  __device__ void accumulate(Local& local, const Loaded& pack, int64_t) const {
    const Pack<C, V> values = widen(pack);
#pragma unroll
    for (int v = 0; v < V; ++v) local += values.at[v];
  }
  __device__ static State to_running_state(const Local& local) { return double(local); }
  __device__ void write_result(int64_t c, const State& sum, int64_t) const { mean[c] = C(sum / divisor); }
};
/// Computes the sums of dy and of dy (x - mean) over each channel.
template <class T, int V> struct GradientSums : PairSumOp<double> {
  static constexpr int kMaxThreads = sizeof(T) == 2 ? 256 : 512;
  struct Loaded {
    Pack<T, V> dy, x;
  };
  using C = OpMath<T>;
  using Local = typename PairSumOp<C>::State;
  const T *dy, *x;
  const C *mean, *rstd;
  C *sum_dy, *sum_dy_xhat;
  bool aligned;
  __device__ Loaded load(int64_t i) const {
    return {load_pack<T, V>(dy + i, aligned), load_pack<T, V>(x + i, aligned)};
  }
  __device__ void accumulate(Local& local, const Loaded& pack, int64_t c) const {
    const C center = mean[c];
    const Pack<C, V> gradients = widen(pack.dy), values = widen(pack.x);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      local.first += gradients.at[v];
      local.second += gradients.at[v] * (values.at[v] - center);
    }
  }
  __device__ static State to_running_state(const Local& local) { return {double(local.first), double(local.second)}; }
  __device__ void write_result(int64_t c, const State& s, int64_t) const {
    sum_dy[c] = C(s.first);
    sum_dy_xhat[c] = C(s.second * double(rstd[c]));
  }
};

/// Computes sums per channel. Threads with different threadIdx.x have neighbouring channels; threads with different
/// threadIdx.y take the packs of a channel in turn.
template <class T, int V, class Sums>
__global__ void __launch_bounds__(Sums::kMaxThreads)
    channel_sums(Sums sums, ChannelLayout shape, typename Sums::State* parts) {
  using State = typename Sums::State;
  TANDEM_SHARED(State, states, [Sums::kMaxThreads]);
  const int64_t chunk = quotient(blockIdx.x, shape.blocks), team = blockDim.y;
  const int64_t c = (blockIdx.x - chunk * shape.blocks) * blockDim.x + threadIdx.x;
  const int64_t end = math::min((chunk + 1) * shape.length, shape.images * shape.packs);
  typename Sums::Local local{};
  if (c < shape.channels) {
    int64_t i = chunk * shape.length + threadIdx.y;
    PackPosition position(i, shape.packs);
    const PackPosition by(team, shape.packs);
    for (; i < end; i += kLoadsInFlight * team) {
      typename Sums::Loaded loaded[kLoadsInFlight];
#pragma unroll
      for (int k = 0; k < kLoadsInFlight; ++k) {
        if (i + k * team < end)
          loaded[k] = sums.load(((position.plane * shape.channels + c) * shape.packs + position.at) * V);
        position.advance(by, shape.packs);
      }
#pragma unroll
      for (int k = 0; k < kLoadsInFlight; ++k)
        if (i + k * team < end) sums.accumulate(local, loaded[k], c);
    }
  }
  const int here = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  states[here] = Sums::to_running_state(local);
  for (int half = static_cast<int>(team) / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.y) < half)
      states[here] = Sums::combine(states[here], states[here + half * static_cast<int>(blockDim.x)]);
  }
  if (threadIdx.y > 0 || c >= shape.channels) return;
  if (parts)
    parts[chunk * shape.channels + c] = states[here];
  else
    sums.write_result(c, states[here], shape.count);
}
/// Combines the chunks of each channel, with one block per channel.
template <class Sums>
__global__ void finish_channels(Sums sums, ChannelLayout shape, const typename Sums::State* __restrict__ parts) {
  typename Sums::State state = Sums::identity();
  for (int64_t p = threadIdx.x; p < shape.num_chunks; p += blockDim.x)
    state = Sums::combine(state, parts[p * shape.channels + blockIdx.x]);
  state = block_reduce(sums, state);
  if (threadIdx.x == 0) sums.write_result(blockIdx.x, state, shape.count);
}

/// Computes y = (x - mean) * rstd * weight + bias.
template <class T, int V> struct NormalizeMap {
  using C = OpMath<T>;
  const T* x;
  const C *mean, *rstd, *weight, *bias;  // weight: null means 1; bias: null means 0
  T* y;
  bool aligned;
  const C* var;  // if var is not null, 1 / sqrt(var + eps) replaces rstd
  C eps;
  using Loaded = Pack<T, V>;
  __device__ Loaded load(int64_t i) const { return load_pack<T, V>(x + i, aligned); }
  __device__ void store(int64_t i, const Loaded& loaded, int64_t c) const {
    const C deviations = var ? Rsqrt<C>()(var[c] + eps) : rstd[c];
    const C scale = deviations * (weight ? weight[c] : C(1)), shift = (bias ? bias[c] : C(0)) - mean[c] * scale;
    Pack<C, V> pack = widen(loaded);
#pragma unroll
    for (int v = 0; v < V; ++v) pack.at[v] = pack.at[v] * scale + shift;
    store_pack_as(y + i, pack, aligned);
  }
};
/// Computes dx = rstd * weight * (dy - mean(dy) - xhat * mean(dy * xhat)), where xhat = (x - mean) * rstd; in
/// evaluation mode, dx = rstd * weight * dy.
template <class T, int V> struct InputGradient {
  using C = OpMath<T>;
  GradientSums<T, V> of;
  const C* weight;  // or null
  T* dx;
  bool training;
  int64_t count;
  using Loaded = typename GradientSums<T, V>::Loaded;
  __device__ Loaded load(int64_t i) const { return of.load(i); }
  __device__ void store(int64_t i, const Loaded& pack, int64_t c) const {
    const C rstd = of.rstd[c], scale = rstd * (weight ? weight[c] : C(1)), mean = of.mean[c];
    const C mean_term = of.sum_dy[c] / C(count), var_term = of.sum_dy_xhat[c] / C(count) * rstd;
    Pack<C, V> dy = widen(pack.dy);
    const Pack<C, V> x = widen(pack.x);
#pragma unroll
    for (int v = 0; v < V; ++v) {  // in evaluation mode, dx must not depend on x, even if x is NaN
      const C gradient = training ? dy.at[v] - mean_term - (x.at[v] - mean) * var_term : dy.at[v];
      dy.at[v] = scale * gradient;
    }
    store_pack_as(dx + i, dy, of.aligned);
  }
};

/// Applies `map` to all packs. Each thread processes `packs_per_thread` packs, and finds the channels of all of them
/// with a single division.
template <class Map> __global__ void map_channels(Map map, int width, int packs_per_thread, ChannelLayout shape) {
  const int64_t total = shape.images * shape.channels * shape.packs, team = blockDim.x;
  const int64_t first = int64_t(blockIdx.x) * team * packs_per_thread + threadIdx.x;
  PackPosition position(first, shape.packs);
  const PackPosition by(team, shape.packs);
  int64_t c = remainder(position.plane, shape.channels);
  const int64_t by_channels = remainder(by.plane, shape.channels);
  for (int64_t i = first; i < total && i < first + team * packs_per_thread; i += kLoadsInFlight * team) {
    typename Map::Loaded loaded[kLoadsInFlight];
    int64_t channel[kLoadsInFlight];
#pragma unroll
    for (int k = 0; k < kLoadsInFlight; ++k) {
      channel[k] = c;
      if (i + k * team < total) loaded[k] = map.load((i + k * team) * width);
      const int64_t plane = position.plane;
      position.advance(by, shape.packs);
      c += by_channels + (position.plane - plane - by.plane);
      if (c >= shape.channels) c -= shape.channels;
    }
#pragma unroll
    for (int k = 0; k < kLoadsInFlight; ++k)
      if (i + k * team < total) map.store((i + k * team) * width, loaded[k], channel[k]);
  }
}

// ---- launchers

/// Calls f.operator()<T, V>(channels, aligned), where V is the number of elements in a pack, which depends on the
/// shape.
template <class F>
void visit_planes(const char* name, const Tensor& x, std::initializer_list<const Tensor*> operands, F f) {
  const int64_t length = x.size(2);
  visit_floating(name, x.dtype(), [&]<class T>() {
    const bool packed = length % kPack<T> == 0 && length > 0;
    bool aligned = packed;
    for (const Tensor* each : operands) aligned = aligned && is_aligned(each->raw_data(), 16);
    const int64_t packs = packed ? length / kPack<T> : math::max<int64_t>(length, 1);
    const ChannelLayout shape{length > 0 ? x.size(0) : 0, x.size(1), packs, 1, 0, 0, x.size(0) * length};
    packed ? f.template operator()<T, kPack<T>>(shape, aligned) : f.template operator()<T, 1>(shape, true);
  });
}

template <class T, int V, class Sums>
void launch_sums(const char* name, const Sums& sums, ChannelLayout shape, Device device) {
  using State = typename Sums::State;
  const int64_t all = shape.images * shape.packs;
  const int64_t wide = shape.packs < 8 ? next_power_of_two(shape.channels, 1, 32) : 1;
  int64_t tall = next_power_of_two(ceil_div(all, kLoadsInFlight), 1, Sums::kMaxThreads / wide);
  shape.blocks = ceil_div(shape.channels, wide);
  shape.length = all;
  if (all > 4 * kLoadsInFlight * tall) {
    tall = kThreads / wide;
    shape.length = std::clamp(ceil_div(all * shape.blocks, 1024), kLoadsInFlight * tall, 32 * tall);
    shape.num_chunks = ceil_div(all, shape.length);
  }
  const LaunchShape launched{checked_grid_size(shape.num_chunks * shape.blocks),
                             dim3(static_cast<unsigned>(wide), static_cast<unsigned>(tall))};
  if (shape.num_chunks == 1) return launch(name, channel_sums<T, V, Sums>, launched, device, sums, shape, nullptr);
  const Tensor scratch = core::empty({shape.num_chunks * shape.channels * int64_t(sizeof(State))}, kUInt8, device);
  State* const parts = static_cast<State*>(scratch.raw_data());
  launch(name, channel_sums<T, V, Sums>, launched, device, sums, shape, parts);
  const auto threads = static_cast<unsigned>(next_power_of_two(shape.num_chunks, 32, 256));
  launch(name, finish_channels<Sums>, {checked_grid_size(shape.channels), dim3(threads)}, device, sums, shape, parts);
}
template <class Map>
void launch_map(const char* name, const Map& map, int width, const ChannelLayout& shape, Device device) {
  const int64_t total = shape.images * shape.channels * shape.packs;
  if (total == 0) return;
  // If the tensor is small, each thread processes half as many packs, and blocks have half as many threads, so that
  // every multiprocessor has work.
  const bool many = total > (1 << 20);
  const int packs_per_thread = many ? 2 * kLoadsInFlight : kLoadsInFlight;
  const int64_t threads = next_power_of_two(ceil_div(total, packs_per_thread), 32, many ? kThreads : kThreads / 2);
  launch(name, map_channels<Map>,
         {checked_grid_size(ceil_div(total, threads * packs_per_thread)), dim3(static_cast<unsigned>(threads))}, device,
         map, width, packs_per_thread, shape);
}

}  // namespace

void batch_norm_update_stats(const Tensor& x, double eps, double momentum, Tensor& running_mean, Tensor& running_var,
                             Tensor& num_batches_tracked, Tensor& mean, Tensor& var, Tensor& rstd) {
  if (x.size(1) == 0) return;
  visit_planes("batch_norm", x, {&x}, [&]<class T, int V>(const ChannelLayout& shape, bool aligned) {
    BatchStatistics<T, V> sums;
    sums.x = x.data<T>();
    sums.aligned = aligned;
    sums.eps = eps;
    using C = OpMath<T>;
    sums.mean = mean.data<C>();
    sums.var = var.data<C>();
    sums.rstd = rstd.data<C>();
    const double count = static_cast<double>(shape.count);
    sums.running = {data_or_null<C>(running_mean),
                    data_or_null<C>(running_var),
                    C(1 - momentum),
                    C(momentum),
                    C(momentum * count / (count - 1)),
                    data_or_null<int64_t>(num_batches_tracked)};
    launch_sums<T, V>("batch_norm_stats", sums, shape, x.device());
  });
}
void batch_norm_stats(const Tensor& x, double eps, Tensor& mean, Tensor& var, Tensor& rstd) {
  Tensor none;
  batch_norm_update_stats(x, eps, 0, none, none, none, mean, var, rstd);
}

namespace {
/// Normalizes x with mean and rstd. If rstd is undefined, uses 1 / sqrt(var + eps).
void apply(const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& var, double eps, const Tensor& weight,
           const Tensor& bias, Tensor& y) {
  visit_planes("batch_norm", x, {&x, &y}, [&]<class T, int V>(const ChannelLayout& shape, bool aligned) {
    using C = OpMath<T>;
    const NormalizeMap<T, V> map{x.data<T>(),
                                 mean.data<C>(),
                                 data_or_null<C>(rstd),
                                 data_or_null<C>(weight),
                                 data_or_null<C>(bias),
                                 y.data<T>(),
                                 aligned,
                                 data_or_null<C>(var),
                                 C(eps)};
    launch_map("batch_norm_apply", map, V, shape, x.device());
  });
}
}  // namespace
void batch_norm_apply(const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight, const Tensor& bias,
                      Tensor& y) {
  apply(x, mean, rstd, {}, 0, weight, bias, y);
}
void batch_norm_evaluate(const Tensor& x, const Tensor& mean, const Tensor& var, double eps, const Tensor& weight,
                         const Tensor& bias, Tensor& y) {
  apply(x, mean, {}, var, eps, weight, bias, y);
}

void channel_mean(const Tensor& x, double divisor, Tensor& y) {
  visit_planes("mean", x, {&x}, [&]<class T, int V>(const ChannelLayout& shape, bool aligned) {
    Mean<T, V> sums;
    sums.x = x.data<T>();
    sums.mean = y.data<OpMath<T>>();
    sums.divisor = divisor;
    sums.aligned = aligned;
    launch_sums<T, V>(divisor == 1 ? "sum" : "mean", sums, shape, x.device());
  });
}
void channel_var(const Tensor& x, double divisor, bool is_std, Tensor& y) {
  visit_planes("var", x, {&x}, [&]<class T, int V>(const ChannelLayout& shape, bool aligned) {
    Variance<T, V> sums;
    sums.x = x.data<T>();
    sums.var_or_std = y.data<OpMath<T>>();
    sums.divisor = divisor;
    sums.is_std = is_std;
    sums.aligned = aligned;
    launch_sums<T, V>("var", sums, shape, x.device());
  });
}

void batch_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                         const Tensor& weight, bool training, Tensor& sum_dy, Tensor& sum_dy_xhat, Tensor& dx) {
  if (x.size(1) == 0) return;
  visit_planes("batch_norm_backward", x, {&dy, &x, &dx}, [&]<class T, int V>(const ChannelLayout& shape, bool aligned) {
    GradientSums<T, V> sums;
    sums.dy = dy.data<T>();
    sums.x = x.data<T>();
    sums.aligned = aligned;
    using C = OpMath<T>;
    sums.mean = mean.data<C>();
    sums.rstd = rstd.data<C>();
    sums.sum_dy = sum_dy.data<C>();
    sums.sum_dy_xhat = sum_dy_xhat.data<C>();
    launch_sums<T, V>("batch_norm_backward", sums, shape, x.device());
    const InputGradient<T, V> map{sums, data_or_null<C>(weight), dx.data<T>(), training, shape.count};
    launch_map("batch_norm_backward", map, V, shape, x.device());
  });
}

}  // namespace tandem::kernels::cuda
