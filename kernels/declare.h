// Macros for the kernel headers. One signature declares a kernel for both backends; if a backend does not define it,
// the link fails.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

/// Declares a kernel in two namespaces: kernels::cpu for the CPU, and kernels::cuda for GPUs.
#define TANDEM_DECLARE_KERNEL(...)  \
  namespace tandem::kernels::cpu {  \
  __VA_ARGS__;                      \
  }                                 \
  namespace tandem::kernels::cuda { \
  __VA_ARGS__;                      \
  }
/// Declares `void op(parameters)`, a kernel that only the CPU has. TANDEM_DISPATCH calls it like any other kernel, but
/// throws for tensors on CUDA. Next to each such declaration, a function (has_...) returns whether the kernel supports
/// the tensors.
#define TANDEM_DECLARE_CPU_KERNEL(op, ...)                                      \
  namespace tandem::kernels::cpu {                                              \
  void op(__VA_ARGS__);                                                         \
  }                                                                             \
  namespace tandem::kernels::cuda {                                             \
  template <class... Arguments> [[noreturn]] void op(const Arguments&...) {     \
    TANDEM_FAIL(#op, ": not implemented on CUDA; move the tensors to the CPU"); \
  }                                                                             \
  }
