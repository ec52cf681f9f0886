// Tests padding modules: written-out elements, how the modules print, and errors.
#include <sstream>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

namespace tandem {
namespace F = nn::functional;

static std::string pad_text(const nn::Module& module) {
  std::ostringstream out;
  out << module;
  return out.str();
}

TEST_CASE("modules of paddings", "[nn][pad]") {
  const Tensor line = tensor({{1, 2, 3}}).to(kFloat32), plane = arange(6, kFloat32).reshape({1, 2, 3});
  CHECK(nn::ReflectionPad1d(2)(line).equal(tensor({{3.f, 2.f, 1.f, 2.f, 3.f, 2.f, 1.f}})));
  CHECK(
      nn::ReplicationPad1d(nn::ReplicationPad1dOptions({1, 2}))(line).equal(tensor({{1.f, 1.f, 2.f, 3.f, 3.f, 3.f}})));
  CHECK(nn::ConstantPad1d(nn::ConstantPad1dOptions({0, 2}, 7))(line).equal(tensor({{1.f, 2.f, 3.f, 7.f, 7.f}})));
  CHECK(nn::ZeroPad1d(nn::ZeroPad1dOptions({1, 0}))(line).equal(tensor({{0.f, 1.f, 2.f, 3.f}})));
  CHECK(
      nn::ZeroPad2d(nn::ZeroPad2dOptions({-1, 0, 1, 0}))(plane).equal(tensor({{{0.f, 0.f}, {1.f, 2.f}, {4.f, 5.f}}})));
  CHECK(nn::ReflectionPad2d(nn::ReflectionPad2dOptions({0, 1, 1, 0}))(plane).equal(
      tensor({{{3.f, 4.f, 5.f, 4.f}, {0.f, 1.f, 2.f, 1.f}, {3.f, 4.f, 5.f, 4.f}}})));
  CHECK(nn::ReplicationPad2d(1)(plane).equal(replication_pad2d(plane, {1, 1, 1, 1})));
  CHECK(nn::ConstantPad2d(1, -1)(plane).equal(constant_pad_nd(plane, {1, 1, 1, 1}, -1)));
  const Tensor volume = arange(48, kFloat32).reshape({2, 2, 3, 4});
  CHECK(nn::ReflectionPad3d(1)(volume).equal(reflection_pad3d(volume, {1, 1, 1, 1, 1, 1})));
  CHECK(nn::ReplicationPad3d(nn::ReplicationPad3dOptions({1, 2, 3, 4, 5, 6}))(volume).equal(
      replication_pad3d(volume, {1, 2, 3, 4, 5, 6})));
  CHECK(nn::ConstantPad3d(nn::ConstantPad3dOptions({1, 2, 0, 0, 3, 1}, 2))(volume).equal(
      constant_pad_nd(volume, {1, 2, 0, 0, 3, 1}, 2)));
  CHECK(nn::ZeroPad3d(1)(volume).sum().item<float>() == volume.sum().item<float>());
  CHECK(F::pad(line, F::PadFuncOptions({2, 1}).mode(kCircular)).equal(tensor({{2.f, 3.f, 1.f, 2.f, 3.f, 1.f}})));
  CHECK(F::pad(line, F::PadFuncOptions({1, 0}).value(4)).equal(tensor({{4.f, 1.f, 2.f, 3.f}})));
}

TEST_CASE("padding keeps channels last, and is a copy where nothing is padded", "[nn][pad]") {
  const Tensor x = randn({2, 3, 4, 5}).to(kChannelsLast);
  CHECK(constant_pad_nd(x, {1, 1}).suggest_memory_format() == kChannelsLast);
  CHECK_FALSE(reflection_pad2d(x, {0, 0, 0, 0}).is_same(x));
  CHECK(reflection_pad2d(x, {0, 0, 0, 0}).data_ptr() != x.data_ptr());
}

TEST_CASE("convolutions pad in every mode", "[nn][pad]") {
  manual_seed(61);
  const Tensor plane = randn({2, 3, 5, 6}), line = randn({2, 3, 6});
  for (const auto& [mode, name] :
       {std::pair(kReflect, "reflect"), std::pair(kReplicate, "replicate"), std::pair(kCircular, "circular")}) {
    nn::Conv2d conv(nn::Conv2dOptions(3, 4, 3).padding({1, 2}).stride(2).padding_mode(mode));
    CHECK(conv(plane).equal(conv2d(pad(plane, {2, 2, 1, 1}, mode), conv->weight, conv->bias, 2)));
    CHECK(pad_text(*conv) ==
          "Conv2d(3, 4, kernel_size=(3, 3), stride=(2, 2), padding=(1, 2), padding_mode=" + std::string(name) + ")");
    nn::Conv1d narrow(nn::Conv1dOptions(3, 4, 3).padding(2).padding_mode(mode).bias(false));
    CHECK(narrow(line).equal(conv1d(pad(line, {2, 2}, mode), narrow->weight)));
    CHECK(std::dynamic_pointer_cast<nn::Conv1dImpl>(narrow->clone())->forward(line).equal(narrow(line)));
  }
  CHECK_THROWS_WITH(nn::Conv2d(nn::Conv2dOptions(3, 4, 3).padding_mode(kBorder)),
                    Contains("padding_mode must be one of"));
}

TEST_CASE("paddings print as Python's", "[nn][pad]") {
  CHECK(pad_text(*nn::ReflectionPad1d(2)) == "ReflectionPad1d((2, 2))");
  CHECK(pad_text(*nn::ReplicationPad2d(nn::ReplicationPad2dOptions({1, 1, 2, 0}))) == "ReplicationPad2d((1, 1, 2, 0))");
  CHECK(pad_text(*nn::ConstantPad1d(2, 3.5)) == "ConstantPad1d(padding=(2, 2), value=3.5)");
  CHECK(pad_text(*nn::ZeroPad3d(1)) == "ZeroPad3d((1, 1, 1, 1, 1, 1))");
}

TEST_CASE("paddings name pads that they do not take", "[nn][pad]") {
  const Tensor line = zeros({1, 3});
  CHECK_THROWS_WITH(reflection_pad1d(line, {3, 0}),
                    Contains("reflection_pad1d: Padding size should be less than the corresponding input dimension, "
                             "but got: padding (3, 0) at dimension 1 of input (1, 3)"));
  CHECK_THROWS_WITH(pad(line, {4, 0}, "circular"), Contains("Padding value causes wrapping around more than once."));
  CHECK_THROWS_WITH(pad(line, {-2, -1}, "replicate"),
                    Contains("Negative padding value is resulting in an empty dimension"));
  CHECK_THROWS_WITH(pad(line, {1, 1}, "mirror"), Contains("Unrecognised padding mode mirror"));
  CHECK_THROWS_WITH(pad(line, {1, 1}, "reflect", 1),
                    Contains("Padding mode \"reflect\" doesn't take in value argument"));
  CHECK_THROWS_WITH(pad(line, {1, 1}, kBorder), Contains("Unrecognised padding mode border"));
  CHECK_THROWS_WITH(pad(zeros({2, 2}), {1, 1, 1, 1}, "reflect"),
                    Contains("Padding size 4 is not supported for 2D input tensor."));
  CHECK_THROWS_WITH(constant_pad_nd(line, {1}), Contains("Length of pad must be even but instead it equals 1"));
  CHECK_THROWS_WITH(constant_pad_nd(line, {-2, -2}),
                    Contains("The input size 3, plus negative padding -2 and -2 resulted in a negative output size, "
                             "which is invalid. Check dimension 1 of your input."));
}

}  // namespace tandem
