// Options of modules and functionals, with LibTorch's names and defaults: each field has a chained setter and a getter.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/core/option.h"
#include "tandem/core/tensor.h"
#include "tandem/ops/loss/reduction.h"
#include "tandem/ops/nn/pad.h"

namespace tandem {
/// LibTorch's way of naming a loss reduction.
constexpr Reduction kMean = Reduction::mean, kSum = Reduction::sum, kNone = Reduction::none;
}  // namespace tandem

namespace tandem::nn {

struct LinearOptions {
  LinearOptions(int64_t in_features, int64_t out_features) : in_features_(in_features), out_features_(out_features) {}
  TANDEM_ARG(int64_t, in_features);   // length of an input
  TANDEM_ARG(int64_t, out_features);  // length of an output
  TANDEM_ARG(bool, bias) = true;      // whether a bias is added
};
struct BilinearOptions {
  BilinearOptions(int64_t in1_features, int64_t in2_features, int64_t out_features)
      : in1_features_(in1_features), in2_features_(in2_features), out_features_(out_features) {}
  TANDEM_ARG(int64_t, in1_features);  // length of the first input
  TANDEM_ARG(int64_t, in2_features);  // length of the second input
  TANDEM_ARG(int64_t, out_features);  // length of an output
  TANDEM_ARG(bool, bias) = true;      // whether a bias is added
};
struct LayerNormOptions {
  LayerNormOptions(std::vector<int64_t> shape) : normalized_shape_(std::move(shape)) {}
  TANDEM_ARG(std::vector<int64_t>, normalized_shape);  // the sizes of the last dimensions
  TANDEM_ARG(double, eps) = 1e-5;                      // keeps the divisor from 0
  TANDEM_ARG(bool, elementwise_affine) = true;  // whether it has a weight, and a bias where there is one, to train
};
struct DropoutOptions {
  DropoutOptions(double p = 0.5) : p_(p) {}
  TANDEM_ARG(double, p);              // the probability of dropping an element, or a channel
  TANDEM_ARG(bool, inplace) = false;  // whether the input itself is changed
};
using Dropout2dOptions = DropoutOptions;
using Dropout3dOptions = DropoutOptions;
using AlphaDropoutOptions = DropoutOptions;
using FeatureAlphaDropoutOptions = DropoutOptions;
struct FlattenOptions {
  TANDEM_ARG(int64_t, start_dim) = 1;  // the first dimension to join
  TANDEM_ARG(int64_t, end_dim) = -1;   // the last dimension to join
};
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
struct UnflattenOptions {
  UnflattenOptions(int64_t dim, std::vector<int64_t> sizes) : dim_(dim), sizes_(std::move(sizes)) {}
  TANDEM_ARG(int64_t, dim);                 // the dimension to divide
  TANDEM_ARG(std::vector<int64_t>, sizes);  // its new sizes
};
struct CosineSimilarityOptions {
  TANDEM_ARG(int64_t, dim) = 1;    // the dimension along which it works
  TANDEM_ARG(double, eps) = 1e-8;  // keeps the divisor from 0
};
struct PairwiseDistanceOptions {
  TANDEM_ARG(double, p) = 2;          // the p of the norm
  TANDEM_ARG(double, eps) = 1e-6;     // added to each difference
  TANDEM_ARG(bool, keepdim) = false;  // whether the dimension stays, of size 1
};
struct SoftmaxOptions {
  SoftmaxOptions(int64_t dim) : dim_(dim) {}
  TANDEM_ARG(int64_t, dim);  // the dimension along which it works
};
using LogSoftmaxOptions = SoftmaxOptions;
using SoftminOptions = SoftmaxOptions;

}  // namespace tandem::nn
