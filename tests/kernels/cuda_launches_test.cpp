// Tests how many kernels a call launches on a GPU, where a small kernel takes no longer than its launch. Also tests
// that
// the calls give the same results as on the CPU.
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/kernels/cuda_rows.h"
#if TANDEM_TEST_EMULATED
#include "tandem/emulation/emulation.h"
#endif

using namespace tandem;
using namespace tandem::test;

namespace {

using Inputs = std::vector<Tensor>;
struct Row {
  const char* name;
  int launches;
  std::function<Tensor(const Inputs&)> call;
  std::vector<std::vector<int64_t>> sizes;
};

const Row kLaunchRows[] = {
    {"mean of all", 1, [](const Inputs& in) { return in[0].mean(); }, {{40, 30}}},
    {"mean of all, in two passes", 2, [](const Inputs& in) { return in[0].mean(); }, {{70, 1000}}},
    {"mean of rows", 1, [](const Inputs& in) { return in[0].mean({1}); }, {{40, 30}}},
    {"mean of columns", 1, [](const Inputs& in) { return in[0].mean({0}); }, {{40, 30}}},
    {"mean of channels",
     1,
     [](const Inputs& in) {
       return in[0].mean({0, 2, 3});
     },
     {{6, 5, 4, 4}}},
    {"mean apart",
     3,
     [](const Inputs& in) {
       return in[0].mean({0, 2});
     },
     {{6, 5, 4, 3}}},
    {"sum of channels",
     1,
     [](const Inputs& in) {
       return in[0].sum({0, 2, 3});
     },
     {{6, 5, 4, 4}}},
    {"sum of channels, kept",
     1,
     [](const Inputs& in) {
       return in[0].sum({0, 2, 3}, true);
     },
     {{6, 5, 3, 3}}},
    {"var of all", 1, [](const Inputs& in) { return in[0].var(); }, {{40, 30}}},
    {"var of all, in two passes", 2, [](const Inputs& in) { return in[0].var(); }, {{70, 1000}}},
    {"var of rows", 1, [](const Inputs& in) { return in[0].var(IntArrayRef({-1})); }, {{40, 64}}},
    {"var of columns", 1, [](const Inputs& in) { return in[0].var({0}, false); }, {{40, 30}}},
    {"var of channels",
     1,
     [](const Inputs& in) {
       return in[0].var({0, 2, 3}, true, true);
     },
     {{6, 5, 4, 4}}},
    {"var of one", 1, [](const Inputs& in) { return in[0].var({0}); }, {{1, 30}}},
    {"std of rows", 1, [](const Inputs& in) { return in[0].std(IntArrayRef({1})); }, {{40, 64}}},
    {"mse_loss", 1, [](const Inputs& in) { return mse_loss(in[0], in[1]); }, {{40, 30}, {40, 30}}},
    {"mse_loss, in two passes",
     2,
     [](const Inputs& in) { return mse_loss(in[0], in[1], Reduction::sum); },
     {{70, 1001}, {70, 1001}}},
    {"batch_norm in evaluation, and a square",
     2,
     [](const Inputs& in) { return batch_norm(in[0], in[1], in[2], in[3], in[4].square(), false); },
     {{6, 5, 4, 4}, {5}, {5}, {5}, {5}}},
    {"batch_norm in training",
     2,
     [](const Inputs& in) { return batch_norm(in[0], in[1], in[2], in[3].clone(), in[4].clone(), true); },
     {{6, 5, 4, 4}, {5}, {5}, {5}, {5}}},
    {"batch_norm's running statistics, and their sum",
     3,
     [](const Inputs& in) {
       const Tensor mean = in[1].clone(), var = in[2].clone();
       batch_norm(in[0], {}, {}, mean, var, true, 0.3);
       return mean + var;
     },
     {{6, 5, 4, 4}, {5}, {5}}},
    {"BatchNorm2d in training, twice, and the number of batches",
     4,
     [](const Inputs& in) {
       nn::BatchNorm2d norm(5);
       norm->to(in[0].device(), in[0].dtype());
       norm(in[0]), norm(in[0]);
       return norm->num_batches_tracked;
     },
     {{6, 5, 4, 4}}},
    {"the gradient of dropout",
     4,  // one launch each for x, its elements, the seed and the gradient
     [](const Inputs& in) {
       manual_seed(5);
       const Tensor x = (in[0] * 2).requires_grad_();
       dropout(x, 0.5, true).backward(in[0] * 3);
       return x.grad();
     },
     {{6, 5, 3}}},
    {"cross_entropy and its gradient",
     6,  // one launch each for x, the target, the losses, their mean, the seed and the gradient
     [](const Inputs& in) {
       const Tensor x = (in[0] * 2).requires_grad_();
       const Tensor target = zeros({40}, in[0].options().dtype(kInt64));
       cross_entropy(x, target).backward();
       return x.grad();
     },
     {{40, 10}}},
    {"cat of rows",
     1,
     [](const Inputs& in) {
       return cat({in[0], in[1], in[0]}, 1);
     },
     {{40, 30}, {40, 7}}},
    {"cat of images",
     1,
     [](const Inputs& in) {
       return cat({in[0], in[1]});
     },
     {{3, 4, 5}, {2, 4, 5}}},
    {"stack",
     1,
     [](const Inputs& in) {
       return stack({in[0], in[1]}, 1);
     },
     {{6, 16}, {6, 16}}},
    {"cat of many", 2, [](const Inputs& in) { return cat(Inputs(40, in[0]), 1); }, {{3, 8}}},
    {"scatter_add along rows",
     4,  // one launch each for the index, its keys, the sort of all rows, and the sums
     [](const Inputs& in) {
       return in[0].scatter_add(1, zeros({40, 100}, in[0].options().dtype(kInt64)), in[1]);
     },
     {{40, 50}, {40, 100}}},
    {"adaptive_avg_pool2d", 1, [](const Inputs& in) { return adaptive_avg_pool2d(in[0], 1); }, {{3, 4, 5, 6}}},
};

#if TANDEM_TEST_EMULATED
/// Returns the number of kernels that f launches. It makes the first launch fail, then the second, until f succeeds.
template <class F> int launches(F f) {
  for (int n = 1;; ++n) {
    emulation::inject_call_failure("launch", n);
    try {
      f();
    } catch (const CudaError&) {
      continue;
    }
    emulation::reset_runtime();
    return n - 1;
  }
}
#endif

}  // namespace

TEST_CASE("calls on a GPU start as few kernels as they need, and give what they give on the CPU", "[cuda][launches]") {
  TANDEM_NEEDS_GPU();
  for (const Row& row : kLaunchRows)
    for (const DType dtype : {kFloat32, kFloat64}) {
      CAPTURE(row.name, dtype);
      Inputs here, there;
      for (size_t i = 0; i < row.sizes.size(); ++i) {
        here.push_back(reals(row.sizes[i], dtype, static_cast<uint32_t>(i) + 1, 1.0, 0.5));
        there.push_back(here.back().to(kGpu));
      }
      CHECK(count_differences(row.call(there), row.call(here), 1e-5, 1e-6) == 0);
    }
}
#if TANDEM_TEST_EMULATED
TEST_CASE("calls on a GPU start as many kernels as the table says", "[cuda][launches]") {
  for (const Row& row : kLaunchRows) {
    CAPTURE(row.name);
    Inputs in;
    for (size_t i = 0; i < row.sizes.size(); ++i)
      in.push_back(reals(row.sizes[i], kFloat32, static_cast<uint32_t>(i) + 1).to(kGpu));
    CHECK(launches([&] { row.call(in); }) == row.launches);
  }
}
#endif
