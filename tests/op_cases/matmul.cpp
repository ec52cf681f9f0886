// Op cases of matrix products and convolutions.
#include "tandem/ops/products/matmul.h"
#include "tandem/ops/nn/convolution.h"
#include "tandem/ops/nn/linear.h"
#include "tandem/ops/products/addmm.h"
#include "tandem/tests/op_cases/families.h"

namespace tandem::test {

static constexpr const char* kInner = "the first size is the one that is summed over";
static constexpr OpCase kMatmulCases[] = {
    {"matmul", [](In in) { return matmul(in[0], in[1]); }},
    {"matmul/vectors", [](In in) { return matmul(in[0], in[1]); }},
    {"matmul/matrix_vector", [](In in) { return matmul(in[0], in[1]); }},
    {"matmul/vector_matrix", [](In in) { return matmul(in[0], in[1]); }, {.no_empty = kInner}},
    {"matmul/batched", [](In in) { return matmul(in[0], in[1]); }},
    {"matmul/batch_by_matrix", [](In in) { return matmul(in[0], in[1]); }},
    {"matmul/matrix_by_batch", [](In in) { return matmul(in[0], in[1]); }},
    {"matmul/batch_by_vector", [](In in) { return matmul(in[0], in[1]); }},
    {"matmul/broadcast", [](In in) { return matmul(in[0], in[1]); }},
    {"matmul/transposed_a", [](In in) { return matmul(in[0].t(), in[1]); }},
    {"matmul/transposed_b", [](In in) { return matmul(in[0], in[1].t()); }},
    {"matmul/transposed_both", [](In in) { return matmul(in[0].t(), in[1].t()); }, {.no_empty = kInner}},
    {"matmul/transposed_batch", [](In in) { return matmul(in[0], in[1].transpose(1, 2)); }},
    {"matmul/large", [](In in) { return matmul(in[0], in[1]); }},
    {"matmul/no_rows", [](In in) { return matmul(in[0], in[1]); }},
    {"matmul/no_terms", [](In in) { return matmul(in[0], in[1]); }},
    {"matmul/batch_by_matrix_no_terms", [](In in) { return matmul(in[0], in[1]); }},
    {"matmul/batched_no_terms", [](In in) { return matmul(in[0], in[1]); }},
    {"matmul/vectors_no_terms", [](In in) { return matmul(in[0], in[1]); }},
    {"matmul/vector_by_batch", [](In in) { return matmul(in[0], in[1]); }, {.no_empty = kInner}},
    {"mm", [](In in) { return mm(in[0], in[1]); }},
    {"bmm", [](In in) { return bmm(in[0], in[1]); }},
    {"mv", [](In in) { return in[0].mv(in[1]); }},
    {"dot", [](In in) { return in[0].dot(in[1]); }},
    {"addmm", [](In in) { return addmm(in[0], in[1], in[2]); }},
    {"addmm/scaled", [](In in) { return addmm(in[0], in[1], in[2], 0.5, 2); }, {.no_empty = "the first is a bias"}},
    {"linear", [](In in) { return linear(in[0], in[1], in[2]); }},
    {"linear/no_bias", [](In in) { return linear(in[0], in[1]); }},
    {"linear/batched", [](In in) { return linear(in[0], in[1], in[2]); }},
    {"linear/vector", [](In in) { return linear(in[0], in[1], in[2]); }, {.no_empty = kInner}},
    {"linear/large", [](In in) { return linear(in[0], in[1], in[2]); }},
    {"linear/empty", [](In in) { return linear(in[0], in[1], in[2]); }},
    {"linear/no_terms", [](In in) { return linear(in[0], in[1], in[2]); }},
    // ---- conv2d(x, weight, bias, stride, padding, dilation, groups)
    {"conv2d", [](In in) { return conv2d(in[0], in[1], in[2]); }},
    {"conv2d/no_bias", [](In in) { return conv2d(in[0], in[1]); }},
    {"conv2d/pointwise", [](In in) { return conv2d(in[0], in[1], in[2]); }},
    {"conv2d/stride",
     [](In in) {
       return conv2d(in[0], in[1], in[2], {2, 3});
     }},
    {"conv2d/padding",
     [](In in) {
       return conv2d(in[0], in[1], in[2], 1, {1, 2});
     }},
    {"conv2d/dilation",
     [](In in) {
       return conv2d(in[0], in[1], in[2], 1, 0, {2, 1});
     }},
    {"conv2d/groups", [](In in) { return conv2d(in[0], in[1], in[2], 1, 1, 1, 2); }},
    {"conv2d/depthwise", [](In in) { return conv2d(in[0], in[1], in[2], 1, 1, 1, 4); }},
    {"conv2d/all",
     [](In in) {
       return conv2d(in[0], in[1], in[2], {2, 1}, {1, 2}, {1, 2}, 2);
     }},
    {"conv2d/large", [](In in) { return conv2d(in[0], in[1], in[2]); }},
    {"conv2d/one_channel", [](In in) { return conv2d(in[0], in[1], in[2], 1, 1); }},
    {"conv2d/unbatched", [](In in) { return conv2d(in[0], in[1], in[2]); }, {.no_empty = "has no batch"}},
    {"conv2d/empty", [](In in) { return conv2d(in[0], in[1], in[2]); }},
    // ---- conv_transpose2d(x, weight, bias, stride, padding, output_padding, groups, dilation)
    {"conv_transpose2d", [](In in) { return conv_transpose2d(in[0], in[1], in[2]); }},
    {"conv_transpose2d/no_bias", [](In in) { return conv_transpose2d(in[0], in[1], {}, 2, 1); }},
    {"conv_transpose2d/all",
     [](In in) {
       return conv_transpose2d(in[0], in[1], in[2], {3, 2}, {1, 0}, {2, 1}, 2, {1, 2});
     }},
    {"conv_transpose2d/unbatched",
     [](In in) { return conv_transpose2d(in[0], in[1], in[2]); },
     {.no_empty = "has no batch"}},
    {"conv_transpose2d/empty", [](In in) { return conv_transpose2d(in[0], in[1], in[2]); }},
    // ---- conv3d, conv_transpose3d: as those of two dimensions
    {"conv3d", [](In in) { return conv3d(in[0], in[1], in[2]); }},
    {"conv3d/flat",
     [](In in) { return conv3d(in[0], in[1], {}, 1, 1); },
     {.no_empty = "kernels of no channels are an error, as in PyTorch"}},
    {"conv3d/all",
     [](In in) {
       return conv3d(in[0], in[1], in[2], {2, 1, 2}, {2, 1, 0}, {1, 2, 1}, 2);
     }},
    {"conv3d/dilation",
     [](In in) {
       return conv3d(in[0], in[1], {}, 1, {1, 0, 0}, {2, 1, 1});
     }},
    {"conv3d/unbatched", [](In in) { return conv3d(in[0], in[1], in[2]); }, {.no_empty = "has no batch"}},
    {"conv_transpose3d",
     [](In in) { return conv_transpose3d(in[0], in[1], in[2]); },
     {.no_empty = "has as many channels as images"}},
    {"conv_transpose3d/all",
     [](In in) {
       return conv_transpose3d(in[0], in[1], in[2], {3, 2, 1}, {1, 0, 1}, {2, 1, 0}, 2, {1, 1, 2});
     }},
    {"conv_transpose3d/output_padding", [](In in) { return conv_transpose3d(in[0], in[1], {}, 2, 0, 1); }},
    {"conv_transpose3d/dilation",
     [](In in) {
       return conv_transpose3d(in[0], in[1], {}, 1, {2, 0, 0}, 0, 1, {2, 1, 1});
     },
     {.no_empty = "has as many channels as images"}},
    {"conv_transpose3d/unbatched",
     [](In in) { return conv_transpose3d(in[0], in[1], in[2]); },
     {.no_empty = "has no batch"}},
    // ---- conv1d(x, weight, bias, stride, padding, dilation, groups), conv_transpose1d as conv_transpose2d
    {"conv1d", [](In in) { return conv1d(in[0], in[1], in[2]); }},
    {"conv1d/all", [](In in) { return conv1d(in[0], in[1], in[2], 2, 1, 2, 2); }},
    {"conv1d/unbatched", [](In in) { return conv1d(in[0], in[1], in[2]); }, {.no_empty = "has no batch"}},
    {"conv1d/empty", [](In in) { return conv1d(in[0], in[1], in[2]); }},
    {"conv_transpose1d", [](In in) { return conv_transpose1d(in[0], in[1], in[2]); }},
    {"conv_transpose1d/all", [](In in) { return conv_transpose1d(in[0], in[1], in[2], 3, 1, 1, 2, 2); }},
    {"conv_transpose1d/unbatched",
     [](In in) { return conv_transpose1d(in[0], in[1], in[2]); },
     {.no_empty = "has no batch"}},
    {"conv_transpose1d/empty", [](In in) { return conv_transpose1d(in[0], in[1], in[2]); }},
};
const Family kMatmul{"matmul", kMatmulCases};

}  // namespace tandem::test
