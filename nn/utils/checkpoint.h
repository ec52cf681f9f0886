// Activation checkpointing: to save memory, stores only the inputs of a function, and runs the function again in
// backward.
#pragma once
#include <type_traits>

#include "tandem/autograd/saved_tensors_hooks.h"
#include "tandem/core/option.h"
#include "tandem/core/owned_ptr.h"

namespace tandem::autograd::detail {

/// State of one call of checkpoint(): the data needed to run the function again, and the tensors recomputed for
/// backward.
class CheckpointFrame {
 public:
  using Run = std::function<void(const variable_list& inputs)>;
  /// @param inputs  tensor arguments of the function; stored like tensors that are saved for backward
  CheckpointFrame(const variable_list& inputs, bool preserve_rng_state, Run run);
  ~CheckpointFrame();
  CheckpointFrame(const CheckpointFrame&) = delete;
  /// Returns the saved-tensor hooks of the forward. They store a handle with the tensor's index instead of each tensor.
  static SavedTensorHooks hooks(const std::shared_ptr<CheckpointFrame>& frame);
  /// Marks the end of the forward.
  void finish_forward();

 private:
  struct Impl;
  tandem::detail::OwnedPtr<Impl> impl_;
};
/// Whether this thread is running a checkpoint's function for the second time.
bool is_recomputing();
struct CheckpointGuard : graph::saved_tensors_hooks {
  explicit CheckpointGuard(const std::shared_ptr<CheckpointFrame>& frame) { push_hooks(CheckpointFrame::hooks(frame)); }
};

/// Stores an argument of a function that is run under checkpoint(). Tensors are stored in the CheckpointFrame, other
/// values in this object.
template <class T> struct CheckpointArgument {
  explicit CheckpointArgument(const T& value) : value_(value) {}
  static void append_tensors(const T&, variable_list&) {}
  const T& get(const variable_list&, size_t&) const { return value_; }

 private:
  T value_;
};
template <> struct CheckpointArgument<Tensor> {
  explicit CheckpointArgument(const Tensor&) {}
  static void append_tensors(const Tensor& tensor, variable_list& tensors) { tensors.push_back(tensor); }
  const Tensor& get(const variable_list& tensors, size_t& next) const { return tensors[next++]; }
};

}  // namespace tandem::autograd::detail

namespace tandem::nn::utils {

struct CheckpointOptions {
  /// If true, the second run draws the same random numbers as the first, for dropout.
  TANDEM_ARG(bool, preserve_rng_state) = true;
};

/// Calls function(arguments...) and saves only the arguments for backward. Backward runs the function again when it
/// needs the tensors that the function's operations would have saved. As PyTorch's `checkpoint` with
/// use_reentrant=False: all gradients, also of tensors that the function captures, equal those of a plain call. Side
/// effects of the function happen twice, such as batch norm's update of running statistics. Arguments are copied;
/// copies of tensors share their storage.
/// @throws Error in backward, if the second run saves tensors of other shapes or dtypes than the first, or if an
/// argument was changed in place
template <class F, class... Args>
auto checkpoint(const CheckpointOptions& options, F function, const Args&... arguments)
    -> std::invoke_result_t<F&, const std::decay_t<Args>&...> {
  namespace detail = tandem::autograd::detail;
  if (!is_grad_enabled()) return function(arguments...);
  std::vector<Tensor> tensors;
  (detail::CheckpointArgument<std::decay_t<Args>>::append_tensors(arguments, tensors), ...);
  auto run = [function, kept = std::make_tuple(detail::CheckpointArgument<std::decay_t<Args>>(arguments)...)](
                 const std::vector<Tensor>& inputs) mutable {
    std::apply(
        [&](const auto&... each) {
          size_t next = 0;
          const std::tuple<const std::decay_t<Args>&...> all{each.get(inputs, next)...};  // braces evaluate in order
          static_cast<void>(std::apply(function, all));
        },
        kept);
  };
  const auto frame = std::make_shared<detail::CheckpointFrame>(tensors, options.preserve_rng_state(), std::move(run));
  const detail::CheckpointGuard guard(frame);
  auto result = function(arguments...);
  frame->finish_forward();
  return result;
}
template <class F, class... Args>
requires(!std::is_same_v<F, CheckpointOptions>) auto checkpoint(F function, const Args&... arguments) {
  return checkpoint(CheckpointOptions(), std::move(function), arguments...);
}

}  // namespace tandem::nn::utils
