// Views with any sizes and strides: as_strided, as_strided_, and the gradient of as_strided.
#include "tandem/ops/shape/as_strided.h"

#include <algorithm>

#include "tandem/ops/define_op.h"
#include "tandem/ops/shape/view_helpers.h"

namespace tandem {

TANDEM_CAST_POLICY(none, as_strided);

bool may_overlap(IntArrayRef sizes, IntArrayRef strides) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // (stride, size) of each dimension of size 2 or more
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] > 1) dims.emplace_back(strides[d], sizes[d]);
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;
  for (const auto& [stride, size] : dims) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

Tensor Tensor::as_strided(IntArrayRef sizes, IntArrayRef strides, std::optional<int64_t> storage_offset) const {
  const int64_t offset = storage_offset.value_or(this->storage_offset());
  const Tensor y = core::as_strided(*this, sizes, strides, offset);
  return record_view("as_strided", y, *this,
                     [geometry = ViewGeometry(*this, y)](const BackwardContext&, const Tensor& dy) -> Grads {
                       return {as_strided_backward(dy, geometry)};
                     });
}
Tensor& Tensor::as_strided_(IntArrayRef sizes, IntArrayRef strides, std::optional<int64_t> storage_offset) const {
  return apply_inplace_view("as_strided_", self(), [&] { return as_strided(sizes, strides, storage_offset); });
}

ViewGeometry::ViewGeometry(const Tensor& base, const Tensor& view)
    : base_sizes(base.sizes()), base_strides(base.strides()), sizes(view.sizes()), strides(view.strides()) {
  const auto reach = [](const Shape& sizes, const Shape& strides) {
    int64_t end = 1;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == 0) return int64_t{0};
      end += (sizes[d] - 1) * strides[d];
    }
    return end;
  };
  const int64_t first = std::min(base.storage_offset(), view.storage_offset());
  base_offset = base.storage_offset() - first;
  offset = view.storage_offset() - first;
  extent = std::max(base_offset + reach(base_sizes, base_strides), offset + reach(sizes, strides));
}
Tensor ViewGeometry::to_storage_layout(const Tensor& like_base) const {
  Tensor line = zeros({extent}, like_base.options());
  line.as_strided(base_sizes, base_strides, base_offset).copy_(like_base);
  return line;
}

Tensor as_strided_backward(const Tensor& dy, const ViewGeometry& g) {
  Tensor line = zeros({g.extent}, dy.options());
  const auto positions = [&](const Shape& sizes, const Shape& strides, int64_t offset) {
    const Tensor all = arange(g.extent, TensorOptions(kInt64).device(dy.device()));
    return core::as_strided(all, sizes, strides, offset).contiguous().view({-1});
  };
  if (!may_overlap(g.sizes, g.strides))
    line.as_strided(g.sizes, g.strides, g.offset).copy_(dy);
  else
    line = line.index_add(0, positions(g.sizes, g.strides, g.offset), dy.reshape({-1}));
  // Elements of the base that share memory share the gradient.
  if (may_overlap(g.base_sizes, g.base_strides)) {
    const Tensor held = positions(g.base_sizes, g.base_strides, g.base_offset);
    const Tensor count = zeros({g.extent}, dy.options()).index_add(0, held, ones(held.sizes(), dy.options()));
    line = line.div(count.clamp_min(1));
  }
  return line.as_strided(g.base_sizes, g.base_strides, g.base_offset);
}

}  // namespace tandem
