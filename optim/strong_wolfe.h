// A line search for the strong Wolfe conditions. Internal.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::optim::detail {

/// A point x + t d of a line.
struct LinePoint {
  double t = 0;      // how far along the direction
  double loss = 0;   // f there
  Tensor gradient;   // of f, flat
  double slope = 0;  // gradient . d
};

/// Looks for a step along a direction that lowers the loss enough (f(t) <= f(0) + 1e-4 t slope(0)) where the slope has
/// flattened (|slope(t)| <= 0.9 |slope(0)|): Nocedal and Wright 2006, "Numerical Optimization", algorithms 3.5 and 3.6,
/// with cubic interpolation, as PyTorch's LBFGS does it.
/// @param evaluate  the point at t; called once more than there are rounds at the most
/// @param start  the point at 0
/// @param t  the first step to try
/// @param largest  the largest element of |d|: a bracket that is shorter than 1e-9 over it is not divided further
/// @param max_rounds  of both phases together
/// @param evaluations  raised by one for each call of `evaluate`
/// @return the best point that was found
LinePoint strong_wolfe(const std::function<LinePoint(double t)>& evaluate, const LinePoint& start, double t,
                       double largest, int64_t max_rounds, int64_t& evaluations);

}  // namespace tandem::optim::detail
