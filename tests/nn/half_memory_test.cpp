// Tests the memory use of layers and losses of half types, by the allocator's counters: no layer makes or keeps a
// float32
// copy of its input, in forward or backward.
#include <array>
#include <functional>
#include <vector>

#include "tandem/core/cuda/cuda.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;

namespace {

constexpr int64_t kKiB = 1024;

/// An op, and the most bytes that it may use in addition to inputs, output and their gradients: kept for backward, and
/// at the peak of forward and of backward. Each bound is less than a float32 copy of the first input.
struct Case {
  const char* op;
  std::vector<Shape> inputs;
  std::function<Tensor(const std::vector<Tensor>&)> run;
  int64_t kept, forward, backward;
};

Tensor classes(const Tensor& x) { return arange(x.size(0), x.options().dtype(kInt64)).remainder(x.size(1)); }

std::vector<Case> cases(Device device) {
  const Shape rows{512, 1024}, n{1024}, images{32, 16, 32, 32}, c{16};
  const Shape square{240, 240};  // small enough that CUDA does not split the sums
  // On the CPU, a block of a few images is widened to float32 in scratch memory, so many images keep the block
  // relatively
  // small. CUDA sums parts of the weights' gradient.
  const Shape pictures{device.is_cuda() ? 4 : 64, 8, 64, 64}, filters{8, 8, 3, 3};
  const int64_t picture_bytes = numel_of(pictures) * 2;
  return {
      {"softmax", {rows}, [](const auto& in) { return softmax(in[0], 1); }, 0, 0, 0},
      {"log_softmax", {rows}, [](const auto& in) { return log_softmax(in[0], 1); }, 0, 0, 0},
      {"softmax of columns", {rows}, [](const auto& in) { return softmax(in[0], 0); }, 0, 0, 0},
      // A log-sum, a weight, a loss and a target per row. For the mean, they are doubles.
      {"cross_entropy",
       {rows},
       [](const auto& in) { return cross_entropy(in[0], classes(in[0])); },
       16 * kKiB,
       32 * kKiB,
       16 * kKiB},
      // Mean and standard deviation of each row, and float copies of weight and bias. Backward also needs their
      // gradients for
      // groups of rows.
      {"layer_norm",
       {rows, n, n},
       [](const auto& in) { return layer_norm(in[0], in[0].sizes().slice(1, 1), in[1], in[2]); },
       4 * kKiB,
       16 * kKiB,
       640 * kKiB},
      // Statistics of each channel, and of parts of a channel.
      {"batch_norm",
       {images, c, c},
       [](const auto& in) { return batch_norm(in[0], in[1], in[2], {}, {}, true); },
       1 * kKiB,
       64 * kKiB,
       64 * kKiB},
      // The index: eight bytes for every fourth input element.
      {"max_pool2d",
       {images},
       [](const auto& in) { return max_pool2d(in[0], 2); },
       numel_of(images) * 2,
       numel_of(images) * 2,
       0},
      {"avg_pool2d", {images}, [](const auto& in) { return avg_pool2d(in[0], 2); }, 0, 0, 0},
      {"matmul", {square, square}, [](const auto& in) { return matmul(in[0], in[1]); }, 0, 0, 0},
      {"linear", {square, square, {240}}, [](const auto& in) { return linear(in[0], in[1], in[2]); }, 0, 0, 8 * kKiB},
      // Backward makes a copy of dy, in its own dtype, to sum the gradient of the bias.
      {"conv2d",
       {pictures, filters, {8}},
       [](const auto& in) { return conv2d(in[0], in[1], in[2], 1, 1); },
       0,
       device.is_cuda() ? 0 : 2048 * kKiB,
       picture_bytes + (device.is_cuda() ? 224 * kKiB : 2048 * kKiB)},
      {"var", {rows}, [](const auto& in) { return in[0].var({1}); }, 64, 16 * kKiB, numel_of(rows) * 2 + 16 * kKiB},
      {"norm", {rows}, [](const auto& in) { return in[0].norm(2, {1}); }, 8 * kKiB, 16 * kKiB, 16 * kKiB},
  };
}

/// Shapes with one very long row, column or plane. A CPU loop that widened a whole row, column or plane to float32
/// would
/// need a copy of the whole input.
std::vector<Case> large_cases() {
  constexpr int64_t kMany = 1 << 18, kBig = 16 * kKiB;  // a float32 copy would take a megabyte
  const Shape row{1, kMany}, columns{kMany / 4, 4}, plane{1, 1, 512, 512}, line{1, 1, 1, kMany}, tall{1, 1, kMany, 1};
  const auto index = [](int64_t windows) { return windows * 8; };
  std::vector<Case> out;
  const auto add = [&](const char* op, const Shape& x, auto run, int64_t kept = 0, int64_t forward = 0,
                       int64_t backward = 0) {
    out.push_back({op, {x}, [run](const auto& in) { return run(in[0]); }, kept, forward, backward});
  };
  add("softmax, long row", row, [](const Tensor& x) { return softmax(x, 1); });
  add("log_softmax, long row", row, [](const Tensor& x) { return log_softmax(x, 1); });
  add("softmax, long columns", columns, [](const Tensor& x) { return softmax(x, 0); });
  add("log_softmax, long columns", columns, [](const Tensor& x) { return log_softmax(x, 0); });
  add(
      "cross_entropy, long row", row, [](const Tensor& x) { return cross_entropy(x, classes(x)); }, kKiB, kKiB, kKiB);
  add(
      "layer_norm, long row", row, [](const Tensor& x) { return layer_norm(x, {x.size(1)}); }, kKiB, kKiB, kKiB);
  add(
      "batch_norm, long columns", columns, [](const Tensor& x) { return batch_norm(x, {}, {}, {}, {}, true); }, kKiB,
      kBig, kBig);
  add(
      "batch_norm, large plane", plane, [](const Tensor& x) { return batch_norm(x, {}, {}, {}, {}, true); }, kKiB, kKiB,
      kKiB);
  add(
      "sum, long columns", columns, [](const Tensor& x) { return x.sum({0}); }, 0, kBig, 0);
  add(
      "norm, long columns", columns, [](const Tensor& x) { return x.norm(2, {0}); }, kKiB, kBig, kBig);
  for (const Shape& x : {plane, line, tall}) {
    // Windows of 3, and of a quarter of the image, along each dimension larger than 1.
    const int64_t h = x[2], w = x[3], kh = h > 1 ? 3 : 1, kw = w > 1 ? 3 : 1, many = h * w;
    const std::array<int64_t, 2> small{kh, kw}, wide{(h + 3) / 4, (w + 3) / 4};
    const auto max = [](std::array<int64_t, 2> kernel) {
      return [kernel](const Tensor& v) { return max_pool2d(v, {kernel[0], kernel[1]}); };
    };
    const auto average = [](std::array<int64_t, 2> kernel, std::array<int64_t, 2> stride) {
      return [=](const Tensor& v) { return avg_pool2d(v, {kernel[0], kernel[1]}, {stride[0], stride[1]}); };
    };
    add("max_pool2d", x, max(small), index(many / (kh * kw)));
    add("max_pool2d, large windows", x, max(wide), index(16));
    add("avg_pool2d", x, average(small, small));
    add("avg_pool2d, large windows", x, average(wide, wide));
    add(
        "adaptive_avg_pool2d, a mean", x,
        [](const Tensor& v) {
          return adaptive_avg_pool2d(v, {1, 1});
        },
        kKiB, kKiB, kKiB);
    for (const int64_t count : {2, 5})
      add(count == 2 ? "adaptive_avg_pool2d" : "adaptive_avg_pool2d, unequal windows", x, [=](const Tensor& v) {
        return adaptive_avg_pool2d(v, {h > 1 ? count : 1, w > 1 && (count > 2 || h == 1) ? count : 1});
      });
  }
  // Channels-last: many pixels per row, or many channels. Statistics per channel are floats.
  for (const Shape& x : {Shape{1, 6, kMany / 96, 16}, Shape{1, 6, 6, kMany / 32}}) {
    const auto images = [](const Tensor& v) { return v.permute({0, 3, 1, 2}); };
    const int64_t channels = 32 * x[3];
    add(
        "max_pool2d", x, [=](const Tensor& v) { return max_pool2d(images(v), 3); }, kMany);
    add("avg_pool2d", x, [=](const Tensor& v) { return avg_pool2d(images(v), 3); });
    add("adaptive_avg_pool2d", x, [=](const Tensor& v) { return adaptive_avg_pool2d(images(v), {2, 1}); });
    add(
        "batch_norm", x, [=](const Tensor& v) { return batch_norm(images(v), {}, {}, {}, {}, true); }, channels,
        kBig + channels, kBig + 2 * channels);
  }
  return out;
}

/// Sets the number of threads to 1 during its lifetime, because each thread has its own scratch memory.
class OneThread {
 public:
  OneThread() { set_num_threads(1); }
  ~OneThread() { set_num_threads(saved_); }

 private:
  int saved_ = get_num_threads();
};

void check(const Case& op, DType dtype, Device device) {
  CAPTURE(op.op, dtype, device.is_cuda());
  std::vector<Tensor> inputs;
  for (const Shape& sizes : op.inputs) inputs.push_back(randn(sizes).to(device, dtype).requires_grad_());
  int64_t gradients = 0;
  for (const Tensor& x : inputs) gradients += x.nbytes();
  const int64_t copy = inputs[0].numel() * 4;  // size of a float32 copy
  CHECK(op.kept < copy);
  CHECK(op.forward < copy);
  CHECK(op.backward < copy);

  reset_peak_memory_stats(device);
  const int64_t before = memory_stats(device).current;
  const Tensor y = op.run(inputs);
  REQUIRE(y.dtype() == dtype);
  const int64_t kept = memory_stats(device).current - before;
  CHECK(kept <= y.nbytes() + op.kept);
  CHECK(memory_stats(device).peak - before <= y.nbytes() + op.forward + op.kept);

  const Tensor seed = ones_like(y);
  reset_peak_memory_stats(device);
  const int64_t held = memory_stats(device).current;
  const std::vector<Tensor> found = autograd::grad({y}, inputs, {seed}, /*retain_graph=*/true);
  for (size_t i = 0; i < found.size(); ++i) CHECK(found[i].dtype() == dtype);
  CHECK(memory_stats(device).peak - held <= gradients + op.backward);
}

}  // namespace

TEST_CASE("no layer makes or keeps a float32 copy of a half input", "[nn][half]") {
  const OneThread guard;
  std::vector<Device> devices{kCPU};
  // would take half a minute with a sanitizer and give the same numbers
  if (cuda::is_available() && !TANDEM_TEST_SANITIZED) devices.push_back(kCUDA);
  for (const Device device : devices)
    for (const DType dtype : {kFloat16, kBFloat16})
      for (const Case& op : cases(device)) check(op, dtype, device);
}

TEST_CASE("layer norm makes no float copy of a half weight and bias that are as long as its input", "[nn][half]") {
  const OneThread guard;
  constexpr int64_t kMany = 1 << 18;
  const NoGradGuard no_grad;
  for (const DType dtype : {kFloat16, kBFloat16}) {
    const Tensor x = randn({1, kMany}).to(dtype), w = randn({kMany}).to(dtype), b = randn({kMany}).to(dtype);
    reset_peak_memory_stats(kCPU);
    const int64_t before = memory_stats(kCPU).current;
    const Tensor y = layer_norm(x, {kMany}, w, b);
    CHECK(memory_stats(kCPU).peak - before <= y.nbytes() + kKiB);
    const Tensor off = x.to(kFloat64) - x.to(kFloat64).mean();
    const Tensor expected = off / (off.square().mean() + 1e-5).sqrt() * w.to(kFloat64) + b.to(kFloat64);
    // tolerance: one rounding, and sums of 2^18 terms
    CHECK(y.to(kFloat64).allclose(expected, dtype == kFloat16 ? 1e-3 : 8e-3, 1e-4));
  }
}

TEST_CASE("layer norm's gradient makes no float copy of a half weight either", "[nn][half]") {
  const OneThread guard;
  constexpr int64_t kMany = 1 << 18;
  for (const DType dtype : {kFloat16, kBFloat16}) {
    const Tensor x = randn({1, kMany}).to(dtype).requires_grad_(), w = randn({kMany}).to(dtype);
    const Tensor dy = randn({1, kMany}).to(dtype), y = layer_norm(x, {kMany}, w);
    reset_peak_memory_stats(kCPU);
    const int64_t before = memory_stats(kCPU).current;
    y.backward(dy);
    CHECK(memory_stats(kCPU).peak - before <= x.nbytes() + kKiB);
    const NoGradGuard no_grad;
    const Tensor off = x.to(kFloat64) - x.to(kFloat64).mean(), r = (off.square().mean() + 1e-5).rsqrt();
    const Tensor g = dy.to(kFloat64) * w.to(kFloat64), xhat = off * r;
    const Tensor expected = (g - g.mean() - xhat * (g * xhat).mean()) * r;
    // tolerance: one rounding, and sums of 2^18 terms
    CHECK(x.grad().to(kFloat64).allclose(expected, dtype == kFloat16 ? 1e-3 : 8e-3, 1e-4));
  }
}

TEST_CASE("no row, column or plane of a half input is copied as floats, however large it is", "[nn][half]") {
  const OneThread guard;
  for (const DType dtype : {kFloat16, kBFloat16})
    for (const Case& op : large_cases()) check(op, dtype, kCPU);
}
