// Benchmarks of indexing, masking and concatenation. The embedding table has the size of a small language model's.
#include "tandem/ops/index/gather.h"
#include "tandem/ops/index/index_add.h"
#include "tandem/ops/index/index_put.h"
#include "tandem/ops/index/index_select.h"
#include "tandem/ops/index/masked_select.h"
#include "tandem/ops/index/nonzero.h"
#include "tandem/ops/index/scatter.h"
#include "tandem/ops/index/tensor_index.h"
#include "tandem/ops/nn/embedding.h"
#include "tandem/ops/shape/cat.h"

#include "tandem/benchmarks/benchmark.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/elementwise/unary.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/index/masked_fill.h"

namespace tandem::benchmarks {
namespace {

/// Returns a table (rows, width) that requires a gradient, and random indices of its rows.
Inputs make_table_and_index(const Shapes& s) {
  return {random_values(s[0]).requires_grad_(), random_integers(s[0][0], s[1])};
}

Benchmark make_benchmark(const char* name, std::vector<Shapes> cases, std::function<Run(const Shapes&)> prepare) {
  return {.name = name, .cases = std::move(cases), .prepare = std::move(prepare)};
}

}  // namespace

std::vector<Benchmark> index_benchmarks() {
  const std::vector<Shapes> lookup = {{{8192, 256}, {8, 128}}};
  const std::vector<Shapes> rows = {{{8192, 256}, {1024}}}, square = {{{1024, 1024}}},
                            pair = {{{1024, 512}, {1024, 512}}};
  const Op embed = [](const Inputs& in) { return embedding(in[0], in[1]); };
  return {
      make_benchmark("embedding/forward", lookup,
                     [](const Shapes& s) -> Run {
                       return [w = random_values(s[0]), i = random_integers(s[0][0], s[1])] { embedding(w, i); };
                     }),
      make_benchmark("embedding/backward", lookup, prepare_backward(make_table_and_index, embed)),
      make_benchmark("index_select/forward", rows,
                     [](const Shapes& s) -> Run {
                       return [w = random_values(s[0]), i = random_integers(s[0][0], s[1])] { w.index_select(0, i); };
                     }),
      make_benchmark(
          "index_select/backward", rows,
          prepare_backward(make_table_and_index, [](const Inputs& in) { return in[0].index_select(0, in[1]); })),
      make_benchmark("index_add/forward", rows,
                     [](const Shapes& s) -> Run {
                       const Tensor source = random_values({s[1][0], s[0][1]});
                       return [=, w = random_values(s[0]), i = random_integers(s[0][0], s[1])] {
                         w.index_add(0, i, source);
                       };
                     }),
      make_benchmark("index/forward", rows,
                     [](const Shapes& s) -> Run {
                       return [w = random_values(s[0]), i = random_integers(s[0][0], s[1])] { w.index({i}); };
                     }),
      make_benchmark("index_put_/forward", rows,
                     [](const Shapes& s) -> Run {
                       const Tensor source = random_values({s[1][0], s[0][1]});
                       return [=, w = random_values(s[0]), i = random_integers(s[0][0], s[1])]() mutable {
                         w.index_put_({i}, source);
                       };
                     }),
      make_benchmark("gather/forward", square,
                     [](const Shapes& s) -> Run {
                       return [x = random_values(s[0]), i = random_integers(s[0][1], s[0])] { x.gather(1, i); };
                     }),
      make_benchmark("scatter/forward", square,
                     [](const Shapes& s) -> Run {
                       return [x = random_values(s[0]), i = random_integers(s[0][1], s[0]), y = random_values(s[0])] {
                         x.scatter(1, i, y);
                       };
                     }),
      make_benchmark("scatter_add/forward", square,
                     [](const Shapes& s) -> Run {
                       return [x = random_values(s[0]), i = random_integers(s[0][1], s[0]), y = random_values(s[0])] {
                         x.scatter_add(1, i, y);
                       };
                     }),
      make_benchmark("masked_fill/forward", square,
                     [](const Shapes& s) -> Run {
                       return [x = random_values(s[0]), mask = random_values(s[0]) > 0] { x.masked_fill(mask, -1); };
                     }),
      make_benchmark("masked_select/forward", square,
                     [](const Shapes& s) -> Run {
                       return [x = random_values(s[0]), mask = random_values(s[0]) > 0] { x.masked_select(mask); };
                     }),
      make_benchmark("nonzero/forward", square,
                     [](const Shapes& s) -> Run { return [mask = random_values(s[0]) > 0] { nonzero(mask); }; }),
      make_benchmark("one_hot/forward", {{{8192}}},
                     [](const Shapes& s) -> Run { return [i = random_integers(64, s[0])] { one_hot(i, 64); }; }),
      make_benchmark("cat/forward", pair, prepare_forward([](const Inputs& in) { return cat(in, 1); })),
      make_benchmark("cat/backward", pair, prepare_backward([](const Inputs& in) { return cat(in, 1); })),
      make_benchmark("stack/forward", pair, prepare_forward([](const Inputs& in) { return stack(in, 0); })),
  };
}

}  // namespace tandem::benchmarks
