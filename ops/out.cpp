// Helpers for the out versions of operations, such as exp_out, which write into a given tensor.
#include "tandem/ops/out.h"

#include <atomic>
#include <cstdio>
#include <sstream>

#include "tandem/ops/define_op.h"

namespace tandem::detail {

bool has_partial_overlap(const Tensor& target, const Tensor& source) {
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

void check_out(const char* op, const Tensor& out, autograd::TensorRefs inputs) {
  TANDEM_CHECK(!autograd::any_requires_grad({out}) && !autograd::any_requires_grad(inputs), op,
               ": functions with out=... arguments don't support automatic differentiation, but one of the arguments "
               "requires grad; detach() it or use a NoGradGuard");
}
bool prepare_out(const char* op, Tensor& out, IntArrayRef sizes, DType dtype, Device device) {
  check_inplace_allowed(op, out);
  TANDEM_CHECK(out.device() == device, op, ": Expected all tensors to be on the same device, but got out is on ",
               out.device(), ", different from other tensors on ", device);
  TANDEM_CHECK(dtype_category(dtype) <= dtype_category(out.dtype()), op, ": result type ", dtype,
               " can't be cast to the desired output type ", out.dtype());
  const bool resized = out.sizes() != sizes;
  if (resized) {
    static std::atomic<bool> warned{false};
    if (out.numel() != 0 && !warned.exchange(true)) {
      std::ostringstream text;
      text << "tandem: warning: " << op << ": An output with one or more elements was resized since it had shape "
           << out.sizes() << ", which does not match the required output shape " << sizes
           << ". Pass an output of that shape or without elements. (This warning is printed once.)\n";
      std::fputs(text.str().c_str(), stderr);
    }
    out.resize_(sizes);
  }
  if (!out.is_contiguous()) autograd::check_no_internal_overlap(op, out);
  return resized;
}
void set_strides(const Tensor& out, const Shape& strides) {
  out.impl()->shallow_copy_from(*core::as_strided(out, out.sizes(), strides, out.storage_offset()).impl());
}

}  // namespace tandem::detail
