// Elementwise reduction of tensors from several processes or devices, for collectives. It reads each input once and
// writes the output once, so it is bound by memory or by the link to the device that holds an input.
#include "tandem/kernels/combine.h"

#include <algorithm>

#include "tandem/kernels/cuda/launch.h"
#include "tandem/kernels/cuda/packet.cuh"
#include "tandem/kernels/functors/base.h"
#include "tandem/kernels/types.h"

namespace tandem::kernels::cuda {
namespace {

constexpr int kMaxInputs = 64;
struct CombineInputs {
  const void* data[kMaxInputs];
  int count;
  bool aligned;  // whether all parts and y are aligned to 16 bytes
};

/// Computes y as the reduction of all parts. Rounds to the tensors' dtype after each part, as if the parts were added
/// to y one at a time. A thread reads its elements of all parts before it writes to y, so y may be one of the parts.
template <class T>
__global__ void combine_parts(CombineInputs parts, T* y, int64_t n, CombineOp how, bool scaled, double scale) {
  using C = Accumulate<T>;
  constexpr int kPacket = 16 / sizeof(T);
  const int64_t step = int64_t(gridDim.x) * blockDim.x * kPacket;
  for (int64_t i = (blockIdx.x * int64_t(blockDim.x) + threadIdx.x) * kPacket; i < n; i += step) {
    Packet<T, kPacket> total = load_packet<kPacket>(static_cast<const T*>(parts.data[0]), i, n, parts.aligned);
#pragma unroll 4
    for (int k = 1; k < parts.count; ++k) {
      const auto part = load_packet<kPacket>(static_cast<const T*>(parts.data[k]), i, n, parts.aligned);
#pragma unroll
      for (int j = 0; j < kPacket; ++j) {
        const C a = C(total[j]), b = C(part[j]);
        total[j] = T(how == CombineOp::sum       ? C(a + b)
                     : how == CombineOp::product ? C(a * b)
                     : how == CombineOp::max     ? math::max(a, b)
                                                 : math::min(a, b));
      }
    }
    if (math::kIsFloatingType<C> && scaled) {  // the scale applies to floating-point dtypes only
#pragma unroll
      for (int j = 0; j < kPacket; ++j) total[j] = T(C(total[j]) * C(scale));
    }
    store_packet(total, y, i, n, parts.aligned);
  }
}

}  // namespace

void combine(const std::vector<Tensor>& parts, CombineOp how, double scale, Tensor& y) {
  const int64_t n = y.numel();
  if (n == 0) return;
  // A launch takes up to kMaxInputs parts, so more parts need several passes. If a later pass reads y as one of the
  // parts, an earlier pass must not overwrite it, so the result goes to a temporary first.
  if (parts.size() > kMaxInputs && std::any_of(parts.begin() + kMaxInputs, parts.end(),
                                               [&](const Tensor& part) { return part.raw_data() == y.raw_data(); })) {
    Tensor temporary = core::empty({n}, y.dtype(), y.device());
    combine(parts, how, scale, temporary);
    gpu::copy_async(y.raw_data(), temporary.raw_data(), static_cast<size_t>(y.nbytes()),
                    tandem::cuda::current_stream(y.device()).handle());
    return;
  }
  for (size_t next = 0; next < parts.size();) {
    CombineInputs some{};
    some.aligned = is_aligned(y.raw_data(), 16);
    const auto name = [&](const Tensor& part) {
      some.data[some.count++] = part.raw_data();
      some.aligned = some.aligned && is_aligned(part.raw_data(), 16);
    };
    if (next > 0) name(y);  // in later passes, y is an input: it holds the result of the previous passes
    while (some.count < kMaxInputs && next < parts.size()) name(parts[next++]);
    const bool scaled = next == parts.size() && scale != 1;
    visit_dtype(y.dtype(), [&]<class T>() {
      const int64_t packets = ceil_div(n, 16 / static_cast<int64_t>(sizeof(T)));
      const int64_t block = std::min<int64_t>(ceil_div(packets, kWarpSize) * kWarpSize, 256);
      const int64_t fill = gpu::properties(y.device().index()).multi_processor_count * 16;
      launch("combine", combine_parts<T>,
             {checked_grid_size(std::min(ceil_div(packets, block), fill)), static_cast<unsigned>(block)}, y.device(),
             some, y.data<T>(), n, how, scaled, scale);
    });
  }
}

}  // namespace tandem::kernels::cuda
