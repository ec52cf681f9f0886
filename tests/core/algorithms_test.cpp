// Tests the settings of core/algorithms.h, and matrix products and convolutions on a GPU under each of them.
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;

namespace {

/// Restores the default settings at the end of a test.
struct Restore {
  ~Restore() {
    use_deterministic_algorithms(true);
    set_float32_matmul_precision("highest");
  }
};

}  // namespace

TEST_CASE("algorithms are deterministic and float32 is float32 unless told otherwise", "[algorithms]") {
  const Restore restore;
  CHECK(are_deterministic_algorithms_enabled());
  CHECK(get_float32_matmul_precision() == "highest");
  use_deterministic_algorithms(false);
  set_float32_matmul_precision("high");
  CHECK_FALSE(are_deterministic_algorithms_enabled());
  CHECK(get_float32_matmul_precision() == "high");
  CHECK_THROWS_WITH(set_float32_matmul_precision("low"), Contains("low is not one of 'highest', 'high', or 'medium'"));
}

#if TANDEM_HAS_CUDA
TEST_CASE("products and convolutions on a GPU agree with the CPU under every switch", "[algorithms]") {
  if (!cuda::is_available()) {
    WARN("SKIPPED: there is no GPU");
    return;
  }
  const Restore restore;
  const bool deterministic = GENERATE(true, false);
  const std::string precision = GENERATE("highest", "high");
  use_deterministic_algorithms(deterministic);
  set_float32_matmul_precision(precision);
  manual_seed(1);
  const Device gpu("cuda");
  const Tensor a = randn({3, 17, 33}), b = randn({3, 33, 9}), x = randn({2, 4, 7, 6}), w = randn({6, 2, 3, 3});
  // For "highest": float sums of at most 33 terms near 6. For "high": TF32 keeps 10 bits of each factor.
  const double tolerance = precision == "highest" ? 1e-4 : 0.1;
  const auto same = [&](const Tensor& ours, const Tensor& expected) {
    return ours.to(kCPU).sub(expected).abs().max().item<double>() < tolerance;
  };
  CHECK(same(matmul(a.to(gpu), b.to(gpu)), matmul(a, b)));
  CHECK(same(matmul(b.to(gpu).transpose(1, 2), a.to(gpu).transpose(1, 2)), matmul(a, b).transpose(1, 2)));
  const Tensor ours_x = x.to(gpu).requires_grad_(), ours_w = w.to(gpu).requires_grad_();
  x.requires_grad_(), w.requires_grad_();
  const auto convolve = [](const Tensor& in, const Tensor& weight) {
    return conv2d(in, weight, {}, {2, 1}, {1, 2}, {1, 2}, 2);
  };
  const Tensor ours = convolve(ours_x, ours_w), expected = convolve(x, w);
  ours.square().sum().backward(), expected.square().sum().backward();
  CHECK(same(ours.detach(), expected.detach()));
  CHECK(same(ours_x.grad() * 0.02, x.grad() * 0.02));  // gradients are about fifty times as large
  CHECK(same(ours_w.grad() * 0.02, w.grad() * 0.02));
}
#endif
