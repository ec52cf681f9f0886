// Options of linear and bilinear layers, and of layers that flatten or unflatten dimensions.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "tandem/core/option.h"

namespace tandem::nn {

struct LinearOptions {
  LinearOptions(int64_t in_features, int64_t out_features) : in_features_(in_features), out_features_(out_features) {}
  TANDEM_ARG(int64_t, in_features);   // number of input features
  TANDEM_ARG(int64_t, out_features);  // number of output features
  TANDEM_ARG(bool, bias) = true;      // whether a bias is added
};
struct BilinearOptions {
  BilinearOptions(int64_t in1_features, int64_t in2_features, int64_t out_features)
      : in1_features_(in1_features), in2_features_(in2_features), out_features_(out_features) {}
  TANDEM_ARG(int64_t, in1_features);  // number of features of the first input
  TANDEM_ARG(int64_t, in2_features);  // number of features of the second input
  TANDEM_ARG(int64_t, out_features);  // number of output features
  TANDEM_ARG(bool, bias) = true;      // whether a bias is added
};
struct FlattenOptions {
  TANDEM_ARG(int64_t, start_dim) = 1;  // first dimension to flatten
  TANDEM_ARG(int64_t, end_dim) = -1;   // last dimension to flatten
};
struct UnflattenOptions {
  UnflattenOptions(int64_t dim, std::vector<int64_t> sizes) : dim_(dim), sizes_(std::move(sizes)) {}
  TANDEM_ARG(int64_t, dim);                 // dimension to split
  TANDEM_ARG(std::vector<int64_t>, sizes);  // sizes that the dimension is split into
};

}  // namespace tandem::nn
