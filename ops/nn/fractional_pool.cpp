// Max pools with windows at random places (Graham 2014, arXiv:1412.6071), made of gather and max.
#include "tandem/ops/argument.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/index/index.h"
#include "tandem/ops/nn/pool.h"
#include "tandem/ops/reduce/reduce.h"
#include "tandem/ops/shape/arrange.h"
#include "tandem/ops/shape/view.h"

namespace tandem {
namespace {

/// Where windows begin along one dimension (N, C, out), by samples (N, C) in [0, 1): the last at the end.
Tensor window_starts(const Tensor& samples, int64_t in, int64_t kernel, int64_t out) {
  const TensorOptions places = TensorOptions(kInt64).device(samples.device());
  const Tensor last = full({samples.size(0), samples.size(1), 1}, in - kernel, places);
  if (out == 1) return last;
  const double step = static_cast<double>(in - kernel) / static_cast<double>(out - 1);
  const Tensor shift = samples.unsqueeze(-1), order = arange(out - 1, samples.options());
  return cat({((order + shift) * step).to(kInt64) - (shift * step).to(kInt64), last}, -1);
}
/// D dimensions behind (N, C).
std::tuple<Tensor, Tensor> pool(const char* op, const Tensor& x, IntArrayRef kernel, IntArrayRef out,
                                const Tensor& samples) {
  const auto dims = static_cast<int64_t>(kernel.size());
  check_real(op, x);
  TANDEM_CHECK(x.dim() == dims + 2 || x.dim() == dims + 1, op, ": x is ", x.sizes(), "; accepted: ", dims + 2, " or ",
               dims + 1, " dimensions");
  if (x.dim() == dims + 1) {
    const auto [y, at] = pool(op, x.unsqueeze(0), kernel, out, samples);
    return {reshape_result(y, y.sizes().slice(1, y.sizes().size() - 1)), at.squeeze(0)};
  }
  TANDEM_CHECK(samples.sizes() == IntArrayRef({x.size(0), x.size(1), dims}) && samples.dtype() == x.dtype() &&
                   samples.device() == x.device(),
               op, ": random_samples are ", samples.dtype(), samples.sizes(), " on ", samples.device(),
               "; accepted: ", x.dtype(), " (", x.size(0), ", ", x.size(1), ", ", dims, ") on ", x.device());
  const TensorOptions places = TensorOptions(kInt64).device(x.device());
  // Positions (N, C, windows, elements of a window), grown dimension by dimension.
  Tensor at = zeros({x.size(0), x.size(1), 1, 1}, places);
  Shape sizes{x.size(0), x.size(1)};
  for (int64_t d = 0; d < dims; ++d) {
    const auto i = static_cast<size_t>(d);
    const int64_t in = x.size(d + 2);
    TANDEM_CHECK(kernel[i] > 0 && out[i] > 0 && out[i] + kernel[i] - 1 <= in, op, ": x is ", x.sizes(),
                 ", kernel_size ", kernel, " and output_size ", out,
                 "; both must be positive, and output_size + kernel_size - 1 at most the size of x");
    // The samples' order is that of the dimensions in three of them, and the reverse in two.
    const Tensor starts = window_starts(
        samples.select(2, dims == 2 ? 1 - d : d).detach().to(accumulate_type(x.dtype())), in, kernel[i], out[i]);
    const Tensor along = starts.unsqueeze(-1) + arange(kernel[i], places);  // (N, C, out, kernel)
    at = (at.unsqueeze(3).unsqueeze(5) * in + along.unsqueeze(2).unsqueeze(4)).flatten(4, 5).flatten(2, 3);
    sizes.push_back(out[i]);
  }
  const Tensor met = x.flatten(2).gather(2, at.flatten(2)).view(at.sizes());
  const auto [values, chosen] = met.max(3);
  const Tensor indices = at.gather(3, chosen.unsqueeze(3)).squeeze(3);
  return {reshape_result(values, sizes), indices.reshape(sizes).clone(MemoryFormat::Contiguous)};
}

}  // namespace

std::tuple<Tensor, Tensor> fractional_max_pool2d(const Tensor& x, Pair kernel_size, Pair output_size,
                                                 const Tensor& random_samples) {
  return pool("fractional_max_pool2d", x, kernel_size, output_size, random_samples);
}
std::tuple<Tensor, Tensor> fractional_max_pool3d(const Tensor& x, Triple kernel_size, Triple output_size,
                                                 const Tensor& random_samples) {
  return pool("fractional_max_pool3d", x, kernel_size, output_size, random_samples);
}

}  // namespace tandem
