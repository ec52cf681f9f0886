// Embeddings: embedding and embedding_renorm_, which look up and shorten rows of a table, and one_hot.
#include "tandem/ops/nn/embedding.h"

#include <algorithm>

#include "tandem/ops/index/index_select.h"
#include "tandem/ops/index/scatter_into.h"
#include "tandem/ops/index/tensor_index.h"

namespace tandem {

Tensor one_hot(const Tensor& target, int64_t num_classes) {
  TANDEM_CHECK(target.dtype() == kInt64, "one_hot: target is ", target.dtype(), "; accepted: int64");
  TANDEM_CHECK(target.numel() > 0 || num_classes >= 0, "one_hot: target is ", target.sizes(),
               ", which does not tell how many classes there are; give num_classes");
  if (num_classes < 0) {
    check_not_recorded("one_hot", "without num_classes the values tell how many there are");
    num_classes = target.max().item<int64_t>() + 1;
  }
  num_classes = std::max<int64_t>(num_classes, 0);
  Shape sizes = target.sizes();
  sizes.push_back(num_classes);
  const Tensor y = zeros(sizes, target.options()), places = target.unsqueeze(-1);
  scatter_into("one_hot", y, target.dim(), places, ones_like(places), /*add=*/false);
  return y;
}
Tensor& embedding_renorm_(Tensor& weight, const Tensor& index, double max_norm, double norm_type) {
  TANDEM_CHECK(weight.dim() == 2, "embedding_renorm_: weight is ", weight.sizes(), "; accepted: (rows, dimension)");
  const NoGradGuard guard;
  const Tensor at = index.reshape({-1}), rows = weight.index_select(0, at);
  const Tensor norms = rows.norm(norm_type, {1}, /*keepdim=*/true);
  const Tensor limited = where(norms > max_norm, rows * (max_norm / (norms + 1e-7)), rows);
  return weight.index_put_({at}, limited);  // a row that is named twice is written twice, with the same values
}
Tensor embedding(const Tensor& weight, const Tensor& index, std::optional<int64_t> padding_idx) {
  TANDEM_CHECK(weight.dim() == 2, "embedding: weight is ", weight.sizes(), "; accepted: (rows, dimension)");
  checked_index("embedding", weight, index);
  Shape sizes = index.sizes();
  sizes.push_back(weight.size(1));
  const Tensor flat = index.reshape({-1});
  Tensor rows = select_rows("embedding", weight, 0, flat);
  if (padding_idx && *padding_idx >= 0)  // the same values, cut off from the gradient at padding
    rows = where((flat == *padding_idx).unsqueeze(1), rows.detach(), rows);
  return reshape_result(rows, sizes);
}

}  // namespace tandem
