// Benchmarks of factory functions and fills: constants, sequences and random numbers.
#include "tandem/benchmarks/benchmark.h"
#include "tandem/ops/factory/arange.h"
#include "tandem/ops/factory/empty.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/factory/zeros_ones_full.h"
#include "tandem/ops/random/rand.h"
#include "tandem/ops/random/randperm.h"

namespace tandem::benchmarks {

std::vector<Benchmark> fill_benchmarks() {
  std::vector<Benchmark> out;
  const auto add = [&](const char* name, Tensor (*make)(IntArrayRef sizes)) {
    out.push_back(
        {.name = name, .cases = {{{1 << 20}}}, .bytes = write_one_bytes, .prepare = [make](const Shapes& s) -> Run {
           return [make, sizes = s[0]] { make(sizes); };
         }});
  };
  const auto change = [&](const char* name, void (*fill)(Tensor&)) {
    out.push_back(
        {.name = name, .cases = {{{1 << 20}}}, .bytes = write_one_bytes, .prepare = [fill](const Shapes& s) -> Run {
           return [fill, x = tandem::empty(s[0], device())]() mutable { fill(x); };
         }});
  };
  add("empty/overhead", [](IntArrayRef sizes) { return empty(sizes, device()); });
  out.back().bytes = nullptr;  // empty() writes no memory
  add("zeros/forward", [](IntArrayRef sizes) { return zeros(sizes, device()); });
  add("full/forward", [](IntArrayRef sizes) { return full(sizes, 2.5, device()); });
  add("arange/forward", [](IntArrayRef sizes) { return arange(sizes[0], TensorOptions(kFloat32).device(device())); });
  add("rand/forward", [](IntArrayRef sizes) { return rand(sizes, device()); });
  add("randn/forward", [](IntArrayRef sizes) { return randn(sizes, device()); });
  add("randperm/forward", [](IntArrayRef sizes) { return randperm(sizes[0], TensorOptions(kInt64).device(device())); });
  change("uniform_/forward", [](Tensor& x) { x.uniform_(); });
  change("normal_/forward", [](Tensor& x) { x.normal_(); });
  change("bernoulli_/forward", [](Tensor& x) { x.bernoulli_(); });
  return out;
}

}  // namespace tandem::benchmarks
