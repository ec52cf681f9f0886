// Concatenating tensors into one vector and splitting it again: flatten_dense_tensors, unflatten_dense_tensors.
#include "tandem/ops/shape/flatten_dense_tensors.h"

#include "tandem/core/internal.h"
#include "tandem/ops/shape/cat.h"

namespace tandem {

TANDEM_CAST_POLICY(none, flatten_dense_tensors, unflatten_dense_tensors);

Tensor flatten_dense_tensors(TensorList tensors) {
  std::vector<Tensor> flat;
  flat.reserve(tensors.size());
  for (const Tensor& t : tensors) flat.push_back(t.reshape({-1}));
  return cat(flat);
}
std::vector<Tensor> unflatten_dense_tensors(const Tensor& flat, TensorList tensors) {
  std::vector<Tensor> parts;
  int64_t first = 0;
  for (const Tensor& t : tensors) {
    parts.push_back(flat.narrow(0, first, t.numel()).view(t.sizes()));
    first += t.numel();
  }
  return parts;
}

}  // namespace tandem
