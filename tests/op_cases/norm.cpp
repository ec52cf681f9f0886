// Op cases of normalization and pooling.
#include "tandem/ops/elementwise/compare.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/elementwise/unary.h"
#include "tandem/ops/nn/avg_pool.h"
#include "tandem/ops/nn/batch_norm.h"
#include "tandem/ops/nn/layer_norm.h"
#include "tandem/ops/nn/max_pool.h"
#include "tandem/ops/shape/tensor_properties.h"
#include "tandem/tests/op_cases/families.h"

namespace tandem::test {
namespace {

/// Returns the output of batch_norm and the running statistics after the call.
Outputs normed(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& mean, const Tensor& var,
               bool training, double momentum = 0.1, double eps = 1e-5) {
  const Tensor m = mean.clone(), v = var.clone();
  const Tensor y = batch_norm(x, weight, bias, m, v, training, momentum, eps);
  return std::vector<Tensor>{y, m, v};
}

constexpr OpCase kNormCases[] = {
    {"batch_norm", [](In in) { return normed(in[0], in[1], in[2], in[3], in[4], true); }},
    {"batch_norm/two_dims", [](In in) { return normed(in[0], in[1], in[2], in[3], in[4], true, 0.3, 1e-3); }},
    {"batch_norm/three_dims", [](In in) { return normed(in[0], in[1], in[2], in[3], in[4], true); }},
    {"batch_norm/evaluation", [](In in) { return normed(in[0], in[1], in[2], in[3], in[4], false); }},
    {"batch_norm/no_affine", [](In in) { return normed(in[0], {}, {}, in[1], in[2], true); }},
    {"batch_norm/no_statistics", [](In in) { return batch_norm(in[0], in[1], in[2], {}, {}, true); }},
    {"batch_norm/large", [](In in) { return batch_norm(in[0], in[1], in[2], {}, {}, true); }},
    {"layer_norm", [](In in) { return layer_norm(in[0], {5}, in[1], in[2]); }},
    {"layer_norm/two_dims",
     [](In in) {
       return layer_norm(in[0], {4, 5}, in[1], in[2], 1e-3);
     }},
    {"layer_norm/no_affine", [](In in) { return layer_norm(in[0], {5}); }},
    {"layer_norm/large", [](In in) { return layer_norm(in[0], {300}, in[1], in[2]); }},
    {"layer_norm/empty", [](In in) { return layer_norm(in[0], {5}, in[1], in[2]); }},
    {"max_pool2d", [](In in) { return max_pool2d(in[0], 2); }},
    {"max_pool2d/stride",
     [](In in) {
       return max_pool2d(in[0], {3, 2}, {2, 1});
     }},
    {"max_pool2d/padding", [](In in) { return max_pool2d(in[0], 3, 2, 1); }},
    {"max_pool2d/dilation", [](In in) { return max_pool2d(in[0], 2, 1, 0, 2); }},
    {"max_pool2d/negative", [](In in) { return max_pool2d(in[0], 3, 2, 1); }},
    {"max_pool2d/ceil", [](In in) { return max_pool2d(in[0], 3, 2, 1, 1, true); }},
    {"max_pool2d_with_indices", [](In in) { return max_pool2d_with_indices(in[0], 3, 2, 1); }},
    {"max_pool2d/unbatched",
     [](In in) { return max_pool2d(in[0], 2); },
     {.no_empty = "the first size is that of channels"}},
    {"max_pool2d/empty", [](In in) { return max_pool2d(in[0], 2); }},
    {"max_pool2d/ties",
     [](In in) { return max_pool2d(round(in[0]) + (in[0] - in[0].detach()), 2); },
     {.no_gradcheck = "the first of equal values takes the gradient"}},
    {"avg_pool2d", [](In in) { return avg_pool2d(in[0], 2); }},
    {"avg_pool2d/stride",
     [](In in) {
       return avg_pool2d(in[0], {3, 2}, {2, 1});
     }},
    {"avg_pool2d/padding", [](In in) { return avg_pool2d(in[0], 3, 2, 1); }},
    {"avg_pool2d/exclude_padding", [](In in) { return avg_pool2d(in[0], 3, 2, 1, false, false); }},
    {"avg_pool2d/ceil", [](In in) { return avg_pool2d(in[0], 3, 2, 1, true); }},
    {"adaptive_avg_pool2d",
     [](In in) {
       return adaptive_avg_pool2d(in[0], {3, 2});
     }},
    {"adaptive_avg_pool2d/one",
     [](In in) {
       return adaptive_avg_pool2d(in[0], {1, 1});
     }},
    {"adaptive_avg_pool2d/more",
     [](In in) {
       return adaptive_avg_pool2d(in[0], {5, 4});
     }},
};
}  // namespace
const Family kNorm{"norm", kNormCases};

}  // namespace tandem::test
