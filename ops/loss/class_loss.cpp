// Shared parts of losses of class indices: checks of arguments, and weighted means.
#include "tandem/ops/loss/class_loss.h"

#include "tandem/kernels/nll.h"
#include "tandem/ops/define_op.h"

namespace tandem::detail {

Tensor gather_targets(const Tensor& x, const Tensor& target) {
  const Tensor safe = where(target < 0, zeros_like(target), where(target >= x.size(1), zeros_like(target), target));
  return x.gather(1, safe.unsqueeze(1)).squeeze(1);
}
Tensor empty_per_row(const Tensor& rows) {
  return core::empty({rows.size(0)}, accumulate_type(rows.dtype()), rows.device());
}
WeightedMean weighted_mean(const Tensor& losses, const Tensor& weights, bool mean) {
  if (!mean) return {losses, Tensor()};
  const auto one = [&] { return core::empty({}, losses.dtype(), losses.device()); };
  WeightedMean y{one(), one()};
  TANDEM_DISPATCH(losses.device(), nll_mean, losses, weights, y.loss, y.total_weight);
  return y;
}
Tensor to_class_indices(const Tensor& target) { return target.dtype() == kUInt8 ? target.to(kInt64) : target; }
Tensor compute_class_loss(const char* op, const char* name, const Tensor& x, const Tensor& target, const Tensor& weight,
                          Reduction reduction, int64_t ignore_index, RowLoss f) {
  check_floating_point(op, x);
  TANDEM_CHECK(target.dtype() == kInt64, op, ": expected target dtype to be Long or Byte, but got ", target.dtype(),
               "; accepted: int64 and uint8");
  TANDEM_CHECK(target.device() == x.device(), op,
               ": Expected all tensors to be on the same device, but got target is on ", target.device(),
               ", different from other tensors on ", x.device());
  const size_t dim = x.dim() > 1 ? 1 : 0;
  Shape samples = x.sizes();
  if (x.dim() > 0) samples.erase(dim);
  TANDEM_CHECK(x.dim() < 2 || target.dim() == 0 || x.size(0) == target.size(0), op, ": Expected input batch_size (",
               x.size(0), ") to match target batch_size (", target.size(0), ").");
  TANDEM_CHECK(x.dim() > 2 || target.dim() <= 1, op,
               ": 0D or 1D target tensor expected, multi-target not supported, but target is ", target.sizes());
  TANDEM_CHECK(x.dim() > 0 && target.sizes() == samples, op, ": ", name, " is ", x.sizes(), " and target is ",
               target.sizes(), "; accepted: (C,) and (), (N, C) and (N,), or (N, C, d...) and (N, d...)");
  const int64_t classes = x.sizes()[dim], count = target.numel();
  TANDEM_CHECK(!weight.defined() || (weight.dim() == 1 && weight.numel() == classes), op,
               ": weight tensor should be defined either for all ", classes,
               " classes or no classes but got weight tensor of shape: ", weight.sizes());
  check_parameter(op, "weight", weight, classes, x);
  const auto losses_of = [&](const Tensor& rows, const Tensor& t) {
    const Tensor w = prepare_parameter(weight, x.dtype());
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

}  // namespace tandem::detail
