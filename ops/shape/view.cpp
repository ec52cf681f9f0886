// Views of all elements: view, reshape, alias.
#include "tandem/ops/shape/view.h"

#include "tandem/ops/shape/copy.h"
#include "tandem/ops/shape/view_helpers.h"

namespace tandem {

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

}  // namespace tandem
