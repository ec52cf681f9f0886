// Compares gradients with finite differences, element by element, in float64.
#pragma once
#include "tandem/autograd/node.h"

namespace tandem::autograd {

namespace detail {
using GradcheckFunction = std::function<variable_list(const variable_list&)>;
}

/// Checks the gradients of every floating output of `f` with respect to every input that requires one, against central
/// differences (f(x + eps) - f(x - eps)) / 2 eps.
/// @throws Error naming input, element, numeric and analytic value when they differ by more than atol + rtol |numeric|,
///         or when an input that requires a gradient is not contiguous float64 on the CPU, or a floating output is not
///         float64 on the CPU
bool gradcheck(const detail::GradcheckFunction& f, const variable_list& inputs, double eps = 1e-6, double atol = 1e-5,
               double rtol = 1e-3);
/// Applies gradcheck to the gradients of `f`, as functions of the inputs and of fixed, arbitrary output gradients.
bool gradgradcheck(const detail::GradcheckFunction& f, const variable_list& inputs, double eps = 1e-6,
                   double atol = 1e-5, double rtol = 1e-3);

}  // namespace tandem::autograd
