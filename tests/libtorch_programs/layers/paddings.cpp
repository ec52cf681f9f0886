// Padding in all modes and dimensions, with gradients.
#include <torch/torch.h>

#include <iostream>

namespace nn = torch::nn;
namespace F = torch::nn::functional;

torch::Tensor counting(torch::IntArrayRef sizes) {
  int64_t count = 1;
  for (const auto size : sizes) count *= size;
  return torch::arange(1, count + 1, torch::kFloat32).view(sizes);
}

template <class M> void show(M module, torch::Tensor x) {
  x.set_requires_grad(true);
  const torch::Tensor y = module(x);
  y.square().sum().backward();
  std::cout << y << '\n' << x.grad() << '\n';
}

int main() {
  const auto line = counting({1, 2, 4}), plane = counting({1, 1, 3, 4}), volume = counting({1, 1, 2, 2, 3});
  show(nn::ReflectionPad1d(nn::ReflectionPad1dOptions({3, 1})), line.clone());
  show(nn::ReflectionPad2d(2), plane.clone());
  show(nn::ReflectionPad3d(nn::ReflectionPad3dOptions({2, 1, 1, 0, 1, 1})), volume.clone());
  show(nn::ReplicationPad1d(2), line.clone());
  show(nn::ReplicationPad2d(nn::ReplicationPad2dOptions({1, 2, 0, 3})), plane.clone());
  show(nn::ReplicationPad3d(1), volume.clone());
  show(nn::ZeroPad1d(nn::ZeroPad1dOptions({1, 2})), line.clone());
  show(nn::ZeroPad2d(nn::ZeroPad2dOptions({1, -1, 2, 0})), plane.clone());
  show(nn::ZeroPad3d(1), volume.clone());
  show(nn::ConstantPad1d(nn::ConstantPad1dOptions({1, 2}, 7)), line.clone());
  show(nn::ConstantPad2d(nn::ConstantPad2dOptions(1, -2.5)), plane.clone());
  show(nn::ConstantPad3d(nn::ConstantPad3dOptions({1, 0, 0, 1, 1, 0}, 9)), volume.clone());

  std::cout << F::pad(plane, F::PadFuncOptions({1, 2})) << '\n';
  std::cout << F::pad(plane, F::PadFuncOptions({1, 0, 0, 2}).value(0.5)) << '\n';
  std::cout << F::pad(plane, F::PadFuncOptions({1, 1, 1, 1}).mode(torch::kReflect)) << '\n';
  std::cout << F::pad(line, F::PadFuncOptions({2, 1}).mode(torch::kCircular)) << '\n';
  std::cout << F::pad(volume, F::PadFuncOptions({1, 0, 1, 0, 0, 1}).mode(torch::kCircular)) << '\n';
  std::cout << F::pad(counting({2, 2}).to(torch::kLong), F::PadFuncOptions({0, 1, 1, 0}).value(-3)) << '\n';
  std::cout << torch::constant_pad_nd(plane, {0, 0, -1, 0}, 1) << '\n';
  try {
    nn::ReflectionPad1d(4)(line);
  } catch (const c10::Error&) {
    std::cout << "refused\n";
  }
  return 0;
}
