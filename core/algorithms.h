// PyTorch's switches for the algorithms that libraries may choose: determinism, and precision of float32 products. Each
// thread has its own settings.
#pragma once
#include <string>

namespace tandem {

/// If true (the default), algorithms are chosen by shapes alone, and only from those that add in the same order each
/// time. If false, the first call with a shape times several algorithms on the GPU and keeps the fastest.
void use_deterministic_algorithms(bool wanted);
bool are_deterministic_algorithms_enabled();

/// Precision of float32 products and convolutions on GPUs. "highest" (the default): full float32. "high" and "medium":
/// factors are rounded to TF32 (10 bits of mantissa) if the GPU supports it, which is several times as fast.
/// @throws Error for any other string
void set_float32_matmul_precision(const std::string& precision);
std::string get_float32_matmul_precision();

}  // namespace tandem
