// Bytes cross between devices as they lie, so only tensors of one dtype that lie alike, without gaps, do. What else
// there is to do happens on the side where it belongs: strides where they are, and a change of dtype before the way or
// behind it, so that the narrower of the two travels.
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
/// Of one dtype and size, without gaps and with the same strides.
void move_bytes(const Tensor& x, Tensor& y, bool non_blocking) {
  const auto bytes = static_cast<size_t>(x.nbytes());
  if (x.is_cuda() && y.is_cuda()) {
    // On x's stream, which waits until y's is done with what was in y; y's waits for the copy. So each storage is used
    // in its own stream's order, and both may be dropped.
    const Stream from = current_stream(x.device()), to = current_stream(y.device());
    tandem::cuda::connect_peers(x.device(), y.device());
    from.wait_stream(to);
    gpu::copy_peer_async(y.raw_data(), y.device().index(), x.raw_data(), x.device().index(), bytes, from.handle());
    to.wait_stream(from);
    return;
  }
  const Tensor& host = x.is_cpu() ? x : y;
  const Stream stream = current_stream(x.is_cpu() ? y.device() : x.device());
  gpu::copy_async(y.raw_data(), x.raw_data(), bytes, stream.handle());
  if (non_blocking && host.is_pinned())
    record_page_locked(host.storage()->data, stream);
  else
    stream.synchronize();  // after a copy from pageable memory too, which some systems read late
}

}  // namespace

void transfer(const Tensor& x, Tensor& y, bool non_blocking) {
  if (y.numel() == 0) return;
  const bool alike = x.sizes() == y.sizes() && x.strides() == y.strides() && core::is_dense(*x.impl());
  const auto travels_as_it_lies = [&](const Tensor& t) { return alike || t.is_contiguous(); };
  const Shape strides = alike ? Shape(x.strides()) : contiguous_strides(x.sizes());
  const DType travels = element_size(x.dtype()) < element_size(y.dtype()) ? x.dtype() : y.dtype();
  if (x.is_cpu() != y.is_cpu() && tandem::cuda::is_current_stream_capturing()) [[unlikely]] {
    // The host's bytes travel from and to where they lie at each replay.
    const Tensor& host = x.is_cpu() ? x : y;
    if (!non_blocking || !host.is_pinned() || !travels_as_it_lies(host) || host.dtype() != travels ||
        (y.is_cpu() && x.sizes() != y.sizes()))
      check_not_recorded("copy_ or to, between host and GPU",
                         "the host waits for it; accepted: contiguous page-locked memory of the narrower dtype, with "
                         "non_blocking");
  }
  // Where nobody is to wait, the host's bytes travel from page-locked memory: x's own, or some that is filled here.
  const bool pinned = x.is_cpu() && non_blocking;
  Tensor packed = x;
  if (!travels_as_it_lies(x) || x.dtype() != travels || (pinned && !x.is_pinned())) {
    const gpu::DeviceGuard guard((x.is_cpu() ? y : x).device().index());  // whose work the driver may wait for
    packed = pinned ? core::empty_pinned(x.sizes(), travels, x.device(), &strides)
                    : core::empty_dense(x.sizes(), strides, travels, x.device());
    copy_on_device(x, packed);
  }
  if (travels_as_it_lies(y) && y.dtype() == travels && y.sizes() == x.sizes()) {
    move_bytes(packed, y, non_blocking);
    return;
  }
  Tensor arrived = core::empty_dense(x.sizes(), strides, travels, y.device());
  move_bytes(packed, arrived, /*non_blocking=*/non_blocking && y.is_cuda());
  copy_on_device(arrived, y);
}

}  // namespace tandem::kernels::cuda
