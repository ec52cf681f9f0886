// Op cases at kinks, ties, poles, NaNs and infinities, with nothing to reduce, or without dimensions.
#include <cmath>

#include "tandem/ops/elementwise/add_sub.h"
#include "tandem/ops/elementwise/bessel.h"
#include "tandem/ops/elementwise/binary.h"
#include "tandem/ops/elementwise/clamp.h"
#include "tandem/ops/elementwise/compare.h"
#include "tandem/ops/elementwise/erf.h"
#include "tandem/ops/elementwise/gamma.h"
#include "tandem/ops/elementwise/logical.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/elementwise/unary.h"
#include "tandem/ops/elementwise/where.h"
#include "tandem/ops/index/tensor_index.h"
#include "tandem/ops/linalg/norm.h"
#include "tandem/ops/loss/binary_cross_entropy.h"
#include "tandem/ops/loss/cross_entropy.h"
#include "tandem/ops/loss/l1_loss.h"
#include "tandem/ops/loss/nll_loss.h"
#include "tandem/ops/loss/reduction.h"
#include "tandem/ops/nn/activation.h"
#include "tandem/ops/nn/avg_pool.h"
#include "tandem/ops/nn/batch_norm.h"
#include "tandem/ops/nn/embedding.h"
#include "tandem/ops/nn/layer_norm.h"
#include "tandem/ops/nn/max_pool.h"
#include "tandem/ops/nn/softmax.h"
#include "tandem/ops/reduce/cumulative.h"
#include "tandem/ops/reduce/mean.h"
#include "tandem/ops/reduce/minmax.h"
#include "tandem/ops/reduce/prod.h"
#include "tandem/ops/reduce/sort.h"
#include "tandem/ops/reduce/std_var.h"
#include "tandem/ops/reduce/sum.h"
#include "tandem/tests/op_cases/families.h"

namespace tandem::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
constexpr const char* kConvention = "PyTorch's convention, where there is no derivative";
constexpr const char* kEmptied = "an extreme of nothing is an error, as in PyTorch";
constexpr Notes kEdge{.no_gradcheck = kConvention};
constexpr Notes kExtreme{.no_gradcheck = kConvention, .no_empty = kEmptied};
// In half types, an overflowing sum of squares gives NaN where float64 gives a number.
constexpr Notes kNoHalf{.no_gradcheck = kConvention, .no_half = "rounds its intermediate results away"};

Tensor infinite_where_ignored(const Tensor& x, const Tensor& target) {
  return where((target == 1).unsqueeze(1), Scalar(kInf), x);
}

#define TANDEM_UNARY_SPECIAL(op)                           \
  {                                                        \
#op "/special", [](In in) { return op(in[0]); }, kEdge \
  }
#define TANDEM_BINARY_SPECIAL(op)                                 \
  {                                                               \
#op "/special", [](In in) { return op(in[0], in[1]); }, kEdge \
  }
#define TANDEM_NORM(variant, p)                                                   \
  {"norm/" variant "_at_zero", [](In in) { return norm(in[0], p, 1); }, kEdge}, { \
    "norm/" variant "_special", [](In in) { return norm(in[0], p, 1); }, kEdge    \
  }
#define TANDEM_REDUCTIONS(name, notes, ...)           \
  {name,                                              \
   [](In in) {                                        \
     constexpr auto reduction = Reduction::mean;      \
     return __VA_ARGS__;                              \
   },                                                 \
   notes},                                            \
      {name "_sum",                                   \
       [](In in) {                                    \
         constexpr auto reduction = Reduction::sum;   \
         return __VA_ARGS__;                          \
       },                                             \
       notes},                                        \
  {                                                   \
    name "_none",                                     \
        [](In in) {                                   \
          constexpr auto reduction = Reduction::none; \
          return __VA_ARGS__;                         \
        },                                            \
        notes                                         \
  }

constexpr OpCase kEdgeCases[] = {
    TANDEM_UNARY_SPECIAL(neg),
    TANDEM_UNARY_SPECIAL(abs),
    TANDEM_UNARY_SPECIAL(sign),
    TANDEM_UNARY_SPECIAL(square),
    TANDEM_UNARY_SPECIAL(relu),
    TANDEM_UNARY_SPECIAL(exp),
    TANDEM_UNARY_SPECIAL(expm1),
    TANDEM_UNARY_SPECIAL(log),
    TANDEM_UNARY_SPECIAL(log1p),
    TANDEM_UNARY_SPECIAL(log2),
    TANDEM_UNARY_SPECIAL(log10),
    TANDEM_UNARY_SPECIAL(sqrt),
    TANDEM_UNARY_SPECIAL(rsqrt),
    TANDEM_UNARY_SPECIAL(sin),
    TANDEM_UNARY_SPECIAL(cos),
    TANDEM_UNARY_SPECIAL(tan),
    TANDEM_UNARY_SPECIAL(tanh),
    TANDEM_UNARY_SPECIAL(sigmoid),
    TANDEM_UNARY_SPECIAL(erf),
    TANDEM_UNARY_SPECIAL(erfc),
    TANDEM_UNARY_SPECIAL(reciprocal),
    TANDEM_UNARY_SPECIAL(floor),
    TANDEM_UNARY_SPECIAL(ceil),
    TANDEM_UNARY_SPECIAL(trunc),
    TANDEM_UNARY_SPECIAL(round),
    TANDEM_UNARY_SPECIAL(frac),
    TANDEM_UNARY_SPECIAL(isnan),
    TANDEM_UNARY_SPECIAL(isinf),
    TANDEM_UNARY_SPECIAL(isfinite),
    TANDEM_UNARY_SPECIAL(logical_not),
    TANDEM_UNARY_SPECIAL(leaky_relu),
    TANDEM_UNARY_SPECIAL(elu),
    TANDEM_UNARY_SPECIAL(softplus),
    TANDEM_UNARY_SPECIAL(exp2),
    TANDEM_UNARY_SPECIAL(asin),
    TANDEM_UNARY_SPECIAL(acos),
    TANDEM_UNARY_SPECIAL(atan),
    TANDEM_UNARY_SPECIAL(sinh),
    TANDEM_UNARY_SPECIAL(cosh),
    TANDEM_UNARY_SPECIAL(asinh),
    TANDEM_UNARY_SPECIAL(acosh),
    TANDEM_UNARY_SPECIAL(atanh),
    TANDEM_UNARY_SPECIAL(erfinv),
    TANDEM_UNARY_SPECIAL(lgamma),
    TANDEM_UNARY_SPECIAL(digamma),
    {"i0/special",
     [](In in) { return i0(in[0]); },
     {.no_gradcheck = kEdge.no_gradcheck,
      .no_gradgradcheck = kEdge.no_gradgradcheck,
      .no_half = "float16 ends at 65504"}},
    TANDEM_UNARY_SPECIAL(gelu),
    TANDEM_UNARY_SPECIAL(silu),
    TANDEM_BINARY_SPECIAL(add),
    TANDEM_BINARY_SPECIAL(sub),
    TANDEM_BINARY_SPECIAL(mul),
    TANDEM_BINARY_SPECIAL(div),
    TANDEM_BINARY_SPECIAL(pow),
    TANDEM_BINARY_SPECIAL(fmod),
    TANDEM_BINARY_SPECIAL(remainder),
    TANDEM_BINARY_SPECIAL(maximum),
    TANDEM_BINARY_SPECIAL(minimum),
    TANDEM_BINARY_SPECIAL(fmax),
    TANDEM_BINARY_SPECIAL(fmin),
    {"nextafter/special", [](In in) { return nextafter(in[0].to(kFloat32), in[1].to(kFloat32)); }, kEdge},
    TANDEM_BINARY_SPECIAL(eq),
    TANDEM_BINARY_SPECIAL(ne),
    TANDEM_BINARY_SPECIAL(lt),
    TANDEM_BINARY_SPECIAL(le),
    TANDEM_BINARY_SPECIAL(gt),
    TANDEM_BINARY_SPECIAL(ge),
    TANDEM_BINARY_SPECIAL(floor_divide),
    {"pow/scalar_special", [](In in) { return pow(in[0], 2.5); }, kEdge},
    {"pow/one_at_zero", [](In in) { return pow(in[0], 1); }, kEdge},
    {"where/special", [](In in) { return where(in[0], in[1], in[2]); }, kEdge},
    {"clamp/at_bounds", [](In in) { return clamp(in[0], 0, 1); }, kEdge},
    {"clamp/at_min", [](In in) { return clamp(in[0], 0); }, kEdge},
    {"clamp/at_max", [](In in) { return clamp(in[0], {}, 1); }, kEdge},
    {"clamp/crossed", [](In in) { return clamp(in[0], 2, 1); }, kEdge},
    {"clamp/nan_bound", [](In in) { return clamp(in[0], kNan, 1); }, kEdge},
    {"clamp/infinite_bound", [](In in) { return clamp(in[0], 0, kInf); }, kEdge},
    {"clamp/tensor_at_bounds", [](In in) { return in[0].clamp(in[1], in[2]); }, kEdge},
    {"clamp/tensor_at_min", [](In in) { return in[0].clamp(in[1]); }, kEdge},
    {"clamp/tensor_at_max", [](In in) { return in[0].clamp(Tensor(), in[1]); }, kEdge},
    // ---- reductions
    {"var/one", [](In in) { return var(in[0]); }, kEdge},
    {"var/one_biased", [](In in) { return var(in[0], false); }},
    {"var/rows_of_one", [](In in) { return var(in[0], 1); }, kEdge},
    {"std/one", [](In in) { return in[0].std(); }, kEdge},
    {"std/one_biased", [](In in) { return in[0].std(false); }, kEdge},
    {"std/constant_rows", [](In in) { return in[0].std(1); }, kEdge},
    {"std/constant", [](In in) { return in[0].std(); }, kEdge},
    {"std/special", [](In in) { return in[0].std(1); }, kEdge},
    TANDEM_NORM("p0", 0),
    TANDEM_NORM("p_half", 0.5),
    TANDEM_NORM("p1", 1),
    TANDEM_NORM("p1_5", 1.5),
    TANDEM_NORM("p2", 2),
    TANDEM_NORM("p3", 3),
    TANDEM_NORM("inf", kInf),
    TANDEM_NORM("minus_1", -1),
    {"norm/minus_inf_at_zero", [](In in) { return norm(in[0], -kInf, 1); }, kExtreme},
    {"prod/one_zero", [](In in) { return prod(in[0]); }},
    {"prod/two_zeros", [](In in) { return prod(in[0]); }},
    {"prod/special", [](In in) { return prod(in[0]); }, kEdge},
    {"max/special", [](In in) { return max(in[0]); }, kExtreme},
    {"min/special", [](In in) { return min(in[0]); }, kExtreme},
    {"max/ties", [](In in) { return max(in[0]); }, kExtreme},
    {"min/ties", [](In in) { return min(in[0]); }, kExtreme},
    {"max/dim_special", [](In in) { return max(in[0], 1); }, kEdge},
    {"min/dim_special", [](In in) { return min(in[0], 1); }, kEdge},
    {"amax/special", [](In in) { return amax(in[0], 1); }, kEdge},
    {"amin/special", [](In in) { return amin(in[0], 1); }, kEdge},
    {"argmax/special", [](In in) { return argmax(in[0], 1); }},
    {"argmin/special", [](In in) { return argmin(in[0], 1); }},
    {"sum/special", [](In in) { return sum(in[0], 1); }, kEdge},
    {"mean/special", [](In in) { return mean(in[0], 1); }, kEdge},
    {"cumsum/special", [](In in) { return cumsum(in[0], 1); }, kEdge},
    {"sort/special", [](In in) { return sort(in[0]); }, kEdge},
    {"sort/special_descending", [](In in) { return sort(in[0], -1, true); }, kEdge},
    {"topk/special", [](In in) { return topk(in[0], 3); }, kExtreme},
    {"softmax/special", [](In in) { return softmax(in[0], 1); }, kEdge},
    {"log_softmax/special", [](In in) { return log_softmax(in[0], 1); }, kEdge},
    // ---- nothing to reduce, and no dimension
    {"sum/nothing", [](In in) { return sum(in[0], 1); }},
    {"mean/nothing", [](In in) { return mean(in[0], 1); }},
    {"var/nothing", [](In in) { return var(in[0], 1); }},
    {"std/nothing", [](In in) { return in[0].std(1); }},
    {"softmax/nothing", [](In in) { return softmax(in[0], 1); }},
    {"log_softmax/nothing", [](In in) { return log_softmax(in[0], 1); }},
    {"cumsum/nothing", [](In in) { return cumsum(in[0], 1); }},
    {"sort/nothing", [](In in) { return sort(in[0], 1); }},
    {"norm/nothing", [](In in) { return norm(in[0], 2, 1); }},
    {"norm/p3_nothing", [](In in) { return norm(in[0], 3, 1); }},
    {"prod/nothing", [](In in) { return prod(in[0]); }},
    {"max/zero_dim", [](In in) { return max(in[0], 0); }},
    {"min/zero_dim", [](In in) { return min(in[0], -1); }},
    {"amax/zero_dim", [](In in) { return amax(in[0]); }},
    {"std/zero_dim", [](In in) { return in[0].std(); }, kEdge},
    {"norm/zero_dim", [](In in) { return norm(in[0]); }},
    {"prod/zero_dim", [](In in) { return prod(in[0]); }},
    {"prod/zero_dim_zero", [](In in) { return prod(in[0]); }},
    {"mean/zero_dim", [](In in) { return mean(in[0]); }},
    {"cumsum/zero_dim", [](In in) { return cumsum(in[0], 0); }},
    {"sort/zero_dim", [](In in) { return sort(in[0]); }},
    {"log_softmax/zero_dim", [](In in) { return log_softmax(in[0], 0); }},
    // ---- losses
    {"binary_cross_entropy_with_logits/at_zero", [](In in) { return binary_cross_entropy_with_logits(in[0], in[1]); }},
    {"binary_cross_entropy_with_logits/pos_weight_at_zero",
     [](In in) { return binary_cross_entropy_with_logits(in[0], in[1], {}, in[2]); }},
    {"binary_cross_entropy_with_logits/target", [](In in) { return binary_cross_entropy_with_logits(in[0], in[1]); }},
    {"binary_cross_entropy_with_logits/special",
     [](In in) { return binary_cross_entropy_with_logits(in[0], in[1], {}, {}, Reduction::none); }, kEdge},
    {"binary_cross_entropy/at_ends", [](In in) { return binary_cross_entropy(in[0], in[1], {}, Reduction::none); },
     kNoHalf},
    {"smooth_l1_loss/at_kinks", [](In in) { return smooth_l1_loss(in[0], in[1], Reduction::none); }, kEdge},
    {"l1_loss/at_kinks", [](In in) { return l1_loss(in[0], in[1], Reduction::none); }, kEdge},
    TANDEM_REDUCTIONS("nll_loss/all_ignored", kEdge, nll_loss(in[0], in[1], {}, reduction, 0)),
    TANDEM_REDUCTIONS("cross_entropy/all_ignored", kEdge, cross_entropy(in[0], in[1], {}, reduction, 0)),
    TANDEM_REDUCTIONS("cross_entropy/label_smoothing_all_ignored", kEdge,
                      cross_entropy(in[0], in[1], {}, reduction, 0, 0.1)),
    TANDEM_REDUCTIONS("cross_entropy/label_smoothing_ignored_infinite", kEdge,
                      cross_entropy(infinite_where_ignored(in[0], in[1]), in[1], {}, reduction, 1, 0.1)),
    // ---- layers
    {"max_pool2d/special",
     [](In in) { return max_pool2d_with_indices(in[0], 2); },
     {.no_gradcheck = kConvention, .no_empty = "the first size is that of channels"}},
    {"max_pool2d/ceil_larger", [](In in) { return max_pool2d(in[0], 3, {}, 0, 1, true); }},
    {"max_pool2d/ceil_much_larger", [](In in) { return max_pool2d(in[0], 5, {}, 0, 1, true); }},
    {"avg_pool2d/ceil_larger", [](In in) { return avg_pool2d(in[0], 3, {}, 0, true); }},
    {"avg_pool2d/ceil_larger_padding", [](In in) { return avg_pool2d(in[0], 5, {}, 2, true); }},
    {"avg_pool2d/ceil_larger_exclude_padding", [](In in) { return avg_pool2d(in[0], 5, {}, 2, true, false); }},
    {"layer_norm/constant_rows", [](In in) { return layer_norm(in[0], 3); }},
    {"batch_norm/constant", [](In in) { return batch_norm(in[0], {}, {}, {}, {}, true); }},
    {"embedding/padding_from_end",
     [](In in) { return embedding(in[0], in[1], in[0].size(0) - 1); },
     {.no_gradcheck = "the padding row gets no gradient, which is its purpose", .no_empty = "an index into no rows"}},
};
}  // namespace
const Family kEdges{"edges", kEdgeCases};

}  // namespace tandem::test
