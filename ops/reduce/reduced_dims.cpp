// Helpers of reductions: view the input as (outer, reduced, inner), and compute the sizes of the result.
#include "tandem/ops/reduce/reduced_dims.h"

#include <utility>

#include "tandem/ops/factory/arange.h"

namespace tandem {

Shape get_memory_order(const Tensor& x) {
  if (x.is_contiguous() || !x.is_contiguous(MemoryFormat::ChannelsLast)) return {};
  return {0, 2, 3, 1};
}
Tensor to_logical_order(const Tensor& x, const Shape& memory_order) {
  Shape positions(memory_order.size(), 0);
  for (size_t i = 0; i < memory_order.size(); ++i)
    positions[static_cast<size_t>(memory_order[i])] = static_cast<int64_t>(i);
  const NoGradGuard guard;
  return core::permute(x, positions).contiguous();
}
unsigned make_dim_mask(const char* op, IntArrayRef dims, int64_t rank) {
  if (dims.empty()) return ~0u;
  unsigned mask = 0;
  for (const int64_t d : dims) {
    const unsigned bit = 1u << wrap_dim(op, d, rank);
    TANDEM_CHECK(!(mask & bit), op, ": dim ", wrap_dim(op, d, rank), " appears multiple times in the list of dims ",
                 dims);
    mask |= bit;
  }
  return mask;
}
Shape get_keepdim_sizes(IntArrayRef sizes, unsigned mask) {
  Shape keepdim_sizes = sizes;
  for (size_t d = 0; d < keepdim_sizes.size(); ++d)
    if (mask >> d & 1) keepdim_sizes[d] = 1;
  return keepdim_sizes;
}
Shape get_squeezed_sizes(IntArrayRef sizes, unsigned mask) {
  Shape squeezed_sizes;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (!(mask >> d & 1)) squeezed_sizes.push_back(sizes[d]);
  return squeezed_sizes;
}
int64_t num_reduced_elements(IntArrayRef sizes, unsigned mask) {
  int64_t count = 1;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (mask >> d & 1) count *= sizes[d];
  return count;
}

ReducedDims::ReducedDims(const char* op, const Tensor& original, IntArrayRef dims)
    : memory_order(get_memory_order(original)) {
  const unsigned logical = make_dim_mask(op, dims, original.dim());
  keepdim_sizes = get_keepdim_sizes(original.sizes(), logical);
  squeezed_sizes = get_squeezed_sizes(original.sizes(), logical);
  unsigned mask = logical;
  Tensor permuted = original;
  if (!memory_order.empty()) {  // permutes the dimensions to memory order
    permuted = core::permute(permuted, memory_order);
    mask = 0;
    for (size_t i = 0; i < memory_order.size(); ++i) mask |= (logical >> memory_order[i] & 1) << i;
  }
  Shape outer_dims, reduced_dims;
  int first = -1, last = -1;
  for (int d = 0; d < static_cast<int>(permuted.dim()); ++d) {
    const bool reduced = mask >> d & 1;
    (reduced ? reduced_dims : outer_dims).push_back(d);
    if (!reduced) continue;
    reduced_size *= permuted.size(d);
    if (first < 0) first = d;
    last = d;
  }
  const bool are_adjacent = static_cast<int>(reduced_dims.size()) == last - first + 1;
  Tensor flat = permuted;
  int64_t outer = 1, inner = 1;
  if (are_adjacent && first >= 0) {
    for (int d = 0; d < first; ++d) outer *= permuted.size(d);
    for (int d = last + 1; d < static_cast<int>(permuted.dim()); ++d) inner *= permuted.size(d);
  } else {
    Shape apart = outer_dims;
    for (const int64_t d : reduced_dims) apart.push_back(d);
    flat = core::permute(flat, apart);
    for (const int64_t d : outer_dims) outer *= permuted.size(d);
  }
  const NoGradGuard guard;
  x = core::try_view(flat.contiguous(), {outer, reduced_size, inner});
}
Tensor ReducedDims::restore_result_shape(const Tensor& flat, bool keepdim) const {
  if (memory_order.empty()) return core::try_view(flat, keepdim ? keepdim_sizes : squeezed_sizes);
  Shape sizes_in_memory_order;
  for (const int64_t d : memory_order) sizes_in_memory_order.push_back(keepdim_sizes[static_cast<size_t>(d)]);
  return core::try_view(to_logical_order(core::try_view(flat, sizes_in_memory_order), memory_order),
                        keepdim ? keepdim_sizes : squeezed_sizes);
}

ChannelDims::ChannelDims(const char* op, const Tensor& original, IntArrayRef dims)
    : memory_order(get_memory_order(original)) {
  const unsigned logical = make_dim_mask(op, dims, original.dim());
  keepdim_sizes = get_keepdim_sizes(original.sizes(), logical);
  squeezed_sizes = get_squeezed_sizes(original.sizes(), logical);
  unsigned mask = logical;
  Tensor permuted = original;
  if (!memory_order.empty()) {
    permuted = core::permute(permuted, memory_order);
    mask = 0;
    for (size_t i = 0; i < memory_order.size(); ++i) mask |= (logical >> memory_order[i] & 1) << i;
  }
  sizes_in_memory_order = get_keepdim_sizes(permuted.sizes(), mask);
  if (!permuted.is_contiguous() || permuted.numel() == 0 || !permuted.is_floating_point()) return;
  int64_t sizes[3] = {1, 1, 1};
  int part = 0;  // index in `sizes` of the product that the loop is computing: N, C or L
  for (int64_t d = 0; d < permuted.dim(); ++d) {
    if (permuted.size(d) == 1) continue;
    const int wanted = !(mask >> d & 1) ? 1 : part == 0 ? 0 : 2;
    if (wanted < part) return;  // a reduced dimension lies between kept ones, so x does not have the form (N, C, L)
    part = wanted;
    sizes[part] *= permuted.size(d);
  }
  // If all dimensions are reduced, (N, 1, 1) becomes (1, 1, N): one long row instead of N rows of one element.
  if (sizes[1] == 1) std::swap(sizes[0], sizes[2]);
  x = core::try_view(permuted, {sizes[0], sizes[1], sizes[2]});
}
Tensor ChannelDims::restore_result_shape(const Tensor& flat, bool keepdim) const {
  const Tensor y = core::try_view(flat, sizes_in_memory_order);
  return core::try_view(memory_order.empty() ? y : to_logical_order(y, memory_order),
                        keepdim ? keepdim_sizes : squeezed_sizes);
}

void check_average(const char* op, const Tensor& x, IntArrayRef dims) {
  TANDEM_CHECK_AS(
      NotImplementedError, x.is_floating_point(), op,
      "(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: ",
      x.dtype());
  make_dim_mask(op, dims, x.dim());
}
void detail::check_reduction_not_empty(const char* op, const Tensor& x, IntArrayRef dims) {
  TANDEM_CHECK_AS(IndexError, !dims.empty() || x.numel() > 0, op,
                  "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
                  "the 'dim' argument, got ",
                  x.sizes());
  for (const int64_t d : dims) {
    const int64_t at = wrap_dim(op, d, x.dim());
    TANDEM_CHECK_AS(IndexError, x.dim() == 0 || x.size(at) > 0, op, "(): Expected reduction dim ", at,
                    " to have non-zero size, got ", x.sizes());
  }
}
Tensor detail::arange_along_dim(const Tensor& x, int64_t d) {
  Shape column(static_cast<size_t>(x.dim()), 1);
  column[static_cast<size_t>(d)] = x.size(d);
  return arange(x.size(d), TensorOptions(kInt64).device(x.device())).reshape(column).expand(x.sizes());
}

}  // namespace tandem
