// saved_tensors_hooks and save_on_cpu: set the thread's pack and unpack functions while the guard lives.
#include "tandem/autograd/saved_tensors_hooks.h"

#include "tandem/core/internal.h"

namespace tandem::autograd::graph {

void saved_tensors_hooks::push_hooks(SavedTensorHooks hooks) {
  previous_hooks_ = std::exchange(ThreadContext::current().saved_tensor_hooks,
                                  std::make_shared<const SavedTensorHooks>(std::move(hooks)));
}
saved_tensors_hooks::~saved_tensors_hooks() {
  ThreadContext::current().saved_tensor_hooks = std::move(previous_hooks_);
}

save_on_cpu::save_on_cpu(bool pin_memory) {
  struct HostCopy {
    Tensor host_tensor;
    Device device;
  };
  SavedTensorHooks hooks;
  hooks.pack = [pin_memory](const Tensor& x) -> std::any {
    if (x.is_cpu()) return HostCopy{x, x.device()};
    if (!pin_memory) return HostCopy{x.to(kCPU), x.device()};
    const Shape strides = core::strides_like(x, MemoryFormat::Preserve);
    return HostCopy{core::empty_pinned(x.sizes(), x.dtype(), kCPU, &strides).copy_(x), x.device()};
  };
  hooks.unpack = [](const std::any& packed) {
    const HostCopy& moved = std::any_cast<const HostCopy&>(packed);
    return moved.host_tensor.to(moved.device);
  };
  push_hooks(std::move(hooks));
}

}  // namespace tandem::autograd::graph
