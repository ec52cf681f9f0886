// New tensors of random numbers: rand, randn, rand_like, randn_like.
#include "tandem/ops/random/rand.h"

#include "tandem/ops/factory/make_empty.h"

namespace tandem {

namespace {
/// Fills `out`. An `out` without elements is not filled, because it may have any dtype, as in PyTorch.
Tensor fill_if_not_empty(Tensor out, const TensorOptions& options, Tensor& (*fill)(Tensor&)) {
  return apply_requires_grad(out.numel() == 0 ? out : fill(out), options);
}
Tensor& fill_uniform(Tensor& x) { return x.uniform_(); }
Tensor& fill_normal(Tensor& x) { return x.normal_(); }
}  // namespace
Tensor rand(IntArrayRef sizes, const TensorOptions& options) {
  return fill_if_not_empty(make_empty("rand", sizes, options.dtype(), options), options, fill_uniform);
}
Tensor rand_like(const Tensor& x, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return fill_if_not_empty(make_empty_like("rand_like", x, options, format), options, fill_uniform);
}
Tensor randn(IntArrayRef sizes, const TensorOptions& options) {
  return fill_if_not_empty(make_empty("randn", sizes, options.dtype(), options), options, fill_normal);
}
Tensor randn_like(const Tensor& x, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return fill_if_not_empty(make_empty_like("randn_like", x, options, format), options, fill_normal);
}

}  // namespace tandem
