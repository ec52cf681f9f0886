// Tests 3-d convolution modules and functionals. Values and gradients are tested in tests/op_cases/matmul.cpp.
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;
namespace F = tandem::nn::functional;

TEST_CASE("Conv3d and ConvTranspose3d are the functions with their parameters", "[nn][conv3d]") {
  manual_seed(3);
  const Tensor x = randn({2, 4, 5, 4, 6});
  nn::Conv3d conv(
      nn::Conv3dOptions(4, 6, {3, 2, 1}).stride({1, 2, 1}).padding({1, 0, 2}).dilation({2, 1, 1}).groups(2));
  CHECK(conv->weight.sizes() == IntArrayRef{6, 2, 3, 2, 1});
  CHECK(conv(x).equal(conv3d(x, conv->weight, conv->bias, {1, 2, 1}, {1, 0, 2}, {2, 1, 1}, 2)));
  CHECK(conv(x).equal(F::conv3d(
      x, conv->weight,
      F::Conv3dFuncOptions().bias(conv->bias).stride({1, 2, 1}).padding({1, 0, 2}).dilation({2, 1, 1}).groups(2))));
  CHECK(conv(x[0]).allclose(conv(x)[0], 1e-5, 1e-6));
  nn::ConvTranspose3d back(nn::ConvTranspose3dOptions(4, 2, 2).stride(2).output_padding(1).bias(false));
  CHECK(back(x).sizes() == IntArrayRef{2, 2, 11, 9, 13});
  CHECK(
      back(x).equal(F::conv_transpose3d(x, back->weight, F::ConvTranspose3dFuncOptions().stride(2).output_padding(1))));
  // The transposed convolution computes the gradient of conv3d with respect to the input.
  const Tensor volume = randn({1, 2, 5, 6, 7}, kFloat64).requires_grad_(), weight = randn({3, 2, 2, 3, 2}, kFloat64);
  const Tensor y = conv3d(volume, weight, {}, 2, 1), dy = randn(y.sizes(), kFloat64);
  y.backward(dy);
  CHECK(conv_transpose3d(dy, weight, {}, 2, 1, {1, 1, 1}).allclose(volume.grad()));
}

TEST_CASE("Conv3d prints as in Python, and pads in every mode", "[nn][conv3d]") {
  const auto text = [](const auto& module) {
    std::ostringstream out;
    out << *module;
    return out.str();
  };
  CHECK(text(nn::Conv3d(1, 2, 3)) == "Conv3d(1, 2, kernel_size=(3, 3, 3), stride=(1, 1, 1))");
  CHECK(text(nn::Conv3d(nn::Conv3dOptions(2, 4, {1, 2, 3}).padding(1).padding_mode(kCircular).bias(false))) ==
        "Conv3d(2, 4, kernel_size=(1, 2, 3), stride=(1, 1, 1), padding=(1, 1, 1), bias=False, padding_mode=circular)");
  CHECK(text(nn::ConvTranspose3d(nn::ConvTranspose3dOptions(2, 4, 2).stride(2).output_padding({1, 0, 1}))) ==
        "ConvTranspose3d(2, 4, kernel_size=(2, 2, 2), stride=(2, 2, 2), output_padding=(1, 0, 1))");
  const Tensor x = randn({1, 3, 4, 5, 6});
  for (const PaddingMode mode : {PaddingMode::reflect, PaddingMode::replicate, PaddingMode::circular}) {
    nn::Conv3d conv(nn::Conv3dOptions(3, 2, 3).padding({1, 2, 3}).padding_mode(mode));
    CHECK(conv(x).equal(conv3d(pad(x, {3, 3, 2, 2, 1, 1}, mode), conv->weight, conv->bias)));
  }
}

TEST_CASE("conv3d names sizes that do not fit", "[nn][conv3d]") {
  const Tensor x = ones({1, 2, 3, 3, 3});
  CHECK_THROWS_WITH(conv3d(x, ones({1, 2, 4, 1, 1})),
                    Contains("conv3d: Calculated padded input size per channel: (3") &&
                        Contains("Kernel size: (4 x 1 x 1). Kernel size can't be greater than actual input size"));
  CHECK_THROWS_WITH(conv3d(x, ones({1, 3, 1, 1, 1})), Contains("conv3d") && Contains("(1, 3, 1, 1, 1)"));
  CHECK_THROWS_WITH(conv3d(x, ones({1, 2, 1, 1})),
                    Contains("conv3d: Expected 4-dimensional input for 4-dimensional weight (1, 2, 1, 1)"));
  CHECK_THROWS_WITH(conv3d(x, ones({2, 2, 1, 1, 1}), ones({3})),
                    Contains("expected bias to be 1-dimensional with 2 elements, but got bias of size (3,)"));
  CHECK_THROWS_WITH(conv_transpose3d(x, ones({2, 1, 1, 1, 1}), {}, 1, 0, 1), Contains("output_padding (1, 1, 1)"));
  CHECK_THROWS_WITH(nn::Conv3d(2, 2, 0),
                    Contains("Conv3d: kernel size should be greater than zero, but got (0, 0, 0)"));
}
