// Kernels that move elements: copies, casts and where.
#include "tandem/kernels/cuda/copy.h"
#include "tandem/kernels/cuda/elementwise.cuh"

namespace tandem::kernels::cuda {
namespace {

template <class T> struct Identity {
  TANDEM_HD T operator()(T x) const { return x; }
};
/// Converts an element as PyTorch does: to bool by x != 0; to integers by conversion to int64, then truncation to the
/// lower bits; to half types by conversion to float first.
template <class C, class Result> struct Convert {
  TANDEM_HD Result operator()(C x) const {
    if constexpr (math::kIsSameType<Result, bool>)
      return x != C(0);
    else
      return Result(x);
  }
};
/// Version of cast_kernel for plain plans: the larger of an element of x and one of y determines the vectors.
template <class C, class Result> TANDEM_HD void plain_cast(const ElementPlan& plan) {
  if (first_plain_vector(plan) >= plan.items) return;
  visit_memory_type<C>(plan.operands[1], [&](auto from) {
    visit_memory_type<Result>(plan.operands[0], [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      constexpr int W = plain_width(sizeof(From) > sizeof(To) ? sizeof(From) : sizeof(To));
      PackedVector<From, W> x[kPlainElements / W];
      load_plain(plan, plan.operands[1], x);
      Result y[kPlainElements];
#pragma unroll
      for (int e = 0; e < kPlainElements; ++e) y[e] = Convert<C, Result>()(C(x[e / W][e % W]));
      store_plain<To, W>(plan, y);
    });
  });
}
template <class C, class Result> __global__ void __launch_bounds__(kElementThreads) cast_kernel(ElementPlan plan) {
  if (plan.plain_vectors_per_thread)
    plain_cast<C, Result>(plan);
  else
    general_elements<Convert<C, Result>, C, 1>(plan, {});
}

struct Where {
  TANDEM_HD Bits operator()(Bits condition, Bits a, Bits b) const { return condition ? a : b; }
};
/// Version of where_kernel for plain plans.
TANDEM_HD void plain_where(const ElementPlan& plan) {
  if (first_plain_vector(plan) >= plan.items) return;
  visit_memory_type<Bits>(plan.operands[0], [&](auto type) {
    using T = decltype(type);
    constexpr int W = plain_width(sizeof(T)), kVectors = kPlainElements / W;
    PackedVector<bool, W> condition[kVectors];
    PackedVector<T, W> a[kVectors], b[kVectors];
    load_plain(plan, plan.operands[1], condition);
    load_plain(plan, plan.operands[2], a);
    load_plain(plan, plan.operands[3], b);
    T y[kPlainElements];
#pragma unroll
    for (int e = 0; e < kPlainElements; ++e) y[e] = condition[e / W][e % W] ? a[e / W][e % W] : b[e / W][e % W];
    store_plain<T, W>(plan, y);
  });
}
__global__ void __launch_bounds__(kElementThreads) where_kernel(ElementPlan plan) {
  if (plan.plain_vectors_per_thread)
    plain_where(plan);
  else
    general_elements<Where, Bits, 3>(plan, {});
}

template <class C, class Result> constexpr ElementKernel kCast = cast_kernel<C, Result>;
template <class C> constexpr CastKernelTable cast_kernels() {
  return {kCast<C, float>, kCast<C, double>, kCast<C, int64_t>, kCast<C, int32_t>, kCast<C, bool>};
}

}  // namespace

constinit const CastKernelTable cast_from_float32 = cast_kernels<float>(), cast_from_float64 = cast_kernels<double>(),
                                cast_from_int64 = cast_kernels<int64_t>();
constinit const ElementKernel copy_bits = elementwise_kernel<Identity<Bits>, Bits, 1>, where_bits = where_kernel;

}  // namespace tandem::kernels::cuda
