// Random integers: randint, randint_like, random, random_.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// All draw from the device's generator (core/generator.h): manual_seed() makes them repeat.

/// Integers from 0, or low, to high - 1, int64 unless the options say otherwise.
Tensor randint(int64_t high, IntArrayRef sizes, const TensorOptions& options = {});
Tensor randint(int64_t low, int64_t high, IntArrayRef sizes, const TensorOptions& options = {});
/// Integers from 0, or low, to high - 1, of x's sizes and dtype.
Tensor randint_like(const Tensor& x, int64_t high, const TensorOptions& options = {},
                    std::optional<MemoryFormat> format = {});
Tensor randint_like(const Tensor& x, int64_t low, int64_t high, const TensorOptions& options = {},
                    std::optional<MemoryFormat> format = {});
/// Integers in [from, to); without `to` up to the largest that the dtype holds (a floating dtype: holds exactly).
Tensor random(const Tensor& x, int64_t from, std::optional<int64_t> to);
Tensor random(const Tensor& x, int64_t to);
Tensor random(const Tensor& x);

}  // namespace tandem
