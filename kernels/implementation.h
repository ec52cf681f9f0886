// Ordered lists of the implementations of an operation. The first implementation that supports a problem computes it,
// as in oneDNN.
#pragma once
#include <cstddef>
#include <iterator>
#include <utility>

#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::kernels {

/// One implementation of an operation.
template <class Result, class Problem, class... Operands> struct Implementation {
  const char* name;
  /// Returns whether `run` may be called for the problem.
  bool (*supports)(const Problem& problem);
  /// Computes the result. On failure returns false, a null pointer or an undefined tensor. (Some libraries report that
  /// they do not support a problem only when they are called.)
  Result (*run)(const Problem& problem, Operands... operands);
};

/// Condition of an implementation that serves every problem.
template <class Problem> bool supports_every_problem(const Problem&) { return true; }

template <class Result> bool has_result(const Result& result) { return static_cast<bool>(result); }
inline bool has_result(const Tensor& result) { return result.defined(); }

/// Runs the implementations of `list` that serve the problem, in order, until one of them returns a result. The list is
/// a template argument, so that the compiler inlines the conditions.
template <const auto& list, class Problem, class... Operands>
auto run_first_supported(const Problem& problem, Operands&&... operands) {
  decltype(list[0].run(problem, operands...)) result{};
  const auto serve = [&]<size_t... i>(std::index_sequence<i...>) {
    return ((list[i].supports(problem) && has_result(result = list[i].run(problem, operands...))) || ...);
  };
  TANDEM_CHECK(serve(std::make_index_sequence<std::size(list)>()),
               "internal error: no implementation accepts these arguments; the last one tried is ",
               std::rbegin(list)->name, "; please report it");
  return result;
}

}  // namespace tandem::kernels
