// New tensors of random numbers: rand, randn, rand_like, randn_like.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// All draw from the device's generator (core/generator.h): manual_seed() makes them repeat.

/// Uniform in [0, 1).
Tensor rand(IntArrayRef sizes, const TensorOptions& options = {});
/// Uniform in [0, 1), of x's sizes, and its dtype and device unless the options name others.
Tensor rand_like(const Tensor& x, const TensorOptions& options = {}, std::optional<MemoryFormat> format = {});
/// Normal with mean 0 and variance 1.
Tensor randn(IntArrayRef sizes, const TensorOptions& options = {});
/// Normal with mean 0 and variance 1, of x's sizes.
Tensor randn_like(const Tensor& x, const TensorOptions& options = {}, std::optional<MemoryFormat> format = {});

}  // namespace tandem
