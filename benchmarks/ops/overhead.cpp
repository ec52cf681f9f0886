// Benchmarks of the overhead of a call: ops on 16 elements, with and without autograd.
#include "tandem/benchmarks/benchmark.h"
#include "tandem/ops/elementwise/add_sub.h"
#include "tandem/ops/elementwise/operators.h"

namespace tandem::benchmarks {

std::vector<Benchmark> overhead_benchmarks() {
  const std::vector<Shapes> few = {{{16}}};
  return {
      {.name = "add/overhead",
       .cases = few,
       .prepare = [](const Shapes& s) -> Run { return [x = random_values(s[0])] { x + 1; }; }},
      {.name = "add/overhead_grad",
       .cases = few,
       .prepare = [](const Shapes& s) -> Run { return [x = random_values(s[0]).requires_grad_()] { x + 1; }; }},
      {.name = "mul_add_sum/overhead",
       .cases = few,
       .prepare = [](const Shapes& s) -> Run {
         return [a = random_values(s[0]), b = random_values(s[0]), c = random_values(s[0])] { (a * b + c).sum(); };
       }},
      // Times forward, backward through three nodes, and accumulation into the gradients of three leaves.
      {.name = "mul_add_sum/overhead_backward",
       .cases = few,
       .prepare = [](const Shapes& s) -> Run {
         return [a = random_values(s[0]).requires_grad_(), b = random_values(s[0]).requires_grad_(),
                 c = random_values(s[0]).requires_grad_()] {
           for (const Tensor* x : {&a, &b, &c}) x->mutable_grad().reset();
           (a * b + c).sum().backward();
         };
       }},
  };
}

}  // namespace tandem::benchmarks
