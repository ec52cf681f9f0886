// Times DistributedDataParallel and all_reduce over Gloo for compare.py. Run it with `tandem launch -n 2 --
// benchmark_ddp`. Rank 0 prints one line of JSON: median milliseconds by name, and the share of the communication that
// backward hid. All ranks start each timed call together.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>

#include "tandem/models/models.h"
#include "tandem/parallel/reducer.h"
#include "tandem/tandem.h"

using namespace tandem;

namespace {

double median_ms(int calls, const std::function<void()>& call) {
  for (int i = 0; i < 3; ++i) call();
  std::vector<double> ms;
  for (int i = 0; i < calls; ++i) {
    distributed::barrier();
    const auto start = std::chrono::steady_clock::now();
    call();
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(ms.begin(), ms.begin() + calls / 2, ms.end());
  return ms[static_cast<size_t>(calls / 2)];
}
double all_reduce_ms(int64_t elements, int calls) {
  const Tensor x = ones({elements});
  return median_ms(calls, [&] { distributed::all_reduce(x); });
}
/// Returns the median time of a training step of FashionCNN with 64 images per rank. ddp_torch.py times the same step.
template <class Forward> double step_ms(models::FashionCnn& net, const Forward& forward) {
  optim::Adam optimizer(net->parameters(), optim::AdamOptions(1e-3));
  const Tensor x = randn({64, 1, 28, 28}), y = randint(10, {64}, kInt64);
  return median_ms(15, [&] {
    optimizer.zero_grad();
    cross_entropy(forward(x), y).backward();
    optimizer.step();
  });
}

}  // namespace

int main() try {
  distributed::init_process_group("gloo");
  manual_seed(1);
  models::FashionCnn alone, wrapped;
  const double without = step_ms(alone, [&](const Tensor& x) { return alone(x); });
  nn::parallel::DistributedDataParallel ddp(wrapped);
  const double with = step_ms(wrapped, [&](const Tensor& x) { return ddp(x); });
  const double small = all_reduce_ms(1, 200), medium = all_reduce_ms(1 << 20, 30), large = all_reduce_ms(1 << 24, 8);
  if (distributed::get_rank() == 0)
    std::printf(
        "{\"step_without_ddp\": %.4f, \"step_ddp\": %.4f, \"all_reduce_4B\": %.4f, \"all_reduce_4MiB\": %.4f, "
        "\"all_reduce_64MiB\": %.4f, \"hidden_share\": %.3f}\n",
        without, with, small, medium, large, ddp.reducer().last_reduce_times().overlapped_fraction());
  distributed::destroy_process_group();
} catch (const std::exception& error) {
  std::fprintf(stderr, "benchmark_ddp: %s\n", error.what());
  return 1;
}
