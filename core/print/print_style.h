// Style of `out << tensor` and `out << sizes`: PyTorch's in Python, or LibTorch's for programs that include its
// headers.
#pragma once

namespace tandem::detail {

/// Set by <torch/torch.h> before main() starts.
inline bool prints_as_libtorch = false;

}  // namespace tandem::detail
