// Helpers of views: the size that -1 stands for, checks, recording, and in-place views (squeeze_, transpose_, ...).
// Internal.
#pragma once
#include <utility>

#include "tandem/autograd/inplace.h"

namespace tandem::detail {

/// Returns the sizes `wanted`, with -1 (at most one) replaced so that they hold as many elements as the sizes
/// `numel_source`.
inline Shape infer_sizes(const char* op, IntArrayRef numel_source, IntArrayRef wanted) {
  const int64_t numel = numel_of(numel_source);
  Shape sizes = wanted;
  int64_t known = 1, missing = -1;
  bool overflow = false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    TANDEM_CHECK(sizes[d] >= -1, op, ": invalid shape dimension ", sizes[d], " at index ", d, " of shape ", wanted,
                 "; accepted: 0 or more, or -1 for one inferred dimension");
    if (sizes[d] == -1) {
      TANDEM_CHECK(missing < 0, op, ": only one dimension can be inferred, got sizes ", wanted);
      missing = static_cast<int64_t>(d);
    } else {
      overflow |= __builtin_mul_overflow(known, sizes[d], &known);
    }
  }
  TANDEM_CHECK(missing < 0 || overflow || known != 0 || numel != 0, op,
               ": cannot reshape tensor of 0 elements into shape ", wanted,
               " because the unspecified dimension size -1 can be any value and is ambiguous");
  const bool fits = !overflow && (missing < 0 ? known == numel : known != 0 && numel % known == 0);
  TANDEM_CHECK(fits, op, ": shape '", wanted, "' is invalid for input of size ", numel, ", with sizes ", numel_source);
  if (missing >= 0) sizes[static_cast<size_t>(missing)] = numel / known;
  return sizes;
}
inline void check_has_dims(const char* op, const Tensor& x) {
  TANDEM_CHECK_AS(IndexError, x.dim() > 0, op, " expects at least a 1-dimensional tensor, but got a scalar");
}
inline Tensor record_reshape(const char* name, Tensor y, const Tensor& x) {
  return record_view(
      name, std::move(y), x,
      [sizes = Shape(x.sizes())](const BackwardContext&, const Tensor& dy) -> Grads { return {dy.reshape(sizes)}; });
}
/// Makes x, in place, the view that view() returns. If x is a view of another tensor, autograd regenerates its history
/// from that tensor, as after any in-place operation; otherwise x takes over the autograd node of the new view.
template <class View> Tensor& apply_inplace_view(const char* op, Tensor& x, const View& view) {
  check_inplace_allowed(op, x);
  const bool recorded = is_grad_enabled() && autograd::tensor_requires_grad(x);
  if (recorded) autograd::check_inplace(op, x);
  const Tensor y = view();
  autograd::AutogradMeta* const own = autograd::get_autograd_meta(x);
  if (recorded && !own->base.defined()) {
    const autograd::AutogradMeta* const made = autograd::get_autograd_meta(y);
    own->grad_fn = made->grad_fn;
    own->output_nr = made->output_nr;
  }
  x.impl()->shallow_copy_from(*y.impl());
  x.bump_version();
  return x;
}

}  // namespace tandem::detail
