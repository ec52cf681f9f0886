// Minimises a function of a few variables without derivatives.
#pragma once
#include <functional>
#include <vector>

namespace tandem::simulate {

/// Runs the downhill simplex method of Nelder and Mead (1965) from `start`, with initial steps of `step` in each
/// direction. Then runs it again from the result, because a simplex can become degenerate and stop early.
/// Deterministic.
/// @return the point with the least value found
std::vector<double> minimize(const std::function<double(const std::vector<double>&)>& f, std::vector<double> start,
                             double step = 0.3, int iterations = 600);

}  // namespace tandem::simulate
