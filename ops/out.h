// The forms of operations that write into a given tensor, like exp_out. Internal.
#pragma once
#include "tandem/autograd/ops.h"
#include "tandem/autograd/record.h"

namespace tandem::detail {

/// Refuses what a form that records nothing would lose.
void check_out(const char* op, const Tensor& out, autograd::TensorRefs inputs);
/// `out`, made ready for a result of `sizes`, dtype and device: where it has others it gets these, with a warning
/// unless it has no elements; its dtype can hold the result's kind. Returns whether it has been resized.
bool prepare_out(const char* op, Tensor& out, IntArrayRef sizes, DType dtype, Device device);
/// Gives `out`, which has just been resized, the strides of the result, which leave no gaps.
void restride(const Tensor& out, const Shape& strides);
/// Whether target shares elements with source in other places, so that writing it changes what is still to be read.
bool overlaps(const Tensor& target, const Tensor& source);

/// run(y) computes the elementwise result of one or two `inputs` into y: into `out` itself where it is of the result's
/// dtype and overlaps none.
template <class Run>
Tensor& write_out(const char* op, Tensor& out, autograd::TensorRefs inputs, IntArrayRef sizes, DType dtype,
                  Device device, Run&& run) {
  if (prepare_out(op, out, sizes, dtype, device))
    restride(out, core::result_strides(sizes, {inputs.begin()->get().impl(), (inputs.end() - 1)->get().impl()}));
  bool direct = out.dtype() == dtype;
  for (const Tensor& input : inputs) direct = direct && !overlaps(out, input);
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

/// compute() gives the result of `inputs`, which is then copied: for results that are small beside what they are made
/// of, and operations that are made of others.
template <class Compute>
Tensor& assign_out(const char* op, Tensor& out, autograd::TensorRefs inputs, Compute&& compute) {
  check_out(op, out, inputs);
  const NoGradGuard guard;
  const Tensor y = compute();
  if (prepare_out(op, out, y.sizes(), y.dtype(), y.device()))
    restride(out, core::strides_like(y, MemoryFormat::Preserve));
  copy_elements(y, out);
  out.bump_version();
  return out;
}
template <class Compute> Tensor& assign_out(const char* op, Tensor& out, const Tensor& input, Compute&& compute) {
  const autograd::TensorRefs inputs = {input};  // not in the call: a Tensor from {input} is this overload again
  return assign_out(op, out, inputs, compute);
}

}  // namespace tandem::detail
