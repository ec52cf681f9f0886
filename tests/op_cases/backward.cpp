// Op cases of backward operations: their outputs are first derivatives, and their gradients are second derivatives.
#include "tandem/ops/backward.h"
#include "tandem/autograd/engine.h"
#include "tandem/ops/elementwise/fill.h"
#include "tandem/ops/factory/zeros_ones_full.h"
#include "tandem/ops/linalg/norm.h"
#include "tandem/ops/loss/cross_entropy.h"
#include "tandem/ops/loss/nll_loss.h"
#include "tandem/ops/loss/reduction.h"
#include "tandem/ops/nn/activation.h"
#include "tandem/ops/nn/avg_pool.h"
#include "tandem/ops/nn/batch_norm.h"
#include "tandem/ops/nn/convolution.h"
#include "tandem/ops/nn/expanding_array.h"
#include "tandem/ops/nn/layer_norm.h"
#include "tandem/ops/nn/max_pool.h"
#include "tandem/ops/nn/softmax.h"
#include "tandem/ops/reduce/all_any.h"
#include "tandem/ops/reduce/std_var.h"
#include "tandem/tests/op_cases/families.h"

namespace tandem::test {
namespace {

/// Returns the gradient of f at x for the upstream gradient dy. It is differentiable in both, even without grad mode.
template <class F> Tensor pullback(F f, const Tensor& dy, const Tensor& x) {
  const EnableGradGuard on;
  const Tensor at = x.requires_grad() ? x : x.detach().requires_grad_();
  return autograd::grad({f(at)}, {at}, {dy}, /*retain_graph=*/true, /*create_graph=*/true)[0];
}
/// Like pullback, for a function f that is linear in x, so that the gradient does not depend on x. `sizes`: shape of x.
template <class F> Tensor linear_pullback(F f, const Tensor& dy, IntArrayRef sizes) {
  return pullback(f, dy, zeros(sizes, dy.options()));
}
constexpr const char* kNamed = "the gradient's size is named";

constexpr const char* kGradient = "a gradient comes in the input's shape, as a view";
constexpr OpCase kBackwardCases[] = {
    {"relu_backward", [](In in) { return relu_backward(in[0], in[1]); }},
    {"sigmoid_backward", [](In in) { return sigmoid_backward(in[0], in[1]); }},
    {"tanh_backward", [](In in) { return tanh_backward(in[0], in[1]); }},
    {"leaky_relu_backward", [](In in) { return leaky_relu_backward(in[0], in[1], 0.1); }},
    {"elu_backward", [](In in) { return elu_backward(in[0], in[1], 0.7); }},
    {"silu_backward", [](In in) { return silu_backward(in[0], in[1]); }},
    {"gelu_backward", [](In in) { return gelu_backward(in[0], in[1]); }},
    {"softplus_backward", [](In in) { return softplus_backward(in[0], in[1], 2.0, 3.0); }},
    {"clamp_backward", [](In in) { return clamp_backward(in[0], in[1], -0.5, 0.25); }},
    {"softmax_backward", [](In in) { return pullback([](const Tensor& x) { return softmax(x, -1); }, in[0], in[1]); }},
    {"log_softmax_backward",
     [](In in) { return pullback([](const Tensor& x) { return log_softmax(x, -1); }, in[0], in[1]); }},
    {"cross_entropy_backward",
     [](In in) {
       const auto loss = [&](const Tensor& x) { return cross_entropy(x, in[2], {}, Reduction::none); };
       return pullback(loss, in[0], in[1]);
     },
     {.no_empty = "zero rows go through cross_entropy"}},
    {"nll_backward",
     [](In in) {
       return linear_pullback([&](const Tensor& x) { return nll_loss(x, in[1], {}, Reduction::none); }, in[0], {8, 5});
     },
     {.no_empty = kNamed}},
    {"conv2d_backward_input",
     [](In in) {
       return conv2d_backward_input(in[0], in[1], {2, 3, 7, 6}, 1, 0, 1, 1);
     },
     {.no_empty = kNamed}},
    {"conv2d_backward_input/all",
     [](In in) {
       return conv2d_backward_input(in[0], in[1], {3, 4, 8, 7}, {2, 1}, {1, 2}, {1, 2}, 2);
     },
     {.no_empty = kNamed}},
    {"conv2d_backward_weight",
     [](In in) {
       return conv2d_backward_weight(in[0], in[1], {4, 3, 3, 3}, 1, 0, 1, 1);
     }},
    {"conv2d_backward_weight/all",
     [](In in) {
       return conv2d_backward_weight(in[0], in[1], {6, 2, 3, 2}, {2, 1}, {1, 2}, {1, 2}, 2);
     }},
    {"max_pool2d_backward",
     [](In in) { return pullback([](const Tensor& x) { return max_pool2d(x, 2); }, in[0], in[1]); }},
    {"avg_pool2d_backward",
     [](In in) {
       return linear_pullback([](const Tensor& x) { return avg_pool2d(x, 3, 2, 1); }, in[0], {2, 3, 7, 6});
     },
     {.no_empty = kNamed}},
    {"adaptive_avg_pool2d_backward",
     [](In in) {
       return linear_pullback([](const Tensor& x) { return adaptive_avg_pool2d(x, {3, 2}); }, in[0], {2, 3, 7, 5});
     },
     {.no_empty = kNamed}},
    // ---- composed gradients, as the forward's first derivative
    {"elu/gradient", [](In in) { return pullback([](const Tensor& x) { return elu(x); }, in[0], in[1]); }},
    {"gelu/gradient", [](In in) { return pullback([](const Tensor& x) { return gelu(x); }, in[0], in[1]); }},
    {"silu/gradient", [](In in) { return pullback([](const Tensor& x) { return silu(x); }, in[0], in[1]); }},
    {"softplus/gradient", [](In in) { return pullback([](const Tensor& x) { return softplus(x); }, in[0], in[1]); }},
    {"std/gradient",
     [](In in) { return pullback([](const Tensor& x) { return x.std(1); }, in[0], in[1]); },
     {.no_empty = "the two have different ranks"}},
    {"norm/gradient", [](In in) { return pullback([](const Tensor& x) { return norm(x); }, in[0], in[1]); }},
    {"cross_entropy/gradient",
     [](In in) { return pullback([&](const Tensor& x) { return cross_entropy(x, in[2]); }, in[0], in[1]); }},
    {"batch_norm/gradient",
     [](In in) {
       return pullback([&](const Tensor& x) { return batch_norm(x, in[2], {}, {}, {}, true); }, in[0], in[1]);
     },
     {.no_storage = kGradient}},
    {"layer_norm/gradient",
     [](In in) { return pullback([&](const Tensor& x) { return layer_norm(x, {5}, in[2]); }, in[0], in[1]); },
     {.no_storage = kGradient}},
};
}  // namespace
const Family kBackward{"backward", kBackwardCases};

}  // namespace tandem::test
