// Op cases of statistics and scans that are composed of other operations.
#include "tandem/ops/index/nonzero.h"
#include "tandem/ops/linalg/norm.h"
#include "tandem/ops/reduce/covariance.h"
#include "tandem/ops/reduce/cumulative.h"
#include "tandem/ops/reduce/diff.h"
#include "tandem/ops/reduce/gradient.h"
#include "tandem/ops/reduce/mean.h"
#include "tandem/ops/reduce/median.h"
#include "tandem/ops/reduce/minmax.h"
#include "tandem/ops/reduce/mode.h"
#include "tandem/ops/reduce/quantile.h"
#include "tandem/ops/reduce/sort.h"
#include "tandem/ops/reduce/std_var.h"
#include "tandem/ops/reduce/sum.h"
#include "tandem/ops/reduce/trapezoid.h"
#include "tandem/tests/op_cases/families.h"

namespace tandem::test {

static constexpr const char* kNoElements = "an extreme of nothing is an error, as in PyTorch";
static constexpr const char* kNoQuantile = "is refused, as in PyTorch";
/// Converts half types to float32, because quantile does not accept half types.
static Tensor wide(const Tensor& x) { return detail::is_reduced_floating_point(x.dtype()) ? x.to(kFloat32) : x; }
static constexpr OpCase kStatisticsCases[] = {
    {"count_nonzero", [](In in) { return count_nonzero(in[0]); }},
    {"count_nonzero/dim", [](In in) { return count_nonzero(in[0], 1); }},
    {"count_nonzero/dims",
     [](In in) {
       return count_nonzero(in[0], {0, 2});
     }},
    {"nansum",
     [](In in) {
       return nansum(in[0], {0, 2}, true);
     },
     {.integers = true}},
    {"nansum/holes", [](In in) { return nansum(in[0], 1); }, {.no_gradcheck = kKink}},
    {"nanmean",
     [](In in) {
       return nanmean(in[0], {0, 2});
     }},
    {"nanmean/holes", [](In in) { return nanmean(in[0]); }, {.no_gradcheck = kKink}},
    {"aminmax", [](In in) { return aminmax(in[0]); }, {.integers = true, .no_empty = kNoElements}},
    {"aminmax/dim", [](In in) { return aminmax(in[0], 1, true); }, {.integers = true}},
    {"std_mean",
     [](In in) {
       return std_mean(in[0], {0, 2});
     }},
    {"var_mean", [](In in) { return var_mean(in[0], 1, false, true); }},
    {"median", [](In in) { return median(in[0]); }, {.no_empty = kNoElements}},
    {"median/odd", [](In in) { return median(in[0]); }},
    {"median/ties", [](In in) { return median(in[0]); }, {.no_gradcheck = kKink}},
    {"median/dim", [](In in) { return median(in[0], 1); }},
    {"median/keepdim", [](In in) { return median(in[0], -1, true); }},
    {"median/holes", [](In in) { return std::get<0>(median(in[0], 1)); }, {.no_gradcheck = kKink}},
    {"nanmedian", [](In in) { return nanmedian(in[0]); }},
    {"nanmedian/dim", [](In in) { return nanmedian(in[0], 0); }, {.no_empty = kNoElements}},
    {"nanmedian/holes", [](In in) { return nanmedian(in[0]); }, {.no_gradcheck = kKink}},
    {"kthvalue", [](In in) { return kthvalue(in[0], 3); }},
    {"kthvalue/keepdim", [](In in) { return kthvalue(in[0], 2, 0, true); }, {.no_empty = kNoElements}},
    {"quantile", [](In in) { return quantile(wide(in[0]), 0.3); }, {.no_half = kNoQuantile, .no_empty = kNoElements}},
    {"quantile/dim",
     [](In in) { return quantile(wide(in[0]), 0.8, 1); },
     {.no_half = kNoQuantile, .no_empty = kNoElements}},
    {"quantile/many",
     [](In in) { return quantile(wide(in[0]), wide(in[1]), 0, true); },
     {.no_half = kNoQuantile, .no_empty = kNoElements}},
    {"quantile/all",
     [](In in) { return quantile(wide(in[0]), wide(in[1]), {}, true); },
     {.no_half = kNoQuantile, .no_empty = kNoElements}},
    {"quantile/lower",
     [](In in) { return quantile(wide(in[0]), 0.37, 1, false, "lower"); },
     {.no_half = kNoQuantile, .no_empty = kNoElements}},
    {"quantile/higher",
     [](In in) { return quantile(wide(in[0]), 0.37, 1, false, "higher"); },
     {.no_half = kNoQuantile, .no_empty = kNoElements}},
    {"quantile/midpoint",
     [](In in) { return quantile(wide(in[0]), 0.37, 1, false, "midpoint"); },
     {.no_half = kNoQuantile, .no_empty = kNoElements}},
    {"quantile/nearest",
     [](In in) { return quantile(wide(in[0]), 0.37, 1, false, "nearest"); },
     {.no_half = kNoQuantile, .no_empty = kNoElements}},
    {"quantile/holes",
     [](In in) { return quantile(wide(in[0]), 0.5, 1); },
     {.no_half = kNoQuantile, .no_empty = kNoElements}},
    {"cumprod", [](In in) { return cumprod(in[0], 1); }, {.integers = true}},
    {"cumprod/last", [](In in) { return cumprod(in[0], -1); }, {.no_half = "rounds its intermediate results"}},
    {"cumprod/zeros", [](In in) { return cumprod(in[0], 0); }},
    {"cumprod/bool", [](In in) { return cumprod(in[0], 0); }},
    {"logcumsumexp", [](In in) { return logcumsumexp(in[0], 1); }},
    {"logcumsumexp/far", [](In in) { return logcumsumexp(in[0], -1); }},
    {"diff", [](In in) { return diff(in[0]); }},
    {"diff/twice", [](In in) { return diff(in[0], 2, 1, in[1], in[2]); }},
    {"diff/none", [](In in) { return diff(in[0], 0, 1, in[0].detach()); }},
    {"diff/bool", [](In in) { return diff(in[0], 1, 0); }},
    {"trapezoid", [](In in) { return trapezoid(in[0], 0.5); }},
    {"trapezoid/places", [](In in) { return trapezoid(in[0], in[1], 1); }, {.no_empty = "one place for each row"}},
    {"trapezoid/own_places", [](In in) { return trapezoid(in[0], in[1], 1); }},
    {"cumulative_trapezoid", [](In in) { return cumulative_trapezoid(in[0], 2, 0); }},
    {"cumulative_trapezoid/places",
     [](In in) { return cumulative_trapezoid(in[0], in[1]); },
     {.no_empty = "one place for each row"}},
    {"cov", [](In in) { return cov(in[0]); }},
    {"cov/vector", [](In in) { return cov(in[0], 0); }},
    {"cov/weights", [](In in) { return cov(in[0], 1, in[1], in[2]); }, {.no_empty = "one weight for each column"}},
    {"corrcoef", [](In in) { return corrcoef(in[0]); }},
    {"cummax", [](In in) { return cummax(in[0], 1); }, {.integers = true}},
    {"cummax/holes", [](In in) { return cummax(in[0], 0); }, {.no_gradcheck = kKink}},
    {"cummin", [](In in) { return cummin(in[0], -1); }, {.integers = true}},
    {"cummin/ties", [](In in) { return cummin(in[0], 0); }, {.no_gradcheck = kKink}},
    {"mode", [](In in) { return mode(in[0]); }, {.integers = true}},
    {"mode/keepdim", [](In in) { return mode(in[0], 0, true); }, {.no_gradcheck = kKink, .no_empty = kNoElements}},
    {"msort", [](In in) { return in[0].msort(); }, {.integers = true}},
    {"argsort/stable", [](In in) { return in[0].argsort(true, -1, true); }, {.integers = true}},
    {"nanquantile",
     [](In in) { return nanquantile(wide(in[0]), 0.3); },
     {.no_half = kNoQuantile, .no_empty = kNoElements}},
    {"nanquantile/holes",
     [](In in) { return nanquantile(wide(in[0]), wide(in[1]), 1, true); },
     {.no_gradcheck = kKink, .no_half = kNoQuantile, .no_empty = kNoElements}},
    {"nanquantile/midpoint",
     [](In in) { return nanquantile(wide(in[0]), 0.4, 0, false, "midpoint"); },
     {.no_gradcheck = kKink, .no_half = kNoQuantile, .no_empty = kNoElements}},
    {"renorm", [](In in) { return renorm(in[0], 2, 1, 0.8); }},
    {"renorm_", [](In in) { return in[0].clone().renorm_(1, 0, 1.5); }},
    {"trapz", [](In in) { return trapz(in[0], 0.5); }},
    {"trapz/places", [](In in) { return trapz(in[0], in[1]); }},
    {"gradient", [](In in) { return gradient(in[0], std::optional<Scalar>(0.5)); }, {.no_empty = kNoElements}},
    {"gradient/edges", [](In in) { return gradient(in[0], IntArrayRef(1), 2); }},
    {"gradient/places",
     [](In in) {
       return gradient(in[0], {in[1].cumsum(0), in[2].cumsum(0)}, std::optional<int64_t>(), 2);
     },
     {.no_half = "differences of rounded places", .no_empty = kNoElements}},
    {"gradient/spacings",
     [](In in) {
       return gradient(in[0], {Scalar(2.0), Scalar(0.5)}, IntArrayRef({1, 0}));
     },
     {.no_empty = kNoElements}},
};
const Family kStatistics{"statistics", kStatisticsCases};

}  // namespace tandem::test
