#include "tandem/ops/index/index.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "tandem/autograd/inplace.h"
#include "tandem/core/dispatch.h"
#include "tandem/core/loop/run_loop.h"
#include "tandem/kernels/index.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/reduce/reduce.h"
#include "tandem/ops/shape/copy.h"
#include "tandem/ops/shape/view.h"

namespace tandem {
using detail::around, detail::checked_index, detail::rank_of, detail::size_of;
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
Tensor detail::select_rows(const char* op, const Tensor& from, int64_t dim, const Tensor& index) {
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

Tensor Tensor::index_select(int64_t dim, const Tensor& index) const {
  return select_rows("index_select", *this, dim, index);
}
Tensor Tensor::index_add(int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) const {
  if (alpha.to_double() != 1) return index_add(dim, index, source * alpha);
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
    out = clone(MemoryFormat::Contiguous);
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
  if (index.numel() == 0)  // of any dtype, as in PyTorch
    return index.device() == x.device() ? index.to(kInt64) : checked_index(op, x, index);
  TANDEM_CHECK(rank_of(index) == rank_of(x), op, ": x is ", x.sizes(), " and index ", index.sizes(),
               "; both must have the same number of dimensions");
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
  const Tensor out = x.clone(MemoryFormat::Contiguous);
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

namespace {
/// scatter and scatter_add in place.
Tensor& scatter_over(const char* op, Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, bool add) {
  dim = wrap_dim(op, dim, x.dim());
  const Tensor places = checked_places(op, x, dim, index), part = placed_part(op, x, places, source);
  const auto direct = [&] {
    const auto apart = [&](const Tensor& read) { return read.storage() == x.storage() ? read.clone() : read; };
    if (x.is_contiguous()) return scatter_into(op, x, dim, apart(places), apart(part), add);
    copy_elements(scattered(op, x, dim, places, part, add), x);
  };
  return autograd::inplace(op, x, {part}, direct, [&](const Tensor& old) {
    return add ? old.scatter_add(dim, places, part) : old.scatter(dim, places, part);
  });
}
}  // namespace
Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Tensor& source) const {
  return scatter_over("scatter_", self(), dim, index, source, false);
}
Tensor& Tensor::scatter_add_(int64_t dim, const Tensor& index, const Tensor& source) const {
  return scatter_over("scatter_add_", self(), dim, index, source, true);
}

Tensor nonzero(const Tensor& x) {
  check_not_recorded("nonzero", "the values tell how many rows there are");
  const NoGradGuard guard;
  const Tensor mask = (x.dtype() == kBool ? x : x != 0).contiguous();
  Tensor places;
  TANDEM_DISPATCH(x.device(), nonzero, mask, places);
  return places;
}
Tensor Tensor::masked_select(const Tensor& mask) const {
  check_not_recorded("masked_select", "the mask's values tell how many elements there are");
  TANDEM_CHECK(mask.dtype() == kBool && mask.device() == device(), "masked_select: mask is ", mask.dtype(), " on ",
               mask.device(), "; accepted: bool on ", device());
  const Shape sizes = broadcast_shapes("masked_select", this->sizes(), mask.sizes());
  const Tensor places = tandem::nonzero(mask.expand(sizes).reshape({-1}));
  return select_rows("masked_select", expand(sizes).reshape({-1}), 0, places.reshape({-1}));
}

Tensor one_hot(const Tensor& target, int64_t num_classes) {
  TANDEM_CHECK(target.dtype() == kInt64, "one_hot: target is ", target.dtype(), "; accepted: int64");
  TANDEM_CHECK(target.numel() > 0 || num_classes >= 0, "one_hot: target is ", target.sizes(),
               ", which does not tell how many classes there are; give num_classes");
  if (num_classes < 0) {
    check_not_recorded("one_hot", "without num_classes the values tell how many there are");
    num_classes = target.max().item<int64_t>() + 1;
  }
  num_classes = std::max<int64_t>(num_classes, 0);
  Shape sizes = target.sizes();
  sizes.push_back(num_classes);
  const Tensor y = zeros(sizes, target.options()), places = target.unsqueeze(-1);
  scatter_into("one_hot", y, target.dim(), places, ones_like(places), /*add=*/false);
  return y;
}
Tensor& embedding_renorm_(Tensor& weight, const Tensor& index, double max_norm, double norm_type) {
  TANDEM_CHECK(weight.dim() == 2, "embedding_renorm_: weight is ", weight.sizes(), "; accepted: (rows, dimension)");
  const NoGradGuard guard;
  const Tensor at = index.reshape({-1}), rows = weight.index_select(0, at);
  const Tensor norms = rows.norm(norm_type, {1}, /*keepdim=*/true);
  const Tensor limited = where(norms > max_norm, rows * (max_norm / (norms + 1e-7)), rows);
  return weight.index_put_({at}, limited);  // a row that is named twice is written twice, with the same values
}
Tensor embedding(const Tensor& weight, const Tensor& index, std::optional<int64_t> padding_idx) {
  TANDEM_CHECK(weight.dim() == 2, "embedding: weight is ", weight.sizes(), "; accepted: (rows, dimension)");
  checked_index("embedding", weight, index);
  Shape sizes = index.sizes();
  sizes.push_back(weight.size(1));
  const Tensor flat = index.reshape({-1});
  Tensor rows = select_rows("embedding", weight, 0, flat);
  if (padding_idx && *padding_idx >= 0)  // the same values, cut off from the gradient at padding
    rows = where((flat == *padding_idx).unsqueeze(1), rows.detach(), rows);
  return reshape_result(rows, sizes);
}

namespace indexing {
std::ostream& operator<<(std::ostream& out, const Slice& slice) {
  constexpr int64_t kFar = std::numeric_limits<int64_t>::max() / 2;  // LibTorch's number for an end that was left out
  const bool back = slice.step < 0;
  return out << slice.start.value_or(back ? kFar : 0) << ':' << slice.stop.value_or(back ? -kFar - 1 : kFar) << ':'
             << slice.step;
}
TensorIndex::TensorIndex(const char* ellipsis) : entry(Ellipsis) {
  if (std::string_view(ellipsis) != "...")
    throw Error(std::string("index: the string is \"").append(ellipsis).append("\"; accepted: \"...\""));
}
std::ostream& operator<<(std::ostream& out, const TensorIndex& index) {
  if (const auto* number = std::get_if<int64_t>(&index.entry)) return out << *number;
  if (const auto* slice = std::get_if<Slice>(&index.entry)) return out << *slice;
  if (const auto* tensor = std::get_if<Tensor>(&index.entry)) {
    if (tensor->dtype() == kBool && tensor->dim() == 0) return out << (tensor->item<bool>() ? "true" : "false");
    return out << *tensor;
  }
  return out << (std::holds_alternative<EllipsisIndexType>(index.entry) ? "..." : "None");
}
}  // namespace indexing

}  // namespace tandem
