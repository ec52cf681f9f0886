// The layers of a transformer, stacks of them, and the whole of it (Vaswani et al. 2017, arXiv:1706.03762).
#pragma once
#include <variant>

#include "tandem/nn/activation.h"
#include "tandem/nn/attention.h"
#include "tandem/nn/containers/containers.h"
#include "tandem/nn/dropout.h"
#include "tandem/nn/init.h"
#include "tandem/nn/normalization.h"

namespace tandem {
namespace detail {
struct GeluTag {};
}  // namespace detail
/// LibTorch's name of the activation, beside kReLU.
constexpr detail::GeluTag kGELU;
}  // namespace tandem

namespace tandem::nn {

/// kReLU, kGELU or any function of a tensor.
using activation_t = std::variant<init::Nonlinearity, detail::GeluTag, std::function<Tensor(const Tensor&)>>;

/// Masks of all that follows: bool, true where a place is to be ignored, or numbers that are added to the scores.
/// Sequences are (L, N, E), or (L, E) of one; with batch_first (N, L, E).
struct TransformerEncoderLayerOptions {
  TransformerEncoderLayerOptions(int64_t d_model, int64_t nhead);
  TANDEM_ARG(int64_t, d_model);                           // E
  TANDEM_ARG(int64_t, nhead);                             // number of attention heads
  TANDEM_ARG(int64_t, dim_feedforward) = 2048;            // number of features between the two linear layers
  TANDEM_ARG(double, dropout) = 0.1;                      // dropout probability after each part, in training
  TANDEM_ARG_DECLARED(activation_t, activation) = kReLU;  // between the two linear layers: kReLU, kGELU or a function
  // LibTorch has none of these; Python's PyTorch has:
  TANDEM_ARG(bool, norm_first) = false;   // if true, normalises the input of each part instead of each sum
  TANDEM_ARG(bool, batch_first) = false;  // whether the batch is dimension 0
};
using TransformerDecoderLayerOptions = TransformerEncoderLayerOptions;

/// x = norm1(x + self_attn(x)), then norm2(x + linear2(activation(linear1(x)))), with dropout behind each part.
class TransformerEncoderLayerImpl : public Cloneable<TransformerEncoderLayerImpl> {
 public:
  TransformerEncoderLayerImpl(int64_t d_model, int64_t nhead);
  explicit TransformerEncoderLayerImpl(const TransformerEncoderLayerOptions& o);
  void reset() override;
  /// Those of all that it consists of, again.
  void reset_parameters();
  /// src (L, N, E), src_mask (L, L), src_key_padding_mask (N, L) -> (L, N, E)
  Tensor forward(const Tensor& src, const Tensor& src_mask = {}, const Tensor& src_key_padding_mask = {});
  TransformerEncoderLayerOptions options;
  /// Attention of the sequence to itself.
  MultiheadAttention self_attn{nullptr};
  /// d_model to dim_feedforward.
  Linear linear1{nullptr};
  /// Behind the activation.
  Dropout dropout{nullptr};
  /// dim_feedforward to d_model.
  Linear linear2{nullptr};
  /// Of the attention's sum, and of the feed-forward part's.
  LayerNorm norm1{nullptr}, norm2{nullptr};
  /// Behind the attention, and behind the feed-forward part.
  Dropout dropout1{nullptr}, dropout2{nullptr};
};
TANDEM_LIBRARY_MODULE(TransformerEncoderLayer);

/// As the encoder's layer, with an attention to the encoder's output in between.
class TransformerDecoderLayerImpl : public Cloneable<TransformerDecoderLayerImpl> {
 public:
  TransformerDecoderLayerImpl(int64_t d_model, int64_t nhead);
  explicit TransformerDecoderLayerImpl(const TransformerDecoderLayerOptions& o);
  void reset() override;
  /// As the encoder's.
  void reset_parameters();
  /// tgt (L, N, E), memory (S, N, E), tgt_mask (L, L), memory_mask (L, S), tgt_key_padding_mask (N, L),
  /// memory_key_padding_mask (N, S) -> (L, N, E)
  Tensor forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {}, const Tensor& memory_mask = {},
                 const Tensor& tgt_key_padding_mask = {}, const Tensor& memory_key_padding_mask = {});
  TransformerDecoderLayerOptions options;
  /// Attention of the target to itself, and to the encoder's output.
  MultiheadAttention self_attn{nullptr}, multihead_attn{nullptr};
  /// d_model to dim_feedforward.
  Linear linear1{nullptr};
  /// Behind the activation.
  Dropout dropout{nullptr};
  /// dim_feedforward to d_model.
  Linear linear2{nullptr};
  /// Of the three parts' sums.
  LayerNorm norm1{nullptr}, norm2{nullptr}, norm3{nullptr};
  /// Behind each of the three parts.
  Dropout dropout1{nullptr}, dropout2{nullptr}, dropout3{nullptr};
};
TANDEM_LIBRARY_MODULE(TransformerDecoderLayer);

/// num_layers copies of one layer; norm, where it is given, comes last.
struct TransformerEncoderOptions {
  TransformerEncoderOptions(TransformerEncoderLayer encoder_layer, int64_t num_layers);
  TransformerEncoderOptions(const TransformerEncoderLayerOptions& encoder_layer, int64_t num_layers);
  TANDEM_ARG_DECLARED(TransformerEncoderLayer, encoder_layer){nullptr};  // the layer that is copied
  TANDEM_ARG(int64_t, num_layers);                                       // number of stacked layers
  TANDEM_ARG_DECLARED(AnyModule, norm);  // applied to the last layer's output; empty for none
};
struct TransformerDecoderOptions {
  TransformerDecoderOptions(TransformerDecoderLayer decoder_layer, int64_t num_layers);
  TransformerDecoderOptions(const TransformerDecoderLayerOptions& decoder_layer, int64_t num_layers);
  TANDEM_ARG_DECLARED(TransformerDecoderLayer, decoder_layer){nullptr};  // the layer that is copied
  TANDEM_ARG(int64_t, num_layers);                                       // number of stacked layers
  TANDEM_ARG_DECLARED(AnyModule, norm);  // applied to the last layer's output; empty for none
};

/// Layers one after the other.
class TransformerEncoderImpl : public Cloneable<TransformerEncoderImpl> {
 public:
  TransformerEncoderImpl(TransformerEncoderLayer encoder_layer, int64_t num_layers);
  explicit TransformerEncoderImpl(const TransformerEncoderOptions& o);
  void reset() override;
  /// Those of the layers, again.
  void reset_parameters();
  /// As the layer's.
  Tensor forward(const Tensor& src, const Tensor& src_mask = {}, const Tensor& src_key_padding_mask = {});
  TransformerEncoderOptions options;
  /// num_layers copies of the layer.
  ModuleList layers{nullptr};
  /// What comes last; empty unless given.
  AnyModule norm;
};
TANDEM_LIBRARY_MODULE(TransformerEncoder);
class TransformerDecoderImpl : public Cloneable<TransformerDecoderImpl> {
 public:
  TransformerDecoderImpl(TransformerDecoderLayer decoder_layer, int64_t num_layers);
  explicit TransformerDecoderImpl(const TransformerDecoderOptions& o);
  void reset() override;
  /// As the encoder's.
  void reset_parameters();
  /// As the layer's.
  Tensor forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {}, const Tensor& memory_mask = {},
                 const Tensor& tgt_key_padding_mask = {}, const Tensor& memory_key_padding_mask = {});
  TransformerDecoderOptions options;
  /// num_layers copies of the layer.
  ModuleList layers{nullptr};
  /// What comes last; empty unless given.
  AnyModule norm;
};
TANDEM_LIBRARY_MODULE(TransformerDecoder);

struct TransformerOptions {
  TransformerOptions();
  TransformerOptions(int64_t d_model, int64_t nhead);
  TransformerOptions(int64_t d_model, int64_t nhead, int64_t num_encoder_layers, int64_t num_decoder_layers);
  TANDEM_ARG(int64_t, d_model) = 512;                     // length of a vector of the sequences
  TANDEM_ARG(int64_t, nhead) = 8;                         // number of attention heads
  TANDEM_ARG(int64_t, num_encoder_layers) = 6;            // layers of the encoder
  TANDEM_ARG(int64_t, num_decoder_layers) = 6;            // layers of the decoder
  TANDEM_ARG(int64_t, dim_feedforward) = 2048;            // number of features between the two linear layers
  TANDEM_ARG(double, dropout) = 0.1;                      // dropout probability after each part, in training
  TANDEM_ARG_DECLARED(activation_t, activation) = kReLU;  // between the two linear layers: kReLU, kGELU or a function
  TANDEM_ARG_DECLARED(AnyModule,
                      custom_encoder);  // in the place of a TransformerEncoder, called with its three arguments
  TANDEM_ARG_DECLARED(AnyModule, custom_decoder);  // in the place of a TransformerDecoder, called with its six
  TANDEM_ARG(bool, norm_first) = false;            // if true, normalises the input of each part instead of each sum
  TANDEM_ARG(bool, batch_first) = false;           // whether the batch is dimension 0
};
/// An encoder of the source and a decoder of the target, each ended by a LayerNorm.
class TransformerImpl : public Cloneable<TransformerImpl> {
 public:
  explicit TransformerImpl(const TransformerOptions& o = {});
  void reset() override;
  /// Xavier's uniform values for all parameters of two dimensions or more.
  void reset_parameters();
  /// src (S, N, E), tgt (L, N, E) -> (L, N, E), with the masks of the encoder and the decoder.
  /// @throws Error unless batches agree and E is d_model
  Tensor forward(const Tensor& src, const Tensor& tgt, const Tensor& src_mask = {}, const Tensor& tgt_mask = {},
                 const Tensor& memory_mask = {}, const Tensor& src_key_padding_mask = {},
                 const Tensor& tgt_key_padding_mask = {}, const Tensor& memory_key_padding_mask = {});
  /// (sz, sz): -inf above the diagonal, 0 elsewhere: no place looks at a later one.
  static Tensor generate_square_subsequent_mask(int64_t sz);
  TransformerOptions options;
  /// Those of the options, or a TransformerEncoder and a TransformerDecoder with a LayerNorm each.
  AnyModule encoder, decoder;
};
TANDEM_LIBRARY_MODULE(Transformer);

}  // namespace tandem::nn
