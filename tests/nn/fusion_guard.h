// Switches layer fusion for a test.
#pragma once
#include "tandem/nn/containers/sequential.h"

namespace tandem::test {

/// While it lives, layers and operations that can be computed as one are, or are not.
class FusionGuard {
 public:
  explicit FusionGuard(bool on) : saved_(nn::layer_fusion()) { nn::set_layer_fusion(on); }
  ~FusionGuard() { nn::set_layer_fusion(saved_); }
  FusionGuard(const FusionGuard&) = delete;

 private:
  bool saved_;
};

}  // namespace tandem::test
