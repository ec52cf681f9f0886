// Removing and adding dimensions of size 1: squeeze, unsqueeze, and their in-place versions.
#include "tandem/ops/shape/squeeze.h"

#include <algorithm>

#include "tandem/ops/shape/view_helpers.h"

namespace tandem {

TANDEM_CAST_POLICY(none, squeeze, unsqueeze);

Tensor Tensor::unsqueeze(int64_t d) const {
  d = wrap_dim("unsqueeze", d, dim() + 1);
  Shape sizes = this->sizes(), strides = this->strides();
  const auto at = static_cast<size_t>(d);
  strides.insert(at, d < dim() ? sizes[at] * strides[at] : 1);
  sizes.insert(at, 1);
  return record_reshape("unsqueeze", core::as_strided(*this, sizes, strides, storage_offset()), *this);
}
Tensor Tensor::squeeze() const {
  Shape sizes, strides;
  for (size_t d = 0; d < this->sizes().size(); ++d) {
    if (this->sizes()[d] == 1) continue;
    sizes.push_back(this->sizes()[d]);
    strides.push_back(this->strides()[d]);
  }
  return record_reshape("squeeze", core::as_strided(*this, sizes, strides, storage_offset()), *this);
}
Tensor Tensor::squeeze(int64_t d) const {
  d = wrap_dim("squeeze", d, dim());
  return dim() == 0 || size(d) != 1 ? record_reshape("squeeze", core::alias(*this), *this) : select(d, 0);
}
Tensor Tensor::squeeze(IntArrayRef dims) const {
  std::vector<bool> chosen(std::max<size_t>(sizes().size(), 1), false);
  for (const int64_t d : dims) {
    const auto at = static_cast<size_t>(wrap_dim("squeeze", d, dim()));
    TANDEM_CHECK(!chosen[at], "squeeze: dim ", at, " appears multiple times in the list of dims ", dims);
    chosen[at] = true;
  }
  Tensor y = *this;
  for (int64_t d = dim() - 1; d >= 0; --d)
    if (chosen[static_cast<size_t>(d)]) y = y.squeeze(d);
  return y.is_same(*this) ? alias() : y;
}

Tensor& Tensor::squeeze_() const {
  return apply_inplace_view("squeeze_", self(), [&] { return squeeze(); });
}
Tensor& Tensor::squeeze_(int64_t dim) const {
  return apply_inplace_view("squeeze_", self(), [&] { return squeeze(dim); });
}
Tensor& Tensor::squeeze_(IntArrayRef dims) const {
  return apply_inplace_view("squeeze_", self(), [&] { return squeeze(dims); });
}
Tensor& Tensor::unsqueeze_(int64_t dim) const {
  return apply_inplace_view("unsqueeze_", self(), [&] { return unsqueeze(dim); });
}

}  // namespace tandem
