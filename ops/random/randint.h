// Random integers: randint, randint_like, random, random_.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// All functions draw from the device's generator (core/generator.h): manual_seed() makes the numbers repeatable.

/// Returns integers from low (default 0) to high - 1, int64 unless the options set another dtype.
Tensor randint(int64_t high, IntArrayRef sizes, const TensorOptions& options = {});
Tensor randint(int64_t low, int64_t high, IntArrayRef sizes, const TensorOptions& options = {});
/// Returns integers from low (default 0) to high - 1, with x's sizes, and x's dtype unless the options set another.
Tensor randint_like(const Tensor& x, int64_t high, const TensorOptions& options = {},
                    std::optional<MemoryFormat> format = {});
Tensor randint_like(const Tensor& x, int64_t low, int64_t high, const TensorOptions& options = {},
                    std::optional<MemoryFormat> format = {});
/// randint_like with a high that is a 0-dim tensor on the CPU. Its fraction is cut off.
Tensor randint_like(const Tensor& x, const Tensor& high, const TensorOptions& options = {},
                    std::optional<MemoryFormat> format = {});
/// Returns integers in [from, to) with x's sizes and dtype. from defaults to 0. If `to` is not given, integers go up to
/// the largest one that the dtype holds (for int64, one less); for floating dtypes, up to the largest integer below
/// which the dtype holds every integer exactly.
/// @throws Error if from is not 0 and to is not given
Tensor random(const Tensor& x, int64_t from, std::optional<int64_t> to);
Tensor random(const Tensor& x, int64_t to);
Tensor random(const Tensor& x);

}  // namespace tandem
