#include "tandem/ops/shape/view.h"

#include <algorithm>

#include "tandem/autograd/record.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/index/index.h"
#include "tandem/ops/reduce/reduce.h"
#include "tandem/ops/shape/copy.h"

namespace tandem {
namespace {

/// Sizes with their one -1 filled in so that they hold as many elements as `held`.
Shape infer_sizes(const char* op, IntArrayRef held, IntArrayRef wanted) {
  const int64_t numel = numel_of(held);
  Shape sizes = wanted;
  int64_t known = 1, missing = -1;
  bool overflow = false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    TANDEM_CHECK(sizes[d] >= -1, op, ": sizes ", wanted, " hold a negative number; only one -1 may stand for the rest");
    if (sizes[d] == -1) {
      TANDEM_CHECK(missing < 0, op, ": sizes ", wanted, " hold -1 more than once");
      missing = static_cast<int64_t>(d);
    } else {
      overflow |= __builtin_mul_overflow(known, sizes[d], &known);
    }
  }
  const bool fits = !overflow && (missing < 0 ? known == numel : known != 0 && numel % known == 0);
  TANDEM_CHECK(fits, op, ": ", held, " has ", numel, " elements, which sizes ", wanted, " cannot hold");
  if (missing >= 0) sizes[static_cast<size_t>(missing)] = numel / known;
  return sizes;
}

void check_has_dims(const char* op, const Tensor& x) {
  TANDEM_CHECK_AS(IndexError, x.dim() > 0, op, ": a scalar has no dimension to cut; accepted: one or more dimensions");
}

Tensor record_reshape(const char* name, Tensor y, const Tensor& x) {
  return record_view(name, std::move(y), x, [sizes = Shape(x.sizes())](const Context&, const Tensor& dy) -> Grads {
    return {dy.reshape(sizes)};
  });
}

}  // namespace

Tensor reshape_result(const Tensor& y, IntArrayRef sizes) {
  return record("reshape", core::try_view(y, sizes), {y}, {},
                [from = Shape(y.sizes())](const Context&, const Tensor& dy) -> Grads { return {dy.reshape(from)}; });
}

bool may_overlap(IntArrayRef sizes, IntArrayRef strides) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
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

Tensor Tensor::view(IntArrayRef wanted) const {
  const Shape sizes = infer_sizes("view", this->sizes(), wanted);
  Tensor y = core::try_view(*this, sizes);
  TANDEM_CHECK(y.defined(), "view: sizes ", wanted, " do not fit ", this->sizes(), " with strides ", strides(),
               " without a copy; use reshape()");
  return record_reshape("view", std::move(y), *this);
}
Tensor Tensor::reshape(IntArrayRef wanted) const {
  const Shape sizes = infer_sizes("reshape", this->sizes(), wanted);
  Tensor y = core::try_view(*this, sizes);
  return y.defined() ? record_reshape("reshape", std::move(y), *this)
                     : reshape_result(clone(MemoryFormat::Contiguous), sizes);
}
Tensor Tensor::ravel() const { return contiguous().view({-1}); }
Tensor Tensor::flatten(int64_t start, int64_t end) const {
  start = wrap_dim("flatten", start, dim()), end = wrap_dim("flatten", end, dim());
  TANDEM_CHECK(start <= end, "flatten: start_dim ", start, " comes after end_dim ", end);
  if (dim() == 0) return reshape({1});
  if (start == end) return *this;
  Shape sizes;
  int64_t run = 1;
  for (int64_t d = 0; d < dim(); ++d) {
    run = d > start && d <= end ? run * size(d) : size(d);
    if (d < start || d >= end) sizes.push_back(run);
  }
  return reshape(sizes);
}
Tensor Tensor::unflatten(int64_t d, IntArrayRef parts) const {
  check_has_dims("unflatten", *this);
  d = wrap_dim("unflatten", d, dim());
  const Shape inner = infer_sizes("unflatten", size(d), parts);
  Shape out;
  for (int64_t i = 0; i < dim(); ++i)
    if (i != d)
      out.push_back(size(i));
    else
      for (const int64_t s : inner) out.push_back(s);
  return reshape(out);
}

Tensor Tensor::transpose(int64_t a, int64_t b) const {
  return record_view("transpose", core::transpose(*this, a, b), *this,
                     [a, b](const Context&, const Tensor& dy) -> Grads { return {dy.transpose(a, b)}; });
}
Tensor Tensor::t() const {
  TANDEM_CHECK(dim() <= 2, "t: expects at most 2 dimensions, got ", sizes());
  return dim() < 2 ? record_reshape("t", core::alias(*this), *this) : transpose(0, 1);
}
Tensor Tensor::permute(IntArrayRef dims) const {
  Shape inverse(dims.size(), 0);
  Tensor y = core::permute(*this, dims);
  for (size_t d = 0; d < dims.size(); ++d)
    inverse[static_cast<size_t>(wrap_dim("permute", dims[d], dim()))] = static_cast<int64_t>(d);
  return record_view("permute", std::move(y), *this,
                     [inverse](const Context&, const Tensor& dy) -> Grads { return {dy.permute(inverse)}; });
}

Tensor Tensor::narrow(int64_t d, int64_t start, int64_t length) const {
  Tensor y = core::narrow(*this, d, start, length);
  d = wrap_dim("narrow", d, dim());
  start = start < 0 ? start + size(d) : start;
  return record_view("narrow", std::move(y), *this,
                     [=, sizes = Shape(sizes())](const Context&, const Tensor& dy) -> Grads {
                       Tensor dx = zeros(sizes, dy.options());
                       dx.narrow(d, start, length).copy_(dy);
                       return {dx};
                     });
}
Tensor Tensor::select(int64_t d, int64_t index) const {
  Tensor y = core::select(*this, d, index);
  d = wrap_dim("select", d, dim());
  return record_view("select", std::move(y), *this,
                     [=, sizes = Shape(sizes())](const Context&, const Tensor& dy) -> Grads {
                       Tensor dx = zeros(sizes, dy.options());
                       dx.select(d, index).copy_(dy);
                       return {dx};
                     });
}
Tensor Tensor::slice(int64_t d, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) const {
  TANDEM_CHECK(dim() > 0, "slice: a scalar has no dimension to slice");
  TANDEM_CHECK(step > 0, "slice: step is ", step, "; it must be positive");
  d = wrap_dim("slice", d, dim());
  const auto clip = [n = size(d)](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n); };
  const int64_t first = clip(start.value_or(0)), last = std::max(first, clip(end.value_or(size(d))));
  if (step == 1) return narrow(d, first, last - first);
  Shape sizes = this->sizes(), strides = this->strides();
  const int64_t count = last > first ? (last - first - 1) / step + 1 : 0;
  sizes[static_cast<size_t>(d)] = count;
  if (count > 1) strides[static_cast<size_t>(d)] *= step;
  Tensor y = core::as_strided(*this, sizes, strides, storage_offset() + first * stride(d));
  return record_view("slice", std::move(y), *this,
                     [=, from = Shape(this->sizes())](const Context&, const Tensor& dy) -> Grads {
                       Tensor dx = zeros(from, dy.options());
                       dx.slice(d, first, last, step).copy_(dy);
                       return {dx};
                     });
}

Tensor Tensor::expand(IntArrayRef wanted) const {
  return record_view(
      "expand", core::expand(*this, wanted), *this,
      [sizes = Shape(sizes())](const Context&, const Tensor& dy) -> Grads { return {tandem::sum_to_size(dy, sizes)}; });
}
Tensor Tensor::unsqueeze(int64_t d) const {
  d = wrap_dim("unsqueeze", d, dim() + 1);
  Shape sizes = this->sizes(), strides = this->strides();
  const auto at = static_cast<size_t>(d);
  strides.insert(at, d < dim() ? sizes[at] * strides[at] : 1);
  sizes.insert(at, 1);
  return record_reshape("unsqueeze", core::as_strided(*this, sizes, strides, storage_offset()), *this);
}
Tensor Tensor::squeeze() const {
  Shape sizes, strides;
  for (size_t d = 0; d < this->sizes().size(); ++d)
    if (this->sizes()[d] != 1) sizes.push_back(this->sizes()[d]), strides.push_back(this->strides()[d]);
  return record_reshape("squeeze", core::as_strided(*this, sizes, strides, storage_offset()), *this);
}
Tensor Tensor::squeeze(int64_t d) const {
  d = wrap_dim("squeeze", d, dim());
  return dim() == 0 || size(d) != 1 ? record_reshape("squeeze", core::alias(*this), *this) : select(d, 0);
}

Tensor Tensor::as_strided(IntArrayRef sizes, IntArrayRef strides, std::optional<int64_t> storage_offset) const {
  const int64_t offset = storage_offset.value_or(this->storage_offset());
  const Tensor y = core::as_strided(*this, sizes, strides, offset);
  return record_view("as_strided", y, *this,
                     [geometry = ViewGeometry(*this, y)](const Context&, const Tensor& dy) -> Grads {
                       return {as_strided_backward(dy, geometry)};
                     });
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
  base_offset = base.storage_offset() - first, offset = view.storage_offset() - first;
  extent = std::max(base_offset + reach(base_sizes, base_strides), offset + reach(sizes, strides));
}
Tensor ViewGeometry::lay_out(const Tensor& like_base) const {
  Tensor line = zeros({extent}, like_base.options());
  line.as_strided(base_sizes, base_strides, base_offset).copy_(like_base);
  return line;
}

Tensor as_strided_backward(const Tensor& dy, const ViewGeometry& g) {
  Tensor line = zeros({g.extent}, dy.options());
  const auto places = [&](const Shape& sizes, const Shape& strides, int64_t offset) {
    const Tensor all = arange(g.extent, TensorOptions(kInt64).device(dy.device()));
    return core::as_strided(all, sizes, strides, offset).contiguous().view({-1});
  };
  if (!may_overlap(g.sizes, g.strides))
    line.as_strided(g.sizes, g.strides, g.offset).copy_(dy);
  else
    line = line.index_add(0, places(g.sizes, g.strides, g.offset), dy.reshape({-1}));
  if (may_overlap(g.base_sizes, g.base_strides)) {  // elements of the base that are one in memory share its gradient
    const Tensor held = places(g.base_sizes, g.base_strides, g.base_offset);
    const Tensor count = zeros({g.extent}, dy.options()).index_add(0, held, ones(held.sizes(), dy.options()));
    line = line.div(count.clamp_min(1));
  }
  return line.as_strided(g.base_sizes, g.base_strides, g.base_offset);
}

namespace {
std::vector<Tensor> cut(const char* op, const Tensor& x, IntArrayRef sizes, int64_t d) {
  std::vector<Tensor> parts;
  parts.reserve(sizes.size());
  int64_t at = 0;
  for (const int64_t size : sizes) parts.push_back(core::narrow(x, d, at, size)), at += size;
  return record_parts(op, std::move(parts), x,
                      [d, whole = Shape(x.sizes()), lengths = sizes.vec()](const Context&, const Grads& dy) -> Grads {
                        const Tensor& like = *std::find_if(dy.begin(), dy.end(), [](auto& g) { return g.defined(); });
                        Grads all = dy;
                        for (size_t i = 0; i < all.size(); ++i) {
                          if (all[i].defined()) continue;
                          Shape sizes = whole;
                          sizes[static_cast<size_t>(d)] = lengths[i];
                          all[i] = zeros(sizes, like.options());
                        }
                        return {cat(all, d)};
                      });
}
/// Into parts of `part` each, the last of what is left; a dimension of size 0 has one part.
std::vector<Tensor> cut_evenly(const char* op, const Tensor& x, int64_t part, int64_t d) {
  const int64_t size = x.size(d);
  std::vector<int64_t> sizes;
  for (int64_t at = 0; at < size || sizes.empty(); at += part) sizes.push_back(std::min(part, size - at));
  return cut(op, x, sizes, d);
}
}  // namespace
std::vector<Tensor> Tensor::split(IntArrayRef parts, int64_t d) const {
  check_has_dims("split", *this);
  d = wrap_dim("split", d, dim());
  int64_t total = 0;
  bool negative = false;
  for (const int64_t p : parts) total += p, negative |= p < 0;
  TANDEM_CHECK(total == size(d) && !negative, "split: sizes ", parts, " add up to ", total, ", dimension ", d, " of ",
               sizes(), " has ", size(d), "; accepted: sizes of 0 or more that add up to that");
  return cut("split", *this, parts, d);
}
std::vector<Tensor> Tensor::split(int64_t part, int64_t d) const {
  check_has_dims("split", *this);
  d = wrap_dim("split", d, dim());
  TANDEM_CHECK(part > 0 || (part == 0 && size(d) == 0), "split: split_size is ", part, " for dimension ", d, " of ",
               sizes(), "; it must be positive");
  return cut_evenly("split", *this, std::max<int64_t>(std::min(part, size(d)), 1), d);
}
std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t d) const {
  check_has_dims("chunk", *this);
  d = wrap_dim("chunk", d, dim());
  TANDEM_CHECK(chunks > 0, "chunk: chunks is ", chunks, "; it must be positive");
  if (size(d) == 0) return cut("chunk", *this, std::vector<int64_t>(static_cast<size_t>(chunks), 0), d);
  return cut_evenly("chunk", *this, size(d) / chunks + (size(d) % chunks != 0), d);
}
std::vector<Tensor> Tensor::unbind(int64_t d) const {
  check_has_dims("unbind", *this);
  d = wrap_dim("unbind", d, dim());
  std::vector<Tensor> out;
  for (int64_t i = 0; i < size(d); ++i) out.push_back(core::select(*this, d, i));
  return record_parts("unbind", std::move(out), *this, [d](const Context&, const Grads& dy) -> Grads {
    const Tensor& like = *std::find_if(dy.begin(), dy.end(), [](auto& g) { return g.defined(); });
    Grads all = dy;
    for (Tensor& g : all)
      if (!g.defined()) g = zeros_like(like);
    return {stack(all, d)};
  });
}

Tensor Tensor::repeat(IntArrayRef repeats) const {
  for (const int64_t n : repeats)
    TANDEM_CHECK(n >= 0, "repeat: ", repeats, " holds a negative number; accepted: 0 or more of each dimension");
  TANDEM_CHECK(static_cast<int64_t>(repeats.size()) >= dim(), "repeat: ", repeats, " names fewer dimensions than ",
               sizes(), " has");
  Shape had(repeats.size(), 1), out = had;
  for (size_t d = 0, missing = had.size() - sizes().size(); d < had.size(); ++d) {
    if (d >= missing) had[d] = sizes()[d - missing];
    out[d] = repeats[d] * had[d];
  }
  if (std::find(repeats.begin(), repeats.end(), 0) != repeats.end())
    return record(
        "repeat", empty(out, options()), {*this}, {},
        [had = Shape(sizes())](const Context&, const Tensor& dy) -> Grads { return {zeros(had, dy.options())}; });
  // (a, b) repeated (r, s) is (1, a, 1, b) expanded to (r, a, s, b). Dimensions that are not repeated lie in one run
  // with those before them, which leaves room for three repeated ones; more are repeated in two steps, the last first.
  std::vector<int64_t> from, to;
  size_t repeated = 0, half = 0;
  for (size_t d = 0; d < had.size(); ++d) {
    if (repeats[d] != 1) {
      from.push_back(1), to.push_back(repeats[d]);
      if (++repeated == 3) half = d;
    } else if (!from.empty()) {
      from.back() *= had[d], to.back() *= had[d];
      continue;
    }
    from.push_back(had[d]), to.push_back(had[d]);
  }
  if (from.size() > kMaxDims) {
    Shape first(repeats), last(repeats);
    for (size_t d = 0; d < had.size(); ++d) (d < half ? last : first)[d] = 1;
    return repeat(last).repeat(first);
  }
  const Shape wide(to), thin(from);
  Tensor y = core::empty(out, dtype(), device());
  {
    const NoGradGuard guard;
    copy_elements(core::expand(reshape(thin), wide), core::try_view(y, wide));
  }
  return record("repeat", y, {*this}, {},
                [wide, thin, sizes = Shape(sizes())](const Context&, const Tensor& dy) -> Grads {
                  return {tandem::sum_to_size(dy.reshape(wide), thin).reshape(sizes)};
                });
}

Tensor Tensor::view(DType to) const {
  const int64_t before = itemsize(), after = detail::element_size(to);
  Shape sizes = this->sizes(), strides = this->strides();
  int64_t offset = storage_offset();
  if (before != after) {
    TANDEM_CHECK(dim() > 0 && strides.back() == 1, "view: x is ", dtype(), sizes, " with strides ", strides, "; for ",
                 to, " the elements of its last dimension must lie together");
    if (before > after) {
      const int64_t parts = before / after;
      for (int64_t& stride : strides) stride *= parts;
      offset *= parts;
      sizes.back() *= parts;
    } else {
      const int64_t joined = after / before;
      bool whole = sizes.back() % joined == 0 && offset % joined == 0;
      for (size_t d = 0; d + 1 < strides.size(); ++d) whole = whole && strides[d] % joined == 0;
      TANDEM_CHECK(whole, "view: x is ", dtype(), sizes, " with strides ", strides, " from element ", offset, "; ",
                   joined, " of its elements make one of ", to,
                   ", so all but the last stride must be multiples of that");
      for (int64_t& stride : strides) stride /= joined;
      offset /= joined;
      sizes.back() /= joined;
    }
    strides.back() = 1;
  }
  return Tensor(Ref<TensorImpl>(new TensorImpl(storage(), sizes, strides, offset, to)));
}

}  // namespace tandem
