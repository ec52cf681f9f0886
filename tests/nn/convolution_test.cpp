// Tests convolutions of one, two and three dimensions with padding "same", "valid" or a padding mode, and transposed
// convolutions with a given output size, against PyTorch (tests/fixtures/module_cases/convolution.py).
#include "tandem/tests/nn/module_rows.h"

using namespace tandem;
using namespace tandem::test;

TEST_CASE("convolutions have PyTorch's values and gradients for each padding", "[nn][convolution]") {
  const auto check = [](const char* name, auto module) {
    check_module(name, *module, [&](const Tensors& in) { return Tensors{module(in[0])}; });
  };
  check("conv/1d/same", nn::Conv1d(nn::Conv1dOptions(2, 3, 4).padding(kSame).dilation(2)));
  check("conv/2d/same", nn::Conv2d(nn::Conv2dOptions(2, 4, {3, 2}).padding(kSame).groups(2)));
  check("conv/3d/same", nn::Conv3d(nn::Conv3dOptions(2, 2, 3).padding(kSame).bias(false)));
  check("conv/2d/valid", nn::Conv2d(nn::ConvOptions<2>(2, 3, 3).padding(kValid).stride(2)));
  check("conv/1d/same/circular", nn::Conv1d(nn::Conv1dOptions(2, 3, 4).padding(kSame).padding_mode(kCircular)));
  check("conv/2d/same/reflect", nn::Conv2d(nn::Conv2dOptions(2, 3, {2, 3}).padding(kSame).padding_mode(kReflect)));
  check("conv/3d/replicate", nn::Conv3d(nn::Conv3dOptions(1, 2, 2).padding({1, 0, 1}).padding_mode(kReplicate)));
}

TEST_CASE("transposed convolutions give the output size that they are told", "[nn][convolution]") {
  const auto check = [](const char* name, auto module, std::vector<int64_t> size) {
    check_module(name, *module, [&](const Tensors& in) { return Tensors{module(in[0], IntArrayRef(size))}; });
  };
  check("conv_transpose/1d", nn::ConvTranspose1d(nn::ConvTranspose1dOptions(2, 3, 3).stride(3)), {14});
  check("conv_transpose/2d", nn::ConvTranspose2d(nn::ConvTranspose2dOptions(2, 3, 3).stride(2).padding(1)), {6, 7});
  check("conv_transpose/2d/all", nn::ConvTranspose2d(nn::ConvTransposeOptions<2>(2, 3, 3).stride(2)), {2, 3, 8, 9});
  check("conv_transpose/3d", nn::ConvTranspose3d(nn::ConvTranspose3dOptions(1, 2, 2).stride(2).dilation(2)), {6, 5, 6});

  nn::ConvTranspose2d up(nn::ConvTranspose2dOptions(1, 1, 3).stride(2));
  const Tensor x = ones({1, 1, 3, 3});
  CHECK(up(x[0], IntArrayRef({8, 7})).sizes() == IntArrayRef({1, 8, 7}));
  CHECK_THROWS_WITH(
      up(x, IntArrayRef({9, 7})),
      Contains("requested an output size of (9, 7), but valid sizes range from 7 to 8 in spatial dimension 0"));
  CHECK_THROWS_WITH(up(x, IntArrayRef({7, 7, 7})), Contains("output_size must have 2 or 4 elements (got 3)"));
  nn::Sequential in_a_row(up, nn::Conv2d(1, 1, 1));  // Sequential calls forward() without the optional output_size
  CHECK(in_a_row->forward(x).sizes() == IntArrayRef({1, 1, 7, 7}));
}

TEST_CASE("paddings are numbers or words, of modules and of functions", "[nn][convolution]") {
  namespace F = nn::functional;
  const Tensor x = randn({2, 2, 5, 6}), w = randn({3, 2, 3, 2});
  CHECK(F::conv2d(x, w, F::Conv2dFuncOptions().padding(kSame)).sizes() == IntArrayRef({2, 3, 5, 6}));
  CHECK(F::conv2d(x, w, F::Conv2dFuncOptions().padding(kValid)).equal(F::conv2d(x, w)));
  CHECK(F::conv2d(x, w, F::Conv2dFuncOptions().padding({1, 2})).equal(conv2d(x, w, {}, 1, {1, 2})));
  CHECK(F::conv1d(randn({1, 3, 6}), w[0], F::Conv1dFuncOptions().padding(kSame)).sizes() == IntArrayRef({1, 2, 6}));
  nn::Conv2d conv(nn::Conv2dOptions(2, 3, 3).padding(kSame));
  CHECK(std::holds_alternative<enumtype::kSame>(conv->options.padding()));
  conv->options.padding(1);
  CHECK(std::get<ExpandingArray<2>>(conv->options.padding()) == ExpandingArray<2>(1, 1));
  CHECK(conv(x).sizes() == IntArrayRef({2, 3, 5, 6}));
  CHECK(conv->options.kernel_size()->size() == 2);
  CHECK_THROWS_WITH(nn::Conv2d(nn::Conv2dOptions(2, 3, 3).padding(kSame).stride(2)),
                    Contains("padding='same' is not supported for strided convolutions; strides are (2, 2)"));
  CHECK_THROWS_WITH(F::conv1d(x[0], w[0], F::Conv1dFuncOptions().padding(kSame).stride(2)), Contains("conv1d"));
  CHECK_THROWS_WITH(nn::ConvTranspose1d(nn::ConvTranspose1dOptions(2, 3, 3).padding_mode(kReflect))(x[0]),
                    Contains("Only `zeros` padding mode is supported for ConvTranspose1d, got reflect"));
  CHECK_THROWS_WITH(nn::Conv3d(nn::Conv3dOptions(2, 3, {1, 2})), Contains("(depth, height, width)"));
}
