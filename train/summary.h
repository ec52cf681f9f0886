// summary: a table of the modules of a network, with output shapes, parameters and multiply-adds.
#pragma once
#include "tandem/core/owned_ptr.h"
#include "tandem/parallel/data_parallel.h"

namespace tandem::train {

/// A module in a Summary. Its numbers include its descendants.
struct SummaryRow {
  /// Name in the network, such as "layers.0"; "" for the network itself.
  std::string name;
  /// Class, such as "Linear".
  std::string type;
  /// Number of modules above it.
  int depth = 0;
  /// Sizes of the tensors that its first call returned; empty if it was not called.
  std::vector<std::vector<int64_t>> output_sizes = {};
  /// Number of elements of its parameters. A shared parameter counts once.
  int64_t parameters = 0;
  /// Multiplications with an addition in matrix products, convolutions and attention, in all its calls.
  int64_t multiply_adds = 0;
};

/// The modules of a network, parents first. Prints as a table.
struct Summary {
  /// The network and all its descendants.
  std::vector<SummaryRow> rows;
  /// Number of elements of the parameters that require a gradient.
  int64_t trainable_parameters = 0;
  /// Bytes of all parameters.
  int64_t parameter_bytes = 0;
};
/// Prints a line for each module, and the totals.
std::ostream& operator<<(std::ostream& out, const Summary& summary);

namespace detail {
/// Records the calls of a module and its descendants until finish(). The module is in evaluation mode meanwhile.
class SummaryRecorder {
 public:
  explicit SummaryRecorder(nn::Module& module);
  ~SummaryRecorder();
  SummaryRecorder(const SummaryRecorder&) = delete;
  Summary finish();

 private:
  struct State;
  tandem::detail::OwnedPtr<State> state_;
};
}  // namespace detail

/// Calls a module once, in evaluation mode and without gradients, and returns the summary:
///
///     std::cout << train::summary(net, zeros({1, 784}));
///
/// Neither random numbers nor buffers nor modes change.
/// @param module  a handle, a shared pointer, or a reference
/// @param inputs  the arguments of its forward()
template <class M, class... Inputs> Summary summary(M&& module, const Inputs&... inputs) {
  const nn::parallel::detail::ModuleRef<nn::parallel::detail::ModuleOfT<M>> ref(std::forward<M>(module));
  detail::SummaryRecorder recorder(*ref.ptr);
  tandem::detail::call_module(*ref.ptr, inputs...);
  return recorder.finish();
}

}  // namespace tandem::train
