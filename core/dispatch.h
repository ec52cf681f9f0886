// Dispatch to kernels: TANDEM_DISPATCH(device, op, args...) calls kernels::cpu::op or kernels::cuda::op.
#pragma once
#include <type_traits>

#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// Tensors that an observed kernel call reads and writes.
struct CallTensors {
  std::vector<const Tensor*> reads, writes;

  /// Adds the tensors of a kernel argument. P is the type of the kernel's parameter: if it is a non-const reference,
  /// the kernel writes the tensors, else it reads them.
  template <class P, class A> void add_argument(const A& argument) {
    using Plain = std::remove_cvref_t<P>;
    auto& list = std::is_lvalue_reference_v<P> && !std::is_const_v<std::remove_reference_t<P>> ? writes : reads;
    if constexpr (std::is_same_v<Plain, Tensor>) {
      if (argument.defined()) list.push_back(&argument);
    } else if constexpr (std::is_same_v<Plain, std::vector<Tensor>>) {
      for (const Tensor& t : argument)
        if (t.defined()) list.push_back(&t);
    }
  }
};
[[gnu::cold]] void dispatch_to_observer(const char* op, Device device, const CallTensors& tensors,
                                        void (*invoke)(void*), void* closure);
[[noreturn]] void throw_built_without_cuda(const char* op);

/// Runs a kernel call, or passes it to this thread's observer (such as a Graph that records) if there is one. P are the
/// types of the kernel's parameters.
template <class F, class... P, class... A>
void dispatch(const char* op, Device device, F&& run, std::type_identity<void(P...)>, const A&... args) {
  if (!ThreadContext::current().observer) [[likely]]
    return run();
  CallTensors tensors;
  (tensors.add_argument<P>(args), ...);
  dispatch_to_observer(
      op, device, tensors, [](void* f) { (*static_cast<std::remove_reference_t<F>*>(f))(); }, &run);
}

}  // namespace tandem::detail

#if defined(TANDEM_HAS_CUDA) && TANDEM_HAS_CUDA
#define TANDEM_CALL_CUDA_KERNEL(op, ...) ::tandem::kernels::cuda::op(__VA_ARGS__)
#else
#define TANDEM_CALL_CUDA_KERNEL(op, ...) ::tandem::detail::throw_built_without_cuda(#op)
#endif
#define TANDEM_DISPATCH(on, op, ...)                \
  ::tandem::detail::dispatch(                       \
      #op, (on),                                    \
      [&] {                                         \
        if ((on).is_cpu()) [[likely]]               \
          ::tandem::kernels::cpu::op(__VA_ARGS__);  \
        else                                        \
          TANDEM_CALL_CUDA_KERNEL(op, __VA_ARGS__); \
      },                                            \
      std::type_identity<decltype(::tandem::kernels::cpu::op)>(), __VA_ARGS__)
/// Calls a kernel that exists only for CUDA.
#define TANDEM_DISPATCH_CUDA(on, op, ...)                           \
  ::tandem::detail::dispatch(                                       \
      #op, (on), [&] { TANDEM_CALL_CUDA_KERNEL(op, __VA_ARGS__); }, \
      std::type_identity<decltype(::tandem::kernels::cuda::op)>(), __VA_ARGS__)
/// Calls a kernel that runs on the host for tensors of any device, for example a LAPACK routine.
#define TANDEM_DISPATCH_HOST(on, op, ...)                          \
  ::tandem::detail::dispatch(                                      \
      #op, (on), [&] { ::tandem::kernels::cpu::op(__VA_ARGS__); }, \
      std::type_identity<decltype(::tandem::kernels::cpu::op)>(), __VA_ARGS__)
