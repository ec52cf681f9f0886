// How `out << tensor` and `out << sizes` write: as Python's PyTorch, or as LibTorch where a program is LibTorch's.
#pragma once

namespace tandem::detail {

/// Set by <torch/torch.h> before main() begins.
inline bool prints_as_libtorch = false;

}  // namespace tandem::detail
