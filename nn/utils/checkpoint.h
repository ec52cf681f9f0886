// Checkpoints: a part of a forward that keeps its inputs alone, and runs again in backward. Memory for time.
#pragma once
#include <type_traits>

#include "tandem/autograd/saved_tensors_hooks.h"
#include "tandem/core/option.h"
#include "tandem/core/owned.h"

namespace tandem::autograd::detail {

/// One call of checkpoint(): what it takes to run its function again, and what that saved, while a backward needs it.
class CheckpointFrame {
 public:
  using Run = std::function<void(const variable_list& inputs)>;
  /// @param inputs  the tensors that the function is called with, kept as tensors are that are saved for backward
  CheckpointFrame(const variable_list& inputs, bool preserve_rng_state, Run run);
  ~CheckpointFrame();
  CheckpointFrame(const CheckpointFrame&) = delete;
  /// The hooks of the forward: they keep nothing of a tensor but its number.
  static SavedTensorHooks hooks(const std::shared_ptr<CheckpointFrame>& frame);
  /// The forward has come to its end.
  void finish();

 private:
  struct Members;
  tandem::detail::Owned<Members> members_;
};
/// Whether this thread is in the second run of a checkpoint's function.
bool is_second_run();
struct CheckpointGuard : graph::saved_tensors_hooks {
  explicit CheckpointGuard(const std::shared_ptr<CheckpointFrame>& frame) { enter(CheckpointFrame::hooks(frame)); }
};

/// An argument of a checkpoint's function: tensors are kept by the frame, in order, others here.
template <class T> struct CheckpointArgument {
  explicit CheckpointArgument(const T& value) : value_(value) {}
  static void list(const T&, variable_list&) {}
  const T& get(const variable_list&, size_t&) const { return value_; }

 private:
  T value_;
};
template <> struct CheckpointArgument<Tensor> {
  explicit CheckpointArgument(const Tensor&) {}
  static void list(const Tensor& tensor, variable_list& tensors) { tensors.push_back(tensor); }
  const Tensor& get(const variable_list& tensors, size_t& next) const { return tensors[next++]; }
};

}  // namespace tandem::autograd::detail

namespace tandem::nn::utils {

struct CheckpointOptions {
  /// Whether the second run draws the random numbers of the first, for dropout.
  TANDEM_ARG(bool, preserve_rng_state) = true;
};

/// function(arguments...), of which nothing is kept for backward but the arguments: backward runs the function once
/// more when it needs what the function's operations would have saved. PyTorch's `checkpoint` with use_reentrant=False:
/// the gradients are those of a plain call, of tensors that the function captures too. What the function does besides,
/// such as batch norm's counting of averages, it does twice. Arguments are copied, tensors among them as handles.
/// @throws Error  in backward, when the second run does not save tensors of the shapes and dtypes of the first, or when
///                an argument was changed in place
template <class F, class... Args>
auto checkpoint(const CheckpointOptions& options, F function, const Args&... arguments)
    -> std::invoke_result_t<F&, const std::decay_t<Args>&...> {
  namespace detail = tandem::autograd::detail;
  if (!is_grad_enabled()) return function(arguments...);
  std::vector<Tensor> tensors;
  (detail::CheckpointArgument<std::decay_t<Args>>::list(arguments, tensors), ...);
  auto run = [function, kept = std::make_tuple(detail::CheckpointArgument<std::decay_t<Args>>(arguments)...)](
                 const std::vector<Tensor>& inputs) mutable {
    std::apply(
        [&](const auto&... each) {
          size_t next = 0;
          const std::tuple<const std::decay_t<Args>&...> all{each.get(inputs, next)...};  // in braces: in this order
          static_cast<void>(std::apply(function, all));
        },
        kept);
  };
  const auto frame = std::make_shared<detail::CheckpointFrame>(tensors, options.preserve_rng_state(), std::move(run));
  const detail::CheckpointGuard guard(frame);
  auto result = function(arguments...);
  frame->finish();
  return result;
}
template <class F, class... Args>
requires(!std::is_same_v<F, CheckpointOptions>) auto checkpoint(F function, const Args&... arguments) {
  return checkpoint(CheckpointOptions(), std::move(function), arguments...);
}

}  // namespace tandem::nn::utils
