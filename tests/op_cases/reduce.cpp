// Op cases of reductions, scans and sorting.
#include "tandem/ops/elementwise/compare.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/index/tensor_index.h"
#include "tandem/ops/linalg/norm.h"
#include "tandem/ops/reduce/all_any.h"
#include "tandem/ops/reduce/cumulative.h"
#include "tandem/ops/reduce/logsumexp.h"
#include "tandem/ops/reduce/mean.h"
#include "tandem/ops/reduce/minmax.h"
#include "tandem/ops/reduce/prod.h"
#include "tandem/ops/reduce/sort.h"
#include "tandem/ops/reduce/std_var.h"
#include "tandem/ops/reduce/sum.h"
#include "tandem/ops/shape/cat.h"
#include "tandem/tests/op_cases/families.h"

namespace tandem::test {

static constexpr const char* kRoundsProducts = "rounds its intermediate results";
static constexpr const char* kNothing = "an extreme of nothing is an error, as in PyTorch";
static constexpr OpCase kReduceCases[] = {
    {"sum", [](In in) { return sum(in[0]); }, {.integers = true}},
    {"sum/dim", [](In in) { return sum(in[0], 1); }, {.integers = true}},
    {"sum/keepdim", [](In in) { return sum(in[0], {-1}, true); }, {.integers = true}},
    {"sum/dims",
     [](In in) {
       return sum(in[0], {0, 2});
     },
     {.integers = true}},
    {"sum/transposed",
     [](In in) {
       return sum(in[0].transpose(0, 2), {0, 1});
     },
     {.integers = true}},
    {"sum/expanded",
     [](In in) {
       return sum(in[0].expand({3, 4, 5}), 0);
     },
     {.integers = true, .no_empty = "expands"}},
    {"sum/large", [](In in) { return sum(in[0]); }},
    {"sum/rows", [](In in) { return sum(in[0], 1); }},
    {"sum/columns", [](In in) { return sum(in[0], 0); }},
    {"sum/zero_dim", [](In in) { return sum(in[0]); }},
    {"sum/empty", [](In in) { return sum(in[0]); }},
    {"sum/empty_dim", [](In in) { return sum(in[0], 0); }},
    {"sum/int", [](In in) { return sum(in[0], 0); }},
    {"sum/bool", [](In in) { return sum(in[0]); }},
    {"mean", [](In in) { return mean(in[0]); }},
    {"mean/dim", [](In in) { return mean(in[0], 1); }},
    {"mean/keepdim",
     [](In in) {
       return mean(in[0], {0, 2}, true);
     }},
    {"mean/large", [](In in) { return mean(in[0], 0); }},
    {"var", [](In in) { return var(in[0]); }},
    {"var/biased", [](In in) { return var(in[0], false); }},
    {"var/dim", [](In in) { return var(in[0], 1); }},
    {"var/dims",
     [](In in) {
       return var(in[0], {0, 2}, false, true);
     }},
    {"var/far_from_zero", [](In in) { return var(in[0], 1); }},
    {"var/correction",
     [](In in) {
       return var(in[0], {0, 2}, std::optional<Scalar>(2.5), true);
     }},
    {"std/correction", [](In in) { return std(in[0], 1, Scalar(0)); }},
    {"std", [](In in) { return std(in[0]); }},
    {"std/dim", [](In in) { return in[0].std(1); }},
    {"std/biased",
     [](In in) {
       return in[0].std({0, 2}, false);
     }},
    {"prod", [](In in) { return prod(in[0]); }, {.integers = true}},
    {"prod/dim", [](In in) { return prod(in[0], 1); }, {.integers = true, .no_half = kRoundsProducts}},
    {"prod/keepdim", [](In in) { return prod(in[0], -1, true); }, {.integers = true, .no_half = kRoundsProducts}},
    {"prod/zeros", [](In in) { return prod(in[0], 1); }},
    {"prod/int_dim", [](In in) { return prod(in[0] + 1, 0); }},
    {"prod/bool_dim", [](In in) { return prod(in[0], 0); }},
    {"prod/int", [](In in) { return prod(in[0] + 1); }},
    {"norm", [](In in) { return norm(in[0]); }},
    {"norm/p1", [](In in) { return norm(in[0], 1); }},
    {"norm/p3", [](In in) { return norm(in[0], 3); }},
    {"max", [](In in) { return max(in[0]); }, {.integers = true, .no_empty = kNothing}},
    {"max/dim", [](In in) { return max(in[0], 1); }, {.integers = true}},
    {"max/keepdim", [](In in) { return max(in[0], -1, true); }, {.integers = true}},
    {"max/scalar", [](In in) { return max(in[0], 0); }, {.integers = true}},
    {"max/int", [](In in) { return max(in[0], 0); }, {.no_empty = kNothing}},
    {"min", [](In in) { return min(in[0]); }, {.integers = true, .no_empty = kNothing}},
    {"min/dim", [](In in) { return min(in[0], 1); }, {.integers = true}},
    {"logsumexp",
     [](In in) {
       return logsumexp(in[0], {0, 2});
     }},
    {"logsumexp/far", [](In in) { return logsumexp(in[0], {-1}, true); }},
    {"logsumexp/all", [](In in) { return logsumexp(in[0]); }},
    {"amax",
     [](In in) {
       return amax(in[0], {0, 2});
     },
     {.integers = true, .no_empty = kNothing}},
    {"amax/all", [](In in) { return amax(in[0]); }, {.integers = true, .no_empty = kNothing}},
    {"amax/ties",
     [](In in) {
       return amax(stack({in[0], in[0].detach()}), 0);
     },
     {.no_gradcheck = "equal values share the gradient"}},
    {"amin",
     [](In in) {
       return amin(in[0], {0, 2}, true);
     },
     {.integers = true, .no_empty = kNothing}},
    {"argmax", [](In in) { return argmax(in[0]); }, {.integers = true, .no_empty = kNothing}},
    {"argmax/dim", [](In in) { return argmax(in[0], 1); }, {.integers = true}},
    {"argmax/keepdim", [](In in) { return argmax(in[0], -1, true); }, {.integers = true}},
    {"argmin", [](In in) { return argmin(in[0]); }, {.integers = true, .no_empty = kNothing}},
    {"argmin/dim", [](In in) { return argmin(in[0], 1); }, {.integers = true}},
    {"any", [](In in) { return any(in[0]); }},
    {"any/dims",
     [](In in) {
       return any(in[0] > 1, {0, 2});
     }},
    {"all/dims",
     [](In in) {
       return (in[0] > 0).all({0, 2}, true);
     }},
    {"any/dim", [](In in) { return (in[0] > 1).any(2); }},
    {"all", [](In in) { return all(in[0]); }},
    {"all/dim", [](In in) { return (in[0] > 0).all(2); }},
    {"cumsum", [](In in) { return cumsum(in[0], 0); }, {.integers = true}},
    {"cumsum/middle", [](In in) { return cumsum(in[0], 1); }, {.integers = true}},
    {"cumsum/last", [](In in) { return cumsum(in[0], -1); }},
    {"cumsum/int", [](In in) { return cumsum(in[0], 1); }},
    {"sort", [](In in) { return sort(in[0]); }, {.integers = true}},
    {"sort/descending", [](In in) { return sort(in[0], 1, true); }, {.integers = true}},
    {"sort/scalar", [](In in) { return sort(in[0]); }, {.integers = true}},
    {"argsort", [](In in) { return in[0].argsort(0); }, {.integers = true}},
    {"topk", [](In in) { return topk(in[0], 3); }, {.integers = true}},
    {"topk/scalar", [](In in) { return topk(in[0], 1); }, {.integers = true}},
    {"topk/smallest", [](In in) { return topk(in[0], 2, 1, false); }, {.integers = true}},
};
const Family kReduce{"reduce", kReduceCases};

}  // namespace tandem::test
