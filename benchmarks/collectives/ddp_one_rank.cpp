// Measures the overhead of DistributedDataParallel without communication, in a group of one rank. Training steps of a
// bare module and of a wrapped one alternate. Prints the median ratio of the times of such pairs, with its 95 %
// interval.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "tandem/models/models.h"
#include "tandem/tandem.h"

using namespace tandem;

namespace {

double measure_seconds(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
template <class Module>
void compare_step_times(const char* name, Module bare, Module wrapped, const Tensor& x, int pairs) {
  nn::parallel::DistributedDataParallel ddp(wrapped);
  optim::SGD bare_optimizer(bare->parameters(), 1e-3), ddp_optimizer(wrapped->parameters(), 1e-3);
  const Tensor y = randint(10, {x.size(0)}, kInt64);
  const auto step = [&](optim::SGD& optimizer, const auto& forward) {
    optimizer.zero_grad();
    cross_entropy(forward(x), y).backward();
    optimizer.step();
  };
  const auto alone = [&] { step(bare_optimizer, [&](const Tensor& in) { return bare->forward(in); }); };
  const auto with_ddp = [&] { step(ddp_optimizer, [&](const Tensor& in) { return ddp(in); }); };
  std::vector<double> ratios, times;
  for (int i = -3; i < pairs; ++i) {
    // In every other pair the bare module is timed first; in the others, the wrapped module.
    double without = 0, with = 0;
    if (i % 2) without = measure_seconds(alone);
    with = measure_seconds(with_ddp);
    if (i % 2 == 0) without = measure_seconds(alone);
    if (i < 0) continue;
    ratios.push_back(with / without);
    times.push_back(without);
  }
  std::sort(ratios.begin(), ratios.end());
  std::sort(times.begin(), times.end());
  // With a probability of 95 %, the true median lies between the sorted ratios at positions n / 2 -+ 0.98 * sqrt(n).
  const double n = pairs, half = 0.98 * std::sqrt(n);
  const auto at = [&](double i) { return ratios[static_cast<size_t>(std::clamp(i, 0.0, n - 1))]; };
  std::printf(
      "%-12s %8.3f ms per step without DDP; with DDP, %.4f times that (95 %% interval: %.4f to %.4f), %d pairs\n", name,
      1e3 * times[times.size() / 2], at(n / 2), at(std::floor(n / 2 - half)), at(std::ceil(n / 2 + half)), pairs);
}

}  // namespace

int main(int argc, char** argv) {
  const int scale = argc > 1 ? std::atoi(argv[1]) : 1;
  distributed::run_ranks(1, [&](int) {
    distributed::init_process_group("local");
    manual_seed(1);
    compare_step_times("mlp", models::Mlp(), models::Mlp(), randn({64, 784}), 2000 * scale);
    compare_step_times("lenet", models::Lenet(), models::Lenet(), randn({64, 1, 28, 28}), 400 * scale);
    compare_step_times("fashion_cnn", models::FashionCnn(), models::FashionCnn(), randn({64, 1, 28, 28}), 100 * scale);
  });
}
