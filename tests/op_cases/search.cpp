// Op cases of searching in sorted tensors, and of counting.
#include "tandem/ops/elementwise/compare.h"
#include "tandem/ops/factory/arange.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/index/nonzero.h"
#include "tandem/ops/reduce/histogram.h"
#include "tandem/ops/reduce/searchsorted.h"
#include "tandem/ops/reduce/std_var.h"
#include "tandem/ops/reduce/unique.h"
#include "tandem/tests/op_cases/families.h"

namespace tandem::test {
namespace {

constexpr const char* kRounds = "the edges are rounded, which moves what lies beside them";
Tensor in_order(const Tensor& x) { return std::get<0>(x.sort()); }
Outputs all_of(std::tuple<Tensor, Tensor, Tensor> three) {
  return std::vector<Tensor>{std::get<0>(three), std::get<1>(three), std::get<2>(three)};
}
constexpr OpCase kSearchCases[] = {
    {"argwhere", [](In in) { return argwhere(in[0]); }},
    {"nonzero_numpy", [](In in) { return nonzero_numpy(in[0]); }, {.no_storage = "gives columns of one tensor"}},
    {"nonzero_static", [](In in) { return nonzero_static(in[0], 5); }},
    {"nonzero_static/filled", [](In in) { return nonzero_static(in[0], 14, 7); }},
    {"searchsorted", [](In in) { return searchsorted(in_order(in[0]), in[1]); }, {.integers = true}},
    {"searchsorted/right",
     [](In in) { return searchsorted(in_order(in[0]), in[1], false, false, "right"); },
     {.integers = true}},
    {"searchsorted/sorter",
     [](In in) { return searchsorted(in[0], in[1], true, false, {}, in[0].argsort()); },
     {.integers = true}},
    {"searchsorted/number", [](In in) { return searchsorted(in_order(in[0]), 0.25); }},
    {"bucketize", [](In in) { return bucketize(in[0], in_order(in[1])); }, {.integers = true}},
    {"bucketize/nan", [](In in) { return bucketize(in[0], in_order(in[1]), false, true); }},
    {"isin", [](In in) { return isin(in[0], in[1]); }, {.integers = true}},
    {"isin/invert", [](In in) { return isin(in[0], in[1], true, true); }},
    {"bincount", [](In in) { return bincount(in[0], {}, 8); }},
    {"bincount/weights",
     [](In in) { return bincount(in[0], in[1]); },
     {.no_half = "weights of a half type become float64"}},
    {"histc", [](In in) { return histc(in[0], 6); }, {.no_half = kRounds}},
    {"histc/range", [](In in) { return histc(in[0], 4, -0.5, 0.5); }},
    {"histogram", [](In in) { return histogram(in[0], 5, {}, in[1], true); }, {.no_half = kRounds}},
    {"histogram/range",
     [](In in) {
       return histogram(in[0], 3, {{-0.7, 0.9}});
     },
     {.no_half = kRounds}},
    {"histogram/edges", [](In in) { return histogram(in[0], in[1]); }},
    {"unique_consecutive", [](In in) { return all_of(unique_consecutive(in[0], true, true)); }, {.integers = true}},
    {"unique_consecutive/dim",
     [](In in) { return all_of(unique_consecutive(in[0], true, true, 1)); },
     {.integers = true, .no_empty = "slices of no elements are refused"}},
    {"_unique2", [](In in) { return all_of(_unique2(in[0], true, true, true)); }, {.integers = true}},
    {"unique_dim", [](In in) { return all_of(unique_dim(in[0], 0, true, true, true)); }, {.integers = true}},
    {"unique_dim/last",
     [](In in) { return all_of(unique_dim(in[0], 1, true, true, true)); },
     {.integers = true, .no_empty = "slices of no elements are refused"}},
};

}  // namespace
const Family kSearch{"search", kSearchCases};

}  // namespace tandem::test
