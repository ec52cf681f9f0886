#include "tandem/ops/loss/loss.h"

#include <limits>

#include "tandem/autograd/record.h"
#include "tandem/core/dispatch.h"
#include "tandem/kernels/nll.h"
#include "tandem/kernels/reduce.h"
#include "tandem/kernels/softmax.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/loss/loss_reduction.h"
#include "tandem/ops/reduce/reduce.h"
#include "tandem/ops/shape/view.h"

namespace tandem {
using detail::accumulate_type, detail::around, detail::check_part, detail::check_real, detail::contiguous_detached;
namespace {

Tensor softmax_backward(const Tensor& dy, const Tensor& y, int64_t dim);
Tensor log_softmax_backward(const Tensor& dy, const Tensor& y, int64_t dim);

/// Of each of these: an output of a's shape, and itself in three dimensions, for a kernel to write.
struct Around {
  Tensor y, flat;
  Around(const Tensor& a, const Tensor& flat_a)
      : y(core::empty(a.sizes(), a.dtype(), a.device())), flat(core::try_view(y, flat_a.sizes())) {}
};
Tensor softmax_of(const Tensor& x, int64_t dim) {
  const Tensor from = around(x, dim);
  Around to(x, from);
  TANDEM_DISPATCH(x.device(), softmax, from, to.flat);
  return record("softmax", to.y, {x}, {to.y}, [dim](const Context& ctx, const Tensor& dy) -> Grads {
    return {softmax_backward(dy, ctx.saved(0), dim)};
  });
}
Tensor log_softmax_of(const Tensor& x, int64_t dim) {
  const Tensor from = around(x, dim);
  Around to(x, from);
  TANDEM_DISPATCH(x.device(), log_softmax, from, to.flat);
  return record("log_softmax", to.y, {x}, {to.y}, [dim](const Context& ctx, const Tensor& dy) -> Grads {
    return {log_softmax_backward(dy, ctx.saved(0), dim)};
  });
}
/// dx = y (dy - sum dy y)
Tensor softmax_backward(const Tensor& dy, const Tensor& y, int64_t dim) {
  const Tensor g = around(dy, dim), out = around(y, dim);
  Around to(y, out);
  TANDEM_DISPATCH(y.device(), softmax_backward, g, out, to.flat);
  return record("softmax_backward", to.y, {dy, y}, {dy, y}, [dim](const Context& ctx, const Tensor& ddx) -> Grads {
    const Tensor dy = ctx.saved(0), y = ctx.saved(1);
    const Tensor dot = (dy * y).sum({dim}, true), other = (ddx * y).sum({dim}, true);
    return {softmax_backward(ddx, y, dim), ctx.needs_grad(1) ? ddx * (dy - dot) - dy * other : Tensor()};
  });
}
/// dx = dy - e^y sum dy
Tensor log_softmax_backward(const Tensor& dy, const Tensor& y, int64_t dim) {
  const Tensor g = around(dy, dim), out = around(y, dim);
  Around to(y, out);
  TANDEM_DISPATCH(y.device(), log_softmax_backward, g, out, to.flat);
  return record("log_softmax_backward", to.y, {dy, y}, {dy, y}, [dim](const Context& ctx, const Tensor& ddx) -> Grads {
    const Tensor dy = ctx.saved(0), p = ctx.saved(1).exp();
    return {ddx - (ddx * p).sum({dim}, true), ctx.needs_grad(1) ? (ddx * p * dy.sum({dim}, true)).neg() : Tensor()};
  });
}

}  // namespace

Tensor softmax(const Tensor& given, int64_t dim, std::optional<DType> dtype) {
  const Tensor x = dtype ? given.to(*dtype) : given;
  check_real("softmax", x);
  return softmax_of(x, wrap_dim("softmax", dim, x.dim()));
}
Tensor log_softmax(const Tensor& given, int64_t dim, std::optional<DType> dtype) {
  const Tensor x = dtype ? given.to(*dtype) : given;
  check_real("log_softmax", x);
  return log_softmax_of(x, wrap_dim("log_softmax", dim, x.dim()));
}
Tensor Tensor::softmax(int64_t dim) const { return tandem::softmax(*this, dim); }
Tensor Tensor::log_softmax(int64_t dim) const { return tandem::log_softmax(*this, dim); }

// ---- losses

namespace {
void check_sizes(const char* op, const Tensor& x, const Tensor& target) {
  TANDEM_CHECK(x.device() == target.device() && x.sizes() == target.sizes(), op, ": x is ", x.sizes(), " on ",
               x.device(), " and target is ", target.sizes(), " on ", target.device(),
               "; both must have the same shape and device");
}
void check_pair(const char* op, const Tensor& x, const Tensor& target) {
  check_real(op, x);
  check_sizes(op, x, target);
}

/// x[i, target[i]]; some other element of the row where target lies outside.
Tensor at_targets(const Tensor& x, const Tensor& target) {
  const Tensor safe = where(target < 0, zeros_like(target), where(target >= x.size(1), zeros_like(target), target));
  return x.gather(1, safe.unsqueeze(1)).squeeze(1);
}
/// dx[i, target[i]] = -dloss[i] weights[i]: linear in dloss. total: of the weights, if dloss is that of the mean, else
/// undefined.
Tensor nll_backward(const Tensor& dloss, const Tensor& total, const Tensor& target, const Tensor& weights,
                    int64_t ignore_index, IntArrayRef sizes, DType dtype) {
  if (total.defined() && is_grad_enabled())  // second derivatives go through the division too
    return nll_backward((dloss / total).expand({sizes[0]}), {}, target, weights, ignore_index, sizes, dtype);
  const Tensor g = contiguous_detached(dloss);
  Tensor dx = core::empty(sizes, dtype, dloss.device());
  TANDEM_DISPATCH(dx.device(), nll_backward, g, total, target, weights, ignore_index, dx);
  return record("nll_backward", dx, {dloss}, {target, weights}, [](const Context& ctx, const Tensor& ddx) -> Grads {
    return {(at_targets(ddx, ctx.saved(0)) * ctx.saved(1)).neg()};
  });
}
/// dx[i, j] = dloss[i] weights[i] (p[i, j] - [j = target[i]]) with p = softmax(x), which the kernel gets from log_sum.
/// total: as above.
Tensor cross_entropy_backward(const Tensor& dloss, const Tensor& total, const Tensor& x, const Tensor& target,
                              const Tensor& weights, const Tensor& log_sum, int64_t ignore_index) {
  if (total.defined() && is_grad_enabled())
    return cross_entropy_backward((dloss / total).expand({x.size(0)}), {}, x, target, weights, log_sum, ignore_index);
  const Tensor g = contiguous_detached(dloss);
  Tensor dx = core::empty(x.sizes(), x.dtype(), x.device());
  TANDEM_DISPATCH(dx.device(), cross_entropy_backward, g, total, x, target, weights, log_sum, ignore_index, dx);
  return record("cross_entropy_backward", dx, {dloss, x}, {dloss, x, target, weights},
                [](const Context& ctx, const Tensor& ddx) -> Grads {
                  const Tensor p = softmax_of(ctx.saved(1), 1), weights = ctx.saved(3);
                  Tensor ddloss, dx;
                  if (ctx.needs_grad(0)) ddloss = ((ddx * p).sum({1}) - at_targets(ddx, ctx.saved(2))) * weights;
                  if (ctx.needs_grad(1)) {
                    const Tensor slope = (ctx.saved(0) * weights).to(ddx.dtype());
                    dx = softmax_backward(ddx * slope.unsqueeze(1), p, 1);
                  }
                  return {ddloss, dx};
                });
}

/// Losses of rows of classes, from tensors as the kernels take them: of each row, or their mean.
using RowLoss = Tensor(const Tensor& x, const Tensor& target, const Tensor& weight, bool mean, int64_t ignore_index);
Tensor one_each(const Tensor& rows) {
  return core::empty({rows.size(0)}, accumulate_type(rows.dtype()), rows.device());
}
struct Averaged {
  Tensor loss, total;  // total of the weights; undefined where loss still is that of each row
};
Averaged averaged(const Tensor& losses, const Tensor& weights, bool mean) {
  if (!mean) return {losses, Tensor()};
  const auto one = [&] { return core::empty({}, losses.dtype(), losses.device()); };
  Averaged y{one(), one()};
  TANDEM_DISPATCH(losses.device(), nll_mean, losses, weights, y.loss, y.total);
  return y;
}
Tensor nll_rows(const Tensor& x, const Tensor& target, const Tensor& weight, bool mean, int64_t ignore_index) {
  Tensor losses = one_each(x), weights = one_each(x);
  TANDEM_DISPATCH(x.device(), nll, x, target, weight, ignore_index, losses, weights);
  const auto [loss, total] = averaged(losses, weights, mean);
  return record(
      "nll_loss", loss, {x}, {target, weights, total},
      [sizes = Shape(x.sizes()), dtype = x.dtype(), ignore_index](const Context& ctx, const Tensor& dy) -> Grads {
        const Tensor dx = nll_backward(dy, ctx.saved(2), ctx.saved(0), ctx.saved(1), ignore_index, sizes, dtype);
        return {ctx.flat_in(0, dx)};
      });
}
Tensor cross_entropy_rows(const Tensor& x, const Tensor& target, const Tensor& weight, bool mean,
                          int64_t ignore_index) {
  Tensor losses = one_each(x), weights = one_each(x), log_sum = one_each(x);
  TANDEM_DISPATCH(x.device(), cross_entropy, x, target, weight, ignore_index, losses, weights, log_sum);
  const auto [loss, total] = averaged(losses, weights, mean);
  return record("cross_entropy", loss, {x}, {x, target, weights, log_sum, total},
                [ignore_index](const Context& ctx, const Tensor& dy) -> Grads {
                  return {cross_entropy_backward(dy, ctx.saved(4), ctx.saved(0), ctx.saved(1), ctx.saved(2),
                                                 ctx.saved(3), ignore_index)};
                });
}

/// Indices of uint8, which PyTorch accepts too, as int64. Other dtypes stay as they are, and are refused.
Tensor class_indices(const Tensor& target) { return target.dtype() == kUInt8 ? target.to(kInt64) : target; }

/// A loss of class indices: checks what it is given (x goes by `name`), and calls f with rows of classes: every
/// position is a sample of its own.
Tensor of_classes(const char* op, const char* name, const Tensor& x, const Tensor& target, const Tensor& weight,
                  Reduction reduction, int64_t ignore_index, RowLoss f) {
  check_real(op, x);
  TANDEM_CHECK(target.dtype() == kInt64 && target.device() == x.device(), op, ": target is ", target.dtype(), " on ",
               target.device(), "; accepted: int64 or uint8 on ", x.device());
  const size_t dim = x.dim() > 1 ? 1 : 0;
  Shape samples = x.sizes();
  if (x.dim() > 0) samples.erase(dim);
  TANDEM_CHECK(x.dim() > 0 && target.sizes() == samples, op, ": ", name, " is ", x.sizes(), " and target is ",
               target.sizes(), "; accepted: (C,) and (), (N, C) and (N,), or (N, C, d...) and (N, d...)");
  const int64_t classes = x.sizes()[dim], count = target.numel();
  check_part(op, "weight", weight, classes, x);
  TANDEM_CHECK(!weight.defined() || weight.dim() == 1, op, ": weight is ", weight.sizes(), "; accepted: (", classes,
               ",)");
  const auto losses_of = [&](const Tensor& rows, const Tensor& t) {
    const Tensor w = detail::prepare_part(weight, x.dtype());
    const Tensor y = f(rows.contiguous(), contiguous_detached(t), w, reduction == Reduction::mean, ignore_index);
    return (reduction == Reduction::sum ? y.sum() : y).to(x.dtype());
  };
  if (x.dim() == 2) return losses_of(x, target);
  const auto classes_last = [](const Tensor& t) { return t.dim() > 2 ? t.transpose(1, -1) : t; };
  const Tensor losses = losses_of(classes_last(x).reshape({count, classes}), classes_last(target).reshape({count}));
  if (reduction != Reduction::none) return losses;
  const Tensor y = reshape_result(losses, classes_last(target).sizes());
  return y.dim() > 1 ? classes_last(y).clone(MemoryFormat::Contiguous) : y;
}
}  // namespace

Tensor nll_loss(const Tensor& log_prob, const Tensor& target, const Tensor& weight, Reduction reduction,
                int64_t ignore_index) {
  return of_classes("nll_loss", "log_prob", log_prob, class_indices(target), weight, reduction, ignore_index, nll_rows);
}

namespace {
/// -sum_c target[n, c] weight[c] log_prob[n, c] for targets that are probabilities.
Tensor of_probabilities(const Tensor& x, const Tensor& given, const Tensor& weight, Reduction reduction,
                        int64_t ignore_index, double label_smoothing) {
  TANDEM_CHECK(ignore_index < 0, "cross_entropy: ignore_index is ", ignore_index,
               " and target holds probabilities; accepted: an index below 0, which means none");
  check_pair("cross_entropy", x, given);
  TANDEM_CHECK(x.dim() > 0, "cross_entropy: x is a scalar; accepted: (C,), (N, C) or (N, C, d...)");
  const int64_t dim = x.dim() == 1 ? 0 : 1, classes = x.size(dim);
  check_part("cross_entropy", "weight", weight, classes, x);
  Tensor target = given;
  if (label_smoothing > 0) target = target * (1 - label_smoothing) + label_smoothing / static_cast<double>(classes);
  const DType wide = accumulate_type(x.dtype());
  Tensor terms = log_softmax(x, dim).to(wide) * target.to(promote_types(wide, target.dtype()));
  if (weight.defined()) {
    Shape sizes(static_cast<size_t>(x.dim()), 1);
    sizes[static_cast<size_t>(dim)] = classes;
    terms = terms * weight.to(wide).view(sizes);
  }
  const Tensor losses = terms.sum({dim}).neg();
  return reduced(losses, reduction).to(promote_types(x.dtype(), target.dtype()));
}
}  // namespace

Tensor cross_entropy(const Tensor& x, const Tensor& given, const Tensor& weight, Reduction reduction,
                     int64_t ignore_index, double label_smoothing) {
  TANDEM_CHECK(label_smoothing >= 0 && label_smoothing <= 1, "cross_entropy: label_smoothing is ", label_smoothing,
               "; accepted: 0 to 1");
  if (given.is_floating_point() && given.sizes() == x.sizes())
    return of_probabilities(x, given, weight, reduction, ignore_index, label_smoothing);
  const Tensor target = class_indices(given);
  if (label_smoothing == 0)
    return of_classes("cross_entropy", "x", x, target, weight, reduction, ignore_index, cross_entropy_rows);
  check_real("cross_entropy", x);
  TANDEM_CHECK(x.dim() > 0, "cross_entropy: x is a scalar; accepted: (C,), (N, C) or (N, C, d...)");
  const int64_t dim = x.dim() == 1 ? 0 : 1;
  const Tensor log_prob = log_softmax(x, dim);
  const Tensor loss = of_classes("cross_entropy", "x", log_prob, target, weight, reduction, ignore_index, nll_rows);
  // The uniform part: -sum_c weight[c] log_prob[n, c] / C over the targets that count, averaged by their weights.
  const double classes = static_cast<double>(x.size(dim));
  Tensor spread = log_prob;
  if (weight.defined()) {
    Shape sizes(static_cast<size_t>(x.dim()), 1);
    sizes[static_cast<size_t>(dim)] = weight.numel();
    spread = spread * weight.to(x.dtype()).view(sizes);
  }
  const Tensor ignored = target == ignore_index;
  const DType wide = accumulate_type(x.dtype());  // sums over many samples do not fit float16
  spread = where(ignored, Scalar(0), spread.sum({dim}).to(wide).neg() / classes);  // times 0 would leave a NaN
  Tensor smooth = spread;
  if (reduction == Reduction::sum) smooth = spread.sum();
  if (reduction == Reduction::mean) {
    Tensor weights = ignored.logical_not().to(wide);
    if (weight.defined()) {
      const Tensor safe = where(ignored, zeros_like(target), target);
      weights = weights * weight.to(wide).index_select(0, safe.reshape({-1})).reshape(target.sizes());
    }
    smooth = spread.sum() / weights.sum();
  }
  return (loss * (1 - label_smoothing) + smooth * label_smoothing).to(x.dtype());
}

namespace {
/// x - target, of which the target may be bool.
Tensor difference(const Tensor& x, const Tensor& target) {
  return x - (target.dtype() == kBool ? target.to(x.dtype()) : target);
}
/// The sum or mean of (x - target)^2, in one pass.
Tensor squared_error(const Tensor& x, const Tensor& target, bool mean) {
  const double count = mean ? static_cast<double>(x.numel()) : 1;
  Tensor y = core::empty({}, x.dtype(), x.device());
  TANDEM_DISPATCH(x.device(), squared_error, x, target, count, y);
  return record("mse_loss", y, {x, target}, {x, target}, [count](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor slope = (ctx.saved(0) - ctx.saved(1)) * (dy * (2 / count));
    return {slope, ctx.needs_grad(1) ? slope.neg() : Tensor()};
  });
}
}  // namespace
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  check_pair("mse_loss", x, target);
  if (reduction != Reduction::none && x.dtype() == target.dtype() && !is_half(x.dtype()) && x.is_contiguous() &&
      target.is_contiguous() && x.numel() > 0)
    return squared_error(x, target, reduction == Reduction::mean);
  return reduced(difference(x, target).square(), reduction);
}
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  check_sizes("l1_loss", x, target);
  TANDEM_CHECK(x.dtype() != kBool && target.dtype() != kBool, "l1_loss: x is ", x.dtype(), " and target is ",
               target.dtype(), "; accepted: numbers");
  return reduced((x - target).abs(), reduction);
}
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, Reduction reduction, double beta) {
  check_pair("smooth_l1_loss", x, target);
  TANDEM_CHECK(beta >= 0, "smooth_l1_loss: beta is ", beta, "; accepted: 0 or more");
  if (beta == 0) return l1_loss(x, target, reduction);
  const Tensor d = difference(x, target).abs();
  const Tensor far = d >= beta;                  // not where d is a NaN
  const Tensor near = where(far, Scalar(0), d);  // the slope of an infinite square would make a NaN of the gradient
  return reduced(where(far, d - 0.5 * beta, near.square() * (0.5 / beta)), reduction);
}
namespace {
/// Written out, since the derivative of the composed logarithms is 0 * infinity where x is 0 or 1:
/// d/dx = (x - t) / max(x (1 - x), 1e-12), with PyTorch's bound, a float.
Tensor binary_cross_entropies(const Tensor& x, const Tensor& target) {
  Tensor losses;
  {
    const NoGradGuard guard;
    losses = (x.log().clamp(-100.0) * target + x.neg().log1p().clamp(-100.0) * (1 - target)).neg();
  }
  return record("binary_cross_entropy", losses, {x, target}, {x, target},
                [](const Context& ctx, const Tensor& dy) -> Grads {
                  const Tensor x = ctx.saved(0), t = ctx.saved(1);
                  Tensor dx, dt;
                  if (ctx.needs_grad(0)) dx = (x - t) * dy / (x * (1 - x)).clamp_min(1e-12f);
                  if (ctx.needs_grad(1)) dt = dy * ((1 - x).log() - x.log());  // without the bound, as PyTorch's
                  return {dx, dt};
                });
}
/// ln(1 + e^-x), whose derivative is exact everywhere
Tensor negative_log_sigmoid(const Tensor& x) {
  return softplus(x.neg(), /*beta=*/1, /*threshold=*/std::numeric_limits<double>::infinity());
}
/// (1 - t) x + c ln(1 + e^-x) with c = 1 + (w - 1) t, where w is pos_weight, or 1. The derivative is written out, since
/// that of the parts is wrong at the kink they share at 0, and cancels away from it:
/// d/dx = c sigmoid(x) - w t
Tensor logit_cross_entropies(const Tensor& x, const Tensor& target, const Tensor& pos_weight) {
  Tensor losses;
  {
    const NoGradGuard guard;
    const Tensor soft = x.neg().relu() + x.abs().neg().exp().log1p();
    losses = (1 - target) * x + (pos_weight.defined() ? soft * ((pos_weight - 1) * target + 1) : soft);
  }
  return record("binary_cross_entropy_with_logits", losses, {x, target, pos_weight}, {x, target, pos_weight},
                [](const Context& ctx, const Tensor& dy) -> Grads {
                  const Tensor x = ctx.saved(0), t = ctx.saved(1), w = ctx.saved(2);
                  Tensor dx, dt, dw;
                  if (ctx.needs_grad(0) && !w.defined()) dx = (x.sigmoid() - t) * dy;
                  if (ctx.needs_grad(0) && w.defined()) {
                    const Tensor scaled = w * t;  // first: 1 - w may round to 1 in w's dtype
                    dx = ((scaled + 1 - t) * x.sigmoid() - scaled) * dy;
                  }
                  if (ctx.needs_grad(1))
                    dt = dy * (w.defined() ? w * negative_log_sigmoid(x) - negative_log_sigmoid(x.neg()) : x.neg());
                  if (ctx.needs_grad(2)) dw = dy * t * negative_log_sigmoid(x);
                  return {dx, dt, dw};
                });
}
Tensor weighted(const char* op, const Tensor& losses, const Tensor& weight) {
  if (!weight.defined()) return losses;
  TANDEM_CHECK(weight.device() == losses.device(), op, ": weight is on ", weight.device(), " and x on ",
               losses.device(), "; both must be on one device");
  TANDEM_CHECK(broadcast_shapes(op, losses.sizes(), weight.sizes()) == losses.sizes(), op, ": weight is ",
               weight.sizes(), "; it must broadcast to x's sizes, ", losses.sizes());
  return losses * weight.to(losses.dtype());
}
}  // namespace

Tensor binary_cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight, Reduction reduction) {
  check_pair("binary_cross_entropy", x, target);
  TANDEM_CHECK(x.dtype() == target.dtype(), "binary_cross_entropy: x is ", x.dtype(), " and target is ", target.dtype(),
               "; both must be of one dtype");
  if (x.is_cpu()) {
    kernels::cpu::check_probabilities("binary_cross_entropy: x", contiguous_detached(x),
                                      ", as sigmoid gives; binary_cross_entropy_with_logits takes any");
    kernels::cpu::check_probabilities("binary_cross_entropy: target", contiguous_detached(target), "");
  }
  const Tensor losses = binary_cross_entropies(x, target);
  return reduced(weighted("binary_cross_entropy", losses, weight), reduction);
}
Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target, const Tensor& weight,
                                        const Tensor& pos_weight, Reduction reduction) {
  check_pair("binary_cross_entropy_with_logits", x, target);
  TANDEM_CHECK(target.is_floating_point(), "binary_cross_entropy_with_logits: target is ", target.dtype(),
               "; accepted: floating point");
  if (pos_weight.defined()) broadcast_shapes("binary_cross_entropy_with_logits", x.sizes(), pos_weight.sizes());
  const Tensor losses = logit_cross_entropies(x, target, pos_weight).to(target.dtype());
  return reduced(weighted("binary_cross_entropy_with_logits", losses, weight), reduction);
}

}  // namespace tandem
