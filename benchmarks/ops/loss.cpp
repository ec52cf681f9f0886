// Benchmarks of softmax and the losses.
#include "tandem/benchmarks/benchmark.h"
#include "tandem/ops/loss/binary_cross_entropy.h"
#include "tandem/ops/loss/cross_entropy.h"
#include "tandem/ops/loss/l1_loss.h"
#include "tandem/ops/loss/mse_loss.h"
#include "tandem/ops/loss/nll_loss.h"
#include "tandem/ops/nn/softmax.h"

namespace tandem::benchmarks {
namespace {

/// Returns logits (N, C) and a class for each row.
Inputs make_logits_and_classes(const Shapes& s) {
  return {random_values(s[0]).requires_grad_(), random_integers(s[0].back(), {s[0].front()})};
}

}  // namespace

std::vector<Benchmark> loss_benchmarks() {
  const std::vector<Shapes> rows = {{{128, 10}}, {{8192, 1024}}}, many = {{{256, 10000}}},
                            pair = {{{1 << 20}, {1 << 20}}};
  std::vector<Benchmark> out;
  const auto both = [&](const std::string& name, Op op) {
    out.push_back(
        {.name = name + "/forward", .cases = rows, .bytes = read_write_bytes, .prepare = prepare_forward(op)});
    out.push_back({.name = name + "/backward",
                   .cases = rows,
                   .bytes = read_two_write_one_bytes,
                   .prepare = prepare_backward(op)});
  };
  both("softmax", [](const Inputs& in) { return softmax(in[0], -1); });
  both("log_softmax", [](const Inputs& in) { return log_softmax(in[0], -1); });

  const auto classes = [&](const std::string& name, Op op) {
    const std::vector<Shapes> cases = {{{128, 10}}, many[0]};
    out.push_back({.name = name + "/forward", .cases = cases, .prepare = [op](const Shapes& s) -> Run {
                     Inputs in = make_logits_and_classes(s);
                     in[0] = in[0].detach();
                     return [op, in] { op(in); };
                   }});
    out.push_back(
        {.name = name + "/backward", .cases = cases, .prepare = prepare_backward(make_logits_and_classes, op)});
  };
  classes("cross_entropy", [](const Inputs& in) { return cross_entropy(in[0], in[1]); });
  classes("nll_loss", [](const Inputs& in) { return nll_loss(in[0], in[1]); });

  const auto pairs = [&](const std::string& name, Op op) {
    out.push_back({.name = name + "/forward", .cases = pair, .prepare = prepare_forward(std::move(op))});
  };
  pairs("mse_loss", [](const Inputs& in) { return mse_loss(in[0], in[1]); });
  pairs("l1_loss", [](const Inputs& in) { return l1_loss(in[0], in[1]); });
  pairs("smooth_l1_loss", [](const Inputs& in) { return smooth_l1_loss(in[0], in[1]); });
  pairs("binary_cross_entropy_with_logits",
        [](const Inputs& in) { return binary_cross_entropy_with_logits(in[0], in[1]); });
  out.push_back({.name = "binary_cross_entropy/forward", .cases = pair, .prepare = [](const Shapes& s) -> Run {
                   return [x = random_values(s[0], true).sub(0.5), y = random_values(s[1], true).sub(0.5)] {
                     binary_cross_entropy(x, y);
                   };
                 }});
  out.push_back({.name = "mse_loss/backward", .cases = pair, .prepare = prepare_backward([](const Inputs& in) {
                                                               return mse_loss(in[0], in[1]);
                                                             })});
  return out;
}

}  // namespace tandem::benchmarks
