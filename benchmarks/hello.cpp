// The smallest program that computes a gradient, under Tandem and under LibTorch: hello.sh says what it costs to
// compile, to start, to hold in memory and to ship.
#ifdef HELLO_LIBTORCH
#include <torch/torch.h>
#else
#include <tandem/tandem.h>
namespace torch = tandem;
#endif
#include <sys/resource.h>

#include <cstdio>

int main() {
  torch::manual_seed(1);
  torch::nn::Linear model(10, 1);
  const torch::Tensor loss = model(torch::ones({8, 10})).square().mean();
  loss.backward();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  // The sum is printed so that nobody leaves the work out; the peak of resident memory is in KiB.
  std::printf("%g %ld\n", model->weight.grad().abs().sum().item<double>(), usage.ru_maxrss);
}
