// Tests convolutions on the CPU against the sums that define them.
#include "tandem/kernels/convolution.h"

#include <set>
#include <string>

#include "tandem/core/threads/cpu_info.h"
#include "tandem/core/threads/thread_pool.h"
#include "tandem/kernels/cpu/convolution.h"
#include "tandem/kernels/cpu/gemm.h"
#include "tandem/ops/backward.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/kernels/conv_sums.h"

using namespace tandem;
using test::ConvCase;
using test::same_bits;
namespace {

// images, C, H, W, O, kernel, stride, padding, dilation, groups
const ConvCase kCases[] = {
    {2, 1, 28, 28, 32, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}},   // first layer of FashionCNN
    {4, 32, 14, 14, 64, {3, 3}, {{1, 1}, {0, 0}, {1, 1}, 1}},  // second layer of FashionCNN
    // second layer of LeNet: its channels do not fill a block
    {3, 10, 12, 12, 20, {5, 5}, {{1, 1}, {0, 0}, {1, 1}, 1}},
    {1, 3, 7, 9, 5, {3, 2}, {{2, 3}, {1, 2}, {1, 1}, 1}},    // one image, odd sizes, nothing square
    {5, 4, 11, 8, 6, {3, 3}, {{1, 2}, {2, 0}, {2, 1}, 1}},   // dilation in height only
    {3, 6, 9, 9, 4, {2, 3}, {{2, 1}, {0, 3}, {3, 2}, 2}},    // two groups, padding as wide as the kernel
    {2, 8, 6, 5, 16, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 8}},   // depthwise: one group per channel
    {7, 5, 6, 6, 3, {1, 1}, {{1, 1}, {0, 0}, {1, 1}, 1}},    // 1 x 1: a matrix product
    {2, 5, 7, 6, 3, {1, 1}, {{2, 2}, {1, 1}, {1, 1}, 1}},    // 1 x 1, but strided and padded: not a matrix product
    {3, 4, 5, 5, 4, {5, 5}, {{1, 1}, {0, 0}, {1, 1}, 4}},    // one output pixel
    {67, 2, 5, 4, 3, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}},   // a prime number of images
    {4, 16, 9, 8, 24, {3, 2}, {{2, 1}, {1, 2}, {1, 2}, 1}},  // channels fill whole blocks, nothing square
    {3, 32, 6, 5, 40, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 2}},  // two groups whose channels fill whole blocks
    {5, 16, 6, 6, 8, {1, 1}, {{1, 1}, {0, 0}, {1, 1}, 1}},
    {0, 3, 8, 8, 4, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}},
    {3, 2, 9, 28, 11, {2, 5}, {{1, 1}, {1, 0}, {1, 1}, 1}},  // few channels: remainders of filters and windows
    {2, 3, 6, 17, 9, {4, 3}, {{1, 1}, {0, 2}, {1, 1}, 1}},
    {3, 1, 9, 13, 16, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}},  // few channels, and filters that fill whole vectors
    {2, 3, 11, 10, 48, {5, 3}, {{2, 1}, {2, 0}, {1, 1}, 1}},
    {2, 4, 8, 9, 24, {2, 4}, {{1, 2}, {0, 3}, {1, 1}, 1}},
    {5, 2, 7, 6, 32, {1, 1}, {{1, 1}, {0, 0}, {1, 1}, 1}},
    {2, 3, 9, 9, 16, {7, 7}, {{1, 1}, {3, 3}, {1, 1}, 1}},
    {2, 20, 9, 13, 7, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}},  // channels that fill no block, row remainders
    {3, 12, 7, 15, 9, {2, 3}, {{1, 1}, {0, 1}, {1, 1}, 1}},
    {3, 16, 7, 8, 80, {4, 4}, {{1, 1}, {0, 0}, {1, 1}, 1}},  // channels and filters fill vectors: partial tiles
    {5, 48, 6, 5, 112, {2, 3}, {{2, 1}, {0, 0}, {1, 1}, 1}},
    {3, 32, 9, 8, 16, {3, 5}, {{2, 3}, {1, 2}, {1, 1}, 1}},
    {2, 0, 4, 4, 3, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}},  // no channels: only the bias
};

struct Tensors {
  Tensor x, w, bias, y, dy, dx, dw;
  Tensors(const ConvCase& c, DType dtype) {
    manual_seed(7);
    x = randn(c.x_sizes(), dtype), w = randn(c.w_sizes(), dtype), bias = randn({c.filters}, dtype);
    dy = randn(c.y_sizes(), dtype);
    y = full(c.y_sizes(), 99, dtype), dx = full(c.x_sizes(), 99, dtype), dw = full(c.w_sizes(), 99, dtype);
    if (!c.shape.channels_last) return;
    for (Tensor* const t : {&x, &w, &dy, &y, &dx, &dw}) *t = t->to(kChannelsLast);
  }
  void run(const ConvCase& c, bool with_bias) {
    kernels::cpu::conv2d(x, w, with_bias ? bias : Tensor(), c.shape, y);
    kernels::cpu::conv2d_backward_input(dy, w, c.shape, dx);
    kernels::cpu::conv2d_backward_weight(dy, x, c.shape, dw);
  }
};

void check(const ConvCase& c, const Tensors& t, bool with_bias) {
  test::require_sums(c, t.x.contiguous(), t.w.contiguous(), with_bias ? t.bias : Tensor(), t.dy.contiguous(),
                     t.y.contiguous(), t.dx.contiguous(), t.dw.contiguous());
}
/// Returns all cases, row-major and then channels-last.
std::vector<ConvCase> all_cases() {
  std::vector<ConvCase> all(std::begin(kCases), std::end(kCases));
  for (ConvCase c : kCases) {
    c.shape.channels_last = true;
    all.push_back(c);
  }
  return all;
}

}  // namespace

TEST_CASE("a convolution and its two gradients are the sums that define them", "[convolution][one_thread]") {
  const std::vector<ConvCase> cases = all_cases();
  for (const ConvCase& c : cases)
    for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16})
      for (const bool with_bias : {true, false}) {
        // with sanitizers, one bias setting per dtype is enough
        if (TANDEM_TEST_SANITIZED && with_bias != (dtype != kFloat64)) continue;
        CAPTURE(&c - cases.data(), with_bias, static_cast<int>(dtype));
        Tensors t(c, dtype);
        t.run(c, with_bias);
        check(c, t, with_bias);
      }
}

TEST_CASE("the bias's gradient in the pass to the weights is the sum over images and pixels", "[convolution]") {
  for (ConvCase c : kCases)
    for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
      c.shape.channels_last = true;
      CAPTURE(c.x_sizes(), c.w_sizes(), static_cast<int>(dtype));
      Tensors t(c, dtype);
      t.run(c, true);
      Tensor dw = full_like(t.dw, 99), db = full({c.filters}, 99, dtype);
      kernels::cpu::conv2d_backward_weight_and_bias(t.dy, t.x, c.shape, dw, db);
      CHECK(same_bits(dw, t.dw));
      // Rounding errors grow like the square root of the number of terms.
      const Tensor dy = t.dy.to(kFloat64), most = dy.abs().sum({0, 2, 3}) * (5 * test::unit_of(dtype));
      CHECK(((db.to(kFloat64) - dy.sum({0, 2, 3})).abs() <= most).all().item<bool>());
    }
}

namespace {
kernels::cpu::ConvProblem problem_of(const ConvCase& c, kernels::ConvPass pass) {
  return {pass,
          c.images,
          c.channels,
          {c.height, c.width},
          c.filters,
          {c.out(0), c.out(1)},
          {c.kernel[0], c.kernel[1]},
          c.shape,
          pass == kernels::ConvPass::forward};
}
/// Runs one pass over all images with the implementation `block`.
template <class T> void run_pass(const kernels::cpu::ConvBlock<T>& block, kernels::ConvPass pass, const Tensors& t) {
  using Packed = kernels::OpMath<T>;
  const bool forward = pass == kernels::ConvPass::forward, to_input = pass == kernels::ConvPass::backward_input;
  const Tensor scratch = empty({std::max(block.scratch_bytes(), block.pack_scratch_bytes()) + 64}, kUInt8),
               packed = empty({block.packed_weight_numel() + 64}, dtype_of<Packed>());
  char* const room = scratch.data<char>() + -reinterpret_cast<uintptr_t>(scratch.raw_data()) % 64;
  Packed* const weights = packed.data<Packed>();
  if (forward || to_input) block.pack(t.w.data<T>(), weights, room);
  block.run((to_input ? t.dx : t.x).template data<T>(), weights, forward ? t.bias.data<T>() : nullptr,
            (forward ? t.y : t.dy).template data<T>(), room);
  if (!forward && !to_input) block.unpack(weights, t.dw.data<T>(), room);
}
}  // namespace

TEMPLATE_TEST_CASE("every implementation of the convolution on the CPU is chosen for some case",
                   "[convolution][one_thread]", float, double, Half, BFloat16) {
  using kernels::ConvPass;
  const auto list = kernels::cpu::conv_implementations<TestType>();
  std::set<std::string> chosen;
  const std::vector<ConvCase> cases = all_cases();
  for (const ConvCase& c : cases) {
    if (c.images * c.channels == 0) continue;
    CAPTURE(&c - cases.data());
    Tensors t(c, dtype_of<TestType>());
    t.run(c, true);  // runs the default implementations, which another test compares with the sums
    std::set<ConvPass> done;
    for (const auto& each : list) {
      CAPTURE(each.name);
      bool others = false;
      for (const ConvPass pass : {ConvPass::forward, ConvPass::backward_input, ConvPass::backward_weight}) {
        const auto block = each.supports(problem_of(c, pass)) ? each.run(problem_of(c, pass)) : nullptr;
        if (!block) continue;
        if (done.insert(pass).second) {
          chosen.insert(each.name);
        } else {
          others = true;
          run_pass<TestType>(*block, pass, t);
        }
      }
      if (others) check(c, t, true);
    }
  }
  constexpr bool single = std::is_same_v<TestType, float>;
  bool library = false;
  if constexpr (single || std::is_same_v<TestType, BFloat16>)
    library = kernels::cpu::onednn_supports<TestType>(problem_of(cases[0], ConvPass::forward));
  for (const auto& each : list) {
    const std::string name = each.name;
    CAPTURE(name);
    const bool patches = name.rfind("patches", 0) == 0, loops = name.find("channels, ") != std::string::npos;
    if (loops && cpu_isa() != CpuIsa::v3 && cpu_isa() != CpuIsa::v4) continue;  // these implementations need AVX2
    if (name == "oneDNN" && !library) continue;
    if (patches && single && library) continue;  // whether oneDNN declines a case depends on its version
    if (patches && std::is_same_v<TestType, BFloat16> && !kernels::cpu::onednn_supports_bfloat16()) continue;
    CHECK(chosen.count(name) == 1);
  }
}

TEST_CASE("a convolution gives the same bits with 1, 2 and 3 threads", "[convolution]") {
  const int before = get_num_threads();
  const std::vector<ConvCase> cases = all_cases();
  for (const ConvCase& c : cases)
    for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
      CAPTURE(&c - cases.data());
      set_num_threads(1);
      Tensors alone(c, dtype);
      alone.run(c, true);
      for (const int threads : {2, 3}) {
        set_num_threads(threads);
        Tensors t(c, dtype);
        t.run(c, true);
        REQUIRE(same_bits(t.y, alone.y));
        REQUIRE(same_bits(t.dx, alone.dx));
        REQUIRE(same_bits(t.dw, alone.dw));
      }
    }
  set_num_threads(before);
}
