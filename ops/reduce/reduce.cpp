#include "tandem/ops/reduce/reduce.h"

#include <bit>
#include <optional>

#include "tandem/autograd/record.h"
#include "tandem/core/dispatch.h"
#include "tandem/core/loop/run_loop.h"
#include "tandem/kernels/reduce.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/backward.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/factory/zeros_ones_full.h"
#include "tandem/ops/index/index.h"
#include "tandem/ops/out.h"
#include "tandem/ops/reduce/reduced_dims.h"

namespace tandem {
namespace {
/// Sums over dims that do not lie together, the last run of them first: what a copy would bring together is never
/// copied. Undefined where one sum will do, and for half types, whose partial results would be rounded.
Tensor sum_in_turn(const Tensor& x, IntArrayRef dims, bool keepdim) {
  if (is_half(x.dtype()) || dims.size() < 2) return {};
  const unsigned mask = dim_mask("sum", dims, x.dim());
  if (!x.is_contiguous()) {
    const Shape order = memory_order(x);
    Shape there;
    for (size_t i = 0; i < order.size(); ++i)
      if (mask >> order[i] & 1) there.push_back(static_cast<int64_t>(i));
    const Tensor total = order.empty() ? Tensor() : sum_in_turn(core::permute(x, order), there, true);
    if (!total.defined()) return {};
    const Tensor y = in_logical_order(total, order);
    return core::try_view(y, keepdim ? kept_sizes(x.sizes(), mask) : dropped_sizes(x.sizes(), mask));
  }
  const int last = std::bit_width(mask) - 1;
  int first = last;
  while (first > 0 && mask >> (first - 1) & 1) --first;
  Shape run, others;
  for (int d = 0; d <= last; ++d)
    if (mask >> d & 1) (d < first ? others : run).push_back(d);
  if (others.empty()) return {};
  const NoGradGuard guard;
  const Tensor total = core::alias(x).sum(run, true).sum(others, true);
  return keepdim ? total : core::try_view(total, dropped_sizes(x.sizes(), mask));
}
/// y as the sum of x over the dims of `mask`, divided by a number if there is one. Its gradient is then a new tensor,
/// also by 1, as PyTorch's is.
Tensor record_sum(const char* op, const Tensor& y, const Tensor& x, unsigned mask, std::optional<double> divisor = {}) {
  return record(op, y, {x}, {},
                [kept = kept_sizes(x.sizes(), mask), sizes = Shape(x.sizes()), divisor](const Context&,
                                                                                        const Tensor& dy) -> Grads {
                  const Tensor each = divisor ? dy / *divisor : dy;
                  return {with_dims(each, kept).expand(sizes)};
                });
}
/// On CUDA, where launches are what small sums cost: the sum over the channels' elements, divided by a number, in one
/// pass. Undefined elsewhere, and where the dims lie otherwise.
Tensor sum_around(const char* op, const Tensor& x, IntArrayRef dims, bool keepdim, double divisor) {
  if (!x.is_cuda() || dims.size() < 2) return {};
  const ChannelDims c(op, x, dims);
  if (!c.x.defined() || c.x.size(0) == 1 || c.x.size(2) == 1) return {};  // dims that lie together
  Tensor flat = core::empty({c.x.size(1)}, detail::accumulate_type(x.dtype()), x.device());
  TANDEM_DISPATCH_CUDA(x.device(), channel_mean, c.x, divisor, flat);
  const NoGradGuard guard;
  return c.restore(flat, keepdim).to(x.dtype());
}
/// The same of dims that lie together.
Tensor mean_together(const Tensor& x, IntArrayRef dims, bool keepdim, double count) {
  const ReducedDims r("mean", x, dims);
  Tensor flat = r.flat_output(x.dtype());
  TANDEM_DISPATCH_CUDA(x.device(), mean, r.x, count, flat);
  return r.restore(flat, keepdim);
}
}  // namespace

Tensor sum_as(const Tensor& x, IntArrayRef dims, bool keepdim, DType dtype) {
  const ReducedDims r("sum", x, dims);
  Tensor flat = r.flat_output(dtype);
  TANDEM_DISPATCH(x.device(), sum, r.x, flat);
  return record("sum", r.restore(flat, keepdim), {x}, {},
                [kept = r.kept, sizes = Shape(x.sizes())](const Context&, const Tensor& dy) -> Grads {
                  return {with_dims(dy, kept).expand(sizes)};
                });
}
Tensor Tensor::sum(IntArrayRef dims, Flag keepdim) const {
  Tensor y = sum_around("sum", *this, dims, keepdim, 1);
  if (!y.defined()) y = sum_in_turn(*this, dims, keepdim);
  if (y.defined()) return record_sum("sum", y, *this, dim_mask("sum", dims, dim()));
  return sum_as(*this, dims, keepdim, is_floating_point() ? dtype() : kInt64);
}

void check_average(const char* op, const Tensor& x, IntArrayRef dims) {
  TANDEM_CHECK_AS(NotImplementedError, x.is_floating_point(), op, ": dtype is ", x.dtype(),
                  "; accepted: floating point");
  dim_mask(op, dims, x.dim());
}
Tensor Tensor::mean(IntArrayRef dims, Flag keepdim) const {
  check_average("mean", *this, dims);
  if (is_cuda() && numel() > 0) {
    const unsigned mask = dim_mask("mean", dims, dim());
    const double each = static_cast<double>(reduced_count(sizes(), mask));
    Tensor y = sum_around("mean", *this, dims, keepdim, each);
    if (!y.defined()) {
      const Tensor total = sum_in_turn(core::alias(*this), dims, keepdim);
      y = total.defined() ? total / each : mean_together(*this, dims, keepdim, each);
    }
    return record_sum("mean", y, *this, mask, each);
  }
  Tensor y;
  const unsigned mask = dim_mask("mean", dims, dim());
  const auto count = static_cast<double>(reduced_count(sizes(), mask));
  {
    const NoGradGuard guard;
    y = ((is_half(dtype()) ? sum_as(*this, dims, keepdim, kFloat32) : sum(dims, keepdim)) / count).to(dtype());
  }
  return record_sum("mean", y, *this, mask, count);
}
namespace {
/// The gradient of an extreme of x: those that equal it share it evenly. `nans`: so do NaNs where it is one.
Tensor extreme_backward(const Tensor& dy, const Tensor& x, const Tensor& extreme, bool nans) {
  Tensor hits = x == extreme;
  if (nans) hits = (hits | (x.isnan() & extreme.isnan())).contiguous();  // so dx is contiguous, as in PyTorch
  const Tensor hit = hits.to(dy.dtype());
  return (dy / sum_to_size(hit, extreme.sizes())) * hit;
}
}  // namespace

#define TANDEM_EXTREME_REDUCTION(name)                                                                       \
  static Tensor name##_of(const Tensor& x, const char* op, IntArrayRef dims, bool keepdim, bool nans) {      \
    const ReducedDims r(op, x, dims);                                                                        \
    TANDEM_CHECK_AS(IndexError, r.count > 0, op, ": ", x.sizes(), " has no elements to choose from");        \
    Tensor flat = r.flat_output(x.dtype());                                                                  \
    TANDEM_DISPATCH(x.device(), name, r.x, flat);                                                            \
    const Tensor y = r.restore(flat, keepdim);                                                               \
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
    const ReducedDims r(#name, *this, {dim});                                                                   \
    TANDEM_CHECK_AS(IndexError, r.count > 0, #name ": dimension ", dim, " of ", sizes(),                        \
                    " has no elements to choose from");                                                         \
    Tensor flat = r.flat_output(dtype()), places = r.flat_output(kInt64);                                       \
    TANDEM_DISPATCH(device(), kernel, r.x, flat, places);                                                       \
    const Tensor index = r.restore(places, keepdim);                                                            \
    const int64_t at = wrap_dim(#name, dim, this->dim());                                                       \
    return {record(#name, r.restore(flat, keepdim), {*this}, {index},                                           \
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
  const Shape kept = kept_sizes(x.sizes(), dim_mask("logsumexp", dims, x.dim()));
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
  const ReducedDims r(op, x.dtype() == kBool ? x : x != 0, dims);
  Tensor flat = r.flat_output(kBool);
  if (want_all)
    TANDEM_DISPATCH(x.device(), all, r.x, flat);
  else
    TANDEM_DISPATCH(x.device(), any, r.x, flat);
  return r.restore(x.dtype() == kUInt8 ? flat.to(kUInt8) : flat, keepdim);  // the dtype that masks once had
}
/// all and any over an empty list of dimensions: each element by itself, as in PyTorch.
Tensor as_bools(const Tensor& x) { return (x != 0).to(x.dtype() == kUInt8 ? kUInt8 : kBool); }
}  // namespace
Tensor Tensor::all() const { return reduce_bool("all", *this, {}, false, true); }
Tensor Tensor::all(int64_t dim, Flag keepdim) const { return reduce_bool("all", *this, {dim}, keepdim, true); }
Tensor Tensor::all(IntArrayRef dims, Flag keepdim) const {
  return dims.empty() ? as_bools(*this) : reduce_bool("all", *this, dims, keepdim, true);
}
Tensor Tensor::any(IntArrayRef dims, Flag keepdim) const {
  return dims.empty() ? as_bools(*this) : reduce_bool("any", *this, dims, keepdim, false);
}
Tensor Tensor::any() const { return reduce_bool("any", *this, {}, false, false); }
Tensor Tensor::any(int64_t dim, Flag keepdim) const { return reduce_bool("any", *this, {dim}, keepdim, false); }

namespace {
/// For each element the product of all others, of a tensor of one dimension; right in all its derivatives beside zeros.
/// Products of pairs, of pairs of pairs and so on go up a tree; down it, each half gets what is outside of it.
Tensor products_of_others(const Tensor& x) {
  std::vector<Tensor> levels = {x};  // of even sizes, up to the last, of one
  while (levels.back().size(0) > 1) {
    Tensor& level = levels.back();
    if (level.size(0) % 2 == 1) level = cat({level, ones({1}, level.options())});
    const Tensor pairs = level.view({-1, 2});
    levels.push_back(pairs.select(1, 0) * pairs.select(1, 1));
  }
  Tensor others = ones({1}, x.options());
  for (levels.pop_back(); !levels.empty(); levels.pop_back()) {
    const Tensor pairs = levels.back().view({-1, 2});
    others = (others.narrow(0, 0, pairs.size(0)).unsqueeze(1) * pairs.flip({1})).view({-1});
  }
  return others.narrow(0, 0, x.size(0));
}
}  // namespace
Tensor Tensor::prod() const {
  const ReducedDims r("prod", *this, {});
  Tensor flat = r.flat_output(is_floating_point() ? dtype() : kInt64);
  TANDEM_DISPATCH(device(), prod, r.x, flat);
  const Tensor y = r.restore(flat, false);
  return record("prod", y, {*this}, {*this, y}, [](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0), y = ctx.saved(1), zero = x == 0, any_zero = zero.any();
    const auto beside_zeros = [&] { return dy * products_of_others(x.reshape({-1})).view(x.sizes()); };
    if (is_recorded())  // which computes both, as it cannot ask the host
      return {tandem::where(any_zero, beside_zeros(), dy * y / x.masked_fill(zero, 1))};
    return {any_zero.item<bool>() ? beside_zeros() : dy * y / x};
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
  return isclose(other, rtol, atol, equal_nan).all().item<bool>();
}

Tensor Tensor::prod(int64_t dim, Flag keepdim, std::optional<DType> dtype) const {
  if (dtype && !tandem::is_floating_point(*dtype)) return to(*dtype).prod(dim, keepdim).to(*dtype);
  const Tensor x = dtype ? to(*dtype) : is_floating_point() ? *this : to(kInt64);
  const int64_t d = wrap_dim("prod", dim, x.dim());
  if (x.dim() == 0) return x.clone();
  if (x.size(d) > 0) {
    const Tensor last = (x.size(d) == 1 ? lead_gradient_to(x) : x).cumprod(d).narrow(d, -1, 1);
    return (keepdim ? last : last.squeeze(d)).clone(MemoryFormat::Contiguous);
  }
  Shape sizes = x.sizes();
  sizes[static_cast<size_t>(d)] = 1;
  return record("prod", ones(sizes, x.options()).sum(d, keepdim), {x}, {},
                [sizes = Shape(x.sizes())](const Context& ctx, const Tensor& dy) -> Grads {
                  return {ctx.flat_in(0, zeros(sizes, dy.options()))};
                });
}

}  // namespace tandem
