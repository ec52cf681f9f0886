// Random numbers of many distributions. All come from the device's generator (core/generator.h), Philox's stream: the
// same seed gives the same numbers, whatever the number of threads. Each function takes from the stream what the result
// has elements, but multinomial without replacement, which takes one number for each probability. What is made of
// uniform numbers by comparison is the same on every device, bit by bit; what goes through a logarithm or a tangent is
// the same up to rounding. Parameters that are tensors get a gradient of zero, as in PyTorch: to differentiate by them
// write mean + std * randn_like(mean). Values outside of their range are refused where they lie on the host, unless a
// Graph records.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// 1 with the probability that x's elements (floating point) say, else 0; of x's dtype. With p, one number or a tensor
/// that broadcasts to x, x gives shape and dtype only.
inline Tensor bernoulli(const Tensor& x) { return x.bernoulli(); }
inline Tensor bernoulli(const Tensor& x, double p) { return x.bernoulli(p); }
inline Tensor bernoulli(const Tensor& x, const Tensor& p) { return x.bernoulli(p); }
/// num_samples positions, int64, drawn with the probabilities of x (n) or of each row of x (rows, n), which need not
/// add up to 1: with replacement, or each at most once. @throws Error unless num_samples is from 1 to n, or above 0
inline Tensor multinomial(const Tensor& x, int64_t num_samples, detail::Flag replacement = false) {
  return x.multinomial(num_samples, replacement);
}
/// Normal numbers; mean and std broadcast.
Tensor normal(const Tensor& mean, double std = 1);
Tensor normal(double mean, const Tensor& std);
Tensor normal(const Tensor& mean, const Tensor& std);
Tensor normal(double mean, double std, IntArrayRef sizes, const TensorOptions& options = {});
/// How often something happens whose expected number is each element of x; of x's dtype. The host draws: by products of
/// uniform numbers below 10, else by transformed rejection (Hoermann 1993, Insurance: Mathematics and Economics 12).
Tensor poisson(const Tensor& x);
/// How many of `count` trials succeed, each with probability prob; both of one floating dtype, and broadcast. The host
/// draws: by waiting times where few are expected, else by transformed rejection (Hoermann 1993, J. Stat. Comput.
/// Simul. 46).
Tensor binomial(const Tensor& count, const Tensor& prob);
// Of x's shape and dtype; the methods of these names with a _ at their end draw into x itself.

/// Numbers with the density lambd e^(-lambd y).
Tensor exponential(const Tensor& x, double lambd = 1);
/// Which trial is the first to succeed, each with probability p: from 1 on.
Tensor geometric(const Tensor& x, double p);
/// median + sigma tan(pi (u - 0.5)), u uniform in (0, 1).
Tensor cauchy(const Tensor& x, double median = 0, double sigma = 1);
/// e^z with z normal, of this mean and deviation.
Tensor log_normal(const Tensor& x, double mean = 1, double std = 2);
/// Uniform in [from, to).
Tensor uniform(const Tensor& x, double from = 0, double to = 1);
/// Integers in [from, to); without `to` up to the largest that the dtype holds (a floating dtype: holds exactly).
Tensor random(const Tensor& x, int64_t from, std::optional<int64_t> to);
Tensor random(const Tensor& x, int64_t to);
Tensor random(const Tensor& x);

}  // namespace tandem
