// Coordinate grids of vectors: meshgrid.
#include "tandem/ops/shape/meshgrid.h"

#include "tandem/core/internal.h"
#include "tandem/ops/argument.h"

namespace tandem {

TANDEM_CAST_POLICY(none, meshgrid);

std::vector<Tensor> meshgrid(TensorList tensors, const std::string& indexing) {
  TANDEM_CHECK(!tensors.empty(), "meshgrid expects a non-empty TensorList");
  TANDEM_CHECK(indexing == "ij" || indexing == "xy",
               "meshgrid: indexing must be one of \"xy\" or \"ij\", but received: ", indexing);
  const bool exchanged = indexing == "xy" && tensors.size() >= 2;
  const auto position = [&](size_t i) { return exchanged && i < 2 ? 1 - i : i; };
  Shape sizes(tensors.size(), 1);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor &x = tensors[i], &first = tensors[0];
    TANDEM_CHECK(x.dim() <= 1, "meshgrid: Expected 0D or 1D tensor in the tensor list but got: ", x.sizes(),
                 " for tensor ", i);
    check_same_dtype_and_device("meshgrid", "the first tensor", first, "another", x);
    sizes[position(i)] = x.numel();
  }
  std::vector<Tensor> out;
  for (size_t i = 0; i < tensors.size(); ++i) {
    Shape own(tensors.size(), 1);
    own[position(i)] = tensors[i].numel();
    out.push_back(tensors[i].view(own).expand(sizes));
  }
  return out;
}

}  // namespace tandem
