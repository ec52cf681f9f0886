// Power-average pooling, composed of average pools: lp_pool1d, lp_pool2d, lp_pool3d.
#include "tandem/ops/nn/lp_pool.h"

#include "tandem/core/internal.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/elementwise/unary.h"
#include "tandem/ops/nn/activation.h"
#include "tandem/ops/nn/avg_pool.h"

namespace tandem {
namespace {
/// Returns the norms of windows, computed from the averages of x^p.
Tensor lp_norm_from_means(const char* op, const Tensor& means, double p, int64_t elements) {
  TANDEM_CHECK(p != 0, op, ": norm_type must be a non-zero value, but got 0");
  // PyTorch's formula: an equivalent formula would have another gradient at 0.
  return (means.sign() * means.abs().relu() * static_cast<double>(elements)).pow(1 / p);
}
}  // namespace
Tensor detail::lp_pool1d(const Tensor& x, double norm_type, int64_t kernel_size, int64_t stride, bool ceil_mode) {
  const Tensor means = avg_pool1d(x.pow(norm_type), kernel_size, IntArrayRef(stride), 0, ceil_mode);
  return lp_norm_from_means("lp_pool1d", means, norm_type, kernel_size);
}
Tensor detail::lp_pool2d(const Tensor& x, double norm_type, Pair kernel_size, Pair stride, bool ceil_mode) {
  const Tensor means = avg_pool2d(x.pow(norm_type), kernel_size, IntArrayRef(stride), 0, ceil_mode);
  return lp_norm_from_means("lp_pool2d", means, norm_type, kernel_size[0] * kernel_size[1]);
}
Tensor detail::lp_pool3d(const Tensor& x, double norm_type, Triple kernel_size, Triple stride, bool ceil_mode) {
  const Tensor means = avg_pool3d(x.pow(norm_type), kernel_size, IntArrayRef(stride), 0, ceil_mode);
  return lp_norm_from_means("lp_pool3d", means, norm_type, kernel_size[0] * kernel_size[1] * kernel_size[2]);
}

}  // namespace tandem
