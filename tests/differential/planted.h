// Puts deliberate defects into results, like defects that the library once had, to test that the search finds them.
#pragma once
#include "tandem/tests/differential/op_table.h"

namespace tandem::differential {

/// Changes the result of `op` if the defect `planted` applies to it:
///   alias     repeat() with ones only returns its input
///   gradient  at equal operands of maximum or minimum, each operand gets the whole gradient instead of half
///   value     std of equal elements is NaN
///   crash     max_pool2d with a dilation ends the process
/// @throws Missing if `planted` has another name
inline void plant(const std::string& planted, const std::string& op, const Values& arguments, const Lookup& find,
                  std::vector<Tensor>& made) {
  if (made.empty()) return;
  if (planted == "alias") {
    const auto is_one = [](const Value& v) { return v.integer == 1; };
    const bool ones = op == "repeat" && std::all_of(arguments[1].list.begin(), arguments[1].list.end(), is_one);
    if (ones && made[0].dim() == find(arguments[0].text).dim()) made[0] = find(arguments[0].text);
  } else if (planted == "gradient") {
    if ((op != "maximum" && op != "minimum") || !made[0].requires_grad()) return;
    const Tensor ties = find(arguments[0].text).detach() == find(arguments[1].text).detach();
    made[0].register_hook([ties](const Tensor& grad) { return where(ties, grad * 2, grad); });
  } else if (planted == "value") {
    if (!op.starts_with("std") || !made[0].is_floating_point()) return;
    const NoGradGuard guard;
    made[0].data().masked_fill_(made[0].detach() == 0, std::numeric_limits<double>::quiet_NaN());
  } else if (planted == "crash") {
    if (op == "max_pool2d" && arguments[4].list.at(0).integer > 1) std::abort();
  } else {
    throw Missing("no planted defect is called " + planted);
  }
}

}  // namespace tandem::differential
