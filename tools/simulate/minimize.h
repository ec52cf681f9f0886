// Finds the least value of a function of a few numbers, by its values alone.
#pragma once
#include <functional>
#include <vector>

namespace tandem::simulate {

/// Nelder and Mead's simplex (1965), from `start` with steps of `step` in each direction, started again once from where
/// it ended, which frees it from a simplex that became flat. Deterministic. @return where the least value was found
std::vector<double> minimize(const std::function<double(const std::vector<double>&)>& f, std::vector<double> start,
                             double step = 0.3, int iterations = 600);

}  // namespace tandem::simulate
