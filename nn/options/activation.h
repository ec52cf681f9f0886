// Options of activations.
#pragma once
#include <cstdint>
#include <string>

#include "tandem/core/option.h"

namespace tandem::nn {

struct ReLUOptions {
  ReLUOptions(bool inplace = false) : inplace_(inplace) {}
  TANDEM_ARG(bool, inplace);  // whether the input itself is changed
};
struct LeakyReLUOptions {
  LeakyReLUOptions(double slope = 0.01) : negative_slope_(slope) {}
  TANDEM_ARG(double, negative_slope);  // the factor below 0
  TANDEM_ARG(bool, inplace) = false;   // whether the input itself is changed
};
/// approximate: "none" or "tanh", see gelu.
struct GELUOptions {
  TANDEM_ARG(std::string, approximate) = "none";  // "none" or "tanh"
};
struct ELUOptions {
  ELUOptions(double alpha = 1) : alpha_(alpha) {}
  TANDEM_ARG(double, alpha);          // the limit below 0, negated
  TANDEM_ARG(bool, inplace) = false;  // whether the input itself is changed
};
struct SELUOptions {
  SELUOptions(bool inplace = false) : inplace_(inplace) {}
  TANDEM_ARG(bool, inplace);  // whether the input itself is changed
};
using ReLU6Options = SELUOptions;
struct HardswishOptions {
  HardswishOptions(bool inplace = false) : inplace_(inplace) {}
  TANDEM_ARG(bool, inplace);  // if true, overwrites the input
};
using HardsigmoidOptions = HardswishOptions;
struct CELUOptions {
  CELUOptions(double alpha = 1) : alpha_(alpha) {}
  TANDEM_ARG(double, alpha);          // the limit below 0, negated
  TANDEM_ARG(bool, inplace) = false;  // whether the input itself is changed
};
struct HardshrinkOptions {
  HardshrinkOptions(double lambda = 0.5) : lambda_(lambda) {}
  TANDEM_ARG(double, lambda);  // the bound
};
struct SoftshrinkOptions {
  SoftshrinkOptions(double lambda = 0.5) : lambda_(lambda) {}
  TANDEM_ARG(double, lambda);  // the bound
};
struct HardtanhOptions {
  TANDEM_ARG(double, min_val) = -1;   // the lower bound
  TANDEM_ARG(double, max_val) = 1;    // the upper bound
  TANDEM_ARG(bool, inplace) = false;  // whether the input itself is changed
};
struct PReLUOptions {
  TANDEM_ARG(int64_t, num_parameters) = 1;  // 1, or one for each channel
  TANDEM_ARG(double, init) = 0.25;          // the first value of each weight
};
struct RReLUOptions {
  TANDEM_ARG(double, lower) = 1.0 / 8;  // the smallest slope
  TANDEM_ARG(double, upper) = 1.0 / 3;  // above the largest slope
  TANDEM_ARG(bool, inplace) = false;    // whether the input itself is changed
};
struct SoftplusOptions {
  TANDEM_ARG(double, beta) = 1;        // x is multiplied by it first
  TANDEM_ARG(double, threshold) = 20;  // of beta x: above, x itself
};
struct ThresholdOptions {
  ThresholdOptions(double threshold, double value) : threshold_(threshold), value_(value) {}
  TANDEM_ARG(double, threshold);      // what passes is above it
  TANDEM_ARG(double, value);          // what takes the place of the others
  TANDEM_ARG(bool, inplace) = false;  // whether the input itself is changed
};
struct GLUOptions {
  GLUOptions(int64_t dim = -1) : dim_(dim) {}
  TANDEM_ARG(int64_t, dim);  // the dimension along which it works
};
struct SoftmaxOptions {
  SoftmaxOptions(int64_t dim) : dim_(dim) {}
  TANDEM_ARG(int64_t, dim);  // the dimension along which it works
};
using LogSoftmaxOptions = SoftmaxOptions;
using SoftminOptions = SoftmaxOptions;

}  // namespace tandem::nn
