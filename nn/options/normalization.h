// Options of batch, instance and layer norm.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/core/option.h"

namespace tandem::nn {

struct BatchNormOptions {
  BatchNormOptions(int64_t num_features) : num_features_(num_features) {}
  TANDEM_ARG(int64_t, num_features);                  // number of input channels
  TANDEM_ARG(double, eps) = 1e-5;                     // added to the variance to avoid division by zero
  TANDEM_ARG(std::optional<double>, momentum) = 0.1;  // weight of a batch in running statistics; nullopt: plain average
  TANDEM_ARG(bool, affine) = true;                    // whether the module has a trainable weight and bias
  TANDEM_ARG(bool, track_running_stats) = true;       // whether running statistics are kept for evaluation
};
using BatchNorm1dOptions = BatchNormOptions;
using BatchNorm2dOptions = BatchNormOptions;
using BatchNorm3dOptions = BatchNormOptions;
struct InstanceNormOptions {
  InstanceNormOptions(int64_t num_features) : num_features_(num_features) {}
  TANDEM_ARG(int64_t, num_features);              // number of input channels
  TANDEM_ARG(double, eps) = 1e-5;                 // added to the variance to avoid division by zero
  TANDEM_ARG(double, momentum) = 0.1;             // weight of the batch in the running statistics
  TANDEM_ARG(bool, affine) = false;               // whether the module has a trainable weight and bias
  TANDEM_ARG(bool, track_running_stats) = false;  // whether running statistics are kept for evaluation
};
using InstanceNorm1dOptions = InstanceNormOptions;
using InstanceNorm2dOptions = InstanceNormOptions;
using InstanceNorm3dOptions = InstanceNormOptions;
struct LayerNormOptions {
  LayerNormOptions(std::vector<int64_t> shape) : normalized_shape_(std::move(shape)) {}
  TANDEM_ARG(std::vector<int64_t>, normalized_shape);  // sizes of the last dimensions, to normalise over
  TANDEM_ARG(double, eps) = 1e-5;                      // added to the variance to avoid division by zero
  TANDEM_ARG(bool, elementwise_affine) = true;         // whether the module has a trainable weight and bias
};

}  // namespace tandem::nn
