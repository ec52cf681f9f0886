// New tensors of random numbers: rand, randn, rand_like, randn_like.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// All functions draw from the device's generator (core/generator.h): manual_seed() makes the numbers repeatable.

/// Returns uniform numbers in [0, 1).
Tensor rand(IntArrayRef sizes, const TensorOptions& options = {});
/// Returns uniform numbers in [0, 1), with x's sizes, and x's dtype and device unless the options set others.
Tensor rand_like(const Tensor& x, const TensorOptions& options = {}, std::optional<MemoryFormat> format = {});
/// Returns normally distributed numbers with mean 0 and variance 1.
Tensor randn(IntArrayRef sizes, const TensorOptions& options = {});
/// Returns normally distributed numbers with mean 0 and variance 1, with x's sizes, and x's dtype and device unless the
/// options set others.
Tensor randn_like(const Tensor& x, const TensorOptions& options = {}, std::optional<MemoryFormat> format = {});

}  // namespace tandem
