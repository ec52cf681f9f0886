// Copies between devices. The transfer itself moves bytes unchanged, so it needs two dense tensors of the same dtype
// and strides. All other work is done on one of the devices. Strided copies run on the device of the strided tensor.
// The dtype is converted before or after the transfer, so that the narrower dtype is transferred.
#include "tandem/kernels/transfer.h"
#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/core/cuda/streams.h"

#include "tandem/core/cuda/page_locked.h"
#include "tandem/core/loop/run_loop.h"
#include "tandem/kernels/elementwise.h"

namespace tandem::kernels::cuda {
namespace {

using tandem::cuda::current_stream;
using tandem::cuda::Stream;

void copy_on_device(const Tensor& x, Tensor& y) {
  if (y.is_cpu())
    cpu::copy(x, y);
  else
    copy(x, y);
}
/// Copies bytes between devices. x and y must have the same dtype, sizes and strides, and be dense.
void move_bytes(const Tensor& x, Tensor& y, bool non_blocking) {
  const auto bytes = static_cast<size_t>(x.nbytes());
  if (x.is_cuda() && y.is_cuda()) {
    // The copy runs on the stream of x, after the earlier work on the stream of y. The stream of y then waits for the
    // copy. So each storage is used in the order of its own stream, and x and y may be released right after this call.
    const Stream from = current_stream(x.device()), to = current_stream(y.device());
    tandem::cuda::enable_p2p_access(x.device(), y.device());
    from.wait_stream(to);
    gpu::copy_peer_async(y.raw_data(), y.device().index(), x.raw_data(), x.device().index(), bytes, from.handle());
    to.wait_stream(from);
    return;
  }
  const Tensor& host = x.is_cpu() ? x : y;
  const Stream stream = current_stream(x.is_cpu() ? y.device() : x.device());
  gpu::copy_async(y.raw_data(), x.raw_data(), bytes, stream.handle());
  if (non_blocking && host.is_pinned())
    record_page_locked_use(host.storage()->data, stream);
  else
    stream.synchronize();  // also waits after a copy from pageable memory, which the driver may still be reading
}

}  // namespace

void transfer(const Tensor& x, Tensor& y, bool non_blocking) {
  if (y.numel() == 0) return;
  const bool same_layout =
      x.sizes() == y.sizes() && x.strides() == y.strides() && core::is_non_overlapping_and_dense(*x.impl());
  const auto has_transfer_layout = [&](const Tensor& t) { return same_layout || t.is_contiguous(); };
  const Shape strides = same_layout ? Shape(x.strides()) : contiguous_strides(x.sizes());
  const DType transfer_dtype = element_size(x.dtype()) < element_size(y.dtype()) ? x.dtype() : y.dtype();
  if (x.is_cpu() != y.is_cpu() && tandem::cuda::is_current_stream_capturing()) [[unlikely]] {
    // During stream capture: each replay of the graph reads or writes this host memory, at the same address, so only a
    // plain copy of page-locked memory can be captured.
    const Tensor& host = x.is_cpu() ? x : y;
    if (!non_blocking || !host.is_pinned() || !has_transfer_layout(host) || host.dtype() != transfer_dtype ||
        (y.is_cpu() && x.sizes() != y.sizes()))
      check_not_recorded("copy_ or to, between host and GPU",
                         "the host waits for it; accepted: contiguous page-locked memory of the narrower dtype, with "
                         "non_blocking");
  }
  // For an asynchronous transfer from the host, the source must be page-locked memory: x itself, or a buffer to which x
  // is copied here.
  const bool pinned = x.is_cpu() && non_blocking;
  Tensor packed = x;
  if (!has_transfer_layout(x) || x.dtype() != transfer_dtype || (pinned && !x.is_pinned())) {
    // Allocating page-locked memory may synchronize with the current device, so make the GPU of this transfer current.
    const gpu::DeviceGuard guard((x.is_cpu() ? y : x).device().index());
    packed = pinned ? core::empty_pinned(x.sizes(), transfer_dtype, x.device(), &strides)
                    : core::empty_dense(x.sizes(), strides, transfer_dtype, x.device());
    copy_on_device(x, packed);
  }
  if (has_transfer_layout(y) && y.dtype() == transfer_dtype && y.sizes() == x.sizes()) {
    move_bytes(packed, y, non_blocking);
    return;
  }
  Tensor arrived = core::empty_dense(x.sizes(), strides, transfer_dtype, y.device());
  move_bytes(packed, arrived, /*non_blocking=*/non_blocking && y.is_cuda());
  copy_on_device(arrived, y);
}

}  // namespace tandem::kernels::cuda
