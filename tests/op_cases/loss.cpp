// Op cases of losses.
#include "tandem/ops/loss/binary_cross_entropy.h"
#include "tandem/ops/loss/cross_entropy.h"
#include "tandem/ops/loss/l1_loss.h"
#include "tandem/ops/loss/mse_loss.h"
#include "tandem/ops/loss/nll_loss.h"
#include "tandem/ops/loss/reduction.h"
#include "tandem/tests/op_cases/families.h"

namespace tandem::test {

static constexpr OpCase kLossCases[] = {
    {"mse_loss", [](In in) { return mse_loss(in[0], in[1], Reduction::mean); }},
    {"mse_loss/sum", [](In in) { return mse_loss(in[0], in[1], Reduction::sum); }},
    {"mse_loss/none", [](In in) { return mse_loss(in[0], in[1], Reduction::none); }},
    {"l1_loss", [](In in) { return l1_loss(in[0], in[1], Reduction::mean); }},
    {"l1_loss/sum", [](In in) { return l1_loss(in[0], in[1], Reduction::sum); }},
    {"l1_loss/none", [](In in) { return l1_loss(in[0], in[1], Reduction::none); }},
    {"smooth_l1_loss", [](In in) { return smooth_l1_loss(in[0], in[1], Reduction::mean); }},
    {"smooth_l1_loss/sum", [](In in) { return smooth_l1_loss(in[0], in[1], Reduction::sum); }},
    {"smooth_l1_loss/none", [](In in) { return smooth_l1_loss(in[0], in[1], Reduction::none); }},
    {"smooth_l1_loss/beta", [](In in) { return smooth_l1_loss(in[0], in[1], Reduction::mean, 0.3); }},
    {"l1_loss/both_signs", [](In in) { return l1_loss(in[0], in[1]); }},
    {"binary_cross_entropy", [](In in) { return binary_cross_entropy(in[0], in[1], {}, Reduction::mean); }},
    {"binary_cross_entropy/sum", [](In in) { return binary_cross_entropy(in[0], in[1], {}, Reduction::sum); }},
    {"binary_cross_entropy/none", [](In in) { return binary_cross_entropy(in[0], in[1], {}, Reduction::none); }},
    {"binary_cross_entropy/weight", [](In in) { return binary_cross_entropy(in[0], in[1], in[2]); }},
    {"binary_cross_entropy_with_logits",
     [](In in) { return binary_cross_entropy_with_logits(in[0], in[1], {}, {}, Reduction::mean); }},
    {"binary_cross_entropy_with_logits/sum",
     [](In in) { return binary_cross_entropy_with_logits(in[0], in[1], {}, {}, Reduction::sum); }},
    {"binary_cross_entropy_with_logits/none",
     [](In in) { return binary_cross_entropy_with_logits(in[0], in[1], {}, {}, Reduction::none); }},
    {"binary_cross_entropy_with_logits/weight",
     [](In in) { return binary_cross_entropy_with_logits(in[0], in[1], in[2]); }},
    {"binary_cross_entropy_with_logits/pos_weight",
     [](In in) { return binary_cross_entropy_with_logits(in[0], in[1], {}, in[2]); }},
    {"binary_cross_entropy_with_logits/far", [](In in) { return binary_cross_entropy_with_logits(in[0], in[1]); }},
    {"nll_loss", [](In in) { return nll_loss(in[0], in[1], {}, Reduction::mean); }},
    {"nll_loss/sum", [](In in) { return nll_loss(in[0], in[1], {}, Reduction::sum); }},
    {"nll_loss/none", [](In in) { return nll_loss(in[0], in[1], {}, Reduction::none); }},
    {"nll_loss/weight", [](In in) { return nll_loss(in[0], in[1], in[2], Reduction::mean); }},
    {"nll_loss/weight/sum", [](In in) { return nll_loss(in[0], in[1], in[2], Reduction::sum); }},
    {"nll_loss/weight/none", [](In in) { return nll_loss(in[0], in[1], in[2], Reduction::none); }},
    {"nll_loss/ignore", [](In in) { return nll_loss(in[0], in[1], {}, Reduction::mean, 2); }},
    {"nll_loss/images", [](In in) { return nll_loss(in[0], in[1]); }},
    {"nll_loss/images/none", [](In in) { return nll_loss(in[0], in[1], {}, Reduction::none); }},
    {"nll_loss/one_row", [](In in) { return nll_loss(in[0], in[1]); }},
    {"nll_loss/empty_sum", [](In in) { return nll_loss(in[0], in[1], {}, Reduction::sum); }},
    {"cross_entropy", [](In in) { return cross_entropy(in[0], in[1], {}, Reduction::mean); }},
    {"cross_entropy/sum", [](In in) { return cross_entropy(in[0], in[1], {}, Reduction::sum); }},
    {"cross_entropy/none", [](In in) { return cross_entropy(in[0], in[1], {}, Reduction::none); }},
    {"cross_entropy/weight", [](In in) { return cross_entropy(in[0], in[1], in[2], Reduction::mean); }},
    {"cross_entropy/weight/sum", [](In in) { return cross_entropy(in[0], in[1], in[2], Reduction::sum); }},
    {"cross_entropy/weight/none", [](In in) { return cross_entropy(in[0], in[1], in[2], Reduction::none); }},
    {"cross_entropy/ignore", [](In in) { return cross_entropy(in[0], in[1], {}, Reduction::mean, 2); }},
    {"cross_entropy/ignore_and_weight", [](In in) { return cross_entropy(in[0], in[1], in[2], Reduction::mean, 2); }},
    {"cross_entropy/label_smoothing",
     [](In in) { return cross_entropy(in[0], in[1], {}, Reduction::mean, -100, 0.1); }},
    {"cross_entropy/label_smoothing_and_ignore",
     [](In in) { return cross_entropy(in[0], in[1], {}, Reduction::mean, 2, 0.1); }},
    {"cross_entropy/label_smoothing_and_weight",
     [](In in) { return cross_entropy(in[0], in[1], in[2], Reduction::mean, -100, 0.1); }},
    {"cross_entropy/images", [](In in) { return cross_entropy(in[0], in[1]); }},
    {"cross_entropy/far", [](In in) { return cross_entropy(in[0], in[1]); }},
    {"cross_entropy/large", [](In in) { return cross_entropy(in[0], in[1]); }},
};
const Family kLoss{"loss", kLossCases};

}  // namespace tandem::test
