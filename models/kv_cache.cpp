// Implements KvCache, and the masks, positions and attention of decoders.
#include "tandem/models/kv_cache.h"

#include "tandem/ops/ops.h"

namespace tandem::models {

KvCache::KvCache(int64_t layers, int64_t batch, int64_t heads, int64_t max_length, int64_t head_dim,
                 const TensorOptions& options)
    : batch_(batch), max_length_(max_length) {
  TANDEM_CHECK(layers > 0 && batch > 0 && heads > 0 && max_length > 0 && head_dim > 0, "KvCache: layers is ", layers,
               ", batch ", batch, ", heads ", heads, ", max_length ", max_length, " and head_dim ", head_dim,
               "; all must be positive");
  for (int64_t i = 0; i < layers; ++i) {
    keys_.push_back(empty({batch, heads, max_length, head_dim}, options));
    values_.push_back(empty({batch, heads, max_length, head_dim}, options));
  }
}

std::pair<Tensor, Tensor> KvCache::update(int64_t layer, const Tensor& key, const Tensor& value) {
  TANDEM_CHECK(!is_grad_enabled(), "KvCache: gradients are enabled; use the cache under NoGradGuard or InferenceMode");
  TANDEM_CHECK(layer >= 0 && layer < static_cast<int64_t>(keys_.size()), "KvCache: layer is ", layer,
               "; accepted: 0 to ", keys_.size() - 1);
  Tensor& keys = keys_[static_cast<size_t>(layer)];
  Tensor& values = values_[static_cast<size_t>(layer)];
  TANDEM_CHECK(key.dim() == 4 && key.sizes() == value.sizes() && key.size(0) == batch_ && key.size(1) == keys.size(1) &&
                   key.size(3) == keys.size(3),
               "KvCache: key is ", key.sizes(), " and value ", value.sizes(), "; accepted: (", batch_, ", ",
               keys.size(1), ", L, ", keys.size(3), ")");
  const int64_t count = key.size(2), total = length_ + count;
  TANDEM_CHECK(total <= max_length_, "KvCache: ", length_, " tokens are stored, and ", count,
               " are new; there is memory for ", max_length_);
  keys.narrow(2, length_, count).copy_(key);
  values.narrow(2, length_, count).copy_(value);
  return {keys.narrow(2, 0, total), values.narrow(2, 0, total)};
}

void KvCache::crop(int64_t length) {
  TANDEM_CHECK(length >= 0 && length <= length_, "KvCache: crop to ", length, " tokens; accepted: 0 to ", length_);
  length_ = length;
}

Tensor detail::make_decoder_mask(const Tensor& attention_mask, int64_t past, int64_t length, Device device) {
  // Without padding, attention can use its causal flag, or, for one new token, no mask at all. Its causal flag lets
  // query i attend to keys 0 to i, which is wrong if there are cached tokens.
  if (!attention_mask.defined() && (past == 0 || length == 1)) return {};
  const int64_t total = past + length;
  const Tensor allowed = attention_mask.defined() ? (attention_mask != 0).view({-1, 1, 1, total}) : Tensor();
  if (length == 1) return allowed;
  const Tensor causal =
      ones({length, total}, TensorOptions(kBool).device(device)).tril(past).view({1, 1, length, total});
  return allowed.defined() ? causal.logical_and(allowed) : causal;
}

Tensor detail::make_positions(const Tensor& attention_mask, int64_t past, int64_t length, Device device) {
  if (!attention_mask.defined()) return arange(past, past + length, TensorOptions(kInt64).device(device));
  return ((attention_mask != 0).to(kInt64).cumsum(1) - 1).clamp_min(0).narrow(1, past, length);
}

Tensor detail::decoder_attention(const Tensor& query, const Tensor& new_key, const Tensor& new_value,
                                 const DecoderContext& context, double dropout_p) {
  Tensor key = new_key, value = new_value;
  if (context.cache) std::tie(key, value) = context.cache->update(context.layer, new_key, new_value);
  const int64_t n = query.size(0), heads = query.size(1), length = query.size(2), key_heads = key.size(1);
  const bool grouped = heads != key_heads;
  // One query each of several heads that share a key head is computed as several queries of one head. This needs no
  // copy of the keys for each head.
  if (grouped && length == 1)
    return scaled_dot_product_attention(query.reshape({n, key_heads, heads / key_heads, query.size(3)}), key, value,
                                        context.mask, dropout_p)
        .reshape({n, heads, 1, value.size(3)});
  const bool is_causal = !context.mask.defined() && length > 1;
  return scaled_dot_product_attention(query, key, value, context.mask, dropout_p, is_causal, {}, grouped);
}

}  // namespace tandem::models
