// Guard that turns layer fusion on or off in a test.
#pragma once
#include "tandem/nn/containers/sequential.h"

namespace tandem::test {

/// Turns fused layers and operations on or off during its lifetime.
class FusionGuard {
 public:
  explicit FusionGuard(bool on) : saved_(nn::layer_fusion()) { nn::set_layer_fusion(on); }
  ~FusionGuard() { nn::set_layer_fusion(saved_); }
  FusionGuard(const FusionGuard&) = delete;

 private:
  bool saved_;
};

}  // namespace tandem::test
