// Benchmarks of convolution, pooling, normalisation and attention. Convolutions have the sizes of FashionCNN's and
// LeNet's layers.
#include "tandem/ops/backward.h"
#include "tandem/ops/nn/attention.h"
#include "tandem/ops/nn/avg_pool.h"
#include "tandem/ops/nn/batch_norm.h"
#include "tandem/ops/nn/convolution.h"
#include "tandem/ops/nn/dropout.h"
#include "tandem/ops/nn/layer_norm.h"
#include "tandem/ops/nn/max_pool.h"

#include "tandem/benchmarks/benchmark.h"
#include "tandem/ops/factory/zeros_ones_full.h"

namespace tandem::benchmarks {
namespace {

double same_padding_conv_flops(const Shapes& s) { return 2 * numel(s[0]) * numel(s[1]) / static_cast<double>(s[0][1]); }

Tensor conv(const Inputs& in) { return conv2d(in[0], in[1], in[2]); }
Tensor conv_same_padding(const Inputs& in) { return conv2d(in[0], in[1], in[2], 1, in[1].size(2) / 2); }
/// Returns the inputs of a network's first convolution: only the weight and bias require a gradient.
Inputs make_first_layer_inputs(const Shapes& s) {
  return {random_values(s[0]), random_values(s[1]).requires_grad_(), random_values(s[2]).requires_grad_()};
}

std::vector<Benchmark> convolution_benchmarks() {
  const Shapes fashion1 = {{64, 1, 28, 28}, {32, 1, 3, 3}, {32}}, fashion2 = {{64, 32, 14, 14}, {64, 32, 3, 3}, {64}};
  const Shapes lenet1 = {{64, 1, 28, 28}, {10, 1, 5, 5}, {10}}, lenet2 = {{64, 10, 12, 12}, {20, 10, 5, 5}, {20}};
  return {
      {.name = "conv2d/forward",
       .cases = {lenet1, lenet2, fashion2},
       .flops = conv_flops,
       .prepare = prepare_forward(conv)},
      {.name = "conv2d/backward",
       .cases = {lenet2, fashion2},
       .flops = conv_backward_flops,
       .prepare = prepare_backward(conv)},
      {.name = "conv2d/backward_first",
       .cases = {lenet1},
       .flops = conv_flops,
       .prepare = prepare_backward(make_first_layer_inputs, conv)},
      {.name = "conv2d/same_forward",
       .cases = {fashion1},
       .flops = same_padding_conv_flops,
       .prepare = prepare_forward(conv_same_padding)},
      {.name = "conv2d/same_backward_first",
       .cases = {fashion1},
       .flops = same_padding_conv_flops,
       .prepare = prepare_backward(make_first_layer_inputs, conv_same_padding)},
      {.name = "conv2d_backward_input/forward",
       .cases = {fashion2},
       .flops = conv_flops,
       .prepare = [](const Shapes& s) -> Run {
         const Tensor w = random_values(s[1]), dy = random_values(conv2d(random_values(s[0]), w).sizes());
         return [=] { conv2d_backward_input(dy, w, s[0], 1, 0, 1, 1); };
       }},
      {.name = "conv2d_backward_weight/forward",
       .cases = {fashion2},
       .flops = conv_flops,
       .prepare = [](const Shapes& s) -> Run {
         const Tensor x = random_values(s[0]), dy = random_values(conv2d(x, random_values(s[1])).sizes());
         return [=] { conv2d_backward_weight(dy, x, s[1], 1, 0, 1, 1); };
       }},
  };
}

}  // namespace

std::vector<Benchmark> layer_benchmarks() {
  const std::vector<Shapes> pooled = {{{64, 64, 12, 12}}, {{64, 32, 28, 28}}};
  const std::vector<Shapes> normal = {{{64, 64, 12, 12}, {64}, {64}}, {{64, 32, 28, 28}, {32}, {32}}};
  const std::vector<Shapes> rows = {{{128, 256}, {256}, {256}}, {{8192, 1024}, {1024}, {1024}}};
  std::vector<Benchmark> out = convolution_benchmarks();
  const auto both = [&](const std::string& name, const std::vector<Shapes>& cases, Op op) {
    out.push_back(
        {.name = name + "/forward", .cases = cases, .bytes = read_write_bytes, .prepare = prepare_forward(op)});
    out.push_back({.name = name + "/backward", .cases = cases, .prepare = prepare_backward(op)});
  };
  both("max_pool2d", pooled, [](const Inputs& in) { return max_pool2d(in[0], 2); });
  both("avg_pool2d", pooled, [](const Inputs& in) { return avg_pool2d(in[0], 2); });
  both("adaptive_avg_pool2d", pooled, [](const Inputs& in) { return adaptive_avg_pool2d(in[0], 1); });
  out.push_back(
      {.name = "max_pool2d_with_indices/forward",
       .cases = {pooled[0]},
       .bytes = read_write_bytes,
       .prepare = prepare_forward([](const Inputs& in) { return std::get<0>(max_pool2d_with_indices(in[0], 2)); })});
  const std::vector<Shapes> heads = {{{8, 8, 128, 32}, {8, 8, 128, 32}, {8, 8, 128, 32}},
                                     {{1, 8, 1024, 64}, {1, 8, 1024, 64}, {1, 8, 1024, 64}}};
  const auto attention = [&](const std::string& variant, double dropout_p, bool causal) {
    const std::string name = "scaled_dot_product_attention/" + variant;
    const Op op = [=](const Inputs& in) {
      return scaled_dot_product_attention(in[0], in[1], in[2], {}, dropout_p, causal);
    };
    out.push_back({.name = name + "forward", .cases = heads, .prepare = prepare_forward(op)});
    out.push_back({.name = name + "backward", .cases = heads, .prepare = prepare_backward(op)});
  };
  attention("", 0, false);
  attention("causal_", 0, true);
  attention("dropout_", 0.1, false);
  // batch_norm is timed in training mode, without running statistics
  both("batch_norm", normal, [](const Inputs& in) { return batch_norm(in[0], in[1], in[2], {}, {}, true); });
  both("layer_norm", rows, [](const Inputs& in) { return layer_norm(in[0], {in[1].size(0)}, in[1], in[2]); });
  out.push_back({.name = "batch_norm/evaluation",
                 .cases = normal,
                 .bytes = read_write_bytes,
                 .prepare = [](const Shapes& s) -> Run {
                   const Inputs in = make_inputs(s);
                   const Tensor mean = zeros(s[1], device()), var = ones(s[1], device());
                   return [=] { batch_norm(in[0], in[1], in[2], mean, var, false); };
                 }});
  out.push_back({.name = "dropout2d/forward",
                 .cases = {pooled[1]},
                 .bytes = read_write_bytes,
                 .prepare = prepare_forward([](const Inputs& in) { return dropout2d(in[0], 0.5); })});
  return out;
}

}  // namespace tandem::benchmarks
