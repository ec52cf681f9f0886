// LibTorch's macros for C++ attributes and for branch hints to the compiler.
#pragma once

#define C10_UNUSED [[maybe_unused]]
#define C10_NODISCARD [[nodiscard]]
#define C10_LIKELY(condition) (__builtin_expect(static_cast<bool>(condition), 1))
#define C10_UNLIKELY(condition) (__builtin_expect(static_cast<bool>(condition), 0))
#define C10_ALWAYS_INLINE inline __attribute__((always_inline))
#define C10_NOINLINE __attribute__((noinline))
#define C10_FALLTHROUGH [[fallthrough]]
#define C10_RESTRICT __restrict
#define C10_CONCATENATE_IMPL(a, b) a##b
#define C10_CONCATENATE(a, b) C10_CONCATENATE_IMPL(a, b)
#define C10_STRINGIZE_IMPL(text) #text
#define C10_STRINGIZE(text) C10_STRINGIZE_IMPL(text)
#define C10_UID __COUNTER__
#define C10_ANONYMOUS_VARIABLE(prefix) C10_CONCATENATE(prefix, C10_UID)

// Marks of functions that a shared library exports. Programs put them on their own classes; they have no effect here.
#define TORCH_API
#define TORCH_CUDA_CPP_API
#define TORCH_CUDA_CU_API
#define TORCH_XPU_API
#define C10_API
#define C10_CUDA_API
#define C10_EXPORT
#define C10_IMPORT
#define C10_HIDDEN
#ifdef __CUDACC__
#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#else
#define C10_HOST_DEVICE
#define C10_DEVICE
#define C10_HOST
#endif
