// Linear maps of tensors: linalg_tensorsolve, linalg_tensorinv.
#include "tandem/ops/linalg/tensorsolve.h"

#include "tandem/ops/autocast.h"
#include "tandem/ops/linalg/inverse.h"
#include "tandem/ops/linalg/solve.h"
#include "tandem/ops/shape/copy.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, linalg_tensorinv, linalg_tensorsolve);

Tensor linalg_tensorinv(const Tensor& a, int64_t ind) {
  if (const Autocast cast{cast_policy::linalg_tensorinv, a}) return linalg_tensorinv(cast(a), ind);
  TANDEM_CHECK(ind > 0, "linalg_tensorinv: Expected a strictly positive integer for 'ind', but got ", ind);
  TANDEM_CHECK(ind <= a.dim(), "linalg_tensorinv: 'ind' is ", ind, ", but the tensor ", a.sizes(), " has ", a.dim(),
               " dimensions; accepted: 1 to ", a.dim());
  const auto at = static_cast<size_t>(ind);
  const IntArrayRef image = a.sizes().slice(0, at), source = a.sizes().slice(at, a.sizes().size() - at);
  const int64_t n = numel_of(image);
  TANDEM_CHECK(n == numel_of(source),
               "linalg_tensorinv: Expected self to satisfy the requirement prod(self.shape[ind:]) == "
               "prod(self.shape[:ind]), but got ",
               numel_of(source), " != ", n);
  Shape sizes = source;
  for (const int64_t size : image) sizes.push_back(size);
  return reshape_result(linalg_inv(a.reshape({n, n})).contiguous(), sizes);
}
Tensor linalg_tensorsolve(const Tensor& a, const Tensor& b, OptionalDims dims) {
  if (const Autocast cast{cast_policy::linalg_tensorsolve, a, b}) return linalg_tensorsolve(cast(a), cast(b), dims);
  Tensor map = a;
  if (dims.has_value) {
    std::vector<int64_t> source, last;
    for (size_t i = 0; i < dims.dims.size(); ++i) {
      source.push_back(wrap_dim("linalg_tensorsolve", dims.dims[i], a.dim()));
      last.push_back(static_cast<int64_t>(i) - static_cast<int64_t>(dims.dims.size()));
    }
    map = a.movedim(source, last);
  }
  const int64_t n = b.numel();
  TANDEM_CHECK(map.dim() >= b.dim() && map.numel() == n * n,
               "linalg_tensorsolve: Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
               "prod(self.shape[:other.ndim]), both equal to other.numel(), but got ",
               a.sizes(), " and other ", b.sizes());
  const Shape sizes = map.sizes().slice(static_cast<size_t>(b.dim()), static_cast<size_t>(map.dim() - b.dim()));
  TANDEM_CHECK(numel_of(sizes) == n,
               "linalg_tensorsolve: Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
               "prod(self.shape[:other.ndim]), but got ",
               numel_of(sizes), " != ", n);
  return reshape_result(linalg_solve(map.reshape({n, n}), b.reshape({n})), sizes);
}

}  // namespace tandem
