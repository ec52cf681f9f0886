// Which algorithms the libraries may choose: PyTorch's switches, per rank or thread as all that affects results is.
#pragma once
#include <string>

namespace tandem {

/// True, the default: an algorithm follows from shapes alone, and is one that adds in the same order each time. False:
/// the first call with a shape tries several on the GPU and keeps the fastest.
void use_deterministic_algorithms(bool wanted);
bool are_deterministic_algorithms_enabled();

/// Of float32 products and convolutions on GPUs. "highest", the default: as float32. "high" and "medium": factors are
/// rounded to TF32 (10 bits after the point) where the GPU has units for it, several times as fast.
/// @throws Error on another word
void set_float32_matmul_precision(const std::string& precision);
std::string get_float32_matmul_precision();

}  // namespace tandem
