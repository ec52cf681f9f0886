// Runs a program of the differential tests step by step, and reports everything observable about its tensors.
#pragma once
#include <nlohmann/json.hpp>

#include "tandem/tests/differential/op_table.h"

namespace tandem::differential {

using Json = nlohmann::json;

/// Runs lists of steps, ["op", arguments...]. If a step throws, it has no result and the program continues. These steps
/// are not ops of the table:
///   ["make", dtype, sizes, strides or null, values (repeated until the tensor is full), requires_grad]
///   ["hook", tensor, "look" or "double"]
///   ["no_grad:op", ...] runs op without grad mode
///   null is a step that was removed
class Machine {
 public:
  /// @param planted  name of a deliberate defect that changes the results of some ops; "" for none (see plant())
  Machine(Device device, std::string planted) : device_(device), planted_(std::move(planted)) {}
  /// Runs the steps. Returns {"errors": [each step's error message, or null], "values": {"3": tensor, "4.1": ...},
  ///   "grads": {"3": ...}, "hooks": {"5": [gradients that the hook of step 5 got]}}. A tensor is reported as
  ///   [dtype, sizes, strides, flags, first value with the same storage, first value that is the same tensor, values].
  /// Properties that programs should not rely on are null: strides of a contiguous tensor (PyTorch may keep those of
  /// its inputs, and all views are valid), and whether a gradient is a copy. Flags are r (requires_grad), l (leaf) and
  /// v (view). The flag v is only reported where autograd depends on it: for floating-point results that share storage
  /// with an earlier value, in programs without no_grad, and not for gradients. PyTorch composes repeat_interleave,
  /// inner and some losses in a way that returns a view of an unreachable tensor, which does not affect autograd.
  Json run(const Json& steps);

 private:
  std::vector<Tensor> step(size_t number, const Json& step);
  Tensor make(const Values& arguments) const;
  Tensor find(const std::string& name) const;
  Json seen(const std::string& name, const Tensor& t, bool gradient) const;
  Json log_entry(const Tensor& grad) const;

  Device device_;
  std::string planted_;
  std::vector<std::pair<std::string, Tensor>> values_;  // in the order of the steps
  Json hooks_ = Json::object();
  bool recorded_ = true;  // true if all steps so far ran in grad mode
};

/// Returns the C++ text of a program.
std::string cpp_text(const Json& steps);

}  // namespace tandem::differential
