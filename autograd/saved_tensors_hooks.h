// What is done with tensors that are saved for backward: moved elsewhere, compressed, written to a file.
#pragma once
#include <any>
#include <type_traits>
#include <utility>

#include "tandem/autograd/node.h"

namespace tandem::autograd::graph {

/// While one lives, each tensor that an operation on this thread saves for backward is given to `pack`, and what that
/// returns is kept in the tensor's place; backward gives it to `unpack`, at each use, and needs a tensor of the same
/// elements from it. Of several guards the innermost counts. The hooks see the elements without their history, record
/// nothing, and may run on another thread in backward; what is changed in place after it was saved goes unnoticed.
///   saved_tensors_hooks guard([](const Tensor& x) { return x.to(kHalf); }, [](const Tensor& x) { return x.to(kFloat);
///   });
class saved_tensors_hooks {
 public:
  /// @param pack    const Tensor& -> any copyable type
  /// @param unpack  what pack returned -> Tensor
  template <class Pack, class Unpack> saved_tensors_hooks(Pack pack, Unpack unpack) {
    using Packed = std::decay_t<std::invoke_result_t<Pack&, const Tensor&>>;
    detail::SavedTensorHooks hooks;
    hooks.pack = [pack = std::move(pack)](const Tensor& x) mutable { return std::any(Packed(pack(x))); };
    hooks.unpack = [unpack = std::move(unpack)](const std::any& packed) mutable -> Tensor {
      return unpack(std::any_cast<const Packed&>(packed));
    };
    enter(std::move(hooks));
  }
  ~saved_tensors_hooks();
  saved_tensors_hooks(const saved_tensors_hooks&) = delete;

 protected:
  saved_tensors_hooks() = default;
  void enter(detail::SavedTensorHooks hooks);

 private:
  std::shared_ptr<const detail::SavedTensorHooks> outer_;
};

/// While one lives, what is saved for backward lies in the host's memory, and comes back to its device when backward
/// needs it. @param pin_memory  page-locked memory, which is copied faster, for tensors of a GPU
class save_on_cpu : public saved_tensors_hooks {
 public:
  explicit save_on_cpu(bool pin_memory = false);
};

}  // namespace tandem::autograd::graph
