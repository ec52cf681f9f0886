// A line search for the strong Wolfe conditions. Internal.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::optim::detail {

/// A point x + t * d on the line from x in direction d.
struct LinePoint {
  double t = 0;                       // step along the direction
  double loss = 0;                    // f(x + t * d)
  Tensor gradient;                    // gradient of f at the point, as one vector
  double directional_derivative = 0;  // dot product of gradient and d
};

/// Searches a step t along a direction that decreases the loss sufficiently (f(t) <= f(0) + 1e-4 * t * slope(0)) and
/// flattens the slope (|slope(t)| <= 0.9 * |slope(0)|): Nocedal and Wright 2006, "Numerical Optimization", algorithms
/// 3.5 and 3.6, with cubic interpolation, as PyTorch's LBFGS does.
/// @param evaluate     returns the point at t; called at most max_rounds + 1 times
/// @param start        the point at t = 0
/// @param t            first step to try
/// @param largest      largest element of |d|; a bracket shorter than 1e-9 / largest is not divided further
/// @param max_rounds   limit for the rounds of both phases together
/// @param evaluations  incremented for each call of `evaluate`
/// @return the best point found
LinePoint strong_wolfe(const std::function<LinePoint(double t)>& evaluate, const LinePoint& start, double t,
                       double largest, int64_t max_rounds, int64_t& evaluations);

}  // namespace tandem::optim::detail
