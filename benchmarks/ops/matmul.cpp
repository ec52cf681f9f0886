// Benchmarks of matrix products: square ones, and those of the layers of FashionCNN, the MLP and a transformer.

#include "tandem/ops/products/matmul.h"
#include "tandem/benchmarks/benchmark.h"
#include "tandem/ops/nn/linear.h"
#include "tandem/ops/products/addmm.h"

namespace tandem::benchmarks {
namespace {

/// Floating-point operations of a matrix product: 2 * elements of the first input * columns of the second.
double product_flops(const Shapes& s) { return 2 * numel(s[0]) * static_cast<double>(s[1].back()); }

}  // namespace

std::vector<Benchmark> matmul_benchmarks() {
  const std::vector<Shapes> products = {{{64, 784}, {784, 128}},      {{64, 2304}, {2304, 600}},
                                        {{64, 600}, {600, 2304}},     {{1024, 256}, {256, 1024}},
                                        {{1024, 256}, {256, 8192}},   {{1024, 8192}, {8192, 256}},
                                        {{1024, 1024}, {1024, 1024}}, {{2048, 2048}, {2048, 2048}}};
  // shapes of the products that give the gradients of weights, for a batch of 64 rows
  const std::vector<Shapes> gradients = {{{64, 128}, {64, 784}}, {{64, 600}, {64, 2304}}};
  const std::vector<Shapes> layers = {{{64, 784}, {128, 784}, {128}}, {{64, 2304}, {600, 2304}, {600}}};
  const Op linear = [](const Inputs& in) { return tandem::linear(in[0], in[1], in[2]); };
  return {
      {.name = "matmul/forward",
       .cases = products,
       .flops = product_flops,
       .prepare = prepare_forward([](const Inputs& in) { return matmul(in[0], in[1]); })},
      {.name = "matmul/transposed",
       .cases = gradients,
       .flops = product_flops,
       .prepare = prepare_forward([](const Inputs& in) { return matmul(in[0].t(), in[1]); })},
      {.name = "mm/forward",
       .cases = {{{256, 256}, {256, 256}}},
       .flops = product_flops,
       .prepare = prepare_forward([](const Inputs& in) { return mm(in[0], in[1]); })},
      {.name = "bmm/forward",
       .cases = {{{32, 128, 64}, {32, 64, 128}}},
       .flops = product_flops,
       .prepare = prepare_forward([](const Inputs& in) { return bmm(in[0], in[1]); })},
      {.name = "bmm/backward",
       .cases = {{{32, 128, 64}, {32, 64, 128}}},
       .flops = [](const Shapes& s) { return 2 * product_flops(s); },
       .prepare = prepare_backward([](const Inputs& in) { return bmm(in[0], in[1]); })},
      {.name = "addmm/forward",
       .cases = {{{64, 2304}, {2304, 600}, {600}}},
       .flops = product_flops,
       .prepare = prepare_forward([](const Inputs& in) { return addmm(in[2], in[0], in[1]); })},
      {.name = "mv/forward",
       .cases = {{{1024, 1024}, {1024}}},
       .bytes = read_one_bytes,
       .prepare = prepare_forward([](const Inputs& in) { return in[0].mv(in[1]); })},
      {.name = "dot/forward",
       .cases = {{{1 << 20}, {1 << 20}}},
       .bytes = read_write_bytes,
       .prepare = prepare_forward([](const Inputs& in) { return in[0].dot(in[1]); })},
      {.name = "linear/forward", .cases = layers, .flops = linear_flops, .prepare = prepare_forward(linear)},
      {.name = "linear/backward", .cases = layers, .flops = linear_backward_flops, .prepare = prepare_backward(linear)},
  };
}

}  // namespace tandem::benchmarks
