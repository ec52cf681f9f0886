// Helpers for the out versions of operations, such as exp_out, which write into a given tensor. Internal.
#pragma once
#include "tandem/autograd/ops.h"
#include "tandem/autograd/record.h"
#include "tandem/core/autocast.h"

namespace tandem::detail {

/// Checks that no gradient is required, because autograd does not record out versions. @throws Error if `out` or an
/// input requires a gradient and grad mode is on
void check_out(const char* op, const Tensor& out, autograd::TensorRefs inputs);
/// Prepares `out` for a result of the given sizes, dtype and device. Resizes it if its sizes differ, with a warning
/// unless it has no elements. Returns whether it has been resized.
/// @throws Error if `out` is on another device, or its dtype cannot hold the result
bool prepare_out(const char* op, Tensor& out, IntArrayRef sizes, DType dtype, Device device);
/// Gives `out`, which has just been resized, the dense strides of the result.
void set_strides(const Tensor& out, const Shape& strides);
/// Returns whether the memory ranges of target and source overlap, so that writing to target could change elements of
/// source that are still to be read. Identical views do not count as overlapping.
bool has_partial_overlap(const Tensor& target, const Tensor& source);

/// Writes the elementwise result of one or two `inputs` into `out`. run(y) computes the result into y: y is `out` if
/// `out` has the result's dtype and overlaps no input; otherwise y is a temporary tensor, which is then copied.
template <class Run>
Tensor& write_out(const char* op, Tensor& out, autograd::TensorRefs inputs, IntArrayRef sizes, DType dtype,
                  Device device, Run&& run) {
  if (prepare_out(op, out, sizes, dtype, device))
    set_strides(out, core::result_strides(sizes, {inputs.begin()->get().impl(), (inputs.end() - 1)->get().impl()}));
  bool direct = out.dtype() == dtype;
  for (const Tensor& input : inputs) direct = direct && !has_partial_overlap(out, input);
  if (direct) {
    run(out);
  } else {
    Tensor y = core::empty(sizes, dtype, device);
    run(y);
    copy_elements(y, out);
  }
  out.bump_version();
  return out;
}

/// Copies the result of compute() into `out`. Meant for results that are small compared with the `inputs`, and for
/// operations that are composed of others. Autocast does not act on operations with an output.
template <class Compute>
Tensor& assign_out(const char* op, Tensor& out, autograd::TensorRefs inputs, Compute&& compute) {
  check_out(op, out, inputs);
  const NoGradGuard guard;
  const AutocastOffGuard uncast;
  const Tensor y = compute();
  if (prepare_out(op, out, y.sizes(), y.dtype(), y.device()))
    set_strides(out, core::strides_like(y, MemoryFormat::Preserve));
  copy_elements(y, out);
  out.bump_version();
  return out;
}
template <class Compute> Tensor& assign_out(const char* op, Tensor& out, const Tensor& input, Compute&& compute) {
  // A braced {input} in the call would convert to a Tensor and select this overload again.
  const autograd::TensorRefs inputs = {input};
  return assign_out(op, out, inputs, compute);
}

}  // namespace tandem::detail
