// Checks whether a module's parameters are still those of an earlier list, without building their names.
#include "tandem/nn/module/match_parameters.h"

#include <algorithm>

#include "tandem/core/internal.h"

namespace tandem::nn {
namespace {
/// Returns whether the parameters of `m` and its descendants are the next entries of `expected`. `known`: number of
/// entries found so far. A parameter that equals one of these entries is shared by several modules, and is skipped.
bool match_next_parameters(const Module& m, const NamedParameters& expected, size_t& known) {
  for (const auto& item : detail::ModuleAccess::parameters(m)) {
    if (!item->defined()) continue;
    if (known < expected.size() && expected[known]->is_same(item.value())) {
      ++known;
      continue;
    }
    const auto end = expected.begin() + static_cast<std::ptrdiff_t>(known);
    if (std::none_of(expected.begin(), end, [&](const auto& met) { return met->is_same(item.value()); })) return false;
  }
  return std::all_of(m.named_children().begin(), m.named_children().end(),
                     [&](const auto& child) { return match_next_parameters(*child.value(), expected, known); });
}
}  // namespace

bool has_same_parameters(const Module& module, const NamedParameters& expected) {
  size_t known = 0;
  return match_next_parameters(module, expected, known) && known == expected.size();
}

}  // namespace tandem::nn
