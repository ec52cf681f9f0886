// Copies: contiguous, to, copy_, pin_memory; copy_elements and copy_if_overlapping, for other operations.
#include "tandem/ops/shape/copy.h"

#include "tandem/kernels/elementwise.h"
#include "tandem/kernels/transfer.h"
#include "tandem/ops/define_op.h"
#include "tandem/ops/shape/clone.h"

namespace tandem {

TANDEM_CAST_POLICY(none, contiguous, pin_memory, to);

Tensor copy_if_overlapping(const Tensor& target, const Tensor& source) {
  if (!detail::has_partial_overlap(target, source)) return source;
  Tensor copied = core::empty_like(source, source.dtype(), source.device());
  TANDEM_DISPATCH(source.device(), copy, source, copied);
  return copied;
}

Tensor reshape_result(const Tensor& y, IntArrayRef sizes) {
  return record_op(
      "reshape", core::try_view(y, sizes), {y}, {},
      [from = Shape(y.sizes())](const BackwardContext&, const Tensor& dy) -> Grads { return {dy.reshape(from)}; });
}

void copy_elements(const Tensor& source, const Tensor& target, [[maybe_unused]] bool non_blocking) {
  TANDEM_CHECK(broadcast_shapes("copy_", source.sizes(), target.sizes()) == target.sizes(), "copy_: output with shape ",
               target.sizes(), " doesn't match the broadcast shape ",
               broadcast_shapes("copy_", source.sizes(), target.sizes()), "; the source is ", source.sizes());
  const Tensor from = copy_if_overlapping(target, source);
  Tensor y = target;
  if (source.device() == target.device() || (source.is_cpu() && target.is_cpu())) {
    TANDEM_DISPATCH(target.device(), copy, from, y);
  } else {
    const Device gpu = target.is_cuda() ? target.device() : source.device();
    detail::dispatch(
        "transfer", gpu, [&] { TANDEM_CALL_CUDA_KERNEL(transfer, from, y, non_blocking); },
        std::type_identity<decltype(kernels::cuda::transfer)>(), from, y, non_blocking);
  }
}

Tensor Tensor::contiguous(MemoryFormat format) const {
  TANDEM_CHECK(format != MemoryFormat::Preserve,
               "contiguous: the memory format is Preserve; accepted: Contiguous and ChannelsLast");
  return is_contiguous(format) ? *this : tandem::clone(*this, format);
}

static Tensor to_impl(const Tensor& x, Device device, DType dtype, bool non_blocking, bool pinned,
                      MemoryFormat format) {
  // As in PyTorch, a tensor with gaps keeps its memory format here. (clone() keeps the order of its dimensions
  // instead.)
  if (format == MemoryFormat::Preserve && !x.impl()->row_major && !core::is_non_overlapping_and_dense(*x.impl()))
    format = x.suggest_memory_format();
  Tensor y;
  if (pinned) {
    const Shape strides = core::strides_like(x, format);
    y = core::empty_pinned(x.sizes(), dtype, device, &strides);
  } else {
    y = core::empty_like(x, dtype, device, format);
  }
  copy_elements(x, y, non_blocking);
  return record_op("to", y, {x}, {},
                   [from = x.device(), type = x.dtype()](const BackwardContext&, const Tensor& dy) -> Grads {
                     return {dy.to(from, type)};
                   });
}

Tensor Tensor::to(Device device, DType dtype, bool non_blocking, bool copy, std::optional<MemoryFormat> format) const {
  const MemoryFormat wanted = format.value_or(MemoryFormat::Preserve);
  if (!copy && device == this->device() && dtype == this->dtype() &&
      (wanted == MemoryFormat::Preserve || wanted == suggest_memory_format()))
    return *this;
  return to_impl(*this, device, dtype, non_blocking, /*pinned=*/non_blocking && is_cuda() && device.is_cpu(), wanted);
}
Tensor Tensor::to(DType dtype, bool non_blocking, bool copy, std::optional<MemoryFormat> format) const {
  return to(device(), dtype, non_blocking, copy, format);
}
Tensor Tensor::to(Device device, bool non_blocking, bool copy, std::optional<MemoryFormat> format) const {
  return to(device, dtype(), non_blocking, copy, format);
}
Tensor Tensor::to(const TensorOptions& options, bool non_blocking, bool copy,
                  std::optional<MemoryFormat> format) const {
  TANDEM_CHECK(
      !options.requires_grad(),
      "to: the options have requires_grad(true), which a copy does not accept; call requires_grad_() on the result");
  const Device device = options.device_or(this->device());
  const DType dtype = options.dtype_or(this->dtype());
  if (!format) format = options.memory_format_opt();
  if (options.pinned_memory() && !is_pinned())
    return to_impl(*this, device, dtype, non_blocking, /*pinned=*/true, format.value_or(MemoryFormat::Preserve));
  return to(device, dtype, non_blocking, copy, format);
}
Tensor Tensor::pin_memory() const {
  TANDEM_CHECK(is_cpu(), "pin_memory: cannot pin a tensor on ", device(), "; only dense CPU tensors can be pinned");
  return is_pinned()
             ? *this
             : to_impl(*this, device(), dtype(), /*non_blocking=*/false, /*pinned=*/true, MemoryFormat::Preserve);
}

Tensor& copy_inplace(const char* op, Tensor& x, const Tensor& source, bool non_blocking) {
  TANDEM_CHECK(broadcast_shapes(op, source.sizes(), x.sizes()) == x.sizes(), op, ": output with shape ", x.sizes(),
               " doesn't match the broadcast shape ", broadcast_shapes(op, source.sizes(), x.sizes()),
               "; the source is ", source.sizes());
  return autograd::run_inplace(
      op, x, {source}, [&] { copy_elements(source, x, non_blocking); },
      [&](const Tensor&) { return source.to(x.device(), x.dtype(), non_blocking).expand(x.sizes()); },
      autograd::InplaceAccess::overwrite);
}
Tensor& Tensor::copy_(const Tensor& source, bool non_blocking) const {
  return copy_inplace("copy_", self(), source, non_blocking);
}

}  // namespace tandem
