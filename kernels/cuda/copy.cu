// Kernels that move elements: copies, casts and where.
#include "tandem/kernels/cuda/copy.h"
#include "tandem/kernels/cuda/elementwise.cuh"

namespace tandem::kernels::cuda {
namespace {

template <class T> struct Same {
  TANDEM_HD T operator()(T x) const { return x; }
};
/// Converts an element as PyTorch does: to bool by x != 0; to integers by conversion to int64, then truncation to the
/// lower bits; to half types by conversion to float first.
template <class C, class Result> struct Convert {
  TANDEM_HD Result operator()(C x) const {
    if constexpr (math::kSame<Result, bool>)
      return x != C(0);
    else
      return Result(x);
  }
};
struct Where {
  TANDEM_HD Bits operator()(Bits condition, Bits a, Bits b) const { return condition ? a : b; }
};
template <class C, class Result> constexpr ElementKernel kCast = elementwise_kernel<Convert<C, Result>, C, 1>;
template <class C> constexpr CastKernelTable cast_table() {
  return {kCast<C, float>, kCast<C, double>, kCast<C, int64_t>, kCast<C, int32_t>, kCast<C, bool>};
}

}  // namespace

constinit const CastKernelTable cast_from_float32 = cast_table<float>(), cast_from_float64 = cast_table<double>(),
                                cast_from_int64 = cast_table<int64_t>();
constinit const ElementKernel copy_bits = elementwise_kernel<Same<Bits>, Bits, 1>,
                              where_bits = elementwise_kernel<Where, Bits, 3>;

}  // namespace tandem::kernels::cuda
