// Tests norms, moments and running sums of numbers whose squares overflow or underflow float32, and of many numbers.
#include <cmath>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/device.h"
#include "tandem/tests/formula.h"

using namespace tandem;
using tandem::test::test_device;
namespace F = tandem::nn::functional;

namespace {

/// Returns numbers close to 10 * `scale`, rounded to float.
Tensor around_ten(int64_t count, double scale) {
  std::vector<float> numbers(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    numbers[static_cast<size_t>(i)] = static_cast<float>(scale * (10 + 2 * test::value(i, 1)));
  return tensor(numbers, kFloat32);
}
Tensor weights_for(const Tensor& y) {
  std::vector<double> numbers(static_cast<size_t>(y.numel()));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = test::value(static_cast<int64_t>(i), 101);
  return tensor(numbers, kFloat64).view(y.sizes()).to(y.device(), y.dtype());
}
struct Results {
  Tensor y, gradient;
};
template <class Call> Results run(const Call& call, const Tensor& x) {
  const Tensor leaf = x.clone().requires_grad_();
  const Tensor y = call(leaf);
  (y * weights_for(y)).sum().backward();
  return {y.detach().to(kCPU), leaf.grad().to(kCPU)};
}
/// Returns the largest difference, relative to the largest element of `want` (at least 1e-34, below which floats lose
/// digits). Returns 0 if all elements are equal, including infinities.
double error(const Tensor& got, const Tensor& want) {
  const Tensor rounded = want.to(kFloat32).to(kFloat64), found = got.to(kFloat64);
  const Tensor off = where(found == rounded, Scalar(0), (found - rounded).abs() / rounded.abs().max().clamp_min(1e-34));
  return off.max().item<double>();
}

struct Call {
  const char* name;
  Tensor (*run)(const Tensor&);
};
const Call kCalls[] = {
    {"std", [](const Tensor& x) { return x.std(); }},
    {"var", [](const Tensor& x) { return x.var(); }},
    {"std over rows",
     [](const Tensor& x) {
       return x.view({10, 100}).std(1);
     }},
    {"std over columns",
     [](const Tensor& x) {
       return x.view({10, 100}).std(0);
     }},
    {"std over the middle",
     [](const Tensor& x) {
       return x.view({5, 20, 10}).std(1);
     }},
    {"std over both ends",
     [](const Tensor& x) {
       return x.view({5, 20, 10}).std(IntArrayRef{0, 2});
     }},
    {"var_mean",
     [](const Tensor& x) {
       return std::get<0>(var_mean(x.view({10, 100}), {1}));
     }},
    {"norm", [](const Tensor& x) { return x.norm(); }},
    {"norm over rows",
     [](const Tensor& x) {
       return x.view({10, 100}).norm(2, 1);
     }},
    {"norm over columns",
     [](const Tensor& x) {
       return x.view({10, 100}).norm(2, 0);
     }},
    {"norm 3", [](const Tensor& x) { return x.norm(3); }},
    {"norm 3 over columns",
     [](const Tensor& x) {
       return x.view({10, 100}).norm(3, 0);
     }},
    {"norm 0.5",
     [](const Tensor& x) {
       return x.view({10, 100}).norm(0.5, 1);
     }},
    {"norm 1", [](const Tensor& x) { return x.norm(1); }},
    {"norm -1", [](const Tensor& x) { return x.norm(-1); }},
    {"norm -2", [](const Tensor& x) { return x.norm(-2); }},
    {"vector_norm", [](const Tensor& x) { return linalg_vector_norm(x, 4); }},
    {"matrix_norm",
     [](const Tensor& x) {
       return linalg_matrix_norm(x.view({25, 40}));
     }},
    {"dist", [](const Tensor& x) { return x.narrow(0, 0, 500).dist(x.narrow(0, 500, 500)); }},
    {"cdist",
     [](const Tensor& x) {
       return cdist(x.view({10, 100}), x.view({10, 100}) * 1.5);
     }},
    {"pdist",
     [](const Tensor& x) {
       return pdist(x.view({10, 100}));
     }},
    {"pairwise_distance",
     [](const Tensor& x) {
       return pairwise_distance(x.view({10, 100}), x.view({10, 100}) * 1.5, 2, 0);
     }},
    {"normalize", [](const Tensor& x) { return F::normalize(x, F::NormalizeFuncOptions().dim(0)); }},
    {"cosine_similarity",
     [](const Tensor& x) { return cosine_similarity(x.narrow(0, 0, 500), x.narrow(0, 500, 500), 0); }},
    {"renorm",
     [](const Tensor& x) {
       return x.view({10, 100}).renorm(2, 0, 1);
     }},
    {"norm_except_dim",
     [](const Tensor& x) {
       return norm_except_dim(x.view({10, 100}), 2, 0);
     }},
    {"layer_norm",
     [](const Tensor& x) {
       return layer_norm(x.view({10, 100}), {100}, {}, {}, 0);
     }},
    {"group_norm",
     [](const Tensor& x) {
       return group_norm(x.view({2, 10, 50}), 5, {}, {}, 0);
     }},
    {"instance_norm",
     [](const Tensor& x) {
       return instance_norm(x.view({2, 10, 50}), {}, {}, {}, {}, true, 0.1, 0);
     }},
    {"batch_norm",
     [](const Tensor& x) {
       return batch_norm(x.view({2, 10, 50}), {}, {}, {}, {}, true, 0.1, 0);
     }},
    {"batch_norm of rows",
     [](const Tensor& x) {
       return batch_norm(x.view({100, 10}), {}, {}, {}, {}, true, 0.1, 0);
     }},
    {"rms_norm",
     [](const Tensor& x) {
       return rms_norm(x.view({10, 100}), {100}, {}, 0.0);
     }},
};
/// Returns whether the normalization sums squares in float32. On GPUs it does, as PyTorch's kernels do.
bool sums_in_float(const Call& call) {
  const std::string name = call.name;
  return test_device().is_cuda() && (name.find("batch_norm") == 0 || name.find("instance") == 0 ||
                                     name.find("layer") == 0 || name.find("group") == 0);
}

}  // namespace

TEST_CASE("moments and norms of float32 are right from 1e-30 to 1e30, and so are their gradients", "[moments]") {
  for (const Call& call : kCalls)
    for (const double scale : {1e-30, 1e-22, 1e-18, 1e-3, 1.0, 1e15, 1e18, 1e22, 1e30}) {
      if (sums_in_float(call) && (scale < 1e-10 || scale > 1e10)) continue;
      CAPTURE(call.name, scale);
      const Tensor x = around_ten(1000, scale).to(test_device());
      const Results got = run(call.run, x), want = run(call.run, x.to(kFloat64));
      // Tolerance 2e-6: a few float32 rounding errors per element, and sums of 1,000 elements in float32. PyTorch's own
      // errors
      // are about 3e-7.
      CHECK(error(got.y, want.y) < 2e-6);
      CHECK(error(got.gradient, want.gradient) < 5e-6);
    }
}

TEST_CASE("second derivatives of norms and normalisations are right at extreme scales", "[moments]") {
  for (const char* name : {"std", "norm", "norm 3", "layer_norm", "rms_norm", "batch_norm"})
    for (const double scale : {1e-12, 1.0, 1e12}) {
      CAPTURE(name, scale);
      const Call& call = *std::find_if(std::begin(kCalls), std::end(kCalls),
                                       [&](const Call& c) { return std::string(c.name) == name; });
      const auto second = [&](const Tensor& x) {
        const Tensor leaf = x.clone().requires_grad_(), y = call.run(leaf);
        const Tensor first = autograd::grad({(y * weights_for(y)).sum()}, {leaf}, {}, true, true)[0];
        return autograd::grad({(first * weights_for(first)).sum()}, {leaf})[0].to(kCPU);
      };
      const Tensor x = around_ten(1000, scale).to(test_device());
      // Tolerance 1e-4: the second derivatives subtract nearly equal float32 gradients.
      CHECK(error(second(x), second(x.to(kFloat64))) < 1e-4);
    }
}

TEST_CASE("moments of numbers far from zero do not cancel", "[moments]") {
  // The mean of 1e6 + [-2, 2) must be accumulated with more digits than float32 has.
  const Tensor x = (around_ten(1000, 1).to(kFloat64) + 1e6).to(kFloat32).to(test_device());
  const double want = x.to(kFloat64).std().item<double>();
  CHECK(std::abs(x.std().item<double>() / want - 1) < 1e-6);  // tolerance: one rounding
  CHECK(std::abs(x.view({10, 100}).t().std().item<double>() / want - 1) < 1e-6);
}

TEST_CASE("norms and deviations of half types fit where they do", "[moments]") {
  for (const DType dtype : {kFloat16, kBFloat16})
    for (const double scale : {1e-3, 1.0, 1e2, 1e15, 1e30}) {
      if (dtype == kFloat16 && scale > 1e2) continue;
      const double digit = dtype == kFloat16 ? 0x1p-10 : 0x1p-7;
      const Tensor x = around_ten(1000, scale).to(test_device(), dtype), wide = x.to(kFloat64);
      CAPTURE(dtype, scale);
      for (const double p : {2.0, 3.0, 0.5}) {
        const double want = wide.norm(p).to(dtype).item<double>();
        const double got = x.norm(p).item<double>();
        CHECK((got == want || std::abs(got / want - 1) <= digit));  // tolerance: one rounding
      }
      CHECK(std::abs(x.std().item<double>() / wide.std().item<double>() - 1) <= digit);
      CHECK(std::abs(std::get<0>(std_mean(x.view({10, 100}), {0}))[3].item<double>() /
                         wide.view({10, 100}).std(0)[3].item<double>() -
                     1) <= digit);
    }
}

TEST_CASE("a norm at zero has the gradient 0, once and twice", "[moments]") {
  for (const double p : {2.0, 3.0}) {
    CAPTURE(p);
    const Tensor x = zeros({3}, kFloat64).to(test_device()).requires_grad_();
    const Tensor first = autograd::grad({x.norm(p)}, {x}, {}, true, /*create_graph=*/true)[0];
    CHECK(first.equal(zeros_like(first)));
    CHECK(autograd::grad({first.sum()}, {x})[0].equal(zeros_like(first)));
  }
}

TEST_CASE("running sums and products of many numbers do not drift", "[moments][scan]") {
  if (test_device().is_cuda()) {
    WARN("SKIPPED: GPUs accumulate float32 in float32, as PyTorch's kernels do");
    return;
  }
  constexpr int64_t kMany = 20'000'000;
  {
    const Tensor y = ones({kMany}).cumsum(0);  // a float32 sum of ones stops growing at 2^24 = 16,777,216
    CHECK(y[kMany - 1].item<double>() == double(kMany));
    const Tensor x = ones({kMany}).requires_grad_();
    x.cumsum(0).sum().backward();
    CHECK(x.grad()[0].item<double>() == double(kMany));
  }
  const Tensor steps = full({1'000'000}, 1.0000001);
  const double step = steps[0].item<double>();
  // Tolerance 1e-7: one rounding to float32.
  CHECK(std::abs(steps.cumprod(0)[999'999].item<double>() / std::pow(step, 1e6) - 1) < 1e-7);
  CHECK(std::abs(zeros({1'000'000}).logcumsumexp(0)[999'999].item<double>() / std::log(1e6) - 1) < 1e-7);
  for (const DType dtype : {kFloat16, kBFloat16}) {
    const double digit = dtype == kFloat16 ? 0x1p-10 : 0x1p-7;
    const Tensor x = ones({5000}, dtype);
    CHECK(x.cumsum(0)[4999].item<double>() == Approx(5000).epsilon(digit));
    const Tensor grown = full({500}, 1 + 2 * digit, dtype);
    CHECK(grown.cumprod(0)[499].item<double>() == Approx(std::pow(1 + 2 * digit, 500)).epsilon(digit));
    CHECK(zeros({5000}, dtype).logcumsumexp(0)[4999].item<double>() == Approx(std::log(5000)).epsilon(digit));
  }
}

TEST_CASE("logcumsumexp of infinities, NaNs and zeros is PyTorch's", "[scan]") {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  // Expected values: torch.tensor(x).logcumsumexp(0).
  const std::pair<std::vector<double>, std::vector<double>> rows[] = {
      {{-inf, -inf, 0, 1}, {-inf, -inf, 0, 1.3132616875182228}},
      {{-inf, inf, 0, -inf}, {-inf, inf, inf, inf}},
      {{0, nan, 1, inf}, {0, nan, nan, nan}},
      {{-0.0, -inf, 800, 800}, {0, 0, 800, 800.6931471805599}},
  };
  for (const auto& [x, want] : rows) {
    CAPTURE(x);
    const Tensor y = tensor(x, kFloat64).to(test_device()).logcumsumexp(0);
    CHECK(y.allclose(tensor(want, kFloat64).to(test_device()), 1e-14, 0, /*equal_nan=*/true));
    CHECK(!std::signbit(y[0].item<double>()) == !(want[0] < 0));
  }
}

TEST_CASE("sums of long rows and tall columns keep their digits", "[moments]") {
  if (test_device().is_cuda()) {
    WARN("SKIPPED: the order of sums is the CPU's");
    return;
  }
  // Tolerance 5e-6: runs of 128 floats are added one after another.
  const Tensor tall = full({64, 40'000, 2}, 0.1);
  CHECK(std::abs(tall.sum(1)[5][1].item<double>() / (40'000 * double(0.1f)) - 1) < 5e-6);
  constexpr int64_t kLong = 1 << 21;
  const Tensor row = (rand({1, kLong}) + 100).to(kFloat32), wide = row.to(kFloat64);
  const auto [y, mean, rstd] = native_layer_norm(row, {kLong}, {}, {}, 1e-5);
  const Tensor normed = layer_norm(row, {kLong}), want = layer_norm(wide, {kLong});
  // the rounding error of x alone is 4e-6 standard deviations; the standard deviation is 0.29
  CHECK((normed.to(kFloat64) - want).abs().max().item<double>() < 5e-5);
  CHECK(std::abs(mean.item<double>() / wide.mean().item<double>() - 1) < 1e-7);
}

TEST_CASE("batch norm of planes and of rows is right where single channels leave float's range", "[moments]") {
  if (test_device().is_cuda()) {
    WARN("SKIPPED: normalisations on GPUs sum squares in float32, as PyTorch's do");
    return;
  }
  Tensor scale = ones({1, 40, 1, 1});
  scale[0][3].fill_(1e-22), scale[0][4].fill_(1e22);
  const Tensor x = around_ten(4 * 40 * 30 * 30, 1).view({4, 40, 30, 30}) * scale;
  const auto normed = [](const Tensor& input) { return batch_norm(input, {}, {}, {}, {}, true, 0.1, 1e-60); };
  const Tensor want = normed(x.to(kFloat64));
  for (const Tensor& input : {x, x.to(kChannelsLast)})
    // Tolerance 2e-5: elements near 10 have rounding errors of 1e-6 and are divided by a standard deviation of 1.15.
    CHECK((normed(input).to(kFloat64) - want).abs().max().item<double>() < 2e-5);
}
