#include "tandem/autograd/index.h"

#include <algorithm>
#include <limits>

#include "tandem/autograd/copy.h"
#include "tandem/autograd/elementwise.h"
#include "tandem/autograd/factory.h"
#include "tandem/autograd/inplace.h"
#include "tandem/autograd/record.h"
#include "tandem/autograd/reduce.h"
#include "tandem/autograd/view.h"
#include "tandem/core/dispatch.h"
#include "tandem/kernels/nn.h"

namespace tandem {
namespace {

/// The index as the kernels take it, int64. @throws Error unless it is int64 or int32, and on x's device
Tensor checked_index(const char* op, const Tensor& x, const Tensor& index) {
  TANDEM_CHECK(index.dtype() == kInt64 || index.dtype() == kInt32, op, ": index is ", index.dtype(),
               "; accepted: int64 and int32");
  TANDEM_CHECK(index.device() == x.device(), op, ": index is on ", index.device(), " and x on ", x.device());
  return index.to(kInt64);
}
/// A scalar is indexed as one dimension of one element.
int64_t rank_of(const Tensor& x) { return std::max<int64_t>(x.dim(), 1); }
int64_t size_of(const Tensor& x, int64_t dim) { return x.dim() == 0 ? 1 : x.size(dim); }
/// (outer, size of dim, inner), contiguous and recorded nowhere.
Tensor around(const Tensor& x, int64_t dim) {
  const NoGradGuard guard;
  int64_t outer = 1, inner = 1;
  for (int64_t d = 0; d < dim; ++d) outer *= x.size(d);
  for (int64_t d = dim + 1; d < x.dim(); ++d) inner *= x.size(d);
  return core::try_view(x.contiguous(), {outer, size_of(x, dim), inner});
}

}  // namespace

Tensor cat(TensorList tensors, int64_t dim) {
  TANDEM_CHECK(!tensors.empty(), "cat: the list is empty");
  // A tensor of shape (0,) may stand beside any others, and adds nothing but its dtype.
  const auto adds_nothing = [](const Tensor& t) { return t.dim() == 1 && t.numel() == 0; };
  const Tensor* first = std::find_if_not(tensors.begin(), tensors.end(), adds_nothing);
  const bool nothing = first == tensors.end();
  if (nothing) first = tensors.begin(), dim = 0;
  dim = wrap_dim("cat", dim, first->dim());
  Shape sizes = first->sizes();
  DType type = first->dtype();
  int64_t total = 0;
  std::vector<int64_t> parts;
  for (const Tensor& t : tensors) {
    TANDEM_CHECK(t.dim() > 0, "cat: tensor ", parts.size(), " is a scalar, which cannot be joined; use stack");
    TANDEM_CHECK(t.device() == first->device(), "cat: ", t.sizes(), " on ", t.device(), " beside ", first->sizes(),
                 " on ", first->device(), "; all must be on one device");
    type = promote_types(type, t.dtype());
    parts.push_back(adds_nothing(t) ? 0 : t.size(dim));
    total += parts.back();
    if (adds_nothing(t)) continue;
    TANDEM_CHECK(t.dim() == first->dim(), "cat: ", t.sizes(), " beside ", first->sizes(),
                 "; all must have as many dimensions");
    for (int64_t d = 0; d < t.dim(); ++d)
      TANDEM_CHECK(d == dim || t.size(d) == first->size(d), "cat: ", t.sizes(), " beside ", first->sizes(),
                   "; sizes must agree except in dimension ", dim);
  }
  sizes[static_cast<size_t>(dim)] = total;
  Tensor y = core::empty(sizes, type, first->device());
  int64_t offset = 0;
  for (size_t i = 0; i < tensors.size(); offset += parts[i++])
    if (!adds_nothing(tensors[i])) copy_elements(tensors[i], core::narrow(y, dim, offset, parts[i]));
  std::vector<bool> flat;  // of shape (0,), whatever y's is
  for (const Tensor& t : tensors) flat.push_back(adds_nothing(t));
  return record_list("cat", y, tensors, {}, [dim, parts, flat](const Context& ctx, const Tensor& dy) -> Grads {
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
/// index_select for the op that the user called.
Tensor select_rows(const char* op, const Tensor& from, int64_t dim, const Tensor& index) {
  const Tensor places = checked_index(op, from, index);
  dim = wrap_dim(op, dim, from.dim());
  TANDEM_CHECK_AS(IndexError, index.dim() <= 1 && (from.dim() > 0 || index.numel() == 1), op, ": x is ", from.sizes(),
                  " and index ", index.sizes(), "; accepted: an index of one dimension, and of one place for a scalar");
  const Tensor x = around(from, dim), at = places.contiguous();
  Shape sizes = from.sizes();
  if (from.dim() > 0) sizes[static_cast<size_t>(dim)] = index.numel();
  Tensor y = core::empty(sizes, from.dtype(), from.device());
  TANDEM_DISPATCH(from.device(), index_select, op, x, at, y);
  return record("index_select", y, {from}, {places},
                [dim, sizes = Shape(from.sizes())](const Context& ctx, const Tensor& dy) -> Grads {
                  return {index_select_backward(dy, dim, ctx.saved(0), sizes)};
                });
}
}  // namespace

Tensor Tensor::index_select(int64_t dim, const Tensor& index) const {
  return select_rows("index_select", *this, dim, index);
}
Tensor Tensor::index_add(int64_t dim, const Tensor& index, const Tensor& source) const {
  const Tensor places = checked_index("index_add", *this, index);
  dim = wrap_dim("index_add", dim, this->dim());
  Shape expected = sizes();
  if (this->dim() > 0) expected[static_cast<size_t>(dim)] = index.numel();
  TANDEM_CHECK(index.dim() <= 1 && (this->dim() > 0 || index.numel() == 1), "index_add: x is ", sizes(), " and index ",
               index.sizes(), "; accepted: an index of one dimension, and of one place for a scalar");
  TANDEM_CHECK(source.sizes() == expected && source.dtype() == dtype() && source.device() == device(),
               "index_add: source is ", source.dtype(), source.sizes(), " on ", source.device(),
               "; accepted: ", dtype(), expected, " on ", device());
  const Tensor x = around(source, dim), at = places.contiguous();
  Tensor out;
  {
    const NoGradGuard guard;
    out = clone();
  }
  Tensor y = around(out, dim);
  TANDEM_DISPATCH(device(), index_add, x, at, y);
  return record("index_add", out, {*this, source}, {places}, [dim](const Context& ctx, const Tensor& dy) -> Grads {
    return {dy, ctx.needs_grad(1) ? dy.index_select(dim, ctx.saved(0)) : Tensor()};
  });
}

namespace {
/// The index as the kernels take it. An index without elements reaches nothing, whatever its shape.
Tensor checked_places(const char* op, const Tensor& x, int64_t dim, const Tensor& index) {
  if (index.numel() == 0) return checked_index(op, x, index);
  TANDEM_CHECK(rank_of(index) == rank_of(x), op, ": x is ", x.sizes(), " and index ", index.sizes(),
               "; both must have as many dimensions");
  for (int64_t d = 0; d < x.dim(); ++d)
    TANDEM_CHECK(d == dim || index.size(d) <= x.size(d), op, ": index is ", index.sizes(), " for x of ", x.sizes(),
                 "; it may be larger only in dimension ", dim);
  return checked_index(op, x, index);
}
/// x cut to index's sizes, except along dim: what gather and scatter can reach.
Tensor reachable(Tensor x, int64_t dim, const Tensor& index) {
  for (int64_t d = 0; d < x.dim(); ++d)
    if (d != dim && x.size(d) != index.size(d)) x = x.narrow(d, 0, index.size(d));
  return x;
}
/// Writes into `out` itself, which is contiguous.
void scatter_into(const char* op, const Tensor& out, int64_t dim, const Tensor& index, const Tensor& source, bool add) {
  if (index.numel() == 0) return;
  const NoGradGuard guard;
  const Tensor part = reachable(out, dim, index);
  Tensor flat = around(part, dim);
  const Tensor at = around(index, dim), from = around(source, dim);
  TANDEM_DISPATCH(out.device(), scatter, op, at, from, add, flat);
  if (flat.storage() != out.storage()) copy_elements(core::try_view(flat, part.sizes()), part);
}
Tensor scattered(const char* op, const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, bool add) {
  const NoGradGuard guard;
  const Tensor out = x.clone();
  scatter_into(op, out, dim, index, source, add);
  return out;
}
/// The part of source, which may be larger, that the index has places for, in the index's shape.
Tensor placed_part(const char* op, const Tensor& x, const Tensor& index, Tensor source) {
  bool fits = index.numel() == 0 || rank_of(source) == rank_of(index);
  for (int64_t d = 0; fits && index.numel() > 0 && d < rank_of(index); ++d) {
    fits = size_of(source, d) >= size_of(index, d);
    if (fits && size_of(source, d) > size_of(index, d)) source = source.narrow(d, 0, size_of(index, d));
  }
  TANDEM_CHECK(fits && source.dtype() == x.dtype() && source.device() == x.device(), op, ": source is ", source.dtype(),
               source.sizes(), " on ", source.device(), "; accepted: ", x.dtype(), " of at least ", index.sizes(),
               " on ", x.device());
  if (index.numel() == 0) return source.reshape({source.numel()}).narrow(0, 0, 0).reshape(index.sizes());
  return source.dim() == index.dim() ? source : source.reshape(index.sizes());
}
/// zeros(sizes).scatter_add(dim, index, dy), and recorded as that, without the copy of the zeros: linear in dy.
Tensor gather_backward(const Tensor& dy, int64_t dim, const Tensor& index, IntArrayRef sizes) {
  const Tensor dx = zeros(sizes, dy.options());
  scatter_into("gather", dx, dim, index, dy, true);
  return record("scatter_add", dx, {dy}, {index},
                [dim](const Context& ctx, const Tensor& ddx) -> Grads { return {ddx.gather(dim, ctx.saved(0))}; });
}
}  // namespace

Tensor Tensor::gather(int64_t dim, const Tensor& index) const {
  dim = wrap_dim("gather", dim, this->dim());
  const Tensor places = checked_places("gather", *this, dim, index);
  Tensor y = core::empty(index.sizes(), dtype(), device());
  if (index.numel() > 0) {
    const NoGradGuard guard;
    const Tensor x = around(reachable(*this, dim, places), dim), at = around(places, dim);
    Tensor flat = core::try_view(y, at.sizes());
    TANDEM_DISPATCH(device(), gather, x, at, flat);
  }
  return record("gather", y, {*this}, {places},
                [dim, sizes = Shape(this->sizes())](const Context& ctx, const Tensor& dy) -> Grads {
                  return {gather_backward(dy, dim, ctx.saved(0), sizes)};
                });
}
Tensor Tensor::scatter_add(int64_t dim, const Tensor& index, const Tensor& source) const {
  dim = wrap_dim("scatter_add", dim, this->dim());
  const Tensor places = checked_places("scatter_add", *this, dim, index);
  const Tensor part = placed_part("scatter_add", *this, places, source);
  return record("scatter_add", scattered("scatter_add", *this, dim, places, part, true), {*this, part}, {places},
                [dim](const Context& ctx, const Tensor& dy) -> Grads {
                  return {dy, ctx.needs_grad(1) ? dy.gather(dim, ctx.saved(0)) : Tensor()};
                });
}
Tensor Tensor::scatter(int64_t dim, const Tensor& index, const Tensor& source) const {
  dim = wrap_dim("scatter", dim, this->dim());
  const Tensor places = checked_places("scatter", *this, dim, index);
  const Tensor part = placed_part("scatter", *this, places, source);
  return record("scatter", scattered("scatter", *this, dim, places, part, false), {*this, part}, {places},
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
  TANDEM_CHECK(mask.dtype() == kBool && mask.device() == device(), "masked_select: mask is ", mask.dtype(), " on ",
               mask.device(), "; accepted: bool on ", device());
  const Shape sizes = broadcast_shapes("masked_select", this->sizes(), mask.sizes());
  const Tensor places = nonzero(mask.expand(sizes).reshape({-1}));
  return select_rows("masked_select", expand(sizes).reshape({-1}), 0, places.reshape({-1}));
}

Tensor one_hot(const Tensor& target, int64_t num_classes) {
  TANDEM_CHECK(target.dtype() == kInt64, "one_hot: target is ", target.dtype(), "; accepted: int64");
  TANDEM_CHECK(target.numel() > 0 || num_classes >= 0, "one_hot: target is ", target.sizes(),
               ", which does not tell how many classes there are; give num_classes");
  if (target.numel() > 0 && (num_classes < 0 || target.is_cpu())) {  // on CUDA scatter reports it, and nothing waits
    const auto low = target.min().item<int64_t>(), high = target.max().item<int64_t>();
    TANDEM_CHECK_AS(IndexError, low >= 0 && (num_classes < 0 || high < num_classes), "one_hot: targets go from ", low,
                    " to ", high, "; accepted: 0 to ",
                    num_classes < 0 ? std::numeric_limits<int64_t>::max() : num_classes - 1);
    if (num_classes < 0) num_classes = high + 1;
  }
  num_classes = std::max<int64_t>(num_classes, 0);
  Shape sizes = target.sizes();
  sizes.push_back(num_classes);
  const Tensor y = zeros(sizes, target.options()), places = target.unsqueeze(-1);
  scatter_into("one_hot", y, target.dim(), places, ones_like(places), /*add=*/false);
  return y;
}
Tensor embedding(const Tensor& weight, const Tensor& index, std::optional<int64_t> padding_idx) {
  TANDEM_CHECK(weight.dim() == 2, "embedding: weight is ", weight.sizes(), "; accepted: (rows, dimension)");
  const int64_t count = weight.size(0);
  TANDEM_CHECK(!padding_idx || (*padding_idx >= -count && *padding_idx < count), "embedding: padding_idx is ",
               padding_idx.value_or(0), "; accepted: ", -count, " to ", count - 1);
  checked_index("embedding", weight, index);
  Shape sizes = index.sizes();
  sizes.push_back(weight.size(1));
  const Tensor flat = index.reshape({-1});
  Tensor rows = select_rows("embedding", weight, 0, flat);
  if (padding_idx) {  // the same values, cut off from the gradient at padding
    const int64_t padding = *padding_idx < 0 ? *padding_idx + count : *padding_idx;
    rows = where((flat == padding).unsqueeze(1), rows.detach(), rows);
  }
  return reshape_result(rows, sizes);
}

// ---- index({...})

namespace {
/// Applies numbers (also those that are a tensor of no dimension), slices, None and Ellipsis; other tensors are left
/// for later with the dimension they index. A view, or `whole` itself.
Tensor basic_index(const char* op, const Tensor& whole, ArrayRef<indexing::TensorIndex> indices,
                   std::vector<std::pair<int64_t, Tensor>>& tensors) {
  using namespace indexing;
  int64_t used = 0;
  for (const TensorIndex& i : indices) {
    if (std::holds_alternative<Tensor>(i.entry) && std::get<Tensor>(i.entry).dtype() == kBool)
      used += std::get<Tensor>(i.entry).dim();
    else if (!std::holds_alternative<std::monostate>(i.entry) && !std::holds_alternative<EllipsisIndexType>(i.entry))
      ++used;
  }
  TANDEM_CHECK_AS(IndexError, used <= whole.dim(), op, ": ", used, " indices for a tensor of ", whole.sizes());
  const int64_t rank = whole.dim();
  int64_t dim = 0;
  Tensor x = whole;
  const auto select = [&](int64_t number) {
    TANDEM_CHECK_AS(IndexError, number >= -x.size(dim) && number < x.size(dim), op, ": index ", number,
                    " is out of range for dimension ", dim, " of ", x.sizes(), "; accepted: ", -x.size(dim), " to ",
                    x.size(dim) - 1);
    x = x.select(dim, number);
  };
  for (const TensorIndex& i : indices) {
    if (const auto* number = std::get_if<int64_t>(&i.entry))
      select(*number);
    else if (const auto* slice = std::get_if<Slice>(&i.entry)) {
      TANDEM_CHECK(slice->step > 0, op, ": a slice has step ", slice->step, "; it must be positive");
      x = x.slice(dim++, slice->start, slice->stop, slice->step);
    } else if (std::holds_alternative<std::monostate>(i.entry))
      x = x.unsqueeze(dim++);
    else if (std::holds_alternative<EllipsisIndexType>(i.entry))
      dim += rank - used;
    else {
      const Tensor& t = std::get<Tensor>(i.entry);
      if (t.dim() > 0) {
        tensors.emplace_back(dim, t);
        dim += t.dtype() == kBool ? t.dim() : 1;
      } else if (t.dtype() == kBool) {  // a mask of a new dimension of size 1
        x = x.unsqueeze(dim);
        tensors.emplace_back(dim++, t.reshape({1}).to(x.device()));
      } else {
        TANDEM_CHECK(t.dtype() == kInt64 || t.dtype() == kInt32, op, ": index is ", t.dtype(),
                     "; accepted: int64, int32 and bool");
        select(t.item<int64_t>());
      }
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
void check_mask(const char* op, const Tensor& x, int64_t dim, const Tensor& mask) {
  for (int64_t d = 0; d < mask.dim(); ++d)
    TANDEM_CHECK_AS(IndexError, mask.size(d) == x.size(dim + d), op, ": a mask of ", mask.sizes(), " for dimension ",
                    dim, " of ", x.sizes(), "; their sizes must agree");
  TANDEM_CHECK(mask.device() == x.device(), op, ": a mask on ", mask.device(), " for x on ", x.device());
}
Pointed point(const char* op, const Tensor& x, const std::vector<std::pair<int64_t, Tensor>>& tensors) {
  std::vector<int64_t> dims;
  std::vector<Tensor> positions;
  for (const auto& [dim, index] : tensors) {
    if (index.dtype() == kBool) {
      check_mask(op, x, dim, index);
      const Tensor hits = nonzero(index);
      for (int64_t d = 0; d < index.dim(); ++d) dims.push_back(dim + d), positions.push_back(hits.select(1, d));
      continue;
    }
    const Tensor places = checked_index(op, x, index);
    const int64_t n = x.size(dim);
    if (index.is_cpu())  // on CUDA the kernel reports it, and nothing waits
      TANDEM_CHECK_AS(IndexError, !((places < -n) | (places >= n)).any().item<bool>(), op, ": positions from ",
                      places.min().item<int64_t>(), " to ", places.max().item<int64_t>(), " for dimension ", dim,
                      " of ", x.sizes(), "; accepted: ", -n, " to ", n - 1);
    dims.push_back(dim), positions.push_back(where(places < 0, places + n, places));
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
    broadcast_shapes(op, p.at.sizes(), positions[k].sizes());
    p.at = p.at * x.size(dims[k]) + positions[k];
  }
  return p;
}
}  // namespace

Tensor Tensor::index(ArrayRef<indexing::TensorIndex> indices) const {
  std::vector<std::pair<int64_t, Tensor>> tensors;
  const Tensor x = basic_index("index", *this, indices, tensors);
  if (tensors.empty()) return x.is_same(*this) ? view(sizes()) : x;
  const Pointed p = point("index", x, tensors);
  const Tensor rows = select_rows("index", p.flat(), p.dim, p.at.reshape({-1}));
  if (p.at.dim() == 1) return rows;
  Shape sizes = rows.sizes();
  sizes.erase(static_cast<size_t>(p.dim));
  for (size_t d = 0; d < p.at.sizes().size(); ++d) sizes.insert(static_cast<size_t>(p.dim) + d, p.at.sizes()[d]);
  return reshape_result(rows, sizes);
}
Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& value) {
  std::vector<std::pair<int64_t, Tensor>> tensors;
  Tensor x = basic_index("index_put_", *this, indices, tensors);
  if (tensors.empty()) {
    write_over("index_put_", x, value);
    return *this;
  }
  if (tensors.size() == 1 && tensors[0].second.dtype() == kBool && value.numel() == 1) {
    const auto& [dim, mask] = tensors[0];
    check_mask("index_put_", x, dim, mask);
    Shape sizes = mask.sizes();
    for (int64_t d = dim + mask.dim(); d < x.dim(); ++d) sizes.push_back(1);
    write_over("index_put_", x, tandem::where(mask.reshape(sizes), value.to(dtype()), x));
    return *this;
  }
  TANDEM_CHECK(value.dtype() == dtype(), "index_put_: value is ", value.dtype(), " for a tensor of ", dtype(),
               "; accepted: one dtype, but for one number under a mask");
  const Pointed p = point("index_put_", x, tensors);
  const Tensor flat = p.flat();
  Shape part = flat.sizes(), column(part.size(), 1), whole;  // whole: part with the positions' own shape
  const auto dim = static_cast<size_t>(p.dim);
  for (size_t d = 0; d < dim; ++d) whole.push_back(part[d]);
  for (const int64_t s : p.at.sizes()) whole.push_back(s);
  for (size_t d = dim + 1; d < part.size(); ++d) whole.push_back(part[d]);
  part[dim] = column[dim] = p.at.numel();
  broadcast_shapes("index_put_", value.sizes(), whole);
  const Tensor rows = value.expand(whole).reshape(part);
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
    TANDEM_DISPATCH(device(), index_copy, "index_put_", from, at, to);
  };
  autograd::inplace("index_put_", x, {value}, direct, [&](const Tensor&) { return put(); });
  return *this;
}

}  // namespace tandem
