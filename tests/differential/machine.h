// Runs a program, step by step, and tells all that can be seen of it.
#pragma once
#include <nlohmann/json.hpp>

#include "tandem/tests/differential/op_table.h"

namespace tandem::differential {

using Json = nlohmann::json;

/// A list of steps, ["op", arguments...]; a step that failed leaves nothing, and the program goes on. Steps that are no
/// op of the table:
///   ["make", dtype, sizes, strides or null, values (repeated as often as it takes), requires_grad]
///   ["hook", tensor, "look" or "double"]
///   ["no_grad:op", ...] runs op without recording
///   null is a step that was taken out
class Machine {
 public:
  /// @param planted  the name of a defect that falsifies what some ops give ("" for none): injected_fault.h
  Machine(Device device, std::string planted) : device_(device), planted_(std::move(planted)) {}
  /// {"errors": [what each step threw, or null], "values": {"3": tensor, "4.1": ...}, "grads": {"3": ...},
  ///  "hooks": {"5": [the gradients that the hook of step 5 saw]}}, where a tensor is
  /// [dtype, sizes, strides, flags, the first value with the same storage, the first that is the same, values], with
  /// null for what no program should rely on: the strides of a contiguous tensor (PyTorch's may keep those of its
  /// inputs; every view of ours is legal), and whether a gradient is a copy. The flags: r requires_grad, l leaf, v a
  /// view, which is told only of what histories depend on: floating-point results, no gradients, of programs without
  /// no_grad, that share the storage of another, earlier value. PyTorch composes repeat_interleave, inner and the
  /// losses of positions so that their results are views of a tensor that nobody can reach, and no history depends on
  /// that.
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
  bool recorded_ = true;  // no step ran without recording
};

/// The C++ text of a program.
std::string cpp_text(const Json& steps);

}  // namespace tandem::differential
