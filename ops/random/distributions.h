// Random numbers of distributions: exponential, geometric, cauchy, and exponential_, geometric_, cauchy_. All random
// numbers come from the device's generator (core/generator.h), Philox's stream: the same seed gives the same numbers,
// whatever the number of threads. Each function takes from the stream what the result has elements, but multinomial
// without replacement, which takes one number for each probability. What is made of uniform numbers by comparison is
// the same on every device, bit by bit; what goes through a logarithm or a tangent is the same up to rounding.
// Parameters that are tensors get a gradient of zero, as in PyTorch. Values outside of their range are refused where
// they lie on the host, unless a Graph records.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// Of x's shape and dtype; the methods of these names with a _ at their end draw into x itself.

/// Numbers with the density lambd e^(-lambd y).
Tensor exponential(const Tensor& x, double lambd = 1);
/// Which trial is the first to succeed, each with probability p: from 1 on.
Tensor geometric(const Tensor& x, double p);
/// median + sigma tan(pi (u - 0.5)), u uniform in (0, 1).
Tensor cauchy(const Tensor& x, double median = 0, double sigma = 1);

}  // namespace tandem
