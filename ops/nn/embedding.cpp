// Embeddings: embedding looks up rows of a table, embedding_bag sums them, embedding_renorm_ limits their norms;
// one_hot converts class indices to unit vectors.
#include "tandem/ops/nn/embedding.h"

#include <algorithm>
#include <limits>

#include "tandem/autograd/record.h"
#include "tandem/ops/elementwise/unary.h"
#include "tandem/ops/factory/empty.h"
#include "tandem/ops/index/index_add.h"
#include "tandem/ops/index/index_select.h"
#include "tandem/ops/index/masked_fill.h"
#include "tandem/ops/index/scatter_into.h"
#include "tandem/ops/index/tensor_index.h"
#include "tandem/ops/shape/cat.h"

namespace tandem {

TANDEM_CAST_POLICY(none, embedding, one_hot);

Tensor one_hot(const Tensor& target, int64_t num_classes) {
  TANDEM_CHECK(target.dtype() == kInt64, "one_hot is only applicable to index tensor of type LongTensor. target is ",
               target.dtype(), "; accepted: int64");
  TANDEM_CHECK(target.numel() > 0 || num_classes >= 0,
               "one_hot: Can not infer total number of classes from empty tensor. Give num_classes");
  if (num_classes < 0) {
    check_not_recorded("one_hot", "without num_classes the values tell how many there are");
    num_classes = target.max().item<int64_t>() + 1;
  }
  num_classes = std::max<int64_t>(num_classes, 0);
  Shape sizes = target.sizes();
  sizes.push_back(num_classes);
  const Tensor y = zeros(sizes, target.options()), positions = target.unsqueeze(-1);
  scatter_into("one_hot", y, target.dim(), positions, ones_like(positions), /*add=*/false);
  return y;
}
Tensor& embedding_renorm_(Tensor& weight, const Tensor& index, double max_norm, double norm_type) {
  TANDEM_CHECK(weight.dim() == 2, "embedding_renorm_: Expected 2-dimensional tensor, but got ", weight.dim(),
               "-dimensional tensor for weight");
  const NoGradGuard guard;
  const Tensor at = index.reshape({-1}), rows = weight.index_select(0, at);
  const Tensor norms = rows.norm(norm_type, {1}, /*keepdim=*/true);
  const Tensor limited = where(norms > max_norm, rows * (max_norm / (norms + 1e-7)), rows);
  return weight.index_put_({at}, limited);  // if index names a row twice, the row is written twice, with equal values
}
namespace {
/// Returns `rows` unchanged, but divides the gradient of each row by the number of times that index names the row.
Tensor scale_gradient_by_frequency(const Tensor& rows, const Tensor& index, int64_t count) {
  const Tensor at = index.reshape({-1}), one = ones(at.sizes(), rows.options());
  const Tensor times =
      zeros({count}, rows.options()).index_add(0, at, one).index_select(0, at).view(index.sizes()).unsqueeze(-1);
  return record_op("embedding", core::alias(rows), {rows}, {times},
                   [](const BackwardContext& ctx, const Tensor& dy) -> Grads { return {dy / ctx.saved(0)}; });
}
}  // namespace
Tensor embedding(const Tensor& weight, const Tensor& index, std::optional<int64_t> padding_idx, Flag scale_grad_by_freq,
                 Flag sparse) {
  TANDEM_CHECK(!sparse, "embedding: sparse is true, but there are no sparse gradients; accepted: false");
  TANDEM_CHECK(weight.dim() == 2, "embedding: 'weight' must be 2-D, but is ", weight.sizes());
  check_and_convert_index("embedding", weight, index);
  Shape sizes = index.sizes();
  sizes.push_back(weight.size(1));
  const Tensor flat = index.reshape({-1});
  Tensor rows = select_rows("embedding", weight, 0, flat);
  if (padding_idx && *padding_idx >= 0)  // rows of padding_idx keep their values, but pass no gradient on
    rows = where((flat == *padding_idx).unsqueeze(1), rows.detach(), rows);
  const Tensor y = reshape_result(rows, sizes);
  return scale_grad_by_freq ? scale_gradient_by_frequency(y, index, weight.size(0)) : y;
}

std::optional<int64_t> detail::wrap_padding_idx(const char* name, std::optional<int64_t> padding_idx, int64_t rows) {
  TANDEM_CHECK(!padding_idx || (*padding_idx >= -rows && *padding_idx < rows), name,
               ": Padding_idx must be within num_embeddings, ", -rows, " through ", rows - 1, ", but got ",
               padding_idx.value_or(0));
  return padding_idx && *padding_idx < 0 ? *padding_idx + rows : padding_idx;
}

}  // namespace tandem

namespace tandem::nn::functional {
namespace {
std::vector<int64_t> to_host_vector(const Tensor& t) {
  check_not_recorded("embedding_bag", "the offsets tell where the bags are");
  const Tensor flat = t.to(kCPU, kInt64).contiguous();
  return {flat.data<int64_t>(), flat.data<int64_t>() + flat.numel()};
}
/// Returns the position at which each bag begins, and the end of the last bag.
std::vector<int64_t> compute_bag_offsets(const Tensor& index, const EmbeddingBagFuncOptions& o) {
  constexpr const char* kOp = "embedding_bag";
  const Tensor& offsets = o.offsets();
  std::vector<int64_t> bounds;
  if (index.dim() == 2) {
    TANDEM_CHECK(!offsets.defined(), kOp,
                 ": If input is 2D, then offsets has to be null, because each row is a bag. input is ", index.sizes(),
                 " and offsets is ", offsets.sizes());
    for (int64_t i = 0; i <= index.size(0); ++i) bounds.push_back(i * index.size(1));
    return bounds;
  }
  TANDEM_CHECK(index.dim() == 1, kOp, ": input has to be 1D or 2D Tensor, but got Tensor of dimension ", index.dim());
  TANDEM_CHECK(offsets.defined(), kOp, ": offsets has to be a 1D Tensor but got null");
  TANDEM_CHECK(offsets.dim() == 1, kOp, ": offsets has to be a 1D Tensor, but got Tensor of dimension ", offsets.dim());
  bounds = to_host_vector(offsets);
  TANDEM_CHECK(!o.include_last_offset() || !bounds.empty(), kOp,
               ": include_last_offset: number of offset should be at least 1");
  if (!o.include_last_offset()) bounds.push_back(index.size(0));
  TANDEM_CHECK(bounds.front() == 0, kOp,
               ": offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
               "However, got ",
               bounds.front());
  TANDEM_CHECK(o.include_last_offset() || bounds.size() == 1 || bounds[bounds.size() - 2] <= index.size(0), kOp,
               ": offsets[-1] can not be greater than input's length ", index.size(0), " but got offsets[-1] of ",
               bounds[bounds.size() - 2]);
  TANDEM_CHECK(bounds.back() == index.size(0), kOp, ": with include_last_offset, offsets[-1] must be input's length ",
               index.size(0), ", but got ", bounds.back());
  for (size_t i = 1; i < bounds.size(); ++i)
    TANDEM_CHECK(bounds[i - 1] <= bounds[i], kOp, ": offsets must not decrease, but ", bounds[i - 1],
                 " is followed by ", bounds[i]);
  return bounds;
}
Tensor to_index_tensor(const std::vector<int64_t>& numbers, Device device) {
  Tensor t = empty({static_cast<int64_t>(numbers.size())}, kInt64);
  std::copy(numbers.begin(), numbers.end(), t.data<int64_t>());
  return t.to(device);
}
/// Returns the element-wise maximum of each bag without its padding rows. Bags are padded to one size with rows of
/// -inf.
Tensor max_per_bag(const Tensor& rows, const Tensor& padded, const std::vector<int64_t>& bounds) {
  const auto bags = static_cast<int64_t>(bounds.size()) - 1;
  int64_t max_bag_size = 1;
  for (size_t b = 0; b + 1 < bounds.size(); ++b) max_bag_size = std::max(max_bag_size, bounds[b + 1] - bounds[b]);
  std::vector<int64_t> positions;
  for (size_t b = 0; b + 1 < bounds.size(); ++b)
    for (int64_t i = 0; i < max_bag_size; ++i)
      positions.push_back(bounds[b] + i < bounds[b + 1] ? bounds[b] + i : rows.size(0));
  constexpr double kLeast = -std::numeric_limits<double>::infinity();
  const Tensor kept = padded.defined() ? rows.masked_fill(padded, kLeast) : rows;
  const Tensor all = cat({kept, full({1, rows.size(1)}, kLeast, rows.options())});
  const Tensor out = std::get<0>(
      all.index_select(0, to_index_tensor(positions, rows.device())).unflatten(0, {bags, max_bag_size}).max(1));
  return out.masked_fill(out == kLeast, 0);
}

}  // namespace

Tensor embedding(const Tensor& index, const Tensor& weight, const EmbeddingFuncOptions& o) {
  if (o.max_norm()) {
    Tensor table = weight;
    embedding_renorm_(table, index, *o.max_norm(), o.norm_type());
  }
  return tandem::embedding(weight, index, wrap_padding_idx("embedding", o.padding_idx(), weight.size(0)),
                           o.scale_grad_by_freq());
}

Tensor embedding_bag(const Tensor& index, const Tensor& weight, const EmbeddingBagFuncOptions& o) {
  constexpr const char* kOp = "embedding_bag";
  const bool is_max = std::holds_alternative<MaxTag>(o.mode());
  const Reduction reduction = is_max ? Reduction::none : std::get<Reduction>(o.mode());
  TANDEM_CHECK(is_max || reduction != Reduction::none, kOp, ": mode has to be one of sum, mean or max, but is none");
  TANDEM_CHECK(!is_max || !o.scale_grad_by_freq(), kOp,
               ": max mode does not support scaling the gradient by the frequency (scale_grad_by_freq)");
  const Tensor& factors = o.per_sample_weights();
  TANDEM_CHECK(!factors.defined() || (!is_max && reduction == Reduction::sum), kOp,
               ": per_sample_weights was not null. per_sample_weights is only supported for mode='kSum' (got mode='",
               is_max ? "kMax" : "kMean", "')");
  TANDEM_CHECK(!factors.defined() || factors.sizes() == index.sizes(), kOp, ": If per_sample_weights ", factors.sizes(),
               " is not null, then it must have the same shape as the input ", index.sizes());
  const std::vector<int64_t> bounds = compute_bag_offsets(index, o);
  const auto bags = static_cast<int64_t>(bounds.size()) - 1;
  const Tensor flat = index.reshape({-1});
  Tensor rows = embedding(flat, weight,
                          EmbeddingFuncOptions()
                              .max_norm(o.max_norm())
                              .norm_type(o.norm_type())
                              .padding_idx(o.padding_idx())
                              .scale_grad_by_freq(o.scale_grad_by_freq()));
  Tensor padded;  // mask (n, 1) of the indices that equal padding_idx
  if (const auto padding = wrap_padding_idx(kOp, o.padding_idx(), weight.size(0)))
    padded = (flat == *padding).unsqueeze(1);
  if (is_max) return max_per_bag(rows, padded, bounds);
  if (factors.defined()) rows = rows * factors.reshape({-1, 1}).to(rows.dtype());
  if (padded.defined()) rows = rows.masked_fill(padded, 0);
  std::vector<int64_t> bag;
  for (size_t b = 0; b + 1 < bounds.size(); ++b)
    bag.resize(static_cast<size_t>(bounds[b + 1]), static_cast<int64_t>(b));
  const Tensor at = to_index_tensor(bag, rows.device());
  const Tensor sum = zeros({bags, rows.size(1)}, rows.options()).index_add(0, at, rows);
  if (reduction == Reduction::sum) return sum;
  const Tensor counted =
      padded.defined() ? padded.logical_not().to(rows.dtype()) : ones({flat.size(0), 1}, rows.options());
  return sum / zeros({bags, 1}, rows.options()).index_add(0, at, counted).clamp_min(1);
}

}  // namespace tandem::nn::functional
