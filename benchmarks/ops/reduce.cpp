// Benchmarks of reductions, scans and sorting.
#include "tandem/ops/linalg/norm.h"
#include "tandem/ops/reduce/all_any.h"
#include "tandem/ops/reduce/cumulative.h"
#include "tandem/ops/reduce/logsumexp.h"
#include "tandem/ops/reduce/mean.h"
#include "tandem/ops/reduce/minmax.h"
#include "tandem/ops/reduce/prod.h"
#include "tandem/ops/reduce/sort.h"
#include "tandem/ops/reduce/std_var.h"
#include "tandem/ops/reduce/sum.h"

#include "tandem/benchmarks/benchmark.h"
#include "tandem/ops/elementwise/add_sub.h"
#include "tandem/ops/elementwise/operators.h"

namespace tandem::benchmarks {

std::vector<Benchmark> reduce_benchmarks() {
  const std::vector<Shapes> flat = {{{1 << 20}}}, rows = {{{4096, 256}}}, images = {{{64, 32, 28, 28}}};
  std::vector<Benchmark> out;
  const auto add = [&](const char* name, const std::vector<Shapes>& cases, Op op) {
    out.push_back({.name = name, .cases = cases, .bytes = read_one_bytes, .prepare = prepare_forward(std::move(op))});
  };
  add("sum/forward", {{{16 << 10}}, {{1 << 20}}, {{16 << 20}}, {{128 << 20}}},
      [](const Inputs& in) { return in[0].sum(); });
  add("sum/rows", rows, [](const Inputs& in) { return in[0].sum({-1}); });
  add("sum/columns", rows, [](const Inputs& in) { return in[0].sum({0}); });
  add("mean/forward", flat, [](const Inputs& in) { return in[0].mean(); });
  add("mean/channels", images, [](const Inputs& in) { return in[0].mean({0, 2, 3}); });
  add("var/forward", flat, [](const Inputs& in) { return in[0].var(); });
  add("var/channels", images, [](const Inputs& in) { return in[0].var({0, 2, 3}); });
  add("var/rows", rows, [](const Inputs& in) { return in[0].var(IntArrayRef({-1})); });
  add("std/forward", flat, [](const Inputs& in) { return in[0].std(); });
  add("norm/forward", flat, [](const Inputs& in) { return in[0].norm(); });
  add("max/forward", flat, [](const Inputs& in) { return in[0].max(); });
  add("max/rows", rows, [](const Inputs& in) { return std::get<0>(in[0].max(-1)); });
  add("min/forward", flat, [](const Inputs& in) { return in[0].min(); });
  add("min/rows", rows, [](const Inputs& in) { return std::get<0>(in[0].min(-1)); });
  add("amax/rows", rows, [](const Inputs& in) { return in[0].amax({-1}); });
  add("amin/rows", rows, [](const Inputs& in) { return in[0].amin({-1}); });
  add("logsumexp/rows", rows, [](const Inputs& in) { return in[0].logsumexp({-1}); });
  add("argmax/rows", rows, [](const Inputs& in) { return in[0].argmax(-1); });
  add("argmin/rows", rows, [](const Inputs& in) { return in[0].argmin(-1); });
  add("prod/forward", flat, [](const Inputs& in) { return in[0].prod(); });
  add("cumsum/rows", rows, [](const Inputs& in) { return in[0].cumsum(-1); });
  add("sort/rows", rows, [](const Inputs& in) { return std::get<0>(in[0].sort(-1)); });
  add("argsort/rows", rows, [](const Inputs& in) { return in[0].argsort(-1); });
  add("topk/rows", rows, [](const Inputs& in) { return std::get<0>(in[0].topk(10, -1)); });
  out.push_back({.name = "all/forward", .cases = flat, .prepare = [](const Shapes& s) -> Run {
                   return [x = random_values(s[0]) < 2] {
                     x.all();
                   };  // x < 2 is true everywhere, so the reduction cannot stop early
                 }});
  out.push_back({.name = "any/forward", .cases = flat, .prepare = [](const Shapes& s) -> Run {
                   return [x = random_values(s[0]) > 2] { x.any(); };
                 }});
  out.push_back({.name = "sum/backward", .cases = flat, .prepare = prepare_backward([](const Inputs& in) {
                                                          return in[0].sum();
                                                        })});
  out.push_back({.name = "var/backward", .cases = images, .prepare = prepare_backward([](const Inputs& in) {
                                                            return in[0].var({0, 2, 3});
                                                          })});
  return out;
}

}  // namespace tandem::benchmarks
