// Benchmarks of views, which measure the overhead of a call, and of copies.
#include "tandem/ops/shape/view.h"
#include "tandem/ops/shape/as_strided.h"
#include "tandem/ops/shape/clone.h"
#include "tandem/ops/shape/diagonal.h"
#include "tandem/ops/shape/expand.h"
#include "tandem/ops/shape/flatten.h"
#include "tandem/ops/shape/resize.h"
#include "tandem/ops/shape/select_slice.h"
#include "tandem/ops/shape/split.h"
#include "tandem/ops/shape/squeeze.h"
#include "tandem/ops/shape/transpose.h"
#include "tandem/ops/shape/unfold.h"

#include "tandem/benchmarks/benchmark.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/shape/copy.h"

namespace tandem::benchmarks {

std::vector<Benchmark> view_benchmarks() {
  std::vector<Benchmark> out;
  const auto view = [&](const char* name, Op op) {
    out.push_back(
        {.name = std::string(name) + "/overhead", .cases = {{{4, 1, 6}}}, .prepare = prepare_forward(std::move(op))});
  };
  view("view", [](const Inputs& in) { return in[0].view({24}); });
  view("reshape", [](const Inputs& in) { return in[0].reshape({6, 4}); });
  view("flatten", [](const Inputs& in) { return in[0].flatten(); });
  view("unflatten", [](const Inputs& in) { return in[0].unflatten(0, {2, 2}); });
  view("transpose", [](const Inputs& in) { return in[0].transpose(0, 2); });
  view("t", [](const Inputs& in) { return in[0].squeeze(1).t(); });
  view("permute", [](const Inputs& in) { return in[0].permute({2, 0, 1}); });
  view("narrow", [](const Inputs& in) { return in[0].narrow(0, 1, 2); });
  view("select", [](const Inputs& in) { return in[0].select(0, 1); });
  view("slice", [](const Inputs& in) { return in[0].slice(2, 1, 5, 2); });
  view("expand", [](const Inputs& in) { return in[0].expand({4, 5, 6}); });
  view("unsqueeze", [](const Inputs& in) { return in[0].unsqueeze(0); });
  view("squeeze", [](const Inputs& in) { return in[0].squeeze(); });
  view("as_strided", [](const Inputs& in) { return in[0].as_strided({3, 3}, {2, 1}); });
  view("chunk", [](const Inputs& in) { return in[0].chunk(2, 2)[0]; });
  view("split", [](const Inputs& in) { return in[0].split(2, 0)[0]; });
  view("unbind", [](const Inputs& in) { return in[0].unbind(0)[0]; });
  view("detach", [](const Inputs& in) { return in[0].detach(); });

  const auto copy = [&](const char* name, double (*bytes)(const Shapes&), Op op) {
    out.push_back({.name = name, .cases = {{{1024, 1024}}}, .bytes = bytes, .prepare = prepare_forward(std::move(op))});
  };
  copy("clone/forward", read_write_bytes, [](const Inputs& in) { return in[0].clone(); });
  out.back().cases.push_back({{8192, 8192}});  // 512 MiB of traffic
  copy("contiguous/transposed", read_write_bytes, [](const Inputs& in) { return in[0].t().contiguous(); });
  copy("to/double", read_two_write_one_bytes, [](const Inputs& in) { return in[0].to(DType::float64); });
  copy("repeat/forward", read_two_write_one_bytes, [](const Inputs& in) { return in[0].repeat({2, 1}); });
  return out;
}

}  // namespace tandem::benchmarks
