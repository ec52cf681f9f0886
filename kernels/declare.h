// How the kernel headers declare: one signature for both backends, so that a missing twin is a link error.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

/// The declaration in the namespaces of the CPU's kernels and of CUDA's.
#define TANDEM_KERNEL(...)          \
  namespace tandem::kernels::cpu {  \
  __VA_ARGS__;                      \
  }                                 \
  namespace tandem::kernels::cuda { \
  __VA_ARGS__;                      \
  }
