// Tests pooling modules and functionals: that each option has its effect, how they print, and that unpooling restores
// the
// elements at the indices of a max pool.
#include <sstream>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

namespace tandem {
namespace F = nn::functional;

static std::string pool_text(const nn::Module& module) {
  std::ostringstream out;
  out << module;
  return out.str();
}

TEST_CASE("modules of pools pass their options on", "[nn][pool]") {
  manual_seed(31);
  const Tensor line = randn({2, 3, 9}), plane = randn({2, 3, 6, 7}), volume = randn({2, 3, 5, 6, 7});
  const auto max1 = nn::MaxPool1dOptions(3).stride(2).padding(1).dilation(2).ceil_mode(true);
  CHECK(nn::MaxPool1d(max1)(line).equal(max_pool1d(line, 3, 2, 1, 2, true)));
  const auto [y, index] = nn::MaxPool1d(max1)->forward_with_indices(line);
  CHECK(index.equal(std::get<1>(max_pool1d_with_indices(line, 3, 2, 1, 2, true))));
  CHECK(
      nn::MaxPool3d(nn::MaxPool3dOptions({3, 2, 1}).stride({1, 2, 3}).padding({1, 1, 0}).ceil_mode(true))(volume).equal(
          max_pool3d(volume, {3, 2, 1}, {1, 2, 3}, {1, 1, 0}, 1, true)));
  CHECK(
      nn::AvgPool1d(nn::AvgPool1dOptions(3).stride(2).padding(1).ceil_mode(true).count_include_pad(false))(line).equal(
          avg_pool1d(line, 3, 2, 1, true, false)));
  CHECK(nn::AvgPool2d(nn::AvgPool2dOptions({2, 3}).divisor_override(4))(plane).equal(
      avg_pool2d(plane, {2, 3}, {}, 0, false, true, 4)));
  CHECK(nn::AvgPool3d(
            nn::AvgPool3dOptions(2).stride(3).padding(1).ceil_mode(true).count_include_pad(false).divisor_override(3))(
            volume)
            .equal(avg_pool3d(volume, 2, 3, 1, true, false, 3)));
  CHECK(nn::AdaptiveAvgPool1d(4)(line).equal(adaptive_avg_pool1d(line, 4)));
  CHECK(nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({nullopt, 3}))(plane).equal(
      adaptive_avg_pool2d(plane, {6, 3})));
  CHECK(nn::AdaptiveAvgPool3d(nn::AdaptiveAvgPool3dOptions({2, nullopt, 3}))(volume).equal(
      adaptive_avg_pool3d(volume, {2, 6, 3})));
  CHECK(nn::AdaptiveMaxPool1d(4)(line).equal(std::get<0>(adaptive_max_pool1d(line, 4))));
  CHECK(std::get<1>(nn::AdaptiveMaxPool2d(nn::AdaptiveMaxPool2dOptions({4, nullopt}))->forward_with_indices(plane))
            .equal(std::get<1>(adaptive_max_pool2d(plane, {4, 7}))));
  CHECK(nn::AdaptiveMaxPool3d(2)(volume).equal(std::get<0>(adaptive_max_pool3d(volume, 2))));
}

TEST_CASE("a max unpool puts elements back, with the sizes that a pool rounds away", "[nn][pool]") {
  const Tensor x = randperm(4 * 9 * 9).to(kFloat32).reshape({2, 2, 9, 9});
  const auto [y, index] = F::max_pool2d_with_indices(x, F::MaxPool2dFuncOptions(2));
  const Tensor back = nn::MaxUnpool2d(2)(y, index, std::vector<int64_t>{9, 9});
  CHECK(back.sizes() == x.sizes());
  CHECK(back.sum().item<float>() == y.sum().item<float>());  // each maximum occurs once
  CHECK(where(back != 0, x, Scalar(0)).equal(back));         // and at its original position
  CHECK(nn::MaxUnpool2d(nn::MaxUnpool2dOptions(2).stride(2).padding(0))(y, index % 64).sizes() ==
        IntArrayRef{2, 2, 8, 8});
  const auto [line, places] = F::max_pool1d_with_indices(x[0], F::MaxPool1dFuncOptions(3).stride(2).padding(1));
  const Tensor row = F::max_unpool1d(
      line, places, F::MaxUnpool1dFuncOptions(3).stride(2).padding(1).output_size(std::vector<int64_t>{2, 9, 9}));
  CHECK(row.sizes() == IntArrayRef{2, 9, 9});
  CHECK(where(row != 0, x[0], Scalar(0)).equal(row));
  const auto [cubes, corners] = F::max_pool3d_with_indices(x, F::MaxPool3dFuncOptions({2, 3, 3}));
  CHECK(nn::MaxUnpool3d(nn::MaxUnpool3dOptions({2, 3, 3}))(cubes, corners).max().item<float>() ==
        x.max().item<float>());
  CHECK_THROWS_WITH(nn::MaxUnpool2d(2)(y, index, std::vector<int64_t>{10, 9}),
                    Contains("max_unpool2d: invalid output_size (10, 9) (dim 0 must be between 6 and 10)"));
  CHECK_THROWS_AS(max_unpool2d(y, index, {4, 4}), IndexError);
  CHECK_THROWS_WITH(max_unpool2d(y, index.to(kInt32), {9, 9}),
                    Contains("elements in indices should be type int64 but got: int32"));
}

TEST_CASE("norms of windows", "[nn][pool]") {
  const Tensor x = tensor({3.0, 4.0, 1.0, 2.0, 2.0, 5.0}, kFloat64).requires_grad_();
  CHECK(nn::LPPool1d(2, 2)(x.reshape({1, 6}))
            .allclose(tensor({5.0, std::sqrt(5.0), std::sqrt(29.0)}, kFloat64).reshape({1, 3})));
  CHECK(nn::LPPool1d(nn::LPPool1dOptions(1, 4).stride(3).ceil_mode(true))(x.reshape({1, 6}).detach())
            // PyTorch's value for the incomplete window: the mean of its three elements, times four
            .allclose(tensor({{10.0, 2 + 2 + 5.0 + 3}}, kFloat64)));
  const Tensor plane = nn::LPPool2d(nn::LPPool2dOptions(3, {2, 3}))(x.reshape({1, 2, 3}));
  CHECK(nn::LPPool2d(nn::LPPool2dOptions(3, std::vector<int64_t>{2, 3}))(x.reshape({1, 2, 3})).equal(plane));
  CHECK(plane.item<double>() == Approx(std::cbrt(27.0 + 64 + 1 + 8 + 8 + 125)));
  CHECK(F::lp_pool3d(x.reshape({1, 1, 2, 3}), F::LPPool3dFuncOptions(2, {1, 2, 3})).item<double>() ==
        Approx(std::sqrt(59.0)));
  CHECK(autograd::gradcheck(
      [](const std::vector<Tensor>& in) {
        return std::vector<Tensor>{F::lp_pool2d(in[0].reshape({1, 2, 3}), F::LPPool2dFuncOptions(3, {2, 2}).stride(1))};
      },
      {x}));
}

TEST_CASE("pools print as Python's", "[nn][pool]") {
  CHECK(pool_text(*nn::MaxPool1d(3)) == "MaxPool1d(kernel_size=3, stride=3, padding=0, dilation=1, ceil_mode=False)");
  CHECK(pool_text(*nn::MaxPool3d(nn::MaxPool3dOptions({2, 3, 4}).stride(1))) ==
        "MaxPool3d(kernel_size=(2, 3, 4), stride=1, padding=0, dilation=1, ceil_mode=False)");
  CHECK(pool_text(*nn::AvgPool1d(3)) == "AvgPool1d(kernel_size=(3,), stride=(3,), padding=(0,))");
  CHECK(pool_text(*nn::AvgPool3d(3)) == "AvgPool3d(kernel_size=3, stride=3, padding=0)");
  CHECK(pool_text(*nn::AdaptiveAvgPool1d(3)) == "AdaptiveAvgPool1d(output_size=3)");
  CHECK(pool_text(*nn::AdaptiveMaxPool2d(nn::AdaptiveMaxPool2dOptions({nullopt, 3}))) ==
        "AdaptiveMaxPool2d(output_size=(None, 3))");
  CHECK(pool_text(*nn::AdaptiveAvgPool3d(nn::AdaptiveAvgPool3dOptions({1, 2, 3}))) ==
        "AdaptiveAvgPool3d(output_size=(1, 2, 3))");
  CHECK(pool_text(*nn::MaxUnpool1d(3)) == "MaxUnpool1d(kernel_size=(3,), stride=(3,), padding=(0,))");
  CHECK(pool_text(*nn::MaxUnpool2d(3)) == "MaxUnpool2d(kernel_size=(3, 3), stride=(3, 3), padding=(0, 0))");
  CHECK(pool_text(*nn::LPPool2d(2, 3)) == "LPPool2d(norm_type=2.0, kernel_size=3, stride=3, ceil_mode=False)");
}

TEST_CASE("adaptive pools of nothing, and to nothing, are PyTorch's", "[nn][pool]") {
  for (const Shape& empty : {Shape{1, 2, 0, 3}, Shape{1, 2, 3, 0}, Shape{0, 2, 0, 3}, Shape{2, 0, 3}}) {
    CAPTURE(empty);
    CHECK_THROWS_WITH(adaptive_avg_pool2d(zeros(empty), 2), Contains("adaptive_avg_pool2d: x is ("));
    CHECK_THROWS_WITH(adaptive_avg_pool2d(zeros(empty), 0), Contains("that are pooled must not be empty"));
    CHECK_THROWS_WITH(adaptive_max_pool2d(zeros(empty), 2),
                      Contains("Expected input to have non-zero size for non-batch dimensions"));
  }
  CHECK(adaptive_avg_pool2d(zeros({1, 2, 0, 3}), 1).isnan().all().item<bool>());  // mean of no elements
  CHECK(adaptive_avg_pool2d(zeros({1, 0, 3, 3}), 2).sizes() == Shape{1, 0, 2, 2});
  CHECK(adaptive_avg_pool2d(zeros({1, 0, 3, 3}), 0).sizes() == Shape{1, 0, 0, 0});
  CHECK_THROWS_WITH(adaptive_max_pool2d(zeros({1, 0, 3, 3}), 2),
                    Contains("Expected input to have non-zero size for non-batch dimensions"));
  const Tensor x = ones({1, 2, 3, 3}).requires_grad_();
  CHECK(adaptive_avg_pool2d(x, {0, 2}).sizes() == Shape{1, 2, 0, 2});
  CHECK_THROWS_WITH(adaptive_avg_pool2d(x, {0, 2}).sum().backward(), Contains("adaptive_avg_pool2d_backward"));
  CHECK(adaptive_avg_pool1d(zeros({1, 2, 3}), 0).sizes() == Shape{1, 2, 0});
  CHECK(adaptive_avg_pool3d(zeros({1, 2, 3, 3, 3}), {0, 1, 1}).sizes() == Shape{1, 2, 0, 1, 1});
  const auto [values, places] = adaptive_max_pool2d(zeros({1, 2, 3, 3}), {2, 0});
  CHECK(values.sizes() == Shape{1, 2, 2, 0});
  CHECK(places.sizes() == Shape{1, 2, 2, 0});
  CHECK(places.dtype() == kInt64);
  CHECK(std::get<0>(adaptive_max_pool3d(zeros({1, 2, 3, 3, 3}), {0, 1, 1})).sizes() == Shape{1, 2, 0, 1, 1});
}

TEST_CASE("pools name shapes that they do not take", "[nn][pool]") {
  CHECK_THROWS_WITH(
      max_pool1d(zeros({4}), 2),
      Contains(
          "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:(4,)"));
  CHECK_THROWS_WITH(
      avg_pool3d(zeros({2, 2, 2}), 2),
      Contains("avg_pool3d: non-empty 4D or 5D (batch mode) tensor expected for input, but got (2, 2, 2)"));
  CHECK_THROWS_WITH(max_pool3d(zeros({1, 2, 2, 2}), 3), Contains("window of 3"));
  CHECK_THROWS_WITH(adaptive_max_pool2d(zeros({1, 2, 2}), {-1, 1}), Contains("output_size is (-1, 1)"));
  CHECK_THROWS_WITH(adaptive_avg_pool2d(zeros({1, 2, 2}), {2, -1}),
                    Contains("elements of output_size must be greater than or equal to 0 but received (2, -1)"));
  CHECK_THROWS_WITH(avg_pool2d(zeros({1, 2, 2}), 2, {}, 0, false, true, 0), Contains("divisor_override is 0"));
  CHECK_THROWS_WITH(nn::LPPool1d(0, 2)(zeros({1, 4})), Contains("lp_pool1d: norm_type must be a non-zero value"));
}

}  // namespace tandem
