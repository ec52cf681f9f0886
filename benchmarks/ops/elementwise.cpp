// Benchmarks of elementwise operations, broadcasting, and their gradients.
#include "tandem/ops/backward.h"
#include "tandem/ops/elementwise/add_sub.h"
#include "tandem/ops/elementwise/binary.h"
#include "tandem/ops/elementwise/bitwise.h"
#include "tandem/ops/elementwise/clamp.h"
#include "tandem/ops/elementwise/fill.h"
#include "tandem/ops/elementwise/gamma.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/elementwise/unary.h"
#include "tandem/ops/elementwise/where.h"
#include "tandem/ops/nn/activation.h"

#include <set>

#include "tandem/benchmarks/benchmark.h"
#include "tandem/ops/factory/zeros_ones_full.h"
#include "tandem/ops/nn/dropout.h"
#include "tandem/ops/shape/clone.h"

namespace tandem::benchmarks {
namespace {

// Sizes that fit into the cache of one core, into the cache that all cores share, and into neither. kHugeSizes is so
// large that nothing stays in a cache from one call to the next.
const std::vector<int64_t> kSmallSizes = {16 << 10}, kMediumSizes = {1 << 20}, kLargeSizes = {16 << 20},
                           kHugeSizes = {64 << 20};

std::vector<Shapes> cases(const std::string& name, size_t inputs) {
  static const std::set<std::string> two = {"mul", "relu", "sigmoid", "tanh", "gelu", "div"};
  const bool all = name == "add" || name == "exp";
  std::vector<Shapes> out;
  if (all || two.count(name)) out.push_back(Shapes(inputs, kSmallSizes));
  out.push_back(Shapes(inputs, kMediumSizes));
  if (all) out.push_back(Shapes(inputs, kLargeSizes));
  if (name == "add") out.push_back(Shapes(inputs, kHugeSizes));
  return out;
}
// Returns whether the op needs positive inputs: it is defined only for them, or would overflow for others.
bool needs_positive_inputs(const std::string& name) {
  static const std::set<std::string> names = {"log",   "log1p", "log2", "log10",  "sqrt",
                                              "rsqrt", "pow",   "div",  "igamma", "igammac"};
  return names.count(name) > 0;
}
Benchmark unary_benchmark(const std::string& name, std::function<Tensor(const Tensor&)> op) {
  return {.name = name + "/forward",
          .cases = cases(name, 1),
          .bytes = read_write_bytes,
          .prepare = prepare_forward([op](const Inputs& in) { return op(in[0]); }, needs_positive_inputs(name))};
}
Benchmark unary_backward_benchmark(const std::string& name, std::function<Tensor(const Tensor&)> op) {
  return {.name = name + "/backward",
          .cases = {{kMediumSizes}},
          .bytes = read_two_write_one_bytes,
          .prepare = prepare_backward([op](const Inputs& in) { return op(in[0]); }, needs_positive_inputs(name))};
}
Benchmark binary_benchmark(const std::string& name, std::function<Tensor(const Tensor&, const Tensor&)> op) {
  return {.name = name + "/forward",
          .cases = cases(name, 2),
          .bytes = read_two_write_one_bytes,
          .prepare = prepare_forward([op](const Inputs& in) { return op(in[0], in[1]); }, needs_positive_inputs(name))};
}

}  // namespace

std::vector<Benchmark> elementwise_benchmarks() {
  std::vector<Benchmark> out;
  static const std::set<std::string> integers_only = {
      "bitwise_not",        "bitwise_and",         "bitwise_or", "bitwise_xor",
      "bitwise_left_shift", "bitwise_right_shift", "gcd",        "lcm"};
#define X(name, ...) \
  if (integers_only.count(#name) == 0) out.push_back(unary_benchmark(#name, [](const Tensor& x) { return x.name(); }));
  TANDEM_ALL_UNARY_OPS(X)
  TANDEM_PREDICATE_OPS(X)
#undef X
  out.push_back(binary_benchmark("add", [](const Tensor& a, const Tensor& b) { return a + b; }));
  out.push_back(binary_benchmark("sub", [](const Tensor& a, const Tensor& b) { return a - b; }));
#define X(name, ...)                   \
  if (integers_only.count(#name) == 0) \
    out.push_back(binary_benchmark(#name, [](const Tensor& a, const Tensor& b) { return a.name(b); }));
  TANDEM_ALL_BINARY_OPS(X)
#undef X
  out.push_back(unary_benchmark("leaky_relu", [](const Tensor& x) { return leaky_relu(x, 0.1); }));
  out.push_back(unary_benchmark("elu", [](const Tensor& x) { return elu(x); }));
  out.push_back(unary_benchmark("softplus", [](const Tensor& x) { return softplus(x); }));
  out.push_back(unary_benchmark("clamp", [](const Tensor& x) { return x.clamp(-0.5, 0.5); }));
  out.push_back(unary_benchmark("clamp_min", [](const Tensor& x) { return x.clamp_min(-0.5); }));
  out.push_back(unary_benchmark("clamp_max", [](const Tensor& x) { return x.clamp_max(0.5); }));
  out.push_back(unary_benchmark("dropout", [](const Tensor& x) { return dropout(x, 0.5); }));

  out.push_back(unary_backward_benchmark("exp", [](const Tensor& x) { return x.exp(); }));
  out.push_back(unary_backward_benchmark("relu", [](const Tensor& x) { return x.relu(); }));
  out.push_back(unary_backward_benchmark("gelu", [](const Tensor& x) { return x.gelu(); }));
  out.push_back({.name = "mul/backward",
                 .cases = {{kMediumSizes, kMediumSizes}},
                 .prepare = prepare_backward([](const Inputs& in) { return in[0] * in[1]; })});
  // Benchmarks of gradients that have their own kernel.
  out.push_back(binary_benchmark("relu_backward", relu_backward));
  out.push_back(binary_benchmark("sigmoid_backward", sigmoid_backward));
  out.push_back(binary_benchmark("tanh_backward", tanh_backward));
  out.push_back(binary_benchmark("gelu_backward", gelu_backward));
  out.push_back(binary_benchmark("silu_backward", silu_backward));
  out.push_back(
      binary_benchmark("elu_backward", [](const Tensor& dy, const Tensor& x) { return elu_backward(dy, x, 1.0); }));
  out.push_back(binary_benchmark(
      "softplus_backward", [](const Tensor& dy, const Tensor& x) { return softplus_backward(dy, x, 1.0, 20.0); }));
  out.push_back(binary_benchmark("leaky_relu_backward",
                                 [](const Tensor& dy, const Tensor& x) { return leaky_relu_backward(dy, x, 0.1); }));
  out.push_back(binary_benchmark("clamp_backward",
                                 [](const Tensor& dy, const Tensor& x) { return clamp_backward(dy, x, -0.5, 0.5); }));

  for (const auto& [name, op] : std::vector<std::pair<std::string, Op>>{
           {"bitwise_not", [](const Inputs& in) { return in[0].bitwise_not(); }},
           {"bitwise_and", [](const Inputs& in) { return in[0].bitwise_and(in[1]); }},
           {"bitwise_or", [](const Inputs& in) { return in[0].bitwise_or(in[1]); }},
           {"bitwise_xor", [](const Inputs& in) { return in[0].bitwise_xor(in[1]); }},
           {"bitwise_left_shift", [](const Inputs& in) { return in[0].bitwise_left_shift(in[1]); }},
           {"bitwise_right_shift", [](const Inputs& in) { return in[0].bitwise_right_shift(in[1]); }},
           {"gcd", [](const Inputs& in) { return in[0].gcd(in[1]); }},
           {"lcm", [](const Inputs& in) { return in[0].lcm(in[1]); }}})
    out.push_back(
        {.name = name + "/forward", .cases = {{kMediumSizes, kMediumSizes}}, .prepare = [op](const Shapes& s) -> Run {
           const Inputs in = {random_integers(1000, s[0]).to(kInt32), random_integers(1000, s[1]).to(kInt32)};
           return [op, in] { op(in); };
         }});

  const Op chain = [](const Inputs& in) { return (in[0] * in[1] + in[2]).relu(); };
  const auto read_three_write_one = [](const Shapes& s) { return 16 * numel(s[0]); };
  for (const std::string variant : {"forward", "captured_forward"})
    out.push_back({.name = "multiply_add_relu/" + variant,
                   .cases = {Shapes(3, kMediumSizes), Shapes(3, kLargeSizes)},
                   .bytes = read_three_write_one,
                   .prepare = variant == "forward" ? prepare_forward(chain) : prepare_graph_replay(chain)});
  const std::vector<Shapes> rows = {{{4096, 256}, {256}}}, columns = {{{4096, 256}, {4096, 1}}};
  const Op add = [](const Inputs& in) { return in[0] + in[1]; };
  out.push_back(
      {.name = "add/broadcast_row", .cases = rows, .bytes = read_write_bytes, .prepare = prepare_forward(add)});
  out.push_back(
      {.name = "add/broadcast_column", .cases = columns, .bytes = read_write_bytes, .prepare = prepare_forward(add)});
  out.push_back({.name = "add/broadcast_backward", .cases = rows, .prepare = prepare_backward(add)});
  out.push_back(
      {.name = "where/forward", .cases = {{kMediumSizes, kMediumSizes}}, .prepare = [](const Shapes& s) -> Run {
         return [a = random_values(s[0]), b = random_values(s[1]), condition = random_values(s[0]) > 0] {
           where(condition, a, b);
         };
       }});
  return out;
}

/// Returns benchmarks of in-place operations. Every call does the same work: the values stay the same (x * 1), change
/// their sign, or reach a fixed value.
std::vector<Benchmark> inplace_benchmarks() {
  const std::vector<Shapes> one = {{kMediumSizes}};
  const auto unary_benchmark = [&](const char* name, void (*change)(Tensor&)) -> Benchmark {
    return {.name = std::string(name) + "/forward",
            .cases = one,
            .bytes = read_write_bytes,
            .prepare = [change](const Shapes& s) -> Run {
              return [change, x = random_values(s[0]).abs()]() mutable { change(x); };
            }};
  };
  const auto binary_benchmark = [&](const char* name, void (*change)(Tensor&, const Tensor&)) -> Benchmark {
    return {.name = std::string(name) + "/forward",
            .cases = one,
            .bytes = read_two_write_one_bytes,
            .prepare = [change](const Shapes& s) -> Run {
              return [change, x = random_values(s[0]), y = ones(s[0], device())]() mutable { change(x, y); };
            }};
  };
  return {
      binary_benchmark("add_", [](Tensor& x, const Tensor& y) { x.add_(y); }),
      binary_benchmark("sub_", [](Tensor& x, const Tensor& y) { x.sub_(y); }),
      binary_benchmark("mul_", [](Tensor& x, const Tensor& y) { x.mul_(y); }),
      binary_benchmark("div_", [](Tensor& x, const Tensor& y) { x.div_(y); }),
      binary_benchmark("copy_", [](Tensor& x, const Tensor& y) { x.copy_(y); }),
      unary_benchmark("fill_", [](Tensor& x) { x.fill_(2.5); }),
      unary_benchmark("zero_", [](Tensor& x) { x.zero_(); }),
      unary_benchmark("relu_", [](Tensor& x) { x.relu_(); }),
      unary_benchmark("exp_", [](Tensor& x) { x.exp_(); }),
      unary_benchmark("sqrt_", [](Tensor& x) { x.sqrt_(); }),
      unary_benchmark("neg_", [](Tensor& x) { x.neg_(); }),
      unary_benchmark("sigmoid_", [](Tensor& x) { x.sigmoid_(); }),
      unary_benchmark("tanh_", [](Tensor& x) { x.tanh_(); }),
      unary_benchmark("clamp_", [](Tensor& x) { x.clamp_(0.25, 0.5); }),
      {.name = "masked_fill_/forward",
       .cases = one,
       .prepare = [](const Shapes& s) -> Run {
         return [x = random_values(s[0]), mask = random_values(s[0]) > 0]() mutable { x.masked_fill_(mask, 0.5); };
       }},
  };
}

}  // namespace tandem::benchmarks
