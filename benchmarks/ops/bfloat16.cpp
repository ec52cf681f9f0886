// Benchmarks of bfloat16 matrix products, convolutions and attention. Images are channels-last.
#include "tandem/benchmarks/benchmark.h"
#include "tandem/ops/nn/attention.h"
#include "tandem/ops/nn/convolution.h"
#include "tandem/ops/nn/linear.h"

namespace tandem::benchmarks {
namespace {

Inputs make_bfloat16_inputs(const Shapes& shapes, MemoryFormat images) {
  Inputs inputs;
  for (const Tensor& x : make_inputs(shapes))
    inputs.push_back(x.to(kBFloat16).contiguous(x.dim() == 4 ? images : kContiguous));
  return inputs;
}
std::function<Run(const Shapes&)> prepare_bfloat16_forward(Op op, MemoryFormat images = kChannelsLast) {
  return [op = std::move(op), images](const Shapes& shapes) -> Run {
    return [op, in = make_bfloat16_inputs(shapes, images)] { op(in); };
  };
}
std::function<Run(const Shapes&)> prepare_bfloat16_backward(Op op, MemoryFormat images = kChannelsLast) {
  return prepare_backward(
      [images](const Shapes& shapes) {
        Inputs in = make_bfloat16_inputs(shapes, images);
        for (Tensor& x : in) x.requires_grad_();
        return in;
      },
      std::move(op));
}

}  // namespace

std::vector<Benchmark> bfloat16_benchmarks() {
  const std::vector<Shapes> layers = {{{64, 2304}, {600, 2304}, {600}}, {{1024, 1024}, {1024, 1024}, {1024}}};
  const std::vector<Shapes> images = {{{64, 32, 14, 14}, {64, 32, 3, 3}, {64}}};
  const std::vector<int64_t> heads = {1, 8, 1024, 64};
  const std::vector<Shapes> heads_of_qkv = {{heads, heads, heads}};
  const Op dense = [](const Inputs& in) { return linear(in[0], in[1], in[2]); };
  const Op conv = [](const Inputs& in) { return conv2d(in[0], in[1], in[2]); };
  const Op attention = [](const Inputs& in) { return scaled_dot_product_attention(in[0], in[1], in[2]); };
  return {
      {.name = "linear/bfloat16", .cases = layers, .flops = linear_flops, .prepare = prepare_bfloat16_forward(dense)},
      {.name = "linear/bfloat16_backward",
       .cases = layers,
       .flops = linear_backward_flops,
       .prepare = prepare_bfloat16_backward(dense)},
      {.name = "conv2d/bfloat16", .cases = images, .flops = conv_flops, .prepare = prepare_bfloat16_forward(conv)},
      {.name = "conv2d/bfloat16_backward",
       .cases = images,
       .flops = conv_backward_flops,
       .prepare = prepare_bfloat16_backward(conv)},
      {.name = "scaled_dot_product_attention/bfloat16",
       .cases = heads_of_qkv,
       .prepare = prepare_bfloat16_forward(attention, kContiguous)},
      {.name = "scaled_dot_product_attention/bfloat16_backward",
       .cases = heads_of_qkv,
       .prepare = prepare_bfloat16_backward(attention, kContiguous)},
  };
}

}  // namespace tandem::benchmarks
