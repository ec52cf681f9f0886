// Implements views of a whole tensor: view, reshape, alias.
#include "tandem/ops/shape/view.h"

#include "tandem/ops/shape/copy.h"
#include "tandem/ops/shape/view_helpers.h"

namespace tandem {

TANDEM_CAST_POLICY(none, alias, reshape, view);

Tensor Tensor::view(IntArrayRef wanted) const {
  const Shape sizes = infer_sizes("view", this->sizes(), wanted);
  Tensor y = core::try_view(*this, sizes);
  TANDEM_CHECK(y.defined(),
               "view: view size is not compatible with input tensor's size and stride (at least one dimension spans "
               "across two contiguous subspaces). Use .reshape(...) instead. Wanted ",
               wanted, " of ", this->sizes(), " with strides ", strides());
  return record_reshape("view", std::move(y), *this);
}
Tensor Tensor::reshape(IntArrayRef wanted) const {
  const Shape sizes = infer_sizes("reshape", this->sizes(), wanted);
  Tensor y = core::try_view(*this, sizes);
  return y.defined() ? record_reshape("reshape", std::move(y), *this)
                     : reshape_result(clone(MemoryFormat::Contiguous), sizes);
}
Tensor Tensor::alias() const {
  return record_view("alias", core::alias(*this), *this,
                     [](const BackwardContext&, const Tensor& dy) -> Grads { return {dy}; });
}

Tensor Tensor::view(DType to) const {
  const int64_t before = itemsize(), after = detail::element_size(to);
  Shape sizes = this->sizes(), strides = this->strides();
  int64_t offset = storage_offset();
  if (before != after) {
    TANDEM_CHECK(dim() > 0, "view: self.dim() cannot be 0 to view ", dtype(), " as ", to, " (different element sizes)");
    TANDEM_CHECK(strides.back() == 1, "view: self.stride(-1) must be 1 to view ", dtype(), " as ", to,
                 " (different element sizes), but got ", strides.back());
    if (before > after) {
      const int64_t parts = before / after;
      for (int64_t& stride : strides) stride *= parts;
      offset *= parts;
      sizes.back() *= parts;
    } else {
      const int64_t joined = after / before;
      TANDEM_CHECK(sizes.back() % joined == 0, "view: self.size(-1) must be divisible by ", joined, " to view ",
                   dtype(), " as ", to, " (different element sizes), but got ", sizes.back());
      TANDEM_CHECK(offset % joined == 0, "view: self.storage_offset() must be divisible by ", joined, " to view ",
                   dtype(), " as ", to, " (different element sizes), but got ", offset);
      for (size_t d = 0; d + 1 < strides.size(); ++d)
        TANDEM_CHECK(strides[d] % joined == 0, "view: self.stride(", d, ") must be divisible by ", joined, " to view ",
                     dtype(), " as ", to, " (different element sizes), but got ", strides[d]);
      for (int64_t& stride : strides) stride /= joined;
      offset /= joined;
      sizes.back() /= joined;
    }
    strides.back() = 1;
  }
  return Tensor(IntrusivePtr<TensorImpl>(new TensorImpl(storage(), sizes, strides, offset, to)));
}

}  // namespace tandem
