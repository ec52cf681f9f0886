#include "tandem/autograd/copy.h"

#include "tandem/autograd/factory.h"
#include "tandem/autograd/record.h"
#include "tandem/core/dispatch.h"
#include "tandem/kernels/elementwise.h"

namespace tandem {

Tensor clear_of(const Tensor& target, const Tensor& source) {
  if (target.storage() != source.storage()) [[likely]]
    return source;
  const bool same_places = target.storage_offset() == source.storage_offset() && target.sizes() == source.sizes() &&
                           target.strides() == source.strides();
  if (same_places || target.numel() == 0 || source.numel() == 0) return source;
  const auto last = [](const Tensor& x) {
    int64_t at = x.storage_offset();
    for (int64_t d = 0; d < x.dim(); ++d) at += (x.size(d) - 1) * x.stride(d);
    return at;
  };
  if (last(target) < source.storage_offset() || last(source) < target.storage_offset()) return source;
  Tensor copied = core::empty(source.sizes(), source.dtype(), source.device());
  TANDEM_DISPATCH(source.device(), copy, source, copied);
  return copied;
}

void copy_elements(const Tensor& source, const Tensor& target) {
  TANDEM_CHECK(broadcast_shapes("copy_", source.sizes(), target.sizes()) == target.sizes(), "copy_: ", source.sizes(),
               " does not broadcast to ", target.sizes());
  const Tensor from = clear_of(target, source);
  Tensor y = target;
  TANDEM_DISPATCH(target.device(), copy, from, y);
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
Tensor Tensor::to(const TensorOptions& options) const {
  return to(options.device_or(device()), options.dtype_or(dtype()));
}

}  // namespace tandem
