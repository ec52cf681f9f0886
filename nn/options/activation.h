// Options of activation functions and modules.
#pragma once
#include <cstdint>
#include <string>

#include "tandem/core/option.h"

namespace tandem::nn {

struct ReLUOptions {
  ReLUOptions(bool inplace = false) : inplace_(inplace) {}
  TANDEM_ARG(bool, inplace);  // if true, overwrites the input
};
struct LeakyReLUOptions {
  LeakyReLUOptions(double slope = 0.01) : negative_slope_(slope) {}
  TANDEM_ARG(double, negative_slope);  // slope for x below 0
  TANDEM_ARG(bool, inplace) = false;   // if true, overwrites the input
};
/// approximate: "none" or "tanh"; see tandem::gelu.
struct GELUOptions {
  TANDEM_ARG(std::string, approximate) = "none";  // "none" or "tanh"
};
struct ELUOptions {
  ELUOptions(double alpha = 1) : alpha_(alpha) {}
  TANDEM_ARG(double, alpha);          // the result tends to -alpha as x tends to minus infinity
  TANDEM_ARG(bool, inplace) = false;  // if true, overwrites the input
};
struct SELUOptions {
  SELUOptions(bool inplace = false) : inplace_(inplace) {}
  TANDEM_ARG(bool, inplace);  // if true, overwrites the input
};
using ReLU6Options = SELUOptions;
struct HardswishOptions {
  HardswishOptions(bool inplace = false) : inplace_(inplace) {}
  TANDEM_ARG(bool, inplace);  // if true, overwrites the input
};
using HardsigmoidOptions = HardswishOptions;
struct CELUOptions {
  CELUOptions(double alpha = 1) : alpha_(alpha) {}
  TANDEM_ARG(double, alpha);          // the result tends to -alpha as x tends to minus infinity
  TANDEM_ARG(bool, inplace) = false;  // if true, overwrites the input
};
struct HardshrinkOptions {
  HardshrinkOptions(double lambda = 0.5) : lambda_(lambda) {}
  TANDEM_ARG(double, lambda);  // elements in [-lambda, lambda] become 0
};
struct SoftshrinkOptions {
  SoftshrinkOptions(double lambda = 0.5) : lambda_(lambda) {}
  TANDEM_ARG(double, lambda);  // elements in [-lambda, lambda] become 0; others move towards 0 by lambda
};
struct HardtanhOptions {
  TANDEM_ARG(double, min_val) = -1;   // lower bound
  TANDEM_ARG(double, max_val) = 1;    // upper bound
  TANDEM_ARG(bool, inplace) = false;  // if true, overwrites the input
};
struct PReLUOptions {
  TANDEM_ARG(int64_t, num_parameters) = 1;  // number of weights: 1, or one per channel
  TANDEM_ARG(double, init) = 0.25;          // initial value of each weight
};
struct RReLUOptions {
  TANDEM_ARG(double, lower) = 1.0 / 8;  // lower bound of the slope for negative inputs
  TANDEM_ARG(double, upper) = 1.0 / 3;  // upper bound of the slope for negative inputs
  TANDEM_ARG(bool, inplace) = false;    // if true, overwrites the input
};
struct SoftplusOptions {
  TANDEM_ARG(double, beta) = 1;        // factor of x inside the exponential; also divides the result
  TANDEM_ARG(double, threshold) = 20;  // where beta * x exceeds the threshold, the result is x
};
struct ThresholdOptions {
  ThresholdOptions(double threshold, double value) : threshold_(threshold), value_(value) {}
  TANDEM_ARG(double, threshold);      // elements above the threshold are kept
  TANDEM_ARG(double, value);          // replaces elements that are not above the threshold
  TANDEM_ARG(bool, inplace) = false;  // if true, overwrites the input
};
struct GLUOptions {
  GLUOptions(int64_t dim = -1) : dim_(dim) {}
  TANDEM_ARG(int64_t, dim);  // dimension that is split into two halves
};
struct SoftmaxOptions {
  SoftmaxOptions(int64_t dim) : dim_(dim) {}
  TANDEM_ARG(int64_t, dim);  // dimension over which the results sum to 1
};
using LogSoftmaxOptions = SoftmaxOptions;
using SoftminOptions = SoftmaxOptions;

}  // namespace tandem::nn
