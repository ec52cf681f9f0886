// The one doorway to kernels: TANDEM_DISPATCH(device, op, args...) calls kernels::cpu::op or kernels::cuda::op.
#pragma once
#include <atomic>

#include "tandem/core/tensor.h"

namespace tandem::detail {

/// A type-erased call, and what the doorway's cold side may want to know of it.
struct DispatchedCall {
  const char* op;
  Device device;
  void (*invoke)(void*);
  void* closure;
  const Tensor* tensors[8];
  int tensor_count;
};
/// True while operations are traced; the hot path compares it and goes on.
inline std::atomic<bool> dispatch_observed{false};
/// Runs the call between two time stamps and files the event. Cold.
void observed_dispatch(const DispatchedCall& call);
[[noreturn]] void throw_built_without_cuda(const char* op);

template <class T> void collect_tensor(DispatchedCall& call, const T& argument) {
  if constexpr (std::is_same_v<T, Tensor>) {
    if (argument.defined() && call.tensor_count < 8) call.tensors[call.tensor_count++] = &argument;
  }
}
template <class F, class... Args> void dispatch(const char* op, Device device, F&& run, const Args&... args) {
  if (!dispatch_observed.load(std::memory_order_relaxed)) [[likely]]
    return run();
  DispatchedCall call{op, device, [](void* f) { (*static_cast<std::remove_reference_t<F>*>(f))(); }, &run, {}, 0};
  (collect_tensor(call, args), ...);
  observed_dispatch(call);
}

}  // namespace tandem::detail

#if defined(TANDEM_HAS_CUDA) && TANDEM_HAS_CUDA
#define TANDEM_CUDA_CALL(op, ...) ::tandem::kernels::cuda::op(__VA_ARGS__)
#else
#define TANDEM_CUDA_CALL(op, ...) ::tandem::detail::throw_built_without_cuda(#op)
#endif
#define TANDEM_DISPATCH(on, op, ...)               \
  ::tandem::detail::dispatch(                      \
      #op, (on),                                   \
      [&] {                                        \
        if ((on).is_cpu()) [[likely]]              \
          ::tandem::kernels::cpu::op(__VA_ARGS__); \
        else                                       \
          TANDEM_CUDA_CALL(op, __VA_ARGS__);       \
      },                                           \
      __VA_ARGS__)
