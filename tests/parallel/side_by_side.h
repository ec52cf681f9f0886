// A network that chooses the layers it uses in each forward.
#pragma once
#include <string>

#include "tandem/tandem.h"

namespace tandem::test {

/// Linear layers a, b, c, ... from 3 to 2 features, side by side: forward(x, "ab") is x[:, :2] + a(x) + b(x).
struct SideBySideImpl : nn::Module {
  explicit SideBySideImpl(int count) {
    for (int i = 0; i < count; ++i) layers.push_back(register_module(std::string(1, name(i)), nn::Linear(3, 2)));
  }
  Tensor forward(const Tensor& x, const std::string& use) {
    Tensor y = x.narrow(1, 0, 2);
    // Adding in this order makes the last layer's gradients come first in backward.
    for (const char which : use) y = y * 1.0 + (*this)[which](x);
    return y;
  }
  nn::Linear& operator[](char which) { return layers.at(static_cast<size_t>(which - 'a')); }
  static char name(int i) { return static_cast<char>('a' + i); }
  std::vector<nn::Linear> layers;
};
TANDEM_MODULE(SideBySide);

}  // namespace tandem::test
