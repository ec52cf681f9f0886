// Random numbers of several distributions: exponential, geometric, cauchy, and in-place versions exponential_,
// geometric_, cauchy_. All random numbers come from the Philox stream of the device's generator (core/generator.h): the
// same seed gives the same numbers for any number of threads. Each function takes as many numbers from the stream as
// the result has elements, except multinomial without replacement, which takes one for each probability. Numbers that
// are made from uniform numbers by comparison are bitwise equal on all devices; those that involve a logarithm or
// tangent are equal up to rounding errors. Tensor parameters get a gradient of zero, as in PyTorch. Parameters out of
// range are errors if they are on the host, unless a Graph records.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// Results have x's shape and dtype. The methods exponential_, geometric_ and cauchy_ write into x itself.

/// Returns numbers with the density lambd e^(-lambd y).
Tensor exponential(const Tensor& x, double lambd = 1);
/// Returns the number of trials, 1 or more, until the first success, where each trial succeeds with probability p.
Tensor geometric(const Tensor& x, double p);
/// Returns median + sigma tan(pi (u - 0.5)) with u uniform in [0, 1).
Tensor cauchy(const Tensor& x, double median = 0, double sigma = 1);

}  // namespace tandem
