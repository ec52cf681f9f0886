// Transformer layers, stacks of layers, and the whole model (Vaswani et al. 2017, arXiv:1706.03762).
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
/// LibTorch's name for the GELU activation.
constexpr detail::GeluTag kGELU;
}  // namespace tandem

namespace tandem::nn {

/// An activation: kReLU, kGELU or any function of a tensor.
using activation_t = std::variant<init::Nonlinearity, detail::GeluTag, std::function<Tensor(const Tensor&)>>;

/// Options of a layer. Masks in this file: bool, true for positions to ignore, or numbers to add to the scores.
/// Sequences are (L, N, E), or (N, L, E) with batch_first, or (L, E) without a batch.
struct TransformerEncoderLayerOptions {
  TransformerEncoderLayerOptions(int64_t d_model, int64_t nhead);
  TANDEM_ARG(int64_t, d_model);                           // number of features, E
  TANDEM_ARG(int64_t, nhead);                             // number of attention heads
  TANDEM_ARG(int64_t, dim_feedforward) = 2048;            // number of features between the two linear layers
  TANDEM_ARG(double, dropout) = 0.1;                      // dropout probability, within and after each sublayer
  TANDEM_ARG_DECLARED(activation_t, activation) = kReLU;  // feed-forward activation: kReLU, kGELU or a function
  // LibTorch lacks the options below. They follow Python's PyTorch.
  TANDEM_ARG(bool, norm_first) = false;   // if true, normalises the input of each sublayer, not the residual sum
  TANDEM_ARG(bool, batch_first) = false;  // if true, tensors are (N, L, E) instead of (L, N, E)
};
using TransformerDecoderLayerOptions = TransformerEncoderLayerOptions;

/// Computes x = norm1(x + self_attn(x)), then norm2(x + linear2(activation(linear1(x)))), with dropout after each
/// sublayer.
class TransformerEncoderLayerImpl : public Cloneable<TransformerEncoderLayerImpl> {
 public:
  TransformerEncoderLayerImpl(int64_t d_model, int64_t nhead);
  explicit TransformerEncoderLayerImpl(const TransformerEncoderLayerOptions& o);
  void reset() override;
  /// Resets the parameters of all submodules.
  void reset_parameters();
  /// src (L, N, E), src_mask (L, L), src_key_padding_mask (N, L) -> (L, N, E)
  Tensor forward(const Tensor& src, const Tensor& src_mask = {}, const Tensor& src_key_padding_mask = {});
  TransformerEncoderLayerOptions options;
  /// Self-attention: queries, keys and values are the same sequence.
  MultiheadAttention self_attn{nullptr};
  /// Maps d_model to dim_feedforward features.
  Linear linear1{nullptr};
  /// Dropout after the activation.
  Dropout dropout{nullptr};
  /// Maps dim_feedforward to d_model features.
  Linear linear2{nullptr};
  /// Norm of the attention part, and of the feed-forward part.
  LayerNorm norm1{nullptr}, norm2{nullptr};
  /// Dropout after the attention, and after the feed-forward part.
  Dropout dropout1{nullptr}, dropout2{nullptr};
};
TANDEM_LIBRARY_MODULE(TransformerEncoderLayer);

/// Same as the encoder layer, with an attention to the encoder's output between self-attention and feed-forward part.
class TransformerDecoderLayerImpl : public Cloneable<TransformerDecoderLayerImpl> {
 public:
  TransformerDecoderLayerImpl(int64_t d_model, int64_t nhead);
  explicit TransformerDecoderLayerImpl(const TransformerDecoderLayerOptions& o);
  void reset() override;
  /// Resets the parameters of all submodules.
  void reset_parameters();
  /// tgt (L, N, E), memory (S, N, E), tgt_mask (L, L), memory_mask (L, S), tgt_key_padding_mask (N, L),
  /// memory_key_padding_mask (N, S) -> (L, N, E)
  Tensor forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {}, const Tensor& memory_mask = {},
                 const Tensor& tgt_key_padding_mask = {}, const Tensor& memory_key_padding_mask = {});
  TransformerDecoderLayerOptions options;
  /// Attention of the target to itself, and to the encoder's output.
  MultiheadAttention self_attn{nullptr}, multihead_attn{nullptr};
  /// Maps d_model to dim_feedforward features.
  Linear linear1{nullptr};
  /// Dropout after the activation.
  Dropout dropout{nullptr};
  /// Maps dim_feedforward to d_model features.
  Linear linear2{nullptr};
  /// Norms of the self-attention, of the attention to the encoder, and of the feed-forward part.
  LayerNorm norm1{nullptr}, norm2{nullptr}, norm3{nullptr};
  /// Dropout after the self-attention, after the attention to the encoder, and after the feed-forward part.
  Dropout dropout1{nullptr}, dropout2{nullptr}, dropout3{nullptr};
};
TANDEM_LIBRARY_MODULE(TransformerDecoderLayer);

/// num_layers copies of one layer, and an optional norm after the last layer.
struct TransformerEncoderOptions {
  TransformerEncoderOptions(TransformerEncoderLayer encoder_layer, int64_t num_layers);
  TransformerEncoderOptions(const TransformerEncoderLayerOptions& encoder_layer, int64_t num_layers);
  TANDEM_ARG_DECLARED(TransformerEncoderLayer, encoder_layer){nullptr};  // layer to copy
  TANDEM_ARG(int64_t, num_layers);                                       // number of stacked layers
  TANDEM_ARG_DECLARED(AnyModule, norm);  // norm of the last layer's output; empty: no norm
};
struct TransformerDecoderOptions {
  TransformerDecoderOptions(TransformerDecoderLayer decoder_layer, int64_t num_layers);
  TransformerDecoderOptions(const TransformerDecoderLayerOptions& decoder_layer, int64_t num_layers);
  TANDEM_ARG_DECLARED(TransformerDecoderLayer, decoder_layer){nullptr};  // layer to copy
  TANDEM_ARG(int64_t, num_layers);                                       // number of stacked layers
  TANDEM_ARG_DECLARED(AnyModule, norm);  // norm of the last layer's output; empty: no norm
};

/// Applies layers in order, then the norm if there is one.
class TransformerEncoderImpl : public Cloneable<TransformerEncoderImpl> {
 public:
  TransformerEncoderImpl(TransformerEncoderLayer encoder_layer, int64_t num_layers);
  explicit TransformerEncoderImpl(const TransformerEncoderOptions& o);
  void reset() override;
  /// Resets the parameters of all layers.
  void reset_parameters();
  /// Takes and returns the same tensors as a TransformerEncoderLayer.
  Tensor forward(const Tensor& src, const Tensor& src_mask = {}, const Tensor& src_key_padding_mask = {});
  TransformerEncoderOptions options;
  /// num_layers copies of the layer.
  ModuleList layers{nullptr};
  /// Applied after the last layer; empty unless set in the options.
  AnyModule norm;
};
TANDEM_LIBRARY_MODULE(TransformerEncoder);
class TransformerDecoderImpl : public Cloneable<TransformerDecoderImpl> {
 public:
  TransformerDecoderImpl(TransformerDecoderLayer decoder_layer, int64_t num_layers);
  explicit TransformerDecoderImpl(const TransformerDecoderOptions& o);
  void reset() override;
  /// Resets the parameters of all layers.
  void reset_parameters();
  /// Takes and returns the same tensors as a TransformerDecoderLayer.
  Tensor forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {}, const Tensor& memory_mask = {},
                 const Tensor& tgt_key_padding_mask = {}, const Tensor& memory_key_padding_mask = {});
  TransformerDecoderOptions options;
  /// num_layers copies of the layer.
  ModuleList layers{nullptr};
  /// Applied after the last layer; empty unless set in the options.
  AnyModule norm;
};
TANDEM_LIBRARY_MODULE(TransformerDecoder);

struct TransformerOptions {
  TransformerOptions();
  TransformerOptions(int64_t d_model, int64_t nhead);
  TransformerOptions(int64_t d_model, int64_t nhead, int64_t num_encoder_layers, int64_t num_decoder_layers);
  TANDEM_ARG(int64_t, d_model) = 512;                     // number of features, E
  TANDEM_ARG(int64_t, nhead) = 8;                         // number of attention heads
  TANDEM_ARG(int64_t, num_encoder_layers) = 6;            // number of encoder layers
  TANDEM_ARG(int64_t, num_decoder_layers) = 6;            // number of decoder layers
  TANDEM_ARG(int64_t, dim_feedforward) = 2048;            // number of features between the two linear layers
  TANDEM_ARG(double, dropout) = 0.1;                      // dropout probability, within and after each sublayer
  TANDEM_ARG_DECLARED(activation_t, activation) = kReLU;  // feed-forward activation: kReLU, kGELU or a function
  TANDEM_ARG_DECLARED(AnyModule, custom_encoder);         // replaces the TransformerEncoder; called with 3 arguments
  TANDEM_ARG_DECLARED(AnyModule, custom_decoder);         // replaces the TransformerDecoder; called with 6 arguments
  TANDEM_ARG(bool, norm_first) = false;   // if true, normalises the input of each sublayer, not the residual sum
  TANDEM_ARG(bool, batch_first) = false;  // if true, tensors are (N, L, E) instead of (L, N, E)
};
/// An encoder of the source and a decoder of the target, each with a final LayerNorm.
class TransformerImpl : public Cloneable<TransformerImpl> {
 public:
  explicit TransformerImpl(const TransformerOptions& o = {});
  void reset() override;
  /// Initialises all parameters of two or more dimensions by xavier_uniform_.
  void reset_parameters();
  /// src (S, N, E), tgt (L, N, E) -> (L, N, E). The masks are passed to the encoder and the decoder.
  /// @throws Error unless src and tgt have the same batch size, and E is d_model
  Tensor forward(const Tensor& src, const Tensor& tgt, const Tensor& src_mask = {}, const Tensor& tgt_mask = {},
                 const Tensor& memory_mask = {}, const Tensor& src_key_padding_mask = {},
                 const Tensor& tgt_key_padding_mask = {}, const Tensor& memory_key_padding_mask = {});
  /// Returns (sz, sz): -inf above the diagonal and 0 elsewhere, so that no position attends to later ones.
  static Tensor generate_square_subsequent_mask(int64_t sz);
  TransformerOptions options;
  /// Copies of the options' custom modules; by default a TransformerEncoder and a TransformerDecoder with a LayerNorm
  /// each.
  AnyModule encoder, decoder;
};
TANDEM_LIBRARY_MODULE(Transformer);

}  // namespace tandem::nn
