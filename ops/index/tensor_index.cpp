// index({...}) and index_put_: numbers, slices, None, Ellipsis and tensors that point or mask.
#include "tandem/ops/index/index.h"

#include <algorithm>

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
using detail::around, detail::checked_index, detail::select_rows;
namespace {
/// Whether a tensor among the indices is a mask. uint8 is the dtype that masks once had.
bool is_mask(const Tensor& index) { return index.dtype() == kBool || index.dtype() == kUInt8; }
/// Applies numbers (also those that are a tensor of no dimension), slices, None and Ellipsis; other tensors are left
/// for later with the dimension they index. A view, or `whole` itself.
Tensor basic_index(const char* op, const Tensor& whole, ArrayRef<indexing::TensorIndex> indices,
                   std::vector<std::pair<int64_t, Tensor>>& tensors) {
  using namespace indexing;
  TANDEM_CHECK(!indices.empty(), op, ": the list of indices is empty; accepted: one index or more");
  int64_t used = 0;
  for (const TensorIndex& i : indices) {
    if (std::holds_alternative<Tensor>(i.entry) && is_mask(std::get<Tensor>(i.entry)))
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
      const Tensor& given = std::get<Tensor>(i.entry);
      const Tensor t = is_mask(given) ? given.to(kBool) : given;
      if (t.dim() > 0) {
        tensors.emplace_back(dim, t);
        dim += is_mask(t) ? t.dim() : 1;
      } else if (is_mask(t)) {  // a mask of a new dimension of size 1
        x = x.unsqueeze(dim);
        tensors.emplace_back(dim++, t.reshape({1}).to(x.device()));
      } else {
        TANDEM_CHECK(!t.is_floating_point(), op, ": index is ", t.dtype(), "; accepted: integers and bool");
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
/// Positions along `dim`, counted from its front. One look at them on the host is less than the calls of seven kernels.
Tensor wrapped_on_host(const char* op, const Tensor& x, int64_t dim, const Tensor& places) {
  check_not_recorded(op, "the host looks whether the positions are in range");
  const Tensor list = places.contiguous();
  const int64_t n = x.size(dim), count = list.numel();
  const int64_t* const at = list.data<int64_t>();
  int64_t least = count > 0 ? at[0] : 0, most = least;
  for (int64_t i = 0; i < count; ++i) least = std::min(least, at[i]), most = std::max(most, at[i]);
  TANDEM_CHECK_AS(IndexError, count == 0 || (least >= -n && most < n), op, ": positions from ", least, " to ", most,
                  " for dimension ", dim, " of ", x.sizes(), "; accepted: ", -n, " to ", n - 1);
  return least < 0 ? where(places < 0, places + n, places) : places;
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
    dims.push_back(dim);
    if (index.is_cpu()) {
      positions.push_back(wrapped_on_host(op, x, dim, places));
    } else {  // where the kernel reports what is out of range, and nothing waits
      positions.push_back(where(places < 0, places + x.size(dim), places));
    }
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
Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& given, Flag accumulate) const {
  size_t leading = 0;  // leading dimensions of size 1; the value may have too many
  while (leading < given.sizes().size() && given.sizes()[leading] == 1) ++leading;
  const Tensor value =
      leading == 0 ? given : given.reshape(given.sizes().slice(leading, given.sizes().size() - leading));
  std::vector<std::pair<int64_t, Tensor>> tensors;
  Tensor x = basic_index("index_put_", self(), indices, tensors);
  if (tensors.empty()) {
    write_over("index_put_", x, accumulate ? x + value : value);
    return self();
  }
  if (tensors.size() == 1 && tensors[0].second.dtype() == kBool && value.numel() == 1) {
    const auto& [dim, mask] = tensors[0];
    check_mask("index_put_", x, dim, mask);
    Shape sizes = mask.sizes();
    for (int64_t d = dim + mask.dim(); d < x.dim(); ++d) sizes.push_back(1);
    write_over("index_put_", x,
               tandem::where(mask.reshape(sizes), accumulate ? x + value.to(dtype()) : value.to(dtype()), x));
    return self();
  }
  TANDEM_CHECK(value.dtype() == dtype(), "index_put_: value is ", value.dtype(), " for a tensor of ", dtype(),
               "; accepted: the tensor's dtype, and for a mask one number of any dtype");
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
    const Tensor y = accumulate ? flat.scatter_add(p.dim, wide, rows) : flat.scatter(p.dim, wide, rows);
    return y.reshape(p.moved.sizes()).permute(back);
  };
  const auto direct = [&] {
    if (flat.storage() != x.storage() || !flat.is_contiguous()) return copy_elements(put(), x);
    const NoGradGuard guard;
    const Tensor from = around(clear_of(flat, rows), p.dim), places = p.at.reshape({-1}).contiguous();
    const Tensor at = places.storage() == flat.storage() ? places.clone() : places;  // x.index_put_({x}, ...)
    Tensor to = around(flat, p.dim);
    if (accumulate)
      TANDEM_DISPATCH(device(), index_add, from, at, to);
    else
      TANDEM_DISPATCH(device(), index_copy, "index_put_", from, at, to);
  };
  autograd::inplace("index_put_", x, {value}, direct, [&](const Tensor&) { return put(); });
  return self();
}
Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& value) const {
  return index_put_(indices, full({}, value, options()));
}
Tensor Tensor::index_put(ArrayRef<indexing::TensorIndex> indices, const Tensor& value, Flag accumulate) const {
  return clone().index_put_(indices, value, accumulate);
}
Tensor Tensor::index_put(ArrayRef<indexing::TensorIndex> indices, const Scalar& value) const {
  return clone().index_put_(indices, value);
}

namespace {
/// A list in which what is missing stands for a whole dimension, as index({...}) takes it.
std::vector<indexing::TensorIndex> entries(ArrayRef<std::optional<Tensor>> indices) {
  std::vector<indexing::TensorIndex> all;
  for (const std::optional<Tensor>& i : indices)
    all.push_back(i && i->defined() ? indexing::TensorIndex(*i) : indexing::TensorIndex(indexing::Slice()));
  return all;
}
}  // namespace
Tensor index(const Tensor& x, ArrayRef<std::optional<Tensor>> indices) { return x.index(entries(indices)); }
Tensor& index_put_(Tensor& x, ArrayRef<std::optional<Tensor>> indices, const Tensor& value, Flag accumulate) {
  return x.index_put_(entries(indices), value, accumulate);
}
Tensor index_put(const Tensor& x, ArrayRef<std::optional<Tensor>> indices, const Tensor& value, Flag accumulate) {
  return x.index_put(entries(indices), value, accumulate);
}

}  // namespace tandem
