#include "tandem/autograd/index.h"

#include <algorithm>

#include "tandem/autograd/copy.h"
#include "tandem/autograd/elementwise.h"
#include "tandem/autograd/factory.h"
#include "tandem/autograd/record.h"
#include "tandem/autograd/reduce.h"
#include "tandem/core/dispatch.h"
#include "tandem/kernels/nn.h"

namespace tandem {
namespace {

void check_index(const char* op, const Tensor& x, const Tensor& index) {
  TANDEM_CHECK(index.dtype() == kInt64, op, ": index is ", index.dtype(), "; accepted: int64");
  TANDEM_CHECK(index.device() == x.device(), op, ": index is on ", index.device(), " and x on ", x.device());
}
/// (outer, size of dim, inner), contiguous and recorded nowhere.
Tensor around(const Tensor& x, int64_t dim) {
  const NoGradGuard guard;
  int64_t outer = 1, inner = 1;
  for (int64_t d = 0; d < dim; ++d) outer *= x.size(d);
  for (int64_t d = dim + 1; d < x.dim(); ++d) inner *= x.size(d);
  return core::try_view(x.contiguous(), {outer, x.size(dim), inner});
}

}  // namespace

Tensor cat(TensorList tensors, int64_t dim) {
  TANDEM_CHECK(!tensors.empty(), "cat: the list is empty");
  const Tensor& first = tensors[0];
  dim = wrap_dim("cat", dim, first.dim());
  Shape sizes = first.sizes();
  TANDEM_CHECK(!sizes.empty(), "cat: scalars cannot be joined; use stack");
  DType type = first.dtype();
  const auto at = static_cast<size_t>(dim);
  sizes[at] = 0;
  std::vector<int64_t> parts;
  for (const Tensor& t : tensors) {
    TANDEM_CHECK(t.dim() == first.dim() && t.device() == first.device(), "cat: ", t.sizes(), " on ", t.device(),
                 " beside ", first.sizes(), " on ", first.device());
    for (int64_t d = 0; d < t.dim(); ++d)
      TANDEM_CHECK(d == dim || t.size(d) == first.size(d), "cat: ", t.sizes(), " beside ", first.sizes(),
                   "; sizes must agree except in dimension ", dim);
    type = promote_types(type, t.dtype());
    parts.push_back(t.size(dim));
    sizes[at] += t.size(dim);
  }
  Tensor y = core::empty(sizes, type, first.device());
  int64_t offset = 0;
  for (size_t i = 0; i < tensors.size(); offset += parts[i++])
    copy_elements(tensors[i], core::narrow(y, dim, offset, parts[i]));
  return record_list("cat", y, tensors, {}, [dim, parts](const Context& ctx, const Tensor& dy) -> Grads {
    Grads grads;
    int64_t offset = 0;
    for (size_t i = 0; i < parts.size(); offset += parts[i++])
      grads.push_back(ctx.needs_grad(i) ? dy.narrow(dim, offset, parts[i]) : Tensor());
    return grads;
  });
}
Tensor stack(TensorList tensors, int64_t dim) {
  TANDEM_CHECK(!tensors.empty(), "stack: the list is empty");
  dim = wrap_dim("stack", dim, tensors[0].dim() + 1);
  std::vector<Tensor> rows;
  for (const Tensor& t : tensors) {
    TANDEM_CHECK(t.sizes() == tensors[0].sizes() && t.device() == tensors[0].device(), "stack: ", t.sizes(), " on ",
                 t.device(), " beside ", tensors[0].sizes(), " on ", tensors[0].device(),
                 "; all must have one shape and device");
    rows.push_back(t.unsqueeze(dim));
  }
  return cat(rows, dim);
}

Tensor Tensor::index_select(int64_t dim, const Tensor& index) const {
  check_index("index_select", *this, index);
  TANDEM_CHECK(index.dim() <= 1 && this->dim() > 0, "index_select: x is ", sizes(), " and index ", index.sizes(),
               "; index must have one dimension");
  dim = wrap_dim("index_select", dim, this->dim());
  const Tensor x = around(*this, dim), at = index.contiguous();
  Shape sizes = this->sizes();
  sizes[static_cast<size_t>(dim)] = index.numel();
  Tensor y = core::empty(sizes, dtype(), device());
  TANDEM_DISPATCH(device(), index_select, x, at, y);
  return record("index_select", y, {*this}, {index},
                [dim, sizes = Shape(this->sizes())](const Context& ctx, const Tensor& dy) -> Grads {
                  return {zeros(sizes, dy.options()).index_add(dim, ctx.saved(0), dy)};
                });
}
Tensor Tensor::index_add(int64_t dim, const Tensor& index, const Tensor& source) const {
  check_index("index_add", *this, index);
  dim = wrap_dim("index_add", dim, this->dim());
  Shape expected = sizes();
  expected[static_cast<size_t>(dim)] = index.numel();
  TANDEM_CHECK(source.sizes() == expected && source.dtype() == dtype(), "index_add: source is ", source.dtype(),
               source.sizes(), "; accepted: ", dtype(), expected);
  const Tensor x = around(source, dim), at = index.contiguous();
  Tensor out;
  {
    const NoGradGuard guard;
    out = clone();
  }
  Tensor y = around(out, dim);
  TANDEM_DISPATCH(device(), index_add, x, at, y);
  return record("index_add", out, {*this, source}, {index}, [dim](const Context& ctx, const Tensor& dy) -> Grads {
    return {dy, ctx.needs_grad(1) ? dy.index_select(dim, ctx.saved(0)) : Tensor()};
  });
}

namespace {
void check_gather(const char* op, const Tensor& x, int64_t dim, const Tensor& index) {
  check_index(op, x, index);
  TANDEM_CHECK(index.dim() == x.dim(), op, ": x is ", x.sizes(), " and index ", index.sizes(),
               "; both must have as many dimensions");
  for (int64_t d = 0; d < x.dim(); ++d)
    TANDEM_CHECK(d == dim || index.size(d) <= x.size(d), op, ": index is ", index.sizes(), " for x of ", x.sizes(),
                 "; it may be larger only in dimension ", dim);
}
/// x cut to index's sizes, except along dim: what gather and scatter can reach.
Tensor reachable(Tensor x, int64_t dim, const Tensor& index) {
  for (int64_t d = 0; d < x.dim(); ++d)
    if (d != dim && x.size(d) != index.size(d)) x = x.narrow(d, 0, index.size(d));
  return x;
}
Tensor scattered(const char* op, const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, bool add) {
  dim = wrap_dim(op, dim, x.dim());
  check_gather(op, x, dim, index);
  TANDEM_CHECK(source.sizes() == index.sizes() && source.dtype() == x.dtype(), op, ": source is ", source.dtype(),
               source.sizes(), "; accepted: ", x.dtype(), index.sizes());
  const NoGradGuard guard;
  Tensor out = x.clone();
  if (index.numel() == 0) return out;
  const Tensor part = reachable(out, dim, index);
  Tensor flat = around(part, dim);
  const Tensor at = around(index, dim), from = around(source, dim);
  TANDEM_DISPATCH(x.device(), scatter, at, from, add, flat);
  if (flat.storage() != out.storage()) copy_elements(core::try_view(flat, part.sizes()), part);
  return out;
}
}  // namespace

Tensor Tensor::gather(int64_t dim, const Tensor& index) const {
  dim = wrap_dim("gather", dim, this->dim());
  check_gather("gather", *this, dim, index);
  Tensor y = core::empty(index.sizes(), dtype(), device());
  if (index.numel() > 0) {
    const NoGradGuard guard;
    const Tensor x = around(reachable(*this, dim, index), dim), at = around(index, dim);
    Tensor flat = core::try_view(y, at.sizes());
    TANDEM_DISPATCH(device(), gather, x, at, flat);
  }
  return record("gather", y, {*this}, {index},
                [dim, sizes = Shape(this->sizes())](const Context& ctx, const Tensor& dy) -> Grads {
                  return {zeros(sizes, dy.options()).scatter_add(dim, ctx.saved(0), dy)};
                });
}
Tensor Tensor::scatter_add(int64_t dim, const Tensor& index, const Tensor& source) const {
  return record("scatter_add", scattered("scatter_add", *this, dim, index, source, true), {*this, source}, {index},
                [dim](const Context& ctx, const Tensor& dy) -> Grads {
                  return {dy, ctx.needs_grad(1) ? dy.gather(dim, ctx.saved(0)) : Tensor()};
                });
}
Tensor Tensor::scatter(int64_t dim, const Tensor& index, const Tensor& source) const {
  return record("scatter", scattered("scatter", *this, dim, index, source, false), {*this, source}, {index},
                [dim](const Context& ctx, const Tensor& dy) -> Grads {
                  const Tensor index = ctx.saved(0);
                  return {ctx.needs_grad(0) ? dy.scatter(dim, index, zeros(index.sizes(), dy.options())) : Tensor(),
                          ctx.needs_grad(1) ? dy.gather(dim, index) : Tensor()};
                });
}

Tensor nonzero(const Tensor& x) {
  const NoGradGuard guard;
  const Tensor mask = (x.dtype() == kBool ? x : x != 0).cpu().contiguous();
  const bool* const m = mask.data<bool>();
  std::vector<int64_t> places;
  for (int64_t i = 0; i < mask.numel(); ++i)
    if (m[i]) places.push_back(i);
  Tensor out = core::empty({static_cast<int64_t>(places.size()), x.dim()}, kInt64, kCPU);
  for (size_t row = 0; row < places.size(); ++row) {
    int64_t rest = places[row];
    for (int64_t d = x.dim() - 1; d >= 0; rest /= x.size(d--))
      out.data<int64_t>()[static_cast<int64_t>(row) * x.dim() + d] = rest % x.size(d);
  }
  return out.to(x.device());
}
Tensor Tensor::masked_select(const Tensor& mask) const {
  TANDEM_CHECK(mask.dtype() == kBool, "masked_select: mask is ", mask.dtype(), "; accepted: bool");
  const Shape sizes = broadcast_shapes("masked_select", this->sizes(), mask.sizes());
  const Tensor places = nonzero(mask.expand(sizes).reshape({-1}));
  return expand(sizes).reshape({-1}).index_select(0, places.reshape({-1}));
}

Tensor one_hot(const Tensor& target, int64_t num_classes) {
  TANDEM_CHECK(target.dtype() == kInt64, "one_hot: target is ", target.dtype(), "; accepted: int64");
  if (target.numel() > 0) {
    const auto low = target.min().item<int64_t>(), high = target.max().item<int64_t>();
    TANDEM_CHECK_AS(IndexError, low >= 0 && (num_classes < 0 || high < num_classes), "one_hot: targets go from ", low,
                    " to ", high, "; accepted: 0 to ", num_classes < 0 ? high : num_classes - 1);
    if (num_classes < 0) num_classes = high + 1;
  }
  num_classes = std::max<int64_t>(num_classes, 0);
  Shape sizes = target.sizes();
  sizes.push_back(num_classes);
  return zeros(sizes, target.options()).scatter(-1, target.unsqueeze(-1), ones_like(target.unsqueeze(-1)));
}
Tensor embedding(const Tensor& weight, const Tensor& index, int64_t padding_idx) {
  TANDEM_CHECK(weight.dim() == 2, "embedding: weight is ", weight.sizes(), "; accepted: (rows, dimension)");
  check_index("embedding", weight, index);
  Shape sizes = index.sizes();
  sizes.push_back(weight.size(1));
  const Tensor flat = index.reshape({-1});
  Tensor rows = weight.index_select(0, flat);
  if (padding_idx >= 0)  // the same values, cut off from the gradient at padding
    rows = where((flat == padding_idx).unsqueeze(1), rows.detach(), rows);
  return rows.reshape(sizes);
}

// ---- index({...})

namespace {
/// Applies numbers, slices, None and Ellipsis; tensors are left for later with the dimension they index.
Tensor basic_index(Tensor x, ArrayRef<indexing::TensorIndex> indices,
                   std::vector<std::pair<int64_t, Tensor>>& tensors) {
  using namespace indexing;
  int64_t used = 0;
  for (const TensorIndex& i : indices) {
    if (std::holds_alternative<Tensor>(i.entry) && std::get<Tensor>(i.entry).dtype() == kBool)
      used += std::get<Tensor>(i.entry).dim();
    else if (!std::holds_alternative<std::monostate>(i.entry) && !std::holds_alternative<EllipsisIndexType>(i.entry))
      ++used;
  }
  TANDEM_CHECK_AS(IndexError, used <= x.dim(), "index: ", used, " indices for a tensor of ", x.sizes());
  const int64_t rank = x.dim();
  int64_t dim = 0;
  for (const TensorIndex& i : indices) {
    if (const auto* number = std::get_if<int64_t>(&i.entry))
      x = x.select(dim, *number);
    else if (const auto* slice = std::get_if<Slice>(&i.entry))
      x = x.slice(dim++, slice->start, slice->stop, slice->step);
    else if (std::holds_alternative<std::monostate>(i.entry))
      x = x.unsqueeze(dim++);
    else if (std::holds_alternative<EllipsisIndexType>(i.entry))
      dim += rank - used;
    else {
      const Tensor& t = std::get<Tensor>(i.entry);
      tensors.emplace_back(dim, t);
      dim += t.dtype() == kBool ? t.dim() : 1;
    }
  }
  TANDEM_CHECK(tensors.size() <= 1, "index: ", tensors.size(), " tensors among the indices; at most one is accepted");
  return x;
}
/// x with dimensions [dim, dim + mask.dim()) made one, and the positions in it.
std::pair<Tensor, Tensor> flat_positions(const Tensor& x, int64_t dim, const Tensor& index) {
  if (index.dtype() != kBool) {
    const Tensor wrapped = where(index < 0, index + x.size(dim), index);
    return {x, wrapped};
  }
  for (int64_t d = 0; d < index.dim(); ++d)
    TANDEM_CHECK(index.size(d) == x.size(dim + d), "index: a mask of ", index.sizes(), " for dimension ", dim, " of ",
                 x.sizes());
  return {index.dim() > 1 ? x.flatten(dim, dim + index.dim() - 1) : x, nonzero(index.reshape({-1})).reshape({-1})};
}
}  // namespace

Tensor Tensor::index(ArrayRef<indexing::TensorIndex> indices) const {
  std::vector<std::pair<int64_t, Tensor>> tensors;
  const Tensor x = basic_index(*this, indices, tensors);
  if (tensors.empty()) return x;
  const auto [flat, at] = flat_positions(x, tensors[0].first, tensors[0].second);
  const Tensor rows = flat.index_select(tensors[0].first, at.reshape({-1}));
  if (at.dim() == 1) return rows;
  return at.dim() == 0 ? rows.squeeze(tensors[0].first) : rows.unflatten(tensors[0].first, at.sizes());
}
Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& value) {
  std::vector<std::pair<int64_t, Tensor>> tensors;
  Tensor x = basic_index(*this, indices, tensors);
  if (tensors.empty()) {
    x.copy_(value);
    return *this;
  }
  const auto [dim, index] = tensors[0];
  if (index.dtype() == kBool && value.numel() == 1) {
    Shape sizes = index.sizes();
    for (int64_t d = dim + index.dim(); d < x.dim(); ++d) sizes.push_back(1);
    x.copy_(tandem::where(index.reshape(sizes), value.to(dtype()), x));
    return *this;
  }
  const auto [flat, at] = flat_positions(x, dim, index);
  const Tensor positions = at.reshape({-1});
  Shape part = flat.sizes(), column(part.size(), 1);
  part[static_cast<size_t>(dim)] = column[static_cast<size_t>(dim)] = positions.numel();
  const Tensor wide = positions.reshape(column).expand(part);
  x.copy_(flat.scatter(dim, wide, value.to(dtype()).expand(part)).reshape(x.sizes()));
  return *this;
}

}  // namespace tandem
