// A network with the layers that are hardest to keep equal across ranks, and input data for it.
#pragma once
#include "tandem/tandem.h"
#include "tandem/tests/formula.h"

namespace tandem::test {

/// A convolution, batch norm, dropout, and a linear layer that is used twice
struct SmallNetImpl : nn::Cloneable<SmallNetImpl> {
  SmallNetImpl() { reset(); }
  void reset() override {
    conv = register_module("conv", nn::Conv2d(1, 4, 5));
    norm = register_module("norm", nn::BatchNorm2d(4));
    drop = register_module("drop", nn::Dropout(0.5));
    mix = register_module("mix", nn::Linear(64, 64));
    out = register_module("out", nn::Linear(64, 10));
  }
  Tensor forward(const Tensor& x) {
    const Tensor h = max_pool2d(relu(norm(conv(x))), 6).flatten(1);
    return out(mix(drop(relu(mix(h)))));
  }
  nn::Conv2d conv{nullptr};
  nn::BatchNorm2d norm{nullptr};
  nn::Dropout drop{nullptr};
  nn::Linear mix{nullptr}, out{nullptr};
};
TANDEM_MODULE(SmallNet);

/// Images with pixels in [0, 1), computed by unit() of formula.h
inline Tensor images(int64_t n, DType dtype) {
  std::vector<double> values;
  for (int64_t i = 0; i < n * 784; ++i) values.push_back(unit(i, 3));
  return tensor(values, kFloat64).to(dtype).view({n, 1, 28, 28});
}
/// Target classes from 0 to 9
inline Tensor labels(int64_t n) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<int64_t>(10 * unit(i, 4)));
  return tensor(values);
}

}  // namespace tandem::test
