#include "tandem/ops/copy.h"

#include "tandem/autograd/record.h"
#include "tandem/core/dispatch.h"
#include "tandem/kernels/elementwise.h"
#include "tandem/kernels/transfer.h"
#include "tandem/ops/factory.h"
#include "tandem/ops/out.h"

namespace tandem {

bool detail::overlaps(const Tensor& target, const Tensor& source) {
  if (target.storage() != source.storage()) [[likely]]
    return false;
  const bool same_places = target.storage_offset() == source.storage_offset() && target.sizes() == source.sizes() &&
                           target.strides() == source.strides();
  if (same_places || target.numel() == 0 || source.numel() == 0) return false;
  const auto last = [](const Tensor& x) {
    int64_t at = x.storage_offset();
    for (int64_t d = 0; d < x.dim(); ++d) at += (x.size(d) - 1) * x.stride(d);
    return at;
  };
  return last(target) >= source.storage_offset() && last(source) >= target.storage_offset();
}
Tensor clear_of(const Tensor& target, const Tensor& source) {
  if (!detail::overlaps(target, source)) return source;
  Tensor copied = core::empty(source.sizes(), source.dtype(), source.device());
  TANDEM_DISPATCH(source.device(), copy, source, copied);
  return copied;
}

void copy_elements(const Tensor& source, const Tensor& target, [[maybe_unused]] bool non_blocking) {
  TANDEM_CHECK(broadcast_shapes("copy_", source.sizes(), target.sizes()) == target.sizes(), "copy_: ", source.sizes(),
               " does not broadcast to ", target.sizes());
  const Tensor from = clear_of(target, source);
  Tensor y = target;
  if (source.device() == target.device() || (source.is_cpu() && target.is_cpu())) {
    TANDEM_DISPATCH(target.device(), copy, from, y);
  } else {
    const Device gpu = target.is_cuda() ? target.device() : source.device();
    detail::dispatch(
        "transfer", gpu, [&] { TANDEM_CUDA_CALL(transfer, from, y, non_blocking); },
        std::type_identity<decltype(kernels::cuda::transfer)>(), from, y, non_blocking);
  }
}

Tensor clone(const Tensor& x) {
  Tensor y = core::empty(x.sizes(), x.dtype(), x.device());
  copy_elements(x, y);
  return record("clone", y, {x}, {}, [](const Context&, const Tensor& dy) -> Grads { return {dy}; });
}

Tensor Tensor::clone() const { return tandem::clone(*this); }
Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

namespace {
Tensor convert(const Tensor& x, Device device, DType dtype, bool non_blocking, bool pinned) {
  Tensor y = pinned ? core::empty_pinned(x.sizes(), dtype, device) : core::empty(x.sizes(), dtype, device);
  copy_elements(x, y, non_blocking);
  return record("to", y, {x}, {}, [from = x.device(), type = x.dtype()](const Context&, const Tensor& dy) -> Grads {
    return {dy.to(from, type)};
  });
}
}  // namespace

Tensor Tensor::to(Device device, DType dtype, bool non_blocking) const {
  if (device == this->device() && dtype == this->dtype()) return *this;
  return convert(*this, device, dtype, non_blocking, /*pinned=*/non_blocking && is_cuda() && device.is_cpu());
}
Tensor Tensor::to(DType dtype) const { return to(device(), dtype); }
Tensor Tensor::to(Device device, bool non_blocking) const { return to(device, dtype(), non_blocking); }
Tensor Tensor::to(const TensorOptions& options, bool non_blocking) const {
  const Device device = options.device_or(this->device());
  const DType dtype = options.dtype_or(this->dtype());
  if (options.pinned_memory() && !is_pinned()) return convert(*this, device, dtype, non_blocking, /*pinned=*/true);
  return to(device, dtype, non_blocking);
}
Tensor Tensor::pin_memory() const {
  TANDEM_CHECK(is_cpu(), "pin_memory: the tensor is on ", device(), "; accepted: a CPU device");
  return is_pinned() ? *this : convert(*this, device(), dtype(), /*non_blocking=*/false, /*pinned=*/true);
}

}  // namespace tandem
