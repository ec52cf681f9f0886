// Implements the conversion of parameters to one vector and back.
#include "tandem/nn/utils/convert_parameters.h"

#include "tandem/core/internal.h"
#include "tandem/ops/shape/cat.h"

namespace tandem::nn::utils {

Tensor parameters_to_vector(const std::vector<Tensor>& parameters) {
  TANDEM_CHECK(!parameters.empty(), "parameters_to_vector: expected a non-empty list of Tensors");
  std::vector<Tensor> flat;
  flat.reserve(parameters.size());
  for (const Tensor& p : parameters) flat.push_back(p.reshape({-1}));
  return cat(flat);
}
void vector_to_parameters(const Tensor& vec, const std::vector<Tensor>& parameters) {
  int64_t total = 0;
  for (const Tensor& p : parameters) total += p.numel();
  TANDEM_CHECK(vec.dim() == 1 && vec.numel() == total, "vector_to_parameters: vec is ", vec.sizes(), "; accepted: (",
               total, ",), the elements of ", parameters.size(), " parameters");
  const NoGradGuard guard;
  int64_t at = 0;
  for (const Tensor& p : parameters) {
    p.copy_(vec.narrow(0, at, p.numel()).reshape(p.sizes()));
    at += p.numel();
  }
}

}  // namespace tandem::nn::utils
