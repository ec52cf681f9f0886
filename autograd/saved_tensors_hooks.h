// Hooks on tensors saved for backward: to move them elsewhere, compress them, or write them to a file.
#pragma once
#include <any>
#include <type_traits>
#include <utility>

#include "tandem/autograd/node.h"

namespace tandem::autograd::graph {

/// While this guard lives, each tensor that an operation on this thread saves for backward is passed to `pack`, and the
/// result is kept instead of the tensor. Backward passes it to `unpack` at each use, which must return a tensor with
/// the same elements. Of nested guards, only the innermost applies. Hooks see the elements without history, are not
/// recorded, and may run on another thread in backward. In-place changes of a tensor after it was saved are not
/// detected.
///   saved_tensors_hooks guard([](const Tensor& x) { return x.to(kHalf); }, [](const Tensor& x) { return x.to(kFloat);
///   });
class saved_tensors_hooks {
 public:
  /// @param pack    const Tensor& -> any copyable type
  /// @param unpack  result of pack -> Tensor
  template <class Pack, class Unpack> saved_tensors_hooks(Pack pack, Unpack unpack) {
    using Packed = std::decay_t<std::invoke_result_t<Pack&, const Tensor&>>;
    detail::SavedTensorHooks hooks;
    hooks.pack = [pack = std::move(pack)](const Tensor& x) mutable { return std::any(Packed(pack(x))); };
    hooks.unpack = [unpack = std::move(unpack)](const std::any& packed) mutable -> Tensor {
      return unpack(std::any_cast<const Packed&>(packed));
    };
    push_hooks(std::move(hooks));
  }
  ~saved_tensors_hooks();
  saved_tensors_hooks(const saved_tensors_hooks&) = delete;

 protected:
  saved_tensors_hooks() = default;
  void push_hooks(detail::SavedTensorHooks hooks);

 private:
  std::shared_ptr<const detail::SavedTensorHooks> previous_hooks_;
};

/// While this guard lives, tensors saved for backward are kept in host memory, and copied back to their device when
/// backward needs them. @param pin_memory  use page-locked memory for tensors of GPUs, which is faster to copy
class save_on_cpu : public saved_tensors_hooks {
 public:
  explicit save_on_cpu(bool pin_memory = false);
};

}  // namespace tandem::autograd::graph
