// All parameters as one vector, and back. torch::nn::utils' names.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::nn::utils {

/// The elements of all, one behind the other, recorded. @throws Error for none, and unless all are on one device
Tensor parameters_to_vector(const std::vector<Tensor>& parameters);
/// Copies the elements of vec, in that order, into the parameters, unrecorded.
/// @throws Error unless vec has one dimension and as many elements as the parameters
void vector_to_parameters(const Tensor& vec, const std::vector<Tensor>& parameters);

}  // namespace tandem::nn::utils
