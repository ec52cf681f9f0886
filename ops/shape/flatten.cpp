// Merging and splitting dimensions: flatten, unflatten, ravel.
#include "tandem/ops/shape/flatten.h"

#include <algorithm>

#include "tandem/ops/shape/view_helpers.h"

namespace tandem {

TANDEM_CAST_POLICY(none, flatten, ravel, unflatten);

Tensor Tensor::ravel() const { return contiguous().view({-1}); }
Tensor Tensor::flatten(int64_t start, int64_t end) const {
  start = wrap_dim("flatten", start, dim());
  end = wrap_dim("flatten", end, dim());
  TANDEM_CHECK(start <= end, "flatten() has invalid args: start_dim cannot come after end_dim, got ", start, " and ",
               end);
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
  TANDEM_CHECK(!parts.empty(), "unflatten: sizes must be non-empty");
  const auto given = std::count_if(parts.begin(), parts.end(), [](int64_t part) { return part >= 0; });
  TANDEM_CHECK(given < static_cast<int64_t>(parts.size()) || numel_of(parts) == size(d), "unflatten: Provided sizes ",
               parts, " don't multiply up to the size of dim ", d, " (", size(d), ") in the input tensor, ", sizes());
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
