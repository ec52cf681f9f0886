// Tests pooling, batch norm, softmax and losses on the CPU against their definitions, computed one element at a time.
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "tandem/core/threads/thread_pool.h"
#include "tandem/kernels/nll.h"
#include "tandem/kernels/norm.h"
#include "tandem/kernels/optim.h"
#include "tandem/kernels/pool.h"
#include "tandem/kernels/softmax.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/kernels/elements.h"

using namespace tandem;
using test::at;
using test::same_bits;
namespace {

void set(const Tensor& t, int64_t i, double value) {
  if (t.dtype() == kFloat32)
    t.data<float>()[i] = static_cast<float>(value);
  else
    t.data<double>()[i] = value;
}

struct PoolCase {
  int64_t planes, height, width;
  kernels::PoolShape shape;
  int64_t out(int i) const {
    const int64_t size = i == 0 ? height : width;
    return (size + 2 * shape.padding[i] - shape.dilation[i] * (shape.kernel[i] - 1) - 1) / shape.stride[i] + 1;
  }
};
// planes, H, W, kernel, stride, padding, dilation
const PoolCase kPools[] = {
    {64, 28, 28, {{2, 2}, {2, 2}, {0, 0}, {1, 1}, true}},   // pooling of FashionCNN
    {300, 12, 12, {{2, 2}, {2, 2}, {0, 0}, {1, 1}, true}},  // rows shorter than a vector
    {5, 2, 2, {{2, 2}, {2, 2}, {0, 0}, {1, 1}, true}},
    {3, 4, 4100, {{2, 2}, {2, 2}, {0, 0}, {1, 1}, true}},  // rows longer than a tile
    {4, 9, 7, {{2, 2}, {2, 2}, {0, 0}, {1, 1}, true}},     // odd sizes: no window covers the last row and column
    {4, 9, 7, {{3, 2}, {2, 1}, {1, 1}, {1, 2}, true}},
    {2, 8, 8, {{2, 2}, {2, 2}, {1, 1}, {1, 1}, true}},
    {2, 8, 8, {{2, 2}, {1, 1}, {0, 0}, {1, 1}, true}},  // overlapping windows
    {0, 8, 8, {{2, 2}, {2, 2}, {0, 0}, {1, 1}, true}},
    {3, 11, 29, {{3, 3}, {1, 1}, {1, 1}, {1, 1}, true}},       // one or two vectors of windows, and a remainder
    {2, 5, 700, {{2, 3}, {1, 1}, {0, 1}, {1, 2}, true}},       // more windows than are computed side by side at a time
    {2, 6, 300, {{3, 9}, {2, 5}, {1, 4}, {1, 1}, true}},       // windows that do not overlap
    {1, 3, 20000, {{2, 3}, {1, 3}, {1, 1}, {2, 6000}, true}},  // a window whose row is split
    {1, 2, 20000, {{2, 3}, {1, 9000}, {0, 0}, {1, 2}, true}},
    {2, 3, 2, {{2, 2}, {1, 1}, {1, 1}, {1, 3}, true}},  // windows that cover only padding
};

/// Returns small integers with many duplicates, and a NaN in every 37th element.
Tensor values(IntArrayRef sizes, DType dtype) {
  const Tensor x = randint(-3, 4, sizes).to(dtype);
  for (int64_t i = 5; i < x.numel(); i += 37) set(x, i, std::numeric_limits<double>::quiet_NaN());
  return x;
}

}  // namespace

TEST_CASE("max pooling takes the first of the largest, or the last NaN, and hands it the gradient", "[pool]") {
  manual_seed(3);
  for (const PoolCase& c : kPools)
    for (const DType dtype : {kFloat32, kFloat64}) {
      CAPTURE(&c - kPools);
      const Shape sizes{c.planes, c.out(0), c.out(1)};
      const Tensor x = values({c.planes, c.height, c.width}, dtype), dy = randn(sizes, dtype);
      Tensor y = empty(sizes, dtype), index = empty(sizes, kInt64), dx = empty(x.sizes(), dtype);
      kernels::cpu::max_pool2d(x, c.shape, y, index);
      kernels::cpu::max_pool2d_backward(dy, index, c.shape, dx);
      std::vector<double> gradient(static_cast<size_t>(x.numel()));
      int64_t wrong = 0;
      for (int64_t i = 0; i < y.numel(); ++i) {
        const int64_t plane = i / (c.out(0) * c.out(1)) * c.height * c.width;
        const int64_t oh = i / c.out(1) % c.out(0), ow = i % c.out(1);
        int64_t best = -1;
        for (int64_t k = 0; k < c.shape.kernel[0] * c.shape.kernel[1]; ++k) {
          const int64_t kh = k / c.shape.kernel[1], kw = k % c.shape.kernel[1];
          const int64_t h = oh * c.shape.stride[0] - c.shape.padding[0] + kh * c.shape.dilation[0];
          const int64_t w = ow * c.shape.stride[1] - c.shape.padding[1] + kw * c.shape.dilation[1];
          if (h < 0 || h >= c.height || w < 0 || w >= c.width) continue;
          const double value = at(x, plane + h * c.width + w);
          if (best < 0 || std::isnan(value) || value > at(x, plane + best)) best = h * c.width + w;
        }
        const double want = best < 0 ? -std::numeric_limits<double>::infinity() : at(x, plane + best), got = at(y, i);
        wrong += index.data<int64_t>()[i] != best || !(got == want || (std::isnan(got) && std::isnan(want)));
        if (best >= 0) gradient[static_cast<size_t>(plane + best)] += at(dy, i);
      }
      REQUIRE(wrong == 0);
      for (int64_t i = 0; i < dx.numel(); ++i)  // at most nine gradients are added, one rounding each
        wrong += !(std::abs(at(dx, i) - gradient[static_cast<size_t>(i)]) <= 1e-6 * 9);
      REQUIRE(wrong == 0);
    }
}

TEST_CASE("max pooling without indices gives the same values, and writes nothing beside them", "[pool]") {
  manual_seed(4);
  for (const PoolCase& c : kPools)
    for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16})
      for (const bool channels_last : {false, true}) {
        CAPTURE(&c - kPools, dtype, channels_last);
        const auto shaped = [&](const Tensor& elements, int64_t h, int64_t w) {
          const Tensor dense = elements.narrow(0, 0, c.planes * h * w);
          return channels_last ? dense.view({1, h, w, c.planes}).permute({0, 3, 1, 2}) : dense.view({c.planes, h, w});
        };
        const Tensor x = values({c.planes * c.height * c.width}, kFloat64).to(dtype);
        const int64_t windows = c.planes * c.out(0) * c.out(1), beside = 16;
        const auto pool = [&](Tensor index) {
          const Tensor made = full({windows + beside}, 7, dtype);
          Tensor y = shaped(made, c.out(0), c.out(1));
          kernels::cpu::max_pool2d(shaped(x, c.height, c.width), c.shape, y, index);
          return made;
        };
        const Tensor index = full({windows + beside}, 7, kInt64), with = pool(shaped(index, c.out(0), c.out(1)));
        REQUIRE(same_bits(with, pool(Tensor())));
        REQUIRE(with.narrow(0, windows, beside).eq(7).all().item<bool>());
        REQUIRE(index.narrow(0, windows, beside).eq(7).all().item<bool>());
      }
}

TEST_CASE("batch norm's statistics and gradients are the sums that define them, by rows and by planes",
          "[batch_norm]") {
  struct Case {
    int64_t n, c, l;
  };
  manual_seed(5);
  std::set<std::string> chosen;
  for (const Case& c : {Case{64, 3, 144}, Case{5, 2, 7}, Case{3000, 4, 1}, Case{2, 1, 5000}, Case{1, 2, 17}})
    for (const DType dtype : {kFloat32, kFloat64}) {
      CAPTURE(c.n, c.c, c.l);
      // The mean is far from zero, so a naive variance would cancel.
      const Tensor x = randn({c.n, c.c, c.l}, dtype) + 30.0, dy = randn({c.n, c.c, c.l}, dtype),
                   weight = randn({c.c}, dtype);
      Tensor mean = empty({c.c}, dtype), var = empty({c.c}, dtype), rstd = empty({c.c}, dtype);
      Tensor sum_dy = empty({c.c}, dtype), sum_xhat = empty({c.c}, dtype), dx = empty(x.sizes(), dtype),
             y = empty(x.sizes(), dtype);
      bool first = true;
      const auto count = static_cast<double>(c.n * c.l);
      // Tolerance in float: up to 9,216 terms near 30 are summed in sixteen lanes, and so are their products with dy.
      const double near = dtype == kFloat32 ? 3e-5 : 1e-12, sums = near * std::sqrt(count) * 4;
      for (const auto& each : kernels::cpu::batch_norm_implementations()) {
        if (!each.supports(x)) continue;
        CAPTURE(each.name);
        if (first) chosen.insert(each.name);
        first = false;
        each.run(x)->stats(x, 1e-5, mean, var, rstd);
        each.run(x)->apply(x, mean, rstd, weight, {}, y);
        each.run(x)->backward(dy, x, mean, rstd, weight, true, sum_dy, sum_xhat, dx);
        for (int64_t channel = 0; channel < c.c; ++channel) {
          const auto place = [&](int64_t i) { return (i / c.l * c.c + channel) * c.l + i % c.l; };
          double m = 0, v = 0, s = 0, sx = 0;
          for (int64_t i = 0; i < c.n * c.l; ++i) m += at(x, place(i)) / count;
          for (int64_t i = 0; i < c.n * c.l; ++i) v += (at(x, place(i)) - m) * (at(x, place(i)) - m) / count;
          const double r = 1 / std::sqrt(v + 1e-5);
          for (int64_t i = 0; i < c.n * c.l; ++i) {
            s += at(dy, place(i));
            sx += at(dy, place(i)) * (at(x, place(i)) - m) * r;
          }
          REQUIRE(std::abs(at(mean, channel) - m) <= near);
          REQUIRE(std::abs(at(var, channel) - v) <= near);
          REQUIRE(std::abs(at(rstd, channel) - r) <= near);
          REQUIRE(std::abs(at(sum_dy, channel) - s) <= sums);
          REQUIRE(std::abs(at(sum_xhat, channel) - sx) <= sums);
          double worst = 0;
          for (int64_t i = 0; i < c.n * c.l; ++i) {
            const double xhat = (at(x, place(i)) - m) * r;
            const double want = at(weight, channel) * r * (at(dy, place(i)) - s / count - xhat * sx / count);
            worst = std::max(worst, std::abs(at(dx, place(i)) - want));
            worst = std::max(worst, std::abs(at(y, place(i)) - at(weight, channel) * xhat));
          }
          REQUIRE(worst <= 10 * near);
        }
      }
    }
  CHECK(chosen == std::set<std::string>{"planes", "rows"});
}

TEST_CASE("pooling and batch norm give the same bits with 1, 2 and 3 threads", "[pool][batch_norm]") {
  manual_seed(9);
  const int before = get_num_threads();
  const Tensor x = randn({64, 32, 28, 28}), dy = randn({64, 32, 28, 28});
  const auto run = [&](int threads) {
    set_num_threads(threads);
    const Tensor in = x.detach().requires_grad_(), weight = ones({32}).requires_grad_(),
                 bias = zeros({32}).requires_grad_();
    const Tensor y = batch_norm(in, weight, bias, {}, {}, true, 0.1, 1e-5);
    const Tensor pooled = max_pool2d(y, 2);
    (pooled.sum() + (y * dy).sum()).backward();
    return std::vector<Tensor>{y, pooled, in.grad(), weight.grad(), bias.grad()};
  };
  const auto alone = run(1);
  for (const int threads : {2, 3}) {
    const auto together = run(threads);
    for (size_t i = 0; i < alone.size(); ++i) REQUIRE(same_bits(alone[i], together[i]));
  }
  set_num_threads(before);
}

TEST_CASE("pooling in channels-last is pooling in row-major, bit for bit, for any number of channels", "[pool]") {
  // The two formats have loops of their own. Numbers of channels: those of each width of a vector, and between them.
  const double special[] = {NAN, -INFINITY, INFINITY, 0.0, -0.0};
  manual_seed(7);
  for (const int64_t channels : {1, 2, 3, 4, 5, 7, 8, 10, 15, 16, 17, 20, 31, 33, 64, 70})
    for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
      Tensor values = randint(-3, 4, {2, channels, 7, 6}, TensorOptions(kFloat64)) / 4;  // many are equal
      for (int64_t i = 0; i < 5 * channels; ++i) values.view({-1})[i * 13] = special[i % 5];
      values = values.to(dtype);
      INFO(channels << " channels of " << dtype);
      using Pool = std::function<Tensor(const Tensor&)>;
      const Pool pools[] = {
          [](const Tensor& x) { return max_pool2d(x, 2); },
          [](const Tensor& x) { return max_pool2d(x, 3, 2, 1); },
          [](const Tensor& x) {
            return max_pool2d(x, {3, 2}, 1, {1, 0}, {2, 3});
          },
          // averages of 2, 4 and 8 values, which are exact in any order
          [](const Tensor& x) {
            return avg_pool2d(x, {4, 2}, {1, 2}, {1, 0});
          },
          [](const Tensor& x) {
            return adaptive_avg_pool2d(x, {6, 5});
          },
      };
      for (const Pool& pool : pools) {
        INFO("pooling " << &pool - pools);
        std::vector<Tensor> results;
        for (const MemoryFormat format : {MemoryFormat::Contiguous, MemoryFormat::ChannelsLast}) {
          const Tensor x = values.detach().contiguous(format).requires_grad_();
          const Tensor y = pool(x);
          const Tensor weights = arange(y.numel(), TensorOptions(kFloat64)).remainder(11).view(y.sizes()).to(dtype);
          y.backward(weights.contiguous(format));
          results.push_back(y.contiguous());
          results.push_back(x.grad().contiguous());
        }
        CHECK(same_bits(results[0], results[2]));
        CHECK(same_bits(results[1], results[3]));
      }
    }
}
TEST_CASE("softmax, cross entropy and their gradients are right for rows and columns of any length", "[softmax]") {
  manual_seed(11);
  for (const DType dtype : {kFloat32, kFloat64})
    for (const int64_t n : {1, 2, 5, 10, 16, 17, 31, 32, 33, 40, 65})
      for (const int64_t rows : {1, 3, 31, 32, 33, 100}) {  // short rows are processed 32 at a time
        CAPTURE(name(dtype), n, rows);
        const Tensor x = (randn({rows, n}) * 3).to(dtype), dy = randn({rows, n}).to(dtype);
        if (rows > 2 && n > 1) set(x, n + 1, -std::numeric_limits<double>::infinity());
        const Tensor target = arange(rows, TensorOptions().dtype(kInt64)).remainder(n);
        const auto gradient = [&](const Tensor& y, const Tensor& in) { return autograd::grad({y}, {in}, {dy})[0]; };
        const Tensor in = x.detach().requires_grad_();
        const Tensor p = softmax(in, 1), log_p = log_softmax(in, 1), dp = gradient(p, in), dlog = gradient(log_p, in);
        const Tensor loss = cross_entropy(in, target), dloss = autograd::grad({loss}, {in})[0];
        double worst = 0, total = 0;
        for (int64_t r = 0; r < rows; ++r) {
          double sum = 0, dot = 0, dsum = 0;
          for (int64_t i = r * n; i < (r + 1) * n; ++i) sum += std::exp(at(x, i)), dsum += at(dy, i);
          for (int64_t i = r * n; i < (r + 1) * n; ++i) dot += std::exp(at(x, i)) / sum * at(dy, i);
          for (int64_t i = r * n; i < (r + 1) * n; ++i) {
            const double expected = std::exp(at(x, i)) / sum, chosen = i == r * n + r % n;
            if (chosen != 0) total += std::log(sum) - at(x, i);
            worst = std::max(worst, std::abs(at(p, i) - expected));
            worst = std::max(worst, std::abs(at(dp, i) - expected * (at(dy, i) - dot)));
            worst = std::max(worst, std::abs(at(dlog, i) - (at(dy, i) - expected * dsum)) / (1 + std::abs(dsum)));
            worst = std::max(worst, std::abs(at(dloss, i) - (expected - chosen) / double(rows)));
            if (std::isfinite(at(x, i)))
              worst = std::max(worst, std::abs(at(log_p, i) - (at(x, i) - std::log(sum))) / 20);
            else
              REQUIRE(at(log_p, i) == at(x, i));
          }
        }
        if (std::isfinite(total))
          worst = std::max(worst, std::abs(at(loss, 0) - total / double(rows)) / 20);
        else
          REQUIRE(at(loss, 0) == total);
        REQUIRE(worst <=
                (dtype == kFloat32 ? 1e-6 : 1e-14));  // a few units in the last place of numbers around 1 to 20
        // Columns are summed in the same order as rows, so the results have the same bits.
        const Tensor columns = x.t().contiguous();
        REQUIRE(same_bits(softmax(columns, 0), softmax(x, 1).t().contiguous()));
        REQUIRE(same_bits(log_softmax(columns, 0), log_softmax(x, 1).t().contiguous()));
      }
}

TEST_CASE("a NaN stays in its row, whatever rows are worked on beside it", "[softmax]") {
  const Tensor x = randn({40, 10});
  x[7][3].fill_(std::numeric_limits<float>::quiet_NaN());
  for (const Tensor& y : {softmax(x, 1), log_softmax(x, 1)})
    for (int64_t i = 0; i < 400; ++i) REQUIRE(std::isnan(at(y, i)) == (i / 10 == 7));
}
