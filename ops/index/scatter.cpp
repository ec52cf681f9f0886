#include "tandem/ops/index/scatter.h"

#include "tandem/autograd/inplace.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/index/index.h"
#include "tandem/ops/operands.h"
#include "tandem/ops/reduce/reduce.h"
#include "tandem/ops/shape/copy.h"
#include "tandem/ops/shape/view.h"

namespace tandem {
using namespace detail;

namespace {
/// In place what `write` gives of a tensor. It is given a copy where history is kept: it may save what it is given.
template <class Write>
Tensor& write_in_place(const char* op, Tensor& x, autograd::TensorRefs others, const Write& write) {
  return autograd::inplace(
      op, x, others, [&] { copy_elements(write(x.detach()), x); },
      [&](const Tensor& old) { return write(old.clone()); });
}
void check_source(const char* op, const Tensor& x, const Tensor& source) {
  TANDEM_CHECK(source.dtype() == x.dtype() && source.device() == x.device(), op, ": source is ", source.dtype(), " on ",
               source.device(), "; accepted: ", x.dtype(), " on ", x.device());
}
/// A 1-d index along dim as scatter takes it, for slices of `sizes`.
Tensor widened(const Tensor& index, int64_t dim, IntArrayRef sizes) {
  if (sizes.empty()) return index.reshape({});
  Shape column(sizes.size(), 1);
  column[static_cast<size_t>(dim)] = index.numel();
  return index.reshape(column).expand(sizes);
}
/// @throws Error unless index is 1-d and source has its slices
Tensor checked_slices(const char* op, const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  const Tensor places = checked_index(op, x, index);
  check_source(op, x, source);
  Shape expected = x.sizes();
  if (x.dim() > 0) expected[static_cast<size_t>(dim)] = index.numel();
  const bool fits = index.dim() <= 1 && (x.dim() > 0 || index.numel() == 1);
  TANDEM_CHECK_AS(IndexError, fits, op, ": x is ", x.sizes(), " and index ", index.sizes(),
                  "; accepted: an index of one dimension, and of one place for a scalar");
  TANDEM_CHECK(source.sizes() == expected, op, ": source is ", source.sizes(), "; accepted: ", expected);
  return widened(places, dim, expected);
}
/// Places counted from the end where they are negative.
Tensor from_front(const Tensor& places, int64_t n) { return where(places < 0, places + n, places); }
}  // namespace

Tensor Tensor::index_copy(int64_t dim, const Tensor& index, const Tensor& source) const {
  const int64_t d = wrap_dim("index_copy", dim, this->dim());
  return scatter(d, checked_slices("index_copy", *this, d, index, source), source);
}
Tensor& Tensor::index_copy_(int64_t dim, const Tensor& index, const Tensor& source) const {
  return write_in_place("index_copy_", self(), {source},
                        [&](const Tensor& x) { return x.index_copy(dim, index, source); });
}
Tensor& Tensor::index_add_(int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) const {
  return write_in_place("index_add_", self(), {source},
                        [&](const Tensor& x) { return x.index_add(dim, index, source, alpha); });
}

namespace {
/// Which elements of x an index along dim names: a mask that broadcasts to x.
Tensor named_by(const char* op, const Tensor& x, int64_t dim, const Tensor& index) {
  const NoGradGuard guard;
  const int64_t d = wrap_dim(op, dim, x.dim()), n = size_of(x, d);
  TANDEM_CHECK(index.dim() <= 1, op, ": index is ", index.sizes(), "; accepted: one dimension");
  const Tensor places = from_front(checked_index(op, x, index), n).reshape({-1});
  const TensorOptions options = TensorOptions(kBool).device(x.device());
  const Tensor hit = zeros({n}, options).scatter(0, places, ones(places.sizes(), options));
  Shape column(static_cast<size_t>(x.dim()), 1);
  if (x.dim() > 0) column[static_cast<size_t>(d)] = n;
  return hit.reshape(column);
}
}  // namespace
Tensor Tensor::index_fill(int64_t dim, const Tensor& index, const Scalar& value) const {
  check_holds("index_fill", dtype(), value);
  return tandem::where(named_by("index_fill", *this, dim, index), number_beside(device(), value, dtype()), *this);
}
Tensor Tensor::index_fill(int64_t dim, const Tensor& index, const Tensor& value) const {
  TANDEM_CHECK(value.dim() == 0, "index_fill: value is ", value.sizes(), "; accepted: a tensor of no dimension");
  return tandem::where(named_by("index_fill", *this, dim, index), placed(value, device()).to(dtype()), *this);
}
Tensor& Tensor::index_fill_(int64_t dim, const Tensor& index, const Scalar& value) const {
  return masked_fill_(named_by("index_fill_", self(), dim, index), value);
}
Tensor& Tensor::index_fill_(int64_t dim, const Tensor& index, const Tensor& value) const {
  return masked_fill_(named_by("index_fill_", self(), dim, index), value);
}

Tensor Tensor::take(const Tensor& index) const {
  const Tensor places = from_front(checked_index("take", *this, index), numel()).reshape({-1});
  return reshape_result(select_rows("take", reshape({-1}), 0, places), index.sizes());
}
Tensor Tensor::put(const Tensor& index, const Tensor& source, Flag accumulate) const {
  check_source("put", *this, source);
  TANDEM_CHECK(source.numel() == index.numel(), "put: source is ", source.sizes(), " and index ", index.sizes(),
               "; both must have the same number of elements");
  const Tensor places = from_front(checked_index("put", *this, index), numel()).reshape({-1});
  const Tensor flat = reshape({-1}), from = source.reshape({-1});
  return reshape_result(accumulate ? flat.index_add(0, places, from) : flat.scatter(0, places, from), sizes());
}
Tensor& Tensor::put_(const Tensor& index, const Tensor& source, Flag accumulate) const {
  return write_in_place("put_", self(), {source}, [&](const Tensor& x) { return x.put(index, source, accumulate); });
}
Tensor Tensor::take_along_dim(const Tensor& indices, std::optional<int64_t> dim) const {
  if (!dim) return reshape({-1}).gather(0, indices.reshape({-1}));
  const int64_t d = wrap_dim("take_along_dim", *dim, this->dim());
  TANDEM_CHECK(indices.dim() == this->dim(), "take_along_dim: x is ", sizes(), " and indices ", indices.sizes(),
               "; both must have the same number of dimensions");
  if (this->dim() == 0) return gather(0, indices);
  const auto at = static_cast<size_t>(d);
  Shape one = sizes(), other = indices.sizes();
  one[at] = other[at] = 1;
  const Shape common = broadcast_shapes("take_along_dim", one, other);
  Shape from = common, to = common;
  from[at] = size(d), to[at] = indices.size(d);
  // An index outside goes round, as in PyTorch; without elements there is nothing to go round.
  const Tensor index = checked_index("take_along_dim", *this, indices);
  const Tensor places = size(d) > 0 ? index.remainder(size(d)) : index;
  return expand(from).gather(d, places.expand(to));
}

namespace {
/// x as it is, with what select, slice, diagonal or as_strided give of it replaced.
template <class View> Tensor replaced(const char* op, const Tensor& whole, const Tensor& source, const View& view) {
  Tensor y = whole, part = view(y);
  check_source(op, whole, source);
  TANDEM_CHECK(source.sizes() == part.sizes(), op, ": source is ", source.sizes(), "; accepted: ", part.sizes());
  part.copy_(source);
  return y;
}
}  // namespace
Tensor Tensor::select_scatter(const Tensor& source, int64_t dim, int64_t index) const {
  return replaced("select_scatter", clone(), source, [&](const Tensor& y) { return y.select(dim, index); });
}
Tensor Tensor::slice_scatter(const Tensor& source, int64_t dim, std::optional<int64_t> start,
                             std::optional<int64_t> end, int64_t step) const {
  return replaced("slice_scatter", clone(), source, [&](const Tensor& y) { return y.slice(dim, start, end, step); });
}
Tensor Tensor::diagonal_scatter(const Tensor& source, int64_t offset, int64_t dim1, int64_t dim2) const {
  return replaced("diagonal_scatter", clone(), source, [&](const Tensor& y) { return y.diagonal(offset, dim1, dim2); });
}
Tensor Tensor::as_strided_scatter(const Tensor& source, IntArrayRef sizes, IntArrayRef strides,
                                  std::optional<int64_t> storage_offset) const {
  const Tensor y = clone();
  TANDEM_CHECK(y.strides() == this->strides(), "as_strided_scatter: x is ", this->sizes(), " with strides ",
               this->strides(), "; accepted: elements that lie without gaps");
  const int64_t offset = storage_offset.value_or(this->storage_offset()) - this->storage_offset();
  return replaced("as_strided_scatter", y, source,
                  [&](const Tensor& whole) { return whole.as_strided(sizes, strides, offset); });
}

Tensor Tensor::masked_scatter(const Tensor& mask, const Tensor& source) const {
  check_source("masked_scatter", *this, source);
  TANDEM_CHECK(mask.dtype() == kBool && mask.device() == device(), "masked_scatter: mask is ", mask.dtype(), " on ",
               mask.device(), "; accepted: bool on ", device());
  const Shape sizes = broadcast_shapes("masked_scatter", this->sizes(), mask.sizes());
  const Tensor hit = mask.expand(sizes).reshape({-1}), x = expand(sizes);
  if (hit.numel() == 0 || source.numel() == 0) {
    TANDEM_CHECK(hit.numel() == 0 || !hit.any().item<bool>(),
                 "masked_scatter: source has no elements; accepted: one for each in the mask");
    return record("masked_scatter",
                  x.detach().clone(hit.numel() == 0 ? MemoryFormat::Preserve : MemoryFormat::Contiguous), {x, source},
                  {}, [sizes = Shape(source.sizes())](const Context& ctx, const Tensor& dy) -> Grads {
                    return {dy, ctx.needs_grad(1) ? zeros(sizes, dy.options()) : Tensor()};
                  });
  }
  // The k-th that is true takes element k: the kernel reports a k that source does not have.
  const Tensor places = (hit.to(kInt64).cumsum(0) - 1).masked_fill(hit.logical_not(), 0);
  const Tensor from = select_rows("masked_scatter", source.reshape({-1}), 0, places).reshape(sizes);
  return tandem::where(hit.reshape(sizes), from, x);  // contiguous for a strided mask too
}
Tensor& Tensor::masked_scatter_(const Tensor& mask, const Tensor& source) const {
  TANDEM_CHECK(broadcast_shapes("masked_scatter_", sizes(), mask.sizes()) == sizes(), "masked_scatter_: x is ", sizes(),
               " and mask ", mask.sizes(), "; x cannot grow");
  return write_in_place("masked_scatter_", self(), {source},
                        [&](const Tensor& x) { return x.masked_scatter(mask, source); });
}

}  // namespace tandem
