// Implements views of a whole tensor: view, reshape, alias.
#include "tandem/ops/shape/view.h"

#include "tandem/ops/shape/copy.h"
#include "tandem/ops/shape/view_helpers.h"

namespace tandem {

TANDEM_CAST_POLICY(none, alias, reshape, view);

Tensor Tensor::view(IntArrayRef wanted) const {
  const Shape sizes = infer_sizes("view", this->sizes(), wanted);
  Tensor y = core::try_view(*this, sizes);
  TANDEM_CHECK(y.defined(), "view: sizes ", wanted, " do not fit ", this->sizes(), " with strides ", strides(),
               " without a copy; use reshape()");
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
                     [](const Context&, const Tensor& dy) -> Grads { return {dy}; });
}

Tensor Tensor::view(DType to) const {
  const int64_t before = itemsize(), after = detail::element_size(to);
  Shape sizes = this->sizes(), strides = this->strides();
  int64_t offset = storage_offset();
  if (before != after) {
    TANDEM_CHECK(dim() > 0 && strides.back() == 1, "view: x is ", dtype(), sizes, " with strides ", strides, "; for ",
                 to, " the elements of its last dimension must lie together");
    if (before > after) {
      const int64_t parts = before / after;
      for (int64_t& stride : strides) stride *= parts;
      offset *= parts;
      sizes.back() *= parts;
    } else {
      const int64_t joined = after / before;
      bool whole = sizes.back() % joined == 0 && offset % joined == 0;
      for (size_t d = 0; d + 1 < strides.size(); ++d) whole = whole && strides[d] % joined == 0;
      TANDEM_CHECK(whole, "view: x is ", dtype(), sizes, " with strides ", strides, " from element ", offset, "; ",
                   joined, " of its elements make one of ", to,
                   ", so all but the last stride must be multiples of that");
      for (int64_t& stride : strides) stride /= joined;
      offset /= joined;
      sizes.back() /= joined;
    }
    strides.back() = 1;
  }
  return Tensor(Ref<TensorImpl>(new TensorImpl(storage(), sizes, strides, offset, to)));
}

}  // namespace tandem
