// What layers and losses of half types take, by the allocator's counters: none of them makes or keeps a float32 copy of
// its input, forward or backward.
#include <functional>
#include <vector>

#include "tandem/core/cuda/cuda.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;

namespace {

constexpr int64_t kKiB = 1024;

/// An op, and what it may take beside its inputs, its output and their gradients, in bytes: what it keeps for backward,
/// and the most that it has at a time. Each bound is less than a float32 copy of the first input would be.
struct Case {
  const char* op;
  std::vector<Shape> inputs;
  std::function<Tensor(const std::vector<Tensor>&)> run;
  int64_t kept, forward, backward;
};

Tensor classes(const Tensor& x) { return arange(x.size(0), x.options().dtype(kInt64)).remainder(x.size(1)); }

std::vector<Case> cases(Device device) {
  const Shape rows{512, 1024}, n{1024}, images{32, 16, 32, 32}, c{16};
  const Shape square{240, 240};  // sums so short that CUDA does not cut them into parts
  // On the CPU a block of a few images is widened in scratch memory: many images, so that it is small beside them. CUDA
  // sums the weights' gradient in parts.
  const Shape pictures{device.is_cuda() ? 4 : 64, 8, 64, 64}, filters{8, 8, 3, 3};
  const int64_t picture_bytes = numel_of(pictures) * 2;
  // And of an operand a row, 32 columns or a plane with what becomes of it.
  const auto widened = [&](int64_t floats) { return device.is_cuda() ? 0 : floats * 4; };
  const int64_t row = widened(1024), columns = widened(512 * 32), planes = widened(32 * 32 + 16 * 16);
  return {
      {"softmax", {rows}, [](const auto& in) { return softmax(in[0], 1); }, 0, row, 2 * row},
      {"log_softmax", {rows}, [](const auto& in) { return log_softmax(in[0], 1); }, 0, row, 2 * row},
      {"softmax of columns", {rows}, [](const auto& in) { return softmax(in[0], 0); }, 0, columns, 2 * columns},
      // A log-sum, a weight, a loss and a target for each row; in double where they are averaged
      {"cross_entropy",
       {rows},
       [](const auto& in) { return cross_entropy(in[0], classes(in[0])); },
       16 * kKiB,
       32 * kKiB,
       16 * kKiB},
      // Mean and deviation of each row, weight and bias as floats; backward, their gradients from groups of rows
      {"layer_norm",
       {rows, n, n},
       [](const auto& in) { return layer_norm(in[0], in[0].sizes().slice(1, 1), in[1], in[2]); },
       4 * kKiB,
       16 * kKiB,
       640 * kKiB},
      // Statistics of each channel, and of pieces of it
      {"batch_norm",
       {images, c, c},
       [](const auto& in) { return batch_norm(in[0], in[1], in[2], {}, {}, true); },
       1 * kKiB,
       64 * kKiB,
       64 * kKiB},
      // The index: eight bytes for each quarter of the input
      {"max_pool2d",
       {images},
       [](const auto& in) { return max_pool2d(in[0], 2); },
       numel_of(images) * 2,
       numel_of(images) * 2 + planes,
       planes},
      {"avg_pool2d", {images}, [](const auto& in) { return avg_pool2d(in[0], 2); }, 0, planes, planes},
      {"matmul", {square, square}, [](const auto& in) { return matmul(in[0], in[1]); }, 0, 0, 0},
      {"linear", {square, square, {240}}, [](const auto& in) { return linear(in[0], in[1], in[2]); }, 0, 0, 8 * kKiB},
      // Backward, the bias's sum takes a copy of dy, of its own dtype
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

/// Of one thread: each has scratch memory of its own.
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
  const int64_t copy = inputs[0].numel() * 4;  // what a float32 copy would take
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
  if (cuda::is_available() && !TANDEM_TEST_SANITIZED) devices.push_back(kCUDA);  // half a minute, for the same numbers
  for (const Device device : devices)
    for (const DType dtype : {kFloat16, kBFloat16})
      for (const Case& op : cases(device)) check(op, dtype, device);
}
