// Implements MeanSquaredError, MeanAbsoluteError and R2Score.
#include "tandem/train/metrics/regression.h"

#include "tandem/core/internal.h"
#include "tandem/ops/ops.h"

namespace tandem::metrics {
namespace {

constexpr double kR2Tolerance = 1e-4;  // sums up to this size count as 0 in torchmetrics

void check_same_shape(const std::string& metric, const Tensor& preds, const Tensor& target) {
  TANDEM_CHECK(preds.sizes() == target.sizes(), metric, ": preds is ", preds.sizes(), " and target is ", target.sizes(),
               "; accepted: equal shapes");
}

/// Returns preds - target in float64: (elements) or, with several outputs, (N, outputs).
Tensor differences(const std::string& metric, int64_t num_outputs, const Tensor& preds, const Tensor& target) {
  check_same_shape(metric, preds, target);
  TANDEM_CHECK(num_outputs == 1 || (preds.dim() == 2 && preds.size(1) == num_outputs), metric,
               ": preds and target are ", preds.sizes(), "; accepted: (N, ", num_outputs, "), because num_outputs is ",
               num_outputs);
  const Tensor difference = preds.to(kFloat64) - target.to(kFloat64);
  return num_outputs == 1 ? difference.flatten() : difference;
}
std::vector<Tensor> sum_and_count(const Tensor& errors) {
  const Tensor sum = errors.sum({0});
  return {sum, full({}, errors.size(0), sum.options().dtype(kInt64))};
}
void check_num_outputs(const std::string& metric, int64_t num_outputs) {
  TANDEM_CHECK(num_outputs > 0, metric, ": num_outputs is ", num_outputs, "; accepted: 1 or more");
}
Tensor zero_sums(int64_t num_outputs) {
  const TensorOptions options = TensorOptions().dtype(kFloat64);
  return num_outputs == 1 ? zeros({}, options) : zeros({num_outputs}, options);
}
Tensor zero_count() { return zeros({}, TensorOptions().dtype(kInt64)); }

}  // namespace

MeanSquaredError::MeanSquaredError(MeanSquaredErrorOptions options) : Metric(options), options_(std::move(options)) {
  check_num_outputs(name(), options_.num_outputs());
  add_state("sum_squared_error", zero_sums(options_.num_outputs()), Reduction::SUM);
  add_state("total", zero_count(), Reduction::SUM);
}
std::vector<Tensor> MeanSquaredError::batch_states(const Tensor& preds, const Tensor& target) const {
  return sum_and_count(differences(name(), options_.num_outputs(), preds, target).square());
}
Tensor MeanSquaredError::compute_value(const std::vector<Tensor>& states) const {
  const Tensor mean = states[0] / states[1];
  return options_.squared() ? mean : mean.sqrt();
}

MeanAbsoluteError::MeanAbsoluteError(MeanAbsoluteErrorOptions options) : Metric(options), options_(std::move(options)) {
  check_num_outputs(name(), options_.num_outputs());
  add_state("sum_abs_error", zero_sums(options_.num_outputs()), Reduction::SUM);
  add_state("total", zero_count(), Reduction::SUM);
}
std::vector<Tensor> MeanAbsoluteError::batch_states(const Tensor& preds, const Tensor& target) const {
  return sum_and_count(differences(name(), options_.num_outputs(), preds, target).abs());
}
Tensor MeanAbsoluteError::compute_value(const std::vector<Tensor>& states) const { return states[0] / states[1]; }

R2Score::R2Score(R2ScoreOptions options) : Metric(options), options_(std::move(options)) {
  const std::string& multioutput = options_.multioutput();
  TANDEM_CHECK(options_.adjusted() >= 0, name(), ": adjusted is ", options_.adjusted(), "; accepted: 0 or more");
  TANDEM_CHECK(multioutput == "uniform_average" || multioutput == "variance_weighted" || multioutput == "raw_values",
               name(), ": multioutput is '", multioutput,
               "'; accepted: uniform_average, variance_weighted, raw_values");
  add_state("moments", {}, Reduction::MERGE);
}

/// The state holds, for each output, the number of examples, a number c near the targets, the sums of target - c and of
/// (target - c)^2, and the sum of squared residuals. The sum of target^2 itself would lose digits if the mean is large.
std::vector<Tensor> R2Score::batch_states(const Tensor& preds, const Tensor& target) const {
  check_same_shape(name(), preds, target);
  TANDEM_CHECK(target.dim() == 1 || target.dim() == 2, name(), ": preds and target are ", target.sizes(),
               "; accepted: one or two dimensions");
  const Tensor x = target.to(kFloat64);
  const Tensor count = full_like(x.sum({0}), x.size(0));
  if (x.size(0) == 0) return {stack({count, count, count, count, count})};
  const Tensor center = x.mean({0}), distance = x - center;
  return {stack(
      {count, center, distance.sum({0}), distance.square().sum({0}), (x - preds.to(kFloat64)).square().sum({0})})};
}

/// Moves the sums of b to the center of a, and adds them.
Tensor R2Score::merge_states(const Tensor& a, const Tensor& b) const {
  TANDEM_CHECK(a.sizes() == b.sizes(), name(), ": batches have ", a.dim() == 1 ? 1 : a.size(1), " and ",
               b.dim() == 1 ? 1 : b.size(1), " outputs; accepted: preds and target of one number of outputs");
  const Tensor center = where(a[0] > 0, a[1], b[1]), shift = b[1] - center;
  const Tensor distances = b[2] + b[0] * shift;
  const Tensor squares = b[3] + 2 * shift * b[2] + b[0] * shift.square();
  return stack({a[0] + b[0], center, a[2] + distances, a[3] + squares, a[4] + b[4]});
}

Tensor R2Score::compute_value(const std::vector<Tensor>& states) const {
  const double count = states[0].defined() && states[0].numel() > 0 ? states[0][0].max().item<double>() : 0;
  TANDEM_CHECK(count >= 2, name(), ": there are ", count, " examples; accepted: two or more");
  const Tensor tss = states[0][3] - states[0][2].square() / count, rss = states[0][4];
  const Tensor has_residual = (rss <= kR2Tolerance).logical_not(), varies = (tss <= kR2Tolerance).logical_not();
  const Tensor raw = where(has_residual, where(varies, 1 - rss / tss, zeros_like(rss)), ones_like(rss));
  Tensor r2 = raw;
  if (options_.multioutput() == "uniform_average") r2 = raw.mean();
  if (options_.multioutput() == "variance_weighted") r2 = (tss / tss.sum() * raw).sum();

  const auto adjusted = static_cast<double>(options_.adjusted());
  if (adjusted == 0) return r2;
  if (adjusted >= count - 1) {
    warn("adjusted is " + std::to_string(options_.adjusted()) + " and there are " +
         std::to_string(static_cast<int64_t>(count)) + " examples; the value is R2, which is not adjusted");
    return r2;
  }
  return 1 - (1 - r2) * (count - 1) / (count - adjusted - 1);
}

}  // namespace tandem::metrics
