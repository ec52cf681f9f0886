#include "tandem/ops/reduce.h"

#include <bit>
#include <cmath>
#include <utility>

#include "tandem/autograd/record.h"
#include "tandem/core/dispatch.h"
#include "tandem/core/run_loop.h"
#include "tandem/kernels/reduce.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/factory.h"
#include "tandem/ops/index.h"
#include "tandem/ops/out.h"

namespace tandem {
namespace {

/// What a reduction over some dims needs: the input as (outer, reduced, inner), and the output's shape.
struct ReducedDims {
  Tensor x;       // (outer, n, inner), contiguous, recorded nowhere
  Shape kept;     // sizes with 1 in the reduced places
  Shape dropped;  // without them
  Shape order;    // of x's dimensions in memory, where it is channels-last; else empty
  int64_t count = 1;
};

/// The dimensions of a channels-last tensor, outermost first; nothing for others.
Shape memory_order(const Tensor& x) {
  if (x.is_contiguous() || !x.is_contiguous(MemoryFormat::ChannelsLast)) return {};
  return {0, 2, 3, 1};
}
/// What has its dimensions in `order`, in their own order again and row-major.
Tensor in_logical_order(const Tensor& x, const Shape& order) {
  Shape places(order.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) places[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  const NoGradGuard guard;
  return core::permute(x, places).contiguous();
}

unsigned dim_mask(const char* op, IntArrayRef dims, int64_t rank) {
  if (dims.empty()) return ~0u;
  unsigned mask = 0;
  for (const int64_t d : dims) {
    const unsigned bit = 1u << wrap_dim(op, d, rank);
    TANDEM_CHECK(!(mask & bit), op, ": dimension ", d, " is named twice in ", dims);
    mask |= bit;
  }
  return mask;
}

/// x's sizes, with 1 in the reduced places.
Shape kept_sizes(const char* op, const Tensor& x, IntArrayRef dims) {
  const unsigned mask = dim_mask(op, dims, x.dim());
  Shape kept = x.sizes();
  for (size_t d = 0; d < kept.size(); ++d)
    if (mask >> d & 1) kept[d] = 1;
  return kept;
}

/// How many elements one result is made of.
int64_t reduced_count(const char* op, const Tensor& x, IntArrayRef dims) {
  const unsigned mask = dim_mask(op, dims, x.dim());
  int64_t count = 1;
  for (int d = 0; d < static_cast<int>(x.dim()); ++d)
    if (mask >> d & 1) count *= x.size(d);
  return count;
}

ReducedDims plan(const char* op, const Tensor& original, IntArrayRef dims) {
  ReducedDims r;
  r.order = memory_order(original);
  const unsigned logical = dim_mask(op, dims, original.dim());
  for (int64_t d = 0; d < original.dim(); ++d) {
    const bool reduced = logical >> d & 1;
    r.kept.push_back(reduced ? 1 : original.size(d));
    if (!reduced) r.dropped.push_back(original.size(d));
  }
  unsigned mask = logical;
  Tensor x = original;
  if (!r.order.empty()) {  // as it lies in memory
    x = core::permute(x, r.order);
    mask = 0;
    for (size_t i = 0; i < r.order.size(); ++i) mask |= (logical >> r.order[i] & 1) << i;
  }
  Shape outer_dims, reduced_dims;
  int first = -1, last = -1;
  for (int d = 0; d < static_cast<int>(x.dim()); ++d) {
    const bool reduced = mask >> d & 1;
    (reduced ? reduced_dims : outer_dims).push_back(d);
    if (!reduced) continue;
    r.count *= x.size(d);
    if (first < 0) first = d;
    last = d;
  }
  const bool together = static_cast<int>(reduced_dims.size()) == last - first + 1;
  Tensor flat = x;
  int64_t outer = 1, inner = 1;
  if (together && first >= 0) {
    for (int d = 0; d < first; ++d) outer *= x.size(d);
    for (int d = last + 1; d < static_cast<int>(x.dim()); ++d) inner *= x.size(d);
  } else {
    Shape order = outer_dims;
    for (const int64_t d : reduced_dims) order.push_back(d);
    flat = core::permute(flat, order);
    for (const int64_t d : outer_dims) outer *= x.size(d);
  }
  const NoGradGuard guard;
  r.x = core::try_view(flat.contiguous(), {outer, r.count, inner});
  return r;
}

Tensor restore(const ReducedDims& r, const Tensor& flat, bool keepdim) {
  if (r.order.empty()) return core::try_view(flat, keepdim ? r.kept : r.dropped);
  Shape lying;
  for (const int64_t d : r.order) lying.push_back(r.kept[static_cast<size_t>(d)]);
  return core::try_view(in_logical_order(core::try_view(flat, lying), r.order), keepdim ? r.kept : r.dropped);
}
Tensor flat_output(const ReducedDims& r, DType dtype) {
  return core::empty({r.x.size(0), r.x.size(2)}, dtype, r.x.device());
}
/// A gradient of the reduced shape, with its 1s back, so that it broadcasts against the input.
Tensor with_dims(const Tensor& dy, const Shape& kept) { return dy.reshape(kept); }

}  // namespace

namespace {
/// Sums over dims that do not lie together, the last run of them first: what a copy would bring together is never
/// copied. Undefined where one sum will do, and for half types, whose partial results would be rounded.
Tensor sum_in_turn(const Tensor& x, IntArrayRef dims, bool keepdim) {
  if (is_half(x.dtype()) || dims.size() < 2) return {};
  const unsigned mask = dim_mask("sum", dims, x.dim());
  if (!x.is_contiguous()) {
    const Shape order = memory_order(x);
    Shape there, sizes = kept_sizes("sum", x, dims);
    for (size_t i = 0; i < order.size(); ++i)
      if (mask >> order[i] & 1) there.push_back(static_cast<int64_t>(i));
    const Tensor total = order.empty() ? Tensor() : sum_in_turn(core::permute(x, order), there, true);
    if (!total.defined()) return {};
    const Tensor y = in_logical_order(total, order);
    if (keepdim) return core::try_view(y, sizes);
    for (size_t d = sizes.size(); d-- > 0;)
      if (mask >> d & 1) sizes.erase(d);
    return core::try_view(y, sizes);
  }
  const int last = std::bit_width(mask) - 1;
  int first = last;
  while (first > 0 && mask >> (first - 1) & 1) --first;
  Shape run, others;
  for (int d = 0; d <= last; ++d)
    if (mask >> d & 1) (d < first ? others : run).push_back(d);
  if (others.empty()) return {};
  const NoGradGuard guard;
  Tensor total = core::alias(x).sum(run, true).sum(others, true);
  if (keepdim) return total;
  Shape kept;
  for (int d = 0; d < x.dim(); ++d)
    if (!(mask >> d & 1)) kept.push_back(x.size(d));
  return core::try_view(total, kept);
}
}  // namespace

namespace {
/// The sum as `dtype`: float32 of a half type is for what would not fit it before it is divided.
Tensor sum_as(const Tensor& x, IntArrayRef dims, bool keepdim, DType dtype) {
  const ReducedDims r = plan("sum", x, dims);
  Tensor flat = flat_output(r, dtype);
  TANDEM_DISPATCH(x.device(), sum, r.x, flat);
  return record("sum", restore(r, flat, keepdim), {x}, {},
                [kept = r.kept, sizes = Shape(x.sizes())](const Context&, const Tensor& dy) -> Grads {
                  return {with_dims(dy, kept).expand(sizes)};
                });
}
}  // namespace
Tensor Tensor::sum(IntArrayRef dims, Flag keepdim) const {
  if (const Tensor y = sum_in_turn(*this, dims, keepdim); y.defined()) {
    return record("sum", y, {*this}, {},
                  [kept = kept_sizes("sum", *this, dims), sizes = Shape(sizes())](
                      const Context&, const Tensor& dy) -> Grads { return {with_dims(dy, kept).expand(sizes)}; });
  }
  return sum_as(*this, dims, keepdim, is_floating_point() ? dtype() : kInt64);
}

namespace {
/// Refused in the name of the op that was called, rather than of those it is made of.
void check_average(const char* op, const Tensor& x, IntArrayRef dims) {
  TANDEM_CHECK_AS(NotImplementedError, x.is_floating_point(), op, ": dtype is ", x.dtype(),
                  "; accepted: floating point");
  dim_mask(op, dims, x.dim());
}
/// What a half type's elements differ from their mean. The mean is taken away in two parts, itself and what rounding it
/// left: beside elements of nearly one size the second is not small.
Tensor deviations(const Tensor& x, IntArrayRef dims, int64_t count) {
  const Tensor mean = sum_as(x, dims, true, kFloat32) / static_cast<double>(count), rounded = mean.to(x.dtype());
  return x - rounded - (mean - rounded).to(x.dtype());
}
/// The sum of a half type's squares, or of the squares of what its elements differ from their mean: in float32, as
/// squares soon do not fit float16.
Tensor sum_of_squares(const char* op, const Tensor& x, IntArrayRef dims, bool keepdim, bool about_mean) {
  const ReducedDims r = plan(op, x, dims);
  Tensor center, flat = flat_output(r, kFloat32);
  if (about_mean) {
    center = flat_output(r, kFloat32);
    TANDEM_DISPATCH(x.device(), sum, r.x, center);
    center.div_(static_cast<double>(r.count));
  }
  TANDEM_DISPATCH(x.device(), sum_of_powers, r.x, center, 2.0, flat);
  return record(
      op, restore(r, flat, keepdim), {x}, {x},
      [dims = Shape(dims), kept = r.kept, count = r.count, about_mean](const Context& ctx, const Tensor& dy) -> Grads {
        const Tensor x = ctx.saved(0), off = about_mean ? deviations(x, dims, count) : x;
        return {off * (with_dims(dy, kept) * 2).to(x.dtype())};
      });
}
/// Of a half type as float32, which the caller rounds.
Tensor variance(const char* op, const Tensor& x, IntArrayRef dims, double correction, bool keepdim) {
  check_average(op, x, dims);
  const double count = static_cast<double>(reduced_count(op, x, dims));
  const Tensor squares = is_half(x.dtype()) ? sum_of_squares(op, x, dims, keepdim, true)
                                            : (x - x.mean(dims, true)).square().sum(dims, keepdim);
  return squares / std::max(count - correction, 0.0);
}
}  // namespace
Tensor Tensor::mean(IntArrayRef dims, Flag keepdim) const {
  check_average("mean", *this, dims);
  const Tensor total = is_half(dtype()) ? sum_as(*this, dims, keepdim, kFloat32) : sum(dims, keepdim);
  const double count = numel() == 0 ? static_cast<double>(reduced_count("mean", *this, dims))
                                    : static_cast<double>(numel()) / static_cast<double>(total.numel());
  return (total / count).to(dtype());
}
Tensor Tensor::var(IntArrayRef dims, Flag unbiased, Flag keepdim) const {
  return variance("var", *this, dims, unbiased ? 1 : 0, keepdim).to(dtype());
}
Tensor detail::corrected_var(const Tensor& x, IntArrayRef dims, const std::optional<Scalar>& correction, bool keepdim) {
  return variance("var", x, dims, correction.value_or(1).to<double>(), keepdim).to(x.dtype());
}
namespace {
/// The root of a sum of squares. Its slope at zero is infinite; PyTorch takes the subgradient 0 there.
Tensor root(const char* op, const Tensor& total) {
  const Tensor y = total.detach().sqrt();
  return record(op, y, {total}, {y}, [](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor y = ctx.saved(0), flat = y == 0;
    return {tandem::where(flat, Scalar(0), dy) / tandem::where(flat, Scalar(1), y * 2)};
  });
}
}  // namespace
Tensor norm_backward(double p, const Tensor& dy, const Tensor& x, const Tensor& y) {
  if (p == 1) return x.sign() * dy;
  if (p == 2) return dy * (x / y).masked_fill(y == 0, 0);
  const Tensor size = x.abs();
  if (std::isinf(p)) {  // the largest or smallest share it evenly, NaNs among themselves
    const Tensor hit = ((size == y) | (size.isnan() & y.isnan())).to(dy.dtype());
    return x.sign() * hit * (dy / sum_to_size(hit, y.sizes()));
  }
  Tensor whole = y, part = size;
  if (is_half(x.dtype())) {  // powers overflow, but not those of parts of the whole
    const Tensor usual = y.isfinite() & (y != 0);
    part = size / tandem::where(usual, y, Scalar(1));
    whole = tandem::where(usual, Scalar(1), y);
  }
  Tensor slope = x.sign() * part.pow(p - 1);
  if (p < 1) slope = tandem::where(x == 0, Scalar(0), slope);
  return slope * tandem::where(y == 0, Scalar(0), dy / whole.pow(p - 1));
}
namespace {
/// sum |x|^p of a half type, in float32 and without history.
Tensor sum_of_powers(const Tensor& x, double p, IntArrayRef dims, bool keepdim) {
  const ReducedDims r = plan("norm", x, dims);
  Tensor flat = flat_output(r, kFloat32);
  TANDEM_DISPATCH(x.device(), sum_of_powers, r.x, Tensor(), p, flat);
  return restore(r, flat, keepdim);
}
}  // namespace
Tensor Tensor::std(IntArrayRef dims, Flag unbiased, Flag keepdim) const {
  return root("std", variance("std", *this, dims, unbiased ? 1 : 0, keepdim)).to(dtype());
}
Tensor detail::corrected_std(const Tensor& x, IntArrayRef dims, const std::optional<Scalar>& correction, bool keepdim) {
  return root("std", variance("std", x, dims, correction.value_or(1).to<double>(), keepdim)).to(x.dtype());
}
Tensor Tensor::norm(double p) const { return norm(p, IntArrayRef()); }
Tensor Tensor::norm(double p, IntArrayRef dims, Flag keepdim) const {
  TANDEM_CHECK_AS(NotImplementedError, is_floating_point(), "norm: dtype is ", dtype(), "; accepted: floating point");
  const unsigned mask = dim_mask("norm", dims, dim());
  Shape kept = sizes();
  int64_t count = 1;
  for (size_t d = 0; d < kept.size(); ++d)
    if (mask >> d & 1) count *= std::exchange(kept[d], 1);
  TANDEM_CHECK(count > 0 || (p >= 0 && !std::isinf(p)), "norm: ", sizes(), " over ", dims,
               " has no elements, of which p = ", p, " has no norm; accepted: p from 0 on, and finite");
  const bool half = is_half(dtype());
  if (p == 2)
    return root("norm", half ? sum_of_squares("norm", *this, dims, keepdim, false) : square().sum(dims, keepdim))
        .to(dtype());
  Tensor y;
  {
    const NoGradGuard guard;
    const Tensor size = abs();
    if (p == 0)  // how many are not zero: without a gradient, as in PyTorch
      y = (*this != 0).to(size.dtype()).sum(dims, keepdim);
    else if (p == 1)
      y = size.sum(dims, keepdim);
    else if (std::isinf(p))
      y = p > 0 ? size.amax(dims, keepdim) : size.amin(dims, keepdim);
    else if (half)
      y = sum_of_powers(*this, p, dims, keepdim).pow(1 / p).to(dtype());
    else
      y = size.pow(p).sum(dims, keepdim).pow(1 / p);
  }
  return record("norm", y, {*this}, {*this, y}, [p, kept](const Context& ctx, const Tensor& dy) -> Grads {
    if (p == 0) return {Tensor()};
    return {norm_backward(p, with_dims(dy, kept), ctx.saved(0), with_dims(ctx.saved(1), kept))};
  });
}

namespace {
/// The gradient of an extreme of x: those that equal it share it evenly. `nans`: so do NaNs where it is one.
Tensor extreme_backward(const Tensor& dy, const Tensor& x, const Tensor& extreme, bool nans) {
  Tensor hits = x == extreme;
  if (nans) hits = hits | (x.isnan() & extreme.isnan());
  const Tensor hit = hits.to(dy.dtype());
  return (dy / sum_to_size(hit, extreme.sizes())) * hit;
}
}  // namespace

#define TANDEM_EXTREME_REDUCTION(name)                                                                       \
  static Tensor name##_of(const Tensor& x, const char* op, IntArrayRef dims, bool keepdim, bool nans) {      \
    const ReducedDims r = plan(op, x, dims);                                                                 \
    TANDEM_CHECK_AS(IndexError, r.count > 0, op, ": ", x.sizes(), " has no elements to choose from");        \
    Tensor flat = flat_output(r, x.dtype());                                                                 \
    TANDEM_DISPATCH(x.device(), name, r.x, flat);                                                            \
    const Tensor y = restore(r, flat, keepdim);                                                              \
    return record(op, y, {x}, {x, y}, [kept = r.kept, nans](const Context& ctx, const Tensor& dy) -> Grads { \
      return {extreme_backward(with_dims(dy, kept), ctx.saved(0), with_dims(ctx.saved(1), kept), nans)};     \
    });                                                                                                      \
  }                                                                                                          \
  Tensor Tensor::name(IntArrayRef dims, Flag keepdim) const { return name##_of(*this, #name, dims, keepdim, false); }
TANDEM_EXTREME_REDUCTION(amax)
TANDEM_EXTREME_REDUCTION(amin)
Tensor Tensor::max() const { return amax_of(*this, "max", {}, false, /*nans=*/true); }
Tensor Tensor::min() const { return amin_of(*this, "min", {}, false, /*nans=*/true); }

#define TANDEM_INDEXED_EXTREME(name, kernel)                                                                    \
  std::tuple<Tensor, Tensor> Tensor::name(int64_t dim, Flag keepdim) const {                                    \
    const ReducedDims r = plan(#name, *this, {dim});                                                            \
    TANDEM_CHECK_AS(IndexError, r.count > 0, #name ": dimension ", dim, " of ", sizes(),                        \
                    " has no elements to choose from");                                                         \
    Tensor flat = flat_output(r, dtype()), places = flat_output(r, kInt64);                                     \
    TANDEM_DISPATCH(device(), kernel, r.x, flat, places);                                                       \
    const Tensor index = restore(r, places, keepdim);                                                           \
    const int64_t at = wrap_dim(#name, dim, this->dim());                                                       \
    return {record(#name, restore(r, flat, keepdim), {*this}, {index},                                          \
                   [kept = r.kept, sizes = Shape(sizes()), at](const Context& ctx, const Tensor& dy) -> Grads { \
                     const Tensor index = with_dims(ctx.saved(0), kept);                                        \
                     return {zeros(sizes, dy.options()).scatter_add(at, index, with_dims(dy, kept))};           \
                   }),                                                                                          \
            index};                                                                                             \
  }
TANDEM_INDEXED_EXTREME(max, max_with_index)
TANDEM_INDEXED_EXTREME(min, min_with_index)
Tensor Tensor::logsumexp(IntArrayRef dims, Flag keepdim) const {
  const Tensor x = is_floating_point() ? *this : to(get_default_dtype());
  const Shape kept = kept_sizes("logsumexp", x, dims);
  Tensor y;
  {
    const NoGradGuard guard;
    Tensor peak = zeros(kept, x.options());  // subtracted, so that e^x does not overflow; infinite ones stay
    if (numel() > 0) peak = x.amax(dims, true), peak = tandem::where(peak.isfinite(), peak, Scalar(0));
    y = (x - peak).exp().sum(dims, keepdim).log();
    y = y + peak.reshape(y.sizes());
  }
  return record("logsumexp", y, {x}, {x, y}, [kept](const Context& ctx, const Tensor& dy) -> Grads {
    return {with_dims(dy, kept) * (ctx.saved(0) - with_dims(ctx.saved(1), kept)).exp()};
  });
}
#define X(name, ...)                                                                        \
  Tensor& name##_out(Tensor& out, const Tensor& x, IntArrayRef dims, Flag keepdim) {        \
    return detail::assign_out(#name "_out", out, x, [&] { return x.name(dims, keepdim); }); \
  }
TANDEM_REDUCE_OPS(X)
#undef X

namespace {
/// Of argmax and argmin.
void check_choice(const char* op, const Tensor& x, const std::optional<int64_t>& dim) {
  const int64_t d = dim ? wrap_dim(op, *dim, x.dim()) : 0, count = dim && x.dim() ? x.size(d) : x.numel();
  TANDEM_CHECK_AS(IndexError, count > 0, op, ": ", x.sizes(), " has no elements to choose from");
}
}  // namespace
Tensor Tensor::argmax(std::optional<int64_t> dim, Flag keepdim) const {
  const NoGradGuard guard;
  check_choice("argmax", *this, dim);
  if (dim) return std::get<1>(max(*dim, keepdim));
  return core::try_view(std::get<1>(flatten().max(0)), Shape(keepdim ? sizes().size() : 0, 1));
}
Tensor Tensor::argmin(std::optional<int64_t> dim, Flag keepdim) const {
  const NoGradGuard guard;
  check_choice("argmin", *this, dim);
  if (dim) return std::get<1>(min(*dim, keepdim));
  return core::try_view(std::get<1>(flatten().min(0)), Shape(keepdim ? sizes().size() : 0, 1));
}

namespace {
Tensor reduce_bool(const char* op, const Tensor& x, IntArrayRef dims, bool keepdim, bool want_all) {
  const ReducedDims r = plan(op, x.dtype() == kBool ? x : x != 0, dims);
  Tensor flat = flat_output(r, kBool);
  if (want_all)
    TANDEM_DISPATCH(x.device(), all, r.x, flat);
  else
    TANDEM_DISPATCH(x.device(), any, r.x, flat);
  return restore(r, x.dtype() == kUInt8 ? flat.to(kUInt8) : flat, keepdim);  // the dtype that masks once had
}
}  // namespace
Tensor Tensor::all() const { return reduce_bool("all", *this, {}, false, true); }
Tensor Tensor::all(int64_t dim, Flag keepdim) const { return reduce_bool("all", *this, {dim}, keepdim, true); }
Tensor Tensor::all(IntArrayRef dims, Flag keepdim) const { return reduce_bool("all", *this, dims, keepdim, true); }
Tensor Tensor::any(IntArrayRef dims, Flag keepdim) const { return reduce_bool("any", *this, dims, keepdim, false); }
Tensor Tensor::any() const { return reduce_bool("any", *this, {}, false, false); }
Tensor Tensor::any(int64_t dim, Flag keepdim) const { return reduce_bool("any", *this, {dim}, keepdim, false); }

Tensor Tensor::prod() const {
  const ReducedDims r = plan("prod", *this, {});
  Tensor flat = flat_output(r, is_floating_point() ? dtype() : kInt64);
  TANDEM_DISPATCH(device(), prod, r.x, flat);
  const Tensor y = restore(r, flat, false);
  return record("prod", y, {*this}, {*this, y}, [](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0);
    const Tensor zero = x == 0;
    check_not_recorded("prod's backward", "whether a factor is 0 tells how it is computed");
    if (!zero.any().item<bool>()) return {dy * ctx.saved(1) / x};
    // With a zero, every factor's slope is the product of the others: exclusive products from both sides.
    const Tensor flat = x.reshape({-1});
    std::vector<Tensor> slopes;
    for (int64_t i = 0; i < flat.numel(); ++i)
      slopes.push_back(flat.narrow(0, 0, i).prod() * flat.narrow(0, i + 1, flat.numel() - i - 1).prod());
    return {dy * stack(slopes).reshape(x.sizes())};
  });
}

namespace {
Tensor cumulate(const Tensor& x, int64_t dim, bool reverse) {
  const Tensor wide = tandem::is_floating_point(x.dtype()) || x.dtype() == kInt64 ? x : x.to(kInt64);
  if (x.dim() == 0) return wide.clone();
  const Tensor from = detail::around(wide, dim);
  Tensor flat = core::empty(from.sizes(), wide.dtype(), x.device());
  TANDEM_DISPATCH(x.device(), cumsum, from, reverse, flat);
  return record("cumsum", core::try_view(flat, x.sizes()), {x}, {},
                [dim, reverse](const Context&, const Tensor& dy) -> Grads { return {cumulate(dy, dim, !reverse)}; });
}
}  // namespace
Tensor Tensor::cumsum(int64_t dim) const { return cumulate(*this, wrap_dim("cumsum", dim, this->dim()), false); }

namespace {
/// Rows along dim go through fill(rows, values, index), which makes `count` of each; recorded.
template <class Fill>
std::tuple<Tensor, Tensor> ordered(const char* op, const Tensor& x, int64_t dim, int64_t count, Fill fill) {
  Tensor index, values;
  {
    const NoGradGuard guard;
    const Tensor rows = x.transpose(dim, -1).contiguous();
    const int64_t n = rows.size(-1);
    const Tensor flat = core::try_view(rows, {n ? rows.numel() / n : 0, n});
    Tensor y = core::empty({flat.size(0), count}, x.dtype(), x.device());
    Tensor at = core::empty({flat.size(0), count}, kInt64, x.device());
    fill(flat, y, at);
    Shape sizes = rows.sizes();
    sizes.back() = count;
    values = y.view(sizes).transpose(dim, -1).contiguous();
    index = at.view(sizes).transpose(dim, -1).contiguous();
  }
  return {record(op, values, {x}, {index},
                 [dim, sizes = Shape(x.sizes())](const Context& ctx, const Tensor& dy) -> Grads {
                   return {zeros(sizes, dy.options()).scatter(dim, ctx.saved(0), dy)};
                 }),
          index};
}
}  // namespace
std::tuple<Tensor, Tensor> Tensor::sort(int64_t dim, Flag descending) const {
  dim = wrap_dim("sort", dim, this->dim());
  if (this->dim() == 0) return {clone(), zeros({}, options().dtype(kInt64))};
  return ordered("sort", *this, dim, size(dim), [descending](const Tensor& rows, Tensor& y, Tensor& index) {
    TANDEM_DISPATCH(rows.device(), sort, rows, descending, y, index);
  });
}
Tensor Tensor::argsort(int64_t dim, Flag descending) const {
  const NoGradGuard guard;
  wrap_dim("argsort", dim, this->dim());
  return std::get<1>(sort(dim, descending));
}
std::tuple<Tensor, Tensor> Tensor::topk(int64_t k, int64_t dim, Flag largest, Flag) const {
  dim = wrap_dim("topk", dim, this->dim());
  TANDEM_CHECK(k >= 0 && k <= (this->dim() ? size(dim) : 1), "topk: k is ", k, " for dimension ", dim, " of ", sizes(),
               "; accepted: 0 to ", this->dim() ? size(dim) : 1);
  if (this->dim() == 0) return {clone(), zeros({}, options().dtype(kInt64))};
  return ordered("topk", *this, dim, k, [largest](const Tensor& rows, Tensor& y, Tensor& index) {
    TANDEM_DISPATCH(rows.device(), topk, rows, largest, y, index);
  });
}

Tensor sum_to_size(const Tensor& x, IntArrayRef sizes) {
  if (sizes.empty()) return x.sum();
  TANDEM_CHECK(broadcast_shapes("sum_to_size", sizes, x.sizes()) == x.sizes(), "sum_to_size: ", sizes,
               " does not broadcast to x, which is ", x.sizes());
  Shape dims;
  const int64_t added = x.dim() - static_cast<int64_t>(sizes.size());
  for (int64_t d = 0; d < x.dim(); ++d)
    if (d < added || (sizes[static_cast<size_t>(d - added)] == 1 && x.size(d) != 1)) dims.push_back(d);
  const Tensor total = dims.empty() ? x : x.sum(dims, true);
  return added > 0 ? total.view(sizes) : total;
}

bool Tensor::equal(const Tensor& other) const {
  if (sizes() != other.sizes()) return false;
  const NoGradGuard guard;
  return eq(other).all().item<bool>();
}
bool Tensor::allclose(const Tensor& other, double rtol, double atol, bool equal_nan) const {
  TANDEM_CHECK(dtype() == other.dtype(), "allclose: x is ", dtype(), " and other is ", other.dtype(),
               "; both must be of one dtype");
  broadcast_shapes("allclose", sizes(), other.sizes());
  const NoGradGuard guard;
  const Tensor a = to(kFloat64), b = other.to(kFloat64);
  Tensor close = (a == b) | ((a - b).abs() <= b.abs() * rtol + atol);
  if (equal_nan) close = close | (a.isnan() & b.isnan());
  return close.all().item<bool>();
}

}  // namespace tandem
