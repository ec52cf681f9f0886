// KvCache keeps the keys and values of tokens that a decoder has already seen, so that generation computes only the new
// token. DecoderContext passes it to the attention layers.
#pragma once
#include <utility>

#include "tandem/core/tensor.h"

namespace tandem::models {

/// Keys and values of each layer, in memory for max_length tokens that is allocated once and written in place. Use it
/// where gradients are disabled (NoGradGuard, InferenceMode).
class KvCache {
 public:
  /// @param heads    number of heads of the keys and values
  /// @param options  dtype and device of the keys and values
  /// @throws Error   unless all sizes are positive
  KvCache(int64_t layers, int64_t batch, int64_t heads, int64_t max_length, int64_t head_dim,
          const TensorOptions& options = {});
  /// Number of tokens whose keys and values all layers have stored.
  int64_t length() const { return length_; }
  /// Maximum number of tokens.
  int64_t max_length() const { return max_length_; }
  /// Number of texts.
  int64_t batch() const { return batch_; }
  /// Stores the keys and values of L new tokens of a layer after the length() stored tokens, converted to the cache's
  /// dtype. Returns views of the keys and values of all length() + L tokens.
  /// @param key, value  (batch, heads, L, head_dim)
  /// @throws Error      if gradients are enabled, the sizes do not match, or there is no room for L tokens
  std::pair<Tensor, Tensor> update(int64_t layer, const Tensor& key, const Tensor& value);
  /// Adds L tokens to length(). A model calls it after all layers have called update().
  void advance(int64_t tokens) { length_ += tokens; }
  /// Forgets all tokens after the first `length`. @throws Error unless length is in [0, length()]
  void crop(int64_t length);

 private:
  int64_t batch_, max_length_, length_ = 0;
  std::vector<Tensor> keys_, values_;  // one of each per layer: (batch, heads, max_length, head_dim)
};

/// Tells an attention layer of a decoder which tokens a new token may attend to.
struct DecoderContext {
  /// True where a query may attend to a key: bool (N or 1, 1, L, S), S being the number of cached and new tokens.
  /// Undefined: each token attends to itself and to all tokens before it.
  Tensor mask;
  /// Keys and values of earlier tokens; null: there are none.
  KvCache* cache = nullptr;
  /// Number of the layer in the cache.
  int64_t layer = 0;
};

namespace detail {

/// Returns the mask that DecoderContext needs for L new tokens after `past` cached ones; undefined if none is needed.
/// @param attention_mask  (N, past + L): 0 marks padding; undefined: there is no padding
Tensor make_decoder_mask(const Tensor& attention_mask, int64_t past, int64_t length, Device device);
/// Returns the positions of the last L tokens: int64 (N, L), or (L) without a mask. Padding does not count: positions
/// are the numbers of tokens before, as transformers computes them.
/// @param attention_mask  (N, past + L) as in make_decoder_mask()
Tensor make_positions(const Tensor& attention_mask, int64_t past, int64_t length, Device device);
/// Computes causal attention of L new tokens to themselves and to the cached tokens, whose keys and values it updates.
/// query (N, heads, L, D); key and value (N, key heads, L, D) -> (N, heads, L, D). The number of key heads divides
/// heads.
Tensor decoder_attention(const Tensor& query, const Tensor& key, const Tensor& value, const DecoderContext& context,
                         double dropout_p = 0);

}  // namespace detail
}  // namespace tandem::models
