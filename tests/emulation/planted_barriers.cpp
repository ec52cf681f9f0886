// planted_barriers [N]: runs the kernels of attention in half types, which pipeline copies to shared memory, without
// their barrier number N. Prints "wrong results" if results differ from the CPU's. They must, and ThreadSanitizer must
// report a race: so every barrier is needed, and a missing one is found.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tandem/kernels/attention.h"
#include "tandem/kernels/cuda/launch.h"
#include "tandem/kernels/cuda/reduce.cuh"
#include "tandem/tandem.h"

namespace {

int left_out = -1;
constexpr int kFirst = __COUNTER__ + 1;
void barrier(int number) {
  if (number - kFirst != left_out) __syncthreads();
}

}  // namespace

#define __syncthreads() ::barrier(__COUNTER__)
// clang-format off
#include "tandem/kernels/cuda/attention/half_forward.cu"   // barriers 0 and 1
#include "tandem/kernels/cuda/attention/half_backward.cu"  // barrier 2
// clang-format on
#undef __syncthreads
constexpr int kBarriers = __COUNTER__ - kFirst;

int main(int argc, char** argv) {
  using namespace tandem;
  if (argc > 1) left_out = std::atoi(argv[1]);
  if (left_out >= kBarriers) {
    std::printf("there are %d barriers\n", kBarriers);
    return 2;
  }
  manual_seed(1);
  const NoGradGuard guard;
  const Shape sizes{1, 1, 150, 16};
  std::vector<Tensor> in, copies, expected;
  for (int i = 0; i < 4; ++i) {
    in.push_back(randn(sizes).to(kBFloat16));
    copies.push_back(in.back().to(kCUDA));
    expected.push_back(zeros(sizes, kBFloat16));
  }
  std::vector<Tensor> found;
  for (int i = 0; i < 4; ++i) found.push_back(core::empty(sizes, kBFloat16, kCUDA));
  Tensor lse = zeros({1, 1, 150}), found_lse = core::empty({1, 1, 150}, kFloat32, kCUDA);
  const Tensor &q = copies[0], &k = copies[1], &v = copies[2], &dout = copies[3];
  kernels::cpu::attention(in[0], in[1], in[2], {}, false, 0.25, 0, {}, expected[0], lse);
  kernels::cpu::attention_backward(in[3], in[0], in[1], in[2], {}, expected[0], lse, false, 0.25, 0, {}, expected[1],
                                   expected[2], expected[3]);
  kernels::cuda::half_attention(q, k, v, {}, false, 0.25, 0, {}, found[0], found_lse);
  kernels::cuda::half_attention_backward(dout, q, k, v, {}, found[0], found_lse, false, 0.25, 0, {}, found[1], found[2],
                                         found[3]);
  bool right = true;
  // Tolerance: several roundings to 8 bits. Without a barrier, a kernel reads the NaN with which shared memory starts.
  for (size_t i = 0; i < 4; ++i)
    right = right && found[i].to(kCPU).to(kFloat32).allclose(expected[i].to(kFloat32), 0.05, 0.05);
  std::puts(right ? "right results" : "wrong results");
  return right ? 0 : 1;
}
