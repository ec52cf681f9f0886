// Op cases of losses that are composed of other operations, and of targets that are probabilities.
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/loss/cross_entropy.h"
#include "tandem/ops/loss/ctc_loss.h"
#include "tandem/ops/loss/embedding_loss.h"
#include "tandem/ops/loss/gaussian_nll_loss.h"
#include "tandem/ops/loss/huber_loss.h"
#include "tandem/ops/loss/kl_div.h"
#include "tandem/ops/loss/margin_loss.h"
#include "tandem/ops/loss/poisson_nll_loss.h"
#include "tandem/ops/loss/reduction.h"
#include "tandem/ops/loss/triplet_margin_loss.h"
#include "tandem/tests/op_cases/families.h"

namespace tandem::test {

static constexpr Reduction kToMean = Reduction::mean, kToSum = Reduction::sum, kToNone = Reduction::none;
static constexpr const char* kPerSample = "asks for lengths of each sample";
static constexpr const char* kStraightThrough = "its gradient ignores the maximum with eps, as PyTorch's does";
static constexpr const char* kOwnTarget = "asks for classes, and targets to fit";
static Tensor ctc_row(In in, IntArrayRef inputs, IntArrayRef targets, int64_t blank, Reduction reduction,
                      bool zero_infinity = false) {
  return ctc_loss(in[0].log_softmax(-1), blank == 0 ? in[1] + 1 : in[1], inputs, targets, blank, reduction,
                  zero_infinity);
}

#define TANDEM_THREE_REDUCTIONS(name, call, ...) \
  {name,                                         \
   [](In in) {                                   \
     constexpr Reduction r = kToMean;            \
     return call;                                \
   } __VA_OPT__(, ) __VA_ARGS__},                \
      {name "/sum",                              \
       [](In in) {                               \
         constexpr Reduction r = kToSum;         \
         return call;                            \
       } __VA_OPT__(, ) __VA_ARGS__},            \
  {                                              \
    name "/none", [](In in) {                    \
      constexpr Reduction r = kToNone;           \
      return call;                               \
    } __VA_OPT__(, ) __VA_ARGS__                 \
  }

// clang-format off
static constexpr OpCase kLossFormulaCases[] = {
    TANDEM_THREE_REDUCTIONS("huber_loss", huber_loss(in[0], in[1], r, 0.7)),
    TANDEM_THREE_REDUCTIONS("kl_div", kl_div(in[0], in[1], r)),
    {"kl_div/log_target", [](In in) { return kl_div(in[0], in[1], kToMean, true); }},
    {"kl_div/zeros", [](In in) { return kl_div(in[0], in[1], kToSum); }},
    TANDEM_THREE_REDUCTIONS("poisson_nll_loss", poisson_nll_loss(in[0], in[1], true, false, 1e-8, r)),
    {"poisson_nll_loss/full", [](In in) { return poisson_nll_loss(in[0], in[1], false, true, 1e-3, kToMean); }},
    TANDEM_THREE_REDUCTIONS("gaussian_nll_loss", gaussian_nll_loss(in[0], in[1], in[2], false, 1e-6, r)),
    {"gaussian_nll_loss/full", [](In in) { return gaussian_nll_loss(in[0], in[1], in[2], true, 0.9); },
     {.no_gradcheck = kStraightThrough}},
    {"gaussian_nll_loss/rows", [](In in) { return gaussian_nll_loss(in[0], in[1], in[2]); },
     {.no_empty = "asks for a variance of each row"}},
    {"gaussian_nll_loss/kept", [](In in) { return gaussian_nll_loss(in[0], in[1], in[2]); }},
    TANDEM_THREE_REDUCTIONS("hinge_embedding_loss", hinge_embedding_loss(in[0], in[1], 0.5, r)),
    {"hinge_embedding_loss/other_target", [](In in) { return hinge_embedding_loss(in[0], in[1]); }},
    TANDEM_THREE_REDUCTIONS("margin_ranking_loss", margin_ranking_loss(in[0], in[1], in[2], 0.3, r)),
    {"margin_ranking_loss/ties", [](In in) { return margin_ranking_loss(in[0], in[1], in[2]); }, {.no_gradcheck = kKink}},
    TANDEM_THREE_REDUCTIONS("cosine_embedding_loss", cosine_embedding_loss(in[0], in[1], in[2], 0.1, r), {.no_empty = kOwnTarget}),
    {"cosine_embedding_loss/vectors", [](In in) { return cosine_embedding_loss(in[0], in[1], in[2]); }},
    TANDEM_THREE_REDUCTIONS("soft_margin_loss", soft_margin_loss(in[0], in[1], r)),
    TANDEM_THREE_REDUCTIONS("multi_margin_loss", multi_margin_loss(in[0], in[1], 1, 1, {}, r)),
    {"multi_margin_loss/square_and_weight", [](In in) { return multi_margin_loss(in[0], in[1], 2, 0.4, in[2]); }},
    {"multi_margin_loss/one_row", [](In in) { return multi_margin_loss(in[0], in[1]); }, {.no_empty = kOwnTarget}},
    {"multi_margin_loss/ties", [](In in) { return multi_margin_loss(in[0], in[1]); }, {.no_gradcheck = kKink}},
    TANDEM_THREE_REDUCTIONS("multilabel_margin_loss", multilabel_margin_loss(in[0], in[1] - 1, r)),
    {"multilabel_margin_loss/one_row", [](In in) { return multilabel_margin_loss(in[0], in[1] - 1); },
     {.no_empty = kOwnTarget}},
    TANDEM_THREE_REDUCTIONS("triplet_margin_loss", triplet_margin_loss(in[0], in[1], in[2], 1, 2, 1e-6, false, r)),
    {"triplet_margin_loss/swap", [](In in) { return triplet_margin_loss(in[0], in[1], in[2], 2, 3, 1e-3, true); }},
    TANDEM_THREE_REDUCTIONS("ctc_loss", ctc_row(in, {7, 5}, {3, 2}, 0, r), {.no_empty = kPerSample}),
    {"ctc_loss/joined", [](In in) { return ctc_row(in, {7, 4, 7}, {3, 0, 2}, 3, kToMean); }, {.no_empty = kPerSample}},
    {"ctc_loss/one", [](In in) { return ctc_row(in, {6}, {3}, 0, kToMean); }, {.no_empty = kPerSample}},
    {"ctc_loss/repeats", [](In in) { return ctc_row(in, {7}, {3}, 0, kToNone); }, {.no_empty = kPerSample}},
    {"ctc_loss/zero_infinity", [](In in) { return ctc_row(in, {7, 2}, {3, 3}, 0, kToSum, true); },
     {.no_empty = kPerSample}},
    TANDEM_THREE_REDUCTIONS("cross_entropy_loss", cross_entropy_loss(in[0], in[1], {}, r)),
    {"cross_entropy_loss/weight", [](In in) { return cross_entropy_loss(in[0], in[1], in[2], kToMean, -100, 0.2); }},
    {"cross_entropy_loss/images", [](In in) { return cross_entropy_loss(in[0], in[1], {}, kToNone); }},
    {"cross_entropy_loss/one_row", [](In in) { return cross_entropy_loss(in[0], in[1]); }},
};
// clang-format on
#undef TANDEM_THREE_REDUCTIONS
const Family kLossFormula{"loss_formula", kLossFormulaCases};

}  // namespace tandem::test
