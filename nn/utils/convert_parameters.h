// Conversion of parameters to one vector and back, under the names of torch::nn::utils.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::nn::utils {

/// Concatenates the elements of all parameters; recorded by autograd. @throws Error if the list is empty, or unless all
/// parameters are on one device
Tensor parameters_to_vector(const std::vector<Tensor>& parameters);
/// Copies the elements of vec into the parameters, in order; not recorded by autograd.
/// @throws Error unless vec has one dimension and as many elements as the parameters together
void vector_to_parameters(const Tensor& vec, const std::vector<Tensor>& parameters);

}  // namespace tandem::nn::utils
