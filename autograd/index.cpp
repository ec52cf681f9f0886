#include "tandem/autograd/index.h"

#include <algorithm>

#include "tandem/autograd/copy.h"
#include "tandem/autograd/elementwise.h"
#include "tandem/autograd/factory.h"
#include "tandem/autograd/inplace.h"
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

namespace {
/// zeros(sizes).index_add(dim, index, dy), and recorded as that, without the copy of the zeros: linear in dy.
Tensor index_select_backward(const Tensor& dy, int64_t dim, const Tensor& index, IntArrayRef sizes) {
  Tensor dx = zeros(sizes, dy.options());
  const Tensor g = around(dy, dim), at = index.contiguous();
  Tensor y = around(dx, dim);
  TANDEM_DISPATCH(dy.device(), index_add, g, at, y);
  return record("index_add", dx, {dy}, {index}, [dim](const Context& ctx, const Tensor& ddx) -> Grads {
    return {ddx.index_select(dim, ctx.saved(0))};
  });
}
}  // namespace

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
                  return {index_select_backward(dy, dim, ctx.saved(0), sizes)};
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
/// Writes into `out` itself, which is contiguous.
void scatter_into(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& source, bool add) {
  if (index.numel() == 0) return;
  const NoGradGuard guard;
  const Tensor part = reachable(out, dim, index);
  Tensor flat = around(part, dim);
  const Tensor at = around(index, dim), from = around(source, dim);
  TANDEM_DISPATCH(out.device(), scatter, at, from, add, flat);
  if (flat.storage() != out.storage()) copy_elements(core::try_view(flat, part.sizes()), part);
}
Tensor scattered(const char* op, const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, bool add) {
  dim = wrap_dim(op, dim, x.dim());
  check_gather(op, x, dim, index);
  TANDEM_CHECK(source.sizes() == index.sizes() && source.dtype() == x.dtype(), op, ": source is ", source.dtype(),
               source.sizes(), "; accepted: ", x.dtype(), index.sizes());
  const NoGradGuard guard;
  const Tensor out = x.clone();
  scatter_into(out, dim, index, source, add);
  return out;
}
/// zeros(sizes).scatter_add(dim, index, dy), and recorded as that, without the copy of the zeros: linear in dy.
Tensor gather_backward(const Tensor& dy, int64_t dim, const Tensor& index, IntArrayRef sizes) {
  const Tensor dx = zeros(sizes, dy.options());
  scatter_into(dx, dim, index, dy, true);
  return record("scatter_add", dx, {dy}, {index},
                [dim](const Context& ctx, const Tensor& ddx) -> Grads { return {ddx.gather(dim, ctx.saved(0))}; });
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
                  return {gather_backward(dy, dim, ctx.saved(0), sizes)};
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
  const Tensor mask = (x.dtype() == kBool ? x : x != 0).contiguous();
  Tensor places;
  TANDEM_DISPATCH(x.device(), nonzero, mask, places);
  return places;
}
Tensor Tensor::masked_select(const Tensor& mask) const {
  TANDEM_CHECK(mask.dtype() == kBool, "masked_select: mask is ", mask.dtype(), "; accepted: bool");
  const Shape sizes = broadcast_shapes("masked_select", this->sizes(), mask.sizes());
  const Tensor places = nonzero(mask.expand(sizes).reshape({-1}));
  return expand(sizes).reshape({-1}).index_select(0, places.reshape({-1}));
}

Tensor one_hot(const Tensor& target, int64_t num_classes) {
  TANDEM_CHECK(target.dtype() == kInt64, "one_hot: target is ", target.dtype(), "; accepted: int64");
  if (target.numel() > 0 && (num_classes < 0 || target.is_cpu())) {  // on CUDA scatter reports it, and nothing waits
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
  return x;
}

/// What the tensors among the indices point at: x with the dimensions that they index side by side, as PyTorch has them
/// (where they are if they are neighbours, else in front), and positions in those.
struct Pointed {
  Tensor moved;  // x.permute(order)
  Shape order;
  int64_t dim = 0, count;  // the indexed ones among moved's dimensions
  Tensor at;               // of the shape that the index tensors broadcast to
  Tensor flat() const { return count > 1 ? moved.flatten(dim, dim + count - 1) : moved; }
};
Pointed point(const Tensor& x, const std::vector<std::pair<int64_t, Tensor>>& tensors) {
  std::vector<int64_t> dims;
  std::vector<Tensor> positions;
  for (const auto& [dim, index] : tensors) {
    if (index.dtype() == kBool) {
      TANDEM_CHECK(index.dim() > 0, "index: a mask needs at least one dimension");
      for (int64_t d = 0; d < index.dim(); ++d)
        TANDEM_CHECK(index.size(d) == x.size(dim + d), "index: a mask of ", index.sizes(), " for dimension ", dim,
                     " of ", x.sizes());
      const Tensor hits = nonzero(index);
      for (int64_t d = 0; d < index.dim(); ++d) dims.push_back(dim + d), positions.push_back(hits.select(1, d));
      continue;
    }
    check_index("index", x, index);
    const int64_t n = x.size(dim);
    if (index.is_cpu())  // on CUDA index_select reports it, and nothing waits
      TANDEM_CHECK_AS(IndexError, !((index < -n) | (index >= n)).any().item<bool>(), "index: positions from ",
                      index.min().item<int64_t>(), " to ", index.max().item<int64_t>(), " for dimension ", dim, " of ",
                      x.sizes());
    dims.push_back(dim), positions.push_back(where(index < 0, index + n, index));
  }
  Pointed p;
  p.count = static_cast<int64_t>(dims.size());
  const bool neighbours = dims.back() - dims.front() == p.count - 1;
  if (neighbours) p.dim = dims.front();
  for (int64_t d = 0; d < p.dim; ++d) p.order.push_back(d);
  for (const int64_t d : dims) p.order.push_back(d);
  for (int64_t d = p.dim; d < x.dim(); ++d)
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) p.order.push_back(d);
  p.moved = neighbours ? x : x.permute(p.order);
  if (x.is_cuda() && p.count > 1) {  // what is outside one dimension must be outside all of them together
    int64_t total = 1;
    for (const int64_t d : dims) total *= x.size(d);
    for (size_t k = 0; k < dims.size(); ++k)
      positions[k] = where((positions[k] < 0) | (positions[k] >= x.size(dims[k])), Scalar(-total), positions[k]);
  }
  p.at = positions[0];
  for (size_t k = 1; k < dims.size(); ++k) {
    broadcast_shapes("index", p.at.sizes(), positions[k].sizes());
    p.at = p.at * x.size(dims[k]) + positions[k];
  }
  return p;
}
}  // namespace

Tensor Tensor::index(ArrayRef<indexing::TensorIndex> indices) const {
  std::vector<std::pair<int64_t, Tensor>> tensors;
  const Tensor x = basic_index(*this, indices, tensors);
  if (tensors.empty()) return x;
  const Pointed p = point(x, tensors);
  const Tensor rows = p.flat().index_select(p.dim, p.at.reshape({-1}));
  if (p.at.dim() == 1) return rows;
  return p.at.dim() == 0 ? rows.squeeze(p.dim) : rows.unflatten(p.dim, p.at.sizes());
}
Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& value) {
  std::vector<std::pair<int64_t, Tensor>> tensors;
  Tensor x = basic_index(*this, indices, tensors);
  if (tensors.empty()) {
    x.copy_(value);
    return *this;
  }
  if (tensors.size() == 1 && tensors[0].second.dtype() == kBool && value.numel() == 1) {
    const auto& [dim, mask] = tensors[0];
    Shape sizes = mask.sizes();
    for (int64_t d = dim + mask.dim(); d < x.dim(); ++d) sizes.push_back(1);
    x.copy_(tandem::where(mask.reshape(sizes), value.to(dtype()), x));
    return *this;
  }
  const Pointed p = point(x, tensors);
  const Tensor flat = p.flat();
  Shape part = flat.sizes(), column(part.size(), 1), whole;  // whole: part with the positions' own shape
  const auto dim = static_cast<size_t>(p.dim);
  for (size_t d = 0; d < dim; ++d) whole.push_back(part[d]);
  for (const int64_t s : p.at.sizes()) whole.push_back(s);
  for (size_t d = dim + 1; d < part.size(); ++d) whole.push_back(part[d]);
  part[dim] = column[dim] = p.at.numel();
  const Tensor rows = value.to(dtype()).expand(whole).reshape(part);
  const auto put = [&] {  // beside x
    const Tensor wide = p.at.reshape(column).expand(part);
    Shape back(p.order.size(), 0);
    for (size_t d = 0; d < back.size(); ++d) back[static_cast<size_t>(p.order[d])] = static_cast<int64_t>(d);
    return flat.scatter(p.dim, wide, rows).reshape(p.moved.sizes()).permute(back);
  };
  const auto direct = [&] {
    if (flat.storage() != x.storage() || !flat.is_contiguous()) return copy_elements(put(), x);
    const NoGradGuard guard;
    const Tensor from = around(clear_of(flat, rows), p.dim), at = p.at.reshape({-1});
    Tensor to = around(flat, p.dim);
    TANDEM_DISPATCH(device(), index_copy, from, at, to);
  };
  autograd::inplace("index_put_", x, {value}, direct, [&](const Tensor&) { return put(); });
  return *this;
}

}  // namespace tandem
