// Helpers of index and index_put: apply the numbers and slices of an index, which give a view, and find the positions
// in that view that index tensors select.
#include "tandem/ops/index/advanced_index.h"

#include <algorithm>

#include "tandem/ops/define_op.h"
#include "tandem/ops/index/index_checks.h"
#include "tandem/ops/index/nonzero.h"

namespace tandem {

/// Returns whether an index tensor is a mask. uint8 was the dtype of masks in early versions of PyTorch.
static bool is_mask(const Tensor& index) { return index.dtype() == kBool || index.dtype() == kUInt8; }
Tensor detail::apply_slicing(const char* op, const Tensor& self, ArrayRef<indexing::TensorIndex> indices,
                             std::vector<std::pair<int64_t, Tensor>>& tensors) {
  using namespace indexing;
  TANDEM_CHECK(!indices.empty(), op, ": the list of indices is empty; pass at least one index");
  int64_t used = 0;
  for (const TensorIndex& i : indices) {
    if (std::holds_alternative<Tensor>(i.entry) && is_mask(std::get<Tensor>(i.entry)))
      used += std::get<Tensor>(i.entry).dim();
    else if (!std::holds_alternative<std::monostate>(i.entry) && !std::holds_alternative<EllipsisIndexType>(i.entry))
      ++used;
  }
  TANDEM_CHECK_AS(IndexError, used <= self.dim(), op, ": too many indices for tensor of dimension ", self.dim(),
                  ", got ", used, " for sizes ", self.sizes());
  const int64_t rank = self.dim();
  int64_t dim = 0;
  Tensor x = self;
  const auto select = [&](int64_t number) {
    TANDEM_CHECK_AS(IndexError, number >= -x.size(dim) && number < x.size(dim), op, ": index ", number,
                    " is out of bounds for dimension ", dim, " with size ", x.size(dim));
    x = x.select(dim, number);
  };
  for (const TensorIndex& i : indices) {
    if (const auto* number = std::get_if<int64_t>(&i.entry))
      select(*number);
    else if (const auto* slice = std::get_if<Slice>(&i.entry)) {
      TANDEM_CHECK(slice->step() > 0, op, ": step must be greater than zero, got a slice with step ", slice->step());
      x = x.slice(dim++, slice->start_opt(), slice->stop_opt(), slice->step());
    } else if (std::holds_alternative<std::monostate>(i.entry))
      x = x.unsqueeze(dim++);
    else if (std::holds_alternative<EllipsisIndexType>(i.entry))
      dim += rank - used;
    else {
      const Tensor& given = std::get<Tensor>(i.entry);
      const Tensor t = is_mask(given) ? given.to(kBool) : given;
      if (t.dim() > 0) {
        tensors.emplace_back(dim, t);
        dim += is_mask(t) ? t.dim() : 1;
      } else if (is_mask(t)) {  // a 0-dim mask adds a dimension of size 1 to x and masks it
        x = x.unsqueeze(dim);
        tensors.emplace_back(dim++, t.reshape({1}).to(x.device()));
      } else {
        TANDEM_CHECK(!t.is_floating_point(), op,
                     ": tensors used as indices must be long, int, byte or bool tensors, got ", t.dtype());
        select(t.item<int64_t>());
      }
    }
  }
  return x;
}

void detail::check_mask(const char* op, const Tensor& x, int64_t dim, const Tensor& mask) {
  for (int64_t d = 0; d < mask.dim(); ++d)
    TANDEM_CHECK_AS(IndexError, mask.size(d) == x.size(dim + d), op, ": The shape of the mask ", mask.sizes(),
                    " at index ", d, " does not match the shape of the indexed tensor ", x.sizes(), " at index ",
                    dim + d);
  TANDEM_CHECK(mask.device() == x.device(), op, ": Expected all tensors to be on the same device, but got mask is on ",
               mask.device(), ", different from other tensors on ", x.device());
}

/// Converts negative positions along `dim` to non-negative ones. For indices on the CPU, one pass on the host is
/// cheaper than launching seven kernels.
static Tensor wrap_index_on_host(const char* op, const Tensor& x, int64_t dim, const Tensor& index64) {
  check_not_recorded(op, "the host checks whether the indices are in range");
  const Tensor list = index64.contiguous();
  const int64_t n = x.size(dim), count = list.numel();
  const int64_t* const at = list.data<int64_t>();
  int64_t least = count > 0 ? at[0] : 0, most = least;
  for (int64_t i = 0; i < count; ++i) {
    least = std::min(least, at[i]);
    most = std::max(most, at[i]);
  }
  TANDEM_CHECK_AS(IndexError, count == 0 || (least >= -n && most < n), op, ": index ", most < n ? least : most,
                  " is out of bounds for dimension ", dim, " with size ", n);
  return least < 0 ? where(index64 < 0, index64 + n, index64) : index64;
}
detail::AdvancedIndex detail::resolve_index_tensors(const char* op, const Tensor& x,
                                                    const std::vector<std::pair<int64_t, Tensor>>& tensors) {
  std::vector<int64_t> dims;
  std::vector<Tensor> positions;
  for (const auto& [dim, index] : tensors) {
    if (index.dtype() == kBool) {
      check_mask(op, x, dim, index);
      const Tensor hits = nonzero(index);
      for (int64_t d = 0; d < index.dim(); ++d) {
        dims.push_back(dim + d);
        positions.push_back(hits.select(1, d));
      }
      continue;
    }
    TANDEM_CHECK(index.dtype() == kInt64 || index.dtype() == kInt32, op,
                 ": tensors used as indices must be long, int, byte or bool tensors, got ", index.dtype());
    const Tensor index64 = check_and_convert_index(op, x, index);
    dims.push_back(dim);
    if (index.is_cpu()) {
      positions.push_back(wrap_index_on_host(op, x, dim, index64));
    } else {  // on a GPU, the kernel reports positions that are out of range, so the host need not synchronize here
      positions.push_back(where(index64 < 0, index64 + x.size(dim), index64));
    }
  }
  AdvancedIndex p;
  p.num_indexed_dims = static_cast<int64_t>(dims.size());
  const bool are_adjacent = dims.back() - dims.front() == p.num_indexed_dims - 1;
  if (are_adjacent) p.first_indexed_dim = dims.front();
  for (int64_t d = 0; d < p.first_indexed_dim; ++d) p.dim_order.push_back(d);
  for (const int64_t d : dims) p.dim_order.push_back(d);
  for (int64_t d = p.first_indexed_dim; d < x.dim(); ++d)
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) p.dim_order.push_back(d);
  p.permuted = are_adjacent ? x : x.permute(p.dim_order);
  // A position that is out of range in one dimension must be out of range in the flattened dimensions too.
  if (x.is_cuda() && p.num_indexed_dims > 1) {
    int64_t total = 1;
    for (const int64_t d : dims) total *= x.size(d);
    for (size_t k = 0; k < dims.size(); ++k)
      positions[k] = where((positions[k] < 0) | (positions[k] >= x.size(dims[k])), Scalar(-total), positions[k]);
  }
  p.positions = positions[0];
  for (size_t k = 1; k < dims.size(); ++k) {
    TANDEM_CHECK_AS(IndexError, is_broadcastable(p.positions.sizes(), positions[k].sizes()), op,
                    ": shape mismatch: indexing tensors could not be broadcast together with shapes ",
                    p.positions.sizes(), ", ", positions[k].sizes());
    p.positions = p.positions * x.size(dims[k]) + positions[k];
  }
  return p;
}

std::vector<indexing::TensorIndex> detail::to_tensor_indices(ArrayRef<std::optional<Tensor>> indices) {
  std::vector<indexing::TensorIndex> all;
  for (const std::optional<Tensor>& i : indices)
    all.push_back(i && i->defined() ? indexing::TensorIndex(*i) : indexing::TensorIndex(indexing::Slice()));
  return all;
}

}  // namespace tandem
