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
/// The declaration of `void op(parameters)`, a kernel that only the CPU has. TANDEM_DISPATCH calls it like any other
/// kernel, and throws for tensors on CUDA: a function beside the declaration says which tensors the kernel serves.
#define TANDEM_CPU_KERNEL(op, ...)                                                              \
  namespace tandem::kernels::cpu {                                                              \
  void op(__VA_ARGS__);                                                                         \
  }                                                                                             \
  namespace tandem::kernels::cuda {                                                             \
  template <class... Arguments> [[noreturn]] void op(const Arguments&...) {                     \
    TANDEM_FAIL(#op, ": the tensors are on CUDA, which has no such kernel; accepted: the CPU"); \
  }                                                                                             \
  }
