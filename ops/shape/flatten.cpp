// Merging and splitting dimensions: flatten, unflatten, ravel.
#include "tandem/ops/shape/flatten.h"

#include "tandem/ops/shape/view_helpers.h"

namespace tandem {

TANDEM_CAST_POLICY(none, flatten, ravel, unflatten);

Tensor Tensor::ravel() const { return contiguous().view({-1}); }
Tensor Tensor::flatten(int64_t start, int64_t end) const {
  start = wrap_dim("flatten", start, dim());
  end = wrap_dim("flatten", end, dim());
  TANDEM_CHECK(start <= end, "flatten: start_dim ", start, " comes after end_dim ", end);
  if (dim() == 0) return reshape({1});
  if (start == end) return *this;
  Shape sizes;
  int64_t run = 1;
  for (int64_t d = 0; d < dim(); ++d) {
    run = d > start && d <= end ? run * size(d) : size(d);
    if (d < start || d >= end) sizes.push_back(run);
  }
  return reshape(sizes);
}
Tensor Tensor::unflatten(int64_t d, IntArrayRef parts) const {
  check_has_dims("unflatten", *this);
  d = wrap_dim("unflatten", d, dim());
  const Shape inner = infer_sizes("unflatten", size(d), parts);
  Shape out;
  for (int64_t i = 0; i < dim(); ++i)
    if (i != d)
      out.push_back(size(i));
    else
      for (const int64_t s : inner) out.push_back(s);
  return reshape(out);
}

}  // namespace tandem
