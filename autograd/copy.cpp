#include "tandem/autograd/copy.h"

#include "tandem/autograd/factory.h"
#include "tandem/autograd/record.h"
#include "tandem/core/dispatch.h"
#include "tandem/kernels/elementwise.h"

namespace tandem {

void copy_elements(const Tensor& source, const Tensor& target) {
  TANDEM_CHECK(broadcast_shapes("copy_", source.sizes(), target.sizes()) == target.sizes(), "copy_: ", source.sizes(),
               " does not broadcast to ", target.sizes());
  Tensor y = target;
  TANDEM_DISPATCH(target.device(), copy, source, y);
}

Tensor clone(const Tensor& x) {
  Tensor y = core::empty(x.sizes(), x.dtype(), x.device());
  copy_elements(x, y);
  return record("clone", y, {x}, {}, [](const Context&, const Tensor& dy) -> Grads { return {dy}; });
}

Tensor Tensor::clone() const { return tandem::clone(*this); }
Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

Tensor Tensor::to(Device device, DType dtype, bool) const {
  if (device == this->device() && dtype == this->dtype()) return *this;
  Tensor y = core::empty(sizes(), dtype, device);
  copy_elements(*this, y);
  return record("to", y, {*this}, {},
                [from = this->device(), type = this->dtype()](const Context&, const Tensor& dy) -> Grads {
                  return {dy.to(from, type)};
                });
}
Tensor Tensor::to(DType dtype) const { return to(device(), dtype); }
Tensor Tensor::to(Device device, bool non_blocking) const { return to(device, dtype(), non_blocking); }
Tensor Tensor::to(const TensorOptions& options) const { return to(options.device(), options.dtype_or(dtype())); }

}  // namespace tandem
