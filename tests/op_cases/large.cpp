// Ops at shapes that are split into chunks for several threads, one for each kernel with its own loop. They have no
// fixture: the small op cases test values, and these test that no bit depends on the number of threads.
#include "tandem/tandem.h"
#include "tandem/tests/op_cases/families.h"

namespace tandem::test {
namespace {

/// Runs two steps of an optimizer on the two halves of in[0], with the halves of in[1] as gradients.
template <class Optimizer, class Options> std::vector<Tensor> stepped(In in, const Options& options) {
  std::vector<Tensor> parameters;
  for (const Tensor& half : in[0].detach().chunk(2)) parameters.push_back(half.clone().requires_grad_());
  Optimizer optimizer(parameters, options);
  for (int step = 0; step < 2; ++step) {
    for (size_t i = 0; i < 2; ++i) parameters[i].set_grad(in[1].detach().chunk(2)[i].clone());
    optimizer.step();
  }
  return {parameters[0].detach(), parameters[1].detach()};
}
Outputs clipped(In in) {
  std::vector<Tensor> parameters;
  for (const Tensor& half : in[0].detach().chunk(2)) {
    parameters.push_back(half.clone().requires_grad_());
    parameters.back().set_grad(half.clone());
  }
  const Tensor norm = tensor(nn::utils::clip_grad_norm_(parameters, 0.5));
  return std::vector<Tensor>{norm, parameters[0].grad(), parameters[1].grad()};
}

const std::vector<LargeCase> kLargeCases = {
    // ---- elementwise
    {{"add", [](In in) { return add(in[0], in[1]); }}, {real({400, 501}), real({501})}},
    {{"exp", [](In in) { return exp(in[0]); }}, {real({200003})}},
    {{"pow", [](In in) { return pow(in[0], in[1]); }}, {real({100003}, 0.1, 2), real({100003})}},
    {{"where", [](In in) { return where(in[0], in[1], in[2]); }}, {boolean({400, 501}), real({400, 501}), real({501})}},
    {{"transposed", [](In in) { return in[0].t().contiguous() * 2; }}, {real({400, 501})}},
    {{"to", [](In in) { return in[0].to(kFloat16); }}, {real({200003})}},
    {{"mul_", [](In in) { return in[0].clone().mul_(in[1]); }}, {real({400, 501}), real({501})}},
    {{"cat",
      [](In in) {
        return cat({in[0], in[1]}, 1);
      }},
     {real({400, 301}), real({400, 200})}},
    // ---- reductions, scans, order
    {{"sum", [](In in) { return sum(in[0]); }}, {real({300007})}},
    {{"sum/rows", [](In in) { return sum(in[0], 1); }}, {real({70, 5001})}},
    {{"sum/columns", [](In in) { return sum(in[0], 0); }}, {real({5001, 70})}},
    {{"sum/middle", [](In in) { return sum(in[0], 1); }}, {real({3, 3001, 40})}},
    {{"var", [](In in) { return var(in[0]); }}, {real({200003})}},
    {{"prod", [](In in) { return prod(in[0]); }}, {real({100003}, 0.999, 1.001)}},
    {{"norm", [](In in) { return norm(in[0]); }}, {real({200003})}},
    {{"max", [](In in) { return max(in[0], 0); }}, {real({501, 400})}},
    {{"amin", [](In in) { return amin(in[0]); }}, {real({200003})}},
    {{"argmax", [](In in) { return argmax(in[0], 1); }}, {real({400, 501})}},
    {{"any", [](In in) { return any(in[0] > 0.99999); }}, {real({200003})}},
    {{"cumsum", [](In in) { return cumsum(in[0], 1); }}, {real({70, 3001})}},
    {{"sort", [](In in) { return sort(in[0], 1); }}, {real({70, 1001})}},
    {{"topk", [](In in) { return topk(in[0], 5, 0); }}, {real({301, 100})}},
    // ---- softmax and losses
    {{"softmax", [](In in) { return softmax(in[0], 1); }}, {real({300, 501}, -3, 3)}},
    {{"softmax/first", [](In in) { return softmax(in[0], 0); }}, {real({300, 501}, -3, 3)}},
    {{"log_softmax", [](In in) { return log_softmax(in[0], 1); }}, {real({300, 501}, -3, 3)}},
    {{"cross_entropy", [](In in) { return cross_entropy(in[0], in[1]); }}, {real({900, 101}), integer(101, {900})}},
    {{"mse_loss", [](In in) { return mse_loss(in[0], in[1]); }}, {real({150001}), real({150001})}},
    {{"binary_cross_entropy_with_logits", [](In in) { return binary_cross_entropy_with_logits(in[0], in[1]); }},
     {real({100003}), constant(real({100003}, 0, 1))}},
    // ---- products
    {{"matmul", [](In in) { return matmul(in[0], in[1]); }}, {real({301, 203}), real({203, 257})}},
    {{"matmul/batched", [](In in) { return matmul(in[0], in[1]); }}, {real({9, 70, 61}), real({9, 61, 83})}},
    {{"linear", [](In in) { return linear(in[0], in[1], in[2]); }}, {real({256, 301}), real({203, 301}), real({203})}},
    {{"conv2d", [](In in) { return conv2d(in[0], in[1], in[2], 1, 1); }},
     {real({19, 8, 14, 14}), real({16, 8, 3, 3}), real({16})}},
    {{"conv2d/one_channel", [](In in) { return conv2d(in[0], in[1], in[2]); }},
     {real({33, 1, 20, 20}), real({16, 1, 3, 3}), real({16})}},
    {{"conv2d/groups", [](In in) { return conv2d(in[0], in[1], {}, 2, 1, 1, 4); }},
     {real({17, 8, 15, 15}), real({16, 2, 3, 3})}},
    // ---- norms and pools
    {{"batch_norm", [](In in) { return batch_norm(in[0], in[1], in[2], {}, {}, true); }},
     {real({33, 12, 20, 20}), real({12}), real({12})}},
    {{"batch_norm/rows", [](In in) { return batch_norm(in[0], in[1], in[2], {}, {}, true); }},
     {real({701, 203}), real({203}), real({203})}},
    {{"layer_norm", [](In in) { return layer_norm(in[0], {301}, in[1], in[2]); }},
     {real({500, 301}), real({301}), real({301})}},
    {{"max_pool2d", [](In in) { return max_pool2d(in[0], 2); }}, {real({17, 16, 28, 28})}},
    {{"max_pool2d/overlap", [](In in) { return max_pool2d(in[0], 3, 2, 1); }}, {real({17, 16, 28, 28})}},
    {{"avg_pool2d", [](In in) { return avg_pool2d(in[0], 3, 2, 1); }}, {real({17, 16, 28, 28})}},
    {{"adaptive_avg_pool2d",
      [](In in) {
        return adaptive_avg_pool2d(in[0], {3, 5});
      }},
     {real({17, 16, 28, 28})}},
    // ---- indexing: a row comes several times, so the order of a gradient's sum shows
    {{"embedding", [](In in) { return embedding(in[0], in[1]); }}, {real({101, 64}), integer(101, {3001})}},
    {{"index_select", [](In in) { return index_select(in[0], 1, in[1]); }}, {real({60, 71}), integer(71, {3001})}},
    {{"index_add", [](In in) { return in[0].index_add(0, in[1], in[2]); }},
     {real({31, 64}), integer(31, {3001}), real({3001, 64})}},
    {{"scatter_add", [](In in) { return scatter_add(in[0], 1, in[1], in[2]); }},
     {real({60, 31}), integer(31, {60, 3001}), real({60, 3001})}},
    {{"gather", [](In in) { return gather(in[0], 1, in[1]); }}, {real({60, 31}), integer(31, {60, 3001})}},
    {{"masked_select", [](In in) { return masked_select(in[0], in[1]); }}, {real({400, 501}), boolean({400, 501})}},
    // ---- optimizers
    {{"SGD", [](In in) { return stepped<optim::SGD>(in, optim::SGDOptions(0.1).momentum(0.9).weight_decay(0.01)); }},
     {real({150001}), real({150001})}},
    {{"Adam", [](In in) { return stepped<optim::Adam>(in, optim::AdamOptions(0.1)); }},
     {real({150001}), real({150001})}},
    {{"AdamW", [](In in) { return stepped<optim::AdamW>(in, optim::AdamWOptions(0.1)); }},
     {real({150001}), real({150001})}},
    {{"clip_grad_norm_", [](In in) { return clipped(in); }}, {real({150001})}},
    // ---- random numbers
    {{"rand", [](In in) { return manual_seed(5), rand(in[0].sizes()); }}, {real({200003})}},
    {{"randn", [](In in) { return manual_seed(5), randn(in[0].sizes()); }}, {real({200003})}},
    {{"randint", [](In in) { return manual_seed(5), randint(-7, 1000003, in[0].sizes()); }}, {real({200003})}},
    {{"bernoulli_", [](In in) { return manual_seed(5), empty(in[0].sizes(), kBool).bernoulli_(0.3); }},
     {real({200003})}},
    {{"randperm", [](In in) { return manual_seed(5), randperm(in[0].numel()); }}, {real({50021})}},
    {{"dropout", [](In in) { return manual_seed(5), dropout(in[0], 0.25); }}, {real({200003})}},
};

}  // namespace
std::span<const LargeCase> large_cases() { return kLargeCases; }

}  // namespace tandem::test
