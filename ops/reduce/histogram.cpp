// Counting values: bincount, histc and histogram.
#include "tandem/ops/reduce/histogram.h"

#include <cmath>

#include "tandem/ops/define_op.h"
#include "tandem/ops/factory/linspace.h"
#include "tandem/ops/reduce/searchsorted.h"

namespace tandem {

TANDEM_CAST_POLICY(none, bincount, histc, histogram);

Tensor Tensor::bincount(const Tensor& weights, int64_t minlength) const {
  check_not_recorded("bincount", "the number of bins depends on the values");
  TANDEM_CHECK(dim() == 1 && is_integer(dtype()), "bincount only supports 1-d non-negative integral inputs, got ",
               dtype(), sizes());
  TANDEM_CHECK(minlength >= 0, "bincount: minlength should be >= 0, got ", minlength);
  TANDEM_CHECK(!weights.defined() || weights.sizes() == sizes(),
               "bincount: weights should be 1-d and have the same length as input, got ", weights.sizes(), " for ",
               sizes());
  TANDEM_CHECK(!weights.defined() || weights.device() == device(),
               "bincount: Expected all tensors to be on the same device, but got weights is on ", weights.device(),
               ", different from other tensors on ", device());
  const NoGradGuard guard;
  const Tensor positions = to(kInt64);
  int64_t n = minlength;
  if (numel() > 0) {
    const int64_t least = positions.min().item<int64_t>();
    TANDEM_CHECK(least >= 0, "bincount only supports 1-d non-negative integral inputs, got an element ", least);
    n = std::max(n, positions.max().item<int64_t>() + 1);
  }
  Tensor each = ones({numel()}, TensorOptions(kInt64).device(device()));
  if (weights.defined()) each = weights.detach().to(weights.dtype() == kFloat32 ? kFloat32 : kFloat64);
  return zeros({n}, each.options()).index_add(0, positions, each);
}

namespace {
/// Sums the weights `each` of the elements in each of `bins` bins, or counts the elements if `each` is undefined.
/// `position` is the index of each element's bin, or -1 if the element is in no bin.
Tensor sum_per_bin(const Tensor& position, int64_t bins, const Tensor& each) {
  const Tensor at = where(position < 0, bins, position);
  const Tensor what = each.defined() ? each : ones(position.sizes(), position.options());
  return zeros({bins + 1}, what.options()).index_add(0, at, what).narrow(0, 0, bins);
}
struct HistogramRange {
  double low, high;
};
/// Returns the range `given`, or, if from_x, the range of x's elements. If both ends are equal, the range is extended
/// by `margin`.
HistogramRange resolve_range(const char* op, const Tensor& x, HistogramRange given, bool from_x, double margin) {
  if (from_x) {
    check_not_recorded(op, "the range depends on the values, unless it is given");
    if (x.numel() > 0) given = {x.min().item<double>(), x.max().item<double>()};
  }
  TANDEM_CHECK(std::isfinite(given.low) && std::isfinite(given.high), op, ": range of [", given.low, ", ", given.high,
               "] is not finite; accepted: a finite min and max");
  TANDEM_CHECK(given.low <= given.high, op, ": min should not exceed max, but got min ", given.low, " max ",
               given.high);
  return given.low == given.high ? HistogramRange{given.low - margin, given.high + margin} : given;
}
void check_histogram(const char* op, const Tensor& x, int64_t bins) {
  check_floating_point(op, x);
  TANDEM_CHECK(bins > 0, op, "(): bins must be > 0, but got ", bins);
}
}  // namespace
Tensor Tensor::histc(int64_t bins, const Scalar& min, const Scalar& max) const {
  check_histogram("histc", *this, bins);
  const NoGradGuard guard;
  const bool from_x = min.to_double() == max.to_double() && numel() > 0;
  const HistogramRange r = resolve_range("histc", *this, {min.to_double(), max.to_double()}, from_x, 1);
  const Tensor x = (is_reduced_floating_point(dtype()) ? to(kFloat32) : detach()).reshape({-1});
  const Tensor inside = (x >= r.low) & (x <= r.high);
  const Tensor part = (tandem::where(inside, x - r.low, 0) * static_cast<double>(bins) / (r.high - r.low)).to(kInt64);
  return sum_per_bin(tandem::where(inside, part.clamp_max(bins - 1), -1), bins, {}).to(dtype());
}

namespace {
std::tuple<Tensor, Tensor> count_in_bins(const Tensor& x, const Tensor& edges, const Tensor& weight, bool density) {
  if (weight.defined()) {
    check_same_dtype("histogram", "x", x, "weight", weight);
    TANDEM_CHECK(weight.sizes() == x.sizes(),
                 "histogram: weight should have the same shape as the input, but got input with shape ", x.sizes(),
                 " and weight with shape ", weight.sizes());
  }
  const Tensor flat = x.detach().reshape({-1});
  const int64_t bins = edges.numel() - 1;
  const Tensor last = edges.narrow(0, bins, 1);
  Tensor position = searchsorted(edges, flat, false, /*right=*/true) - 1;
  position = where(flat == last, bins - 1, where((position < bins) & ~flat.isnan(), position, -1));
  Tensor counts = sum_per_bin(position, bins, weight.defined() ? weight.detach().reshape({-1}) : weight).to(x.dtype());
  if (density) counts = counts / counts.sum() / edges.diff();
  return {counts, edges};
}
}  // namespace
std::tuple<Tensor, Tensor> Tensor::histogram(const Tensor& bins, const Tensor& weight, Flag density) const {
  check_histogram("histogram", *this, bins.numel() - 1);
  check_same_dtype("histogram", "x", *this, "bins", bins);
  TANDEM_CHECK(bins.dim() == 1, "histogram: bins tensor should have one dimension, but got ", bins.dim(),
               " dimensions");
  const NoGradGuard guard;
  return count_in_bins(*this, bins.detach().clone(), weight, density);
}
std::tuple<Tensor, Tensor> Tensor::histogram(int64_t bins, std::optional<ArrayRef<double>> range, const Tensor& weight,
                                             Flag density) const {
  check_histogram("histogram", *this, bins);
  TANDEM_CHECK(!range || range->size() == 2,
               "histogram: for a 1-dimensional histogram range should have 2 elements, but got ",
               range ? range->size() : 0);
  const NoGradGuard guard;
  const bool from_x = !range && numel() > 0;
  const HistogramRange r = resolve_range(
      "histogram", *this, range ? HistogramRange{(*range)[0], (*range)[1]} : HistogramRange{0, 1}, from_x, 0.5);
  return count_in_bins(*this, linspace(r.low, r.high, bins + 1, options()), weight, density);
}

}  // namespace tandem
