// The smallest program that computes a gradient, for Tandem and for LibTorch. hello.sh measures its compile time, run
// time, memory and size.
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
  // The sum is printed so that the compiler does not drop the computation. ru_maxrss is the peak resident memory in
  // KiB.
  std::printf("%g %ld\n", model->weight.grad().abs().sum().item<double>(), usage.ru_maxrss);
}
