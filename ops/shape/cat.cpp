// Concatenating tensors along a dimension: cat, stack, hstack, vstack, dstack, column_stack. concat, concatenate and
// row_stack are aliases in cat.h.
#include "tandem/ops/shape/cat.h"

#include <algorithm>
#include <limits>

#include "tandem/kernels/index.h"
#include "tandem/ops/define_op.h"
#include "tandem/ops/promotion.h"
#include "tandem/ops/shape/atleast.h"

namespace tandem {

TANDEM_CAST_POLICY(promote, cat, dstack, hstack, stack, vstack);
TANDEM_CAST_POLICY(none, column_stack);

namespace {
/// On CUDA, concatenates contiguous tensors of y's dtype in one launch.
void cat_in_one_launch(TensorList tensors, int64_t dim, const Tensor& y) {
  int64_t rows = 1;
  for (int64_t d = 0; d < dim; ++d) rows *= y.size(d);
  if (y.numel() == 0) return;
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors)
    if (t.numel() > 0) parts.push_back(core::try_view(t, {rows, t.numel() / rows}));
  Tensor whole = core::try_view(y, {rows, y.numel() / rows});
  TANDEM_DISPATCH_CUDA(y.device(), cat, parts, whole);
}
}  // namespace

Tensor cat(TensorList tensors, int64_t dim) {
  if (const Autocast cast{cast_policy::cat, tensors}) return cat(cast(tensors), dim);
  TANDEM_CHECK(!tensors.empty(), "cat: expected a non-empty list of Tensors");
  // A tensor of shape (0,) may be concatenated with any others, and contributes only its dtype.
  const auto is_legacy_empty = [](const Tensor& t) { return t.dim() == 1 && t.numel() == 0; };
  const Tensor* first = std::find_if_not(tensors.begin(), tensors.end(), is_legacy_empty);
  const bool nothing = first == tensors.end();
  if (nothing) {
    first = tensors.begin();
    dim = 0;
  }
  dim = wrap_dim("cat", dim, first->dim());
  Shape sizes = first->sizes();
  DType type = first->dtype();
  int64_t total = 0;
  std::vector<int64_t> parts;
  for (const Tensor& t : tensors) {
    TANDEM_CHECK(t.dim() > 0, "cat: zero-dimensional tensor (at position ", parts.size(),
                 ") cannot be concatenated; use stack");
    TANDEM_CHECK(t.device() == first->device(),
                 "cat: Expected all tensors to be on the same device, but found at least two devices, ",
                 first->device(), " and ", t.device());
    type = promote_types(type, t.dtype());
    parts.push_back(is_legacy_empty(t) ? 0 : t.size(dim));
    total += parts.back();
    if (is_legacy_empty(t)) continue;
    TANDEM_CHECK(t.dim() == first->dim(), "cat: Tensors must have same number of dimensions: got ", first->dim(),
                 " and ", t.dim(), " for sizes ", first->sizes(), " and ", t.sizes());
    for (int64_t d = 0; d < t.dim(); ++d)
      TANDEM_CHECK(d == dim || t.size(d) == first->size(d), "cat: Sizes of tensors must match except in dimension ",
                   dim, ". Expected size ", first->size(d), " but got size ", t.size(d), " for tensor number ",
                   parts.size() - 1, " in the list, in dimension ", d, " of ", first->sizes(), " and ", t.sizes());
  }
  sizes[static_cast<size_t>(dim)] = total;
  // memory format of y: the format that all tensors share, or Contiguous
  MemoryFormat format = first->suggest_memory_format();
  for (const Tensor& t : tensors)
    if (t.suggest_memory_format() != format) format = MemoryFormat::Contiguous;
  Tensor y = core::empty_dense(sizes, core::strides_of("cat", sizes, format), type, first->device());
  if (y.is_cuda() && format == MemoryFormat::Contiguous && y.nbytes() <= std::numeric_limits<int32_t>::max() &&
      std::all_of(tensors.begin(), tensors.end(),
                  [&](const Tensor& t) { return is_legacy_empty(t) || (t.dtype() == type && t.is_contiguous()); })) {
    cat_in_one_launch(tensors, dim, y);
  } else {
    int64_t offset = 0;
    for (size_t i = 0; i < tensors.size(); offset += parts[i++])
      if (!is_legacy_empty(tensors[i])) copy_elements(tensors[i], core::narrow(y, dim, offset, parts[i]));
  }
  std::vector<bool> flat;  // for each tensor, whether it has shape (0,)
  for (const Tensor& t : tensors) flat.push_back(is_legacy_empty(t));
  return record_list_op("cat", y, tensors, {},
                        [dim, parts, flat](const BackwardContext& ctx, const Tensor& dy) -> Grads {
                          Grads grads;
                          int64_t offset = 0;
                          for (size_t i = 0; i < parts.size(); offset += parts[i++])
                            grads.push_back(!ctx.needs_grad(i) ? Tensor()
                                            : flat[i]          ? zeros({0}, dy.options())
                                                               : dy.narrow(dim, offset, parts[i]));
                          return grads;
                        });
}
Tensor stack(TensorList tensors, int64_t dim) {
  if (const Autocast cast{cast_policy::stack, tensors}) return stack(cast(tensors), dim);
  TANDEM_CHECK(!tensors.empty(), "stack expects a non-empty TensorList");
  dim = wrap_dim("stack", dim, tensors[0].dim() + 1);
  std::vector<Tensor> rows;
  for (const Tensor& t : tensors) {
    TANDEM_CHECK(t.sizes() == tensors[0].sizes(), "stack expects each tensor to be equal size, but got ",
                 tensors[0].sizes(), " at entry 0 and ", t.sizes(), " at entry ", rows.size());
    TANDEM_CHECK(t.device() == tensors[0].device(),
                 "stack: Expected all tensors to be on the same device, but found at least two devices, ",
                 tensors[0].device(), " and ", t.device());
    rows.push_back(t.unsqueeze(dim));
  }
  return cat(rows, dim);
}

Tensor hstack(TensorList tensors) {
  TANDEM_CHECK(!tensors.empty(), "hstack expects a non-empty TensorList");
  const std::vector<Tensor> rows = atleast_1d(tensors);
  return cat(rows, rows[0].dim() == 1 ? 0 : 1);
}
Tensor vstack(TensorList tensors) {
  TANDEM_CHECK(!tensors.empty(), "vstack expects a non-empty TensorList");
  return cat(atleast_2d(tensors), 0);
}
Tensor dstack(TensorList tensors) {
  TANDEM_CHECK(!tensors.empty(), "dstack expects a non-empty TensorList");
  return cat(atleast_3d(tensors), 2);
}
Tensor column_stack(TensorList tensors) {
  TANDEM_CHECK(!tensors.empty(), "column_stack expects a non-empty TensorList");
  std::vector<Tensor> columns;
  for (const Tensor& x : tensors) columns.push_back(x.dim() <= 1 ? x.reshape({x.numel(), 1}) : x);
  return cat(columns, 1);
}

}  // namespace tandem
