// Implements transformer layers, stacks of layers, the whole model, and the causal mask.
#include "tandem/nn/transformer.h"

#include <limits>

#include "tandem/core/internal.h"
#include "tandem/ops/ops.h"

namespace tandem::nn {

template class Cloneable<TransformerEncoderLayerImpl>;
template class Cloneable<TransformerDecoderLayerImpl>;
template class Cloneable<TransformerEncoderImpl>;
template class Cloneable<TransformerDecoderImpl>;
template class Cloneable<TransformerImpl>;

TransformerEncoderLayerOptions::TransformerEncoderLayerOptions(int64_t d_model, int64_t nhead)
    : d_model_(d_model), nhead_(nhead) {}
TANDEM_ARG_SETTER(TransformerEncoderLayerOptions, activation_t, activation);
TransformerEncoderLayerImpl::TransformerEncoderLayerImpl(int64_t d_model, int64_t nhead)
    : TransformerEncoderLayerImpl(TransformerEncoderLayerOptions(d_model, nhead)) {}
TransformerEncoderLayerImpl::TransformerEncoderLayerImpl(const TransformerEncoderLayerOptions& o) : options(o) {
  reset();
}
TransformerEncoderOptions::TransformerEncoderOptions(TransformerEncoderLayer encoder_layer, int64_t num_layers)
    : encoder_layer_(std::move(encoder_layer)), num_layers_(num_layers) {}
TransformerEncoderOptions::TransformerEncoderOptions(const TransformerEncoderLayerOptions& encoder_layer,
                                                     int64_t num_layers)
    : TransformerEncoderOptions(TransformerEncoderLayer(encoder_layer), num_layers) {}
TANDEM_ARG_SETTER(TransformerEncoderOptions, TransformerEncoderLayer, encoder_layer);
TANDEM_ARG_SETTER(TransformerEncoderOptions, AnyModule, norm);
TransformerEncoderImpl::TransformerEncoderImpl(TransformerEncoderLayer encoder_layer, int64_t num_layers)
    : TransformerEncoderImpl(TransformerEncoderOptions(std::move(encoder_layer), num_layers)) {}
TransformerEncoderImpl::TransformerEncoderImpl(const TransformerEncoderOptions& o) : options(o) { reset(); }
TransformerDecoderLayerImpl::TransformerDecoderLayerImpl(int64_t d_model, int64_t nhead)
    : TransformerDecoderLayerImpl(TransformerDecoderLayerOptions(d_model, nhead)) {}
TransformerDecoderLayerImpl::TransformerDecoderLayerImpl(const TransformerDecoderLayerOptions& o) : options(o) {
  reset();
}
TransformerDecoderOptions::TransformerDecoderOptions(TransformerDecoderLayer decoder_layer, int64_t num_layers)
    : decoder_layer_(std::move(decoder_layer)), num_layers_(num_layers) {}
TransformerDecoderOptions::TransformerDecoderOptions(const TransformerDecoderLayerOptions& decoder_layer,
                                                     int64_t num_layers)
    : TransformerDecoderOptions(TransformerDecoderLayer(decoder_layer), num_layers) {}
TANDEM_ARG_SETTER(TransformerDecoderOptions, TransformerDecoderLayer, decoder_layer);
TANDEM_ARG_SETTER(TransformerDecoderOptions, AnyModule, norm);
TransformerDecoderImpl::TransformerDecoderImpl(TransformerDecoderLayer decoder_layer, int64_t num_layers)
    : TransformerDecoderImpl(TransformerDecoderOptions(std::move(decoder_layer), num_layers)) {}
TransformerDecoderImpl::TransformerDecoderImpl(const TransformerDecoderOptions& o) : options(o) { reset(); }
TransformerOptions::TransformerOptions() = default;
TransformerOptions::TransformerOptions(int64_t d_model, int64_t nhead) : d_model_(d_model), nhead_(nhead) {}
TransformerOptions::TransformerOptions(int64_t d_model, int64_t nhead, int64_t num_encoder_layers,
                                       int64_t num_decoder_layers)
    : d_model_(d_model),
      nhead_(nhead),
      num_encoder_layers_(num_encoder_layers),
      num_decoder_layers_(num_decoder_layers) {}
TANDEM_ARG_SETTER(TransformerOptions, activation_t, activation);
TANDEM_ARG_SETTER(TransformerOptions, AnyModule, custom_encoder);
TANDEM_ARG_SETTER(TransformerOptions, AnyModule, custom_decoder);
TransformerImpl::TransformerImpl(const TransformerOptions& o) : options(o) { reset(); }

namespace {
Tensor apply_activation(const Tensor& x, const activation_t& activation) {
  if (std::holds_alternative<GeluTag>(activation)) return gelu(x);
  if (const auto* const f = std::get_if<std::function<Tensor(const Tensor&)>>(&activation)) return (*f)(x);
  TANDEM_CHECK(std::get<init::Nonlinearity>(activation) == init::Nonlinearity::relu,
               "Transformer: activation should be kGELU, kReLU, or a callable");
  return x.relu();
}
MultiheadAttention make_attention(const TransformerEncoderLayerOptions& o) {
  return MultiheadAttention(
      MultiheadAttentionOptions(o.d_model(), o.nhead()).dropout(o.dropout()).batch_first(o.batch_first()));
}
LayerNorm make_layer_norm(int64_t features) { return LayerNorm(LayerNormOptions({features})); }
/// Returns the output of an attention module, without computing the attention weights.
Tensor apply_attention(MultiheadAttention& attention, const Tensor& query, const Tensor& memory, const Tensor& mask,
                       const Tensor& padding) {
  return std::get<0>(attention(query, memory, memory, padding, /*need_weights=*/false, mask));
}
/// Returns x + part(x). The norm is applied to part's input if norm_first is true, else to the sum.
template <class Part> Tensor add_residual(bool norm_first, LayerNorm& norm, const Tensor& x, const Part& part) {
  return norm_first ? x + part(norm(x)) : norm(x + part(x));
}
/// Returns a ModuleList of `count` copies of a layer.
template <class Layer> ModuleList clone_layers(const char* name, const Layer& layer, int64_t count) {
  TANDEM_CHECK(count > 0, name, ": num_layers is ", count, "; it must be positive");
  ModuleList layers;
  for (int64_t i = 0; i < count; ++i)
    layers->push_back(std::dynamic_pointer_cast<typename Layer::ContainedType>(layer->clone()));
  return layers;
}
}  // namespace

void TransformerEncoderLayerImpl::reset() {
  const auto& o = options;
  self_attn = register_module("self_attn", make_attention(o));
  linear1 = register_module("linear1", Linear(o.d_model(), o.dim_feedforward()));
  dropout = register_module("dropout", Dropout(o.dropout()));
  linear2 = register_module("linear2", Linear(o.dim_feedforward(), o.d_model()));
  norm1 = register_module("norm1", make_layer_norm(o.d_model()));
  norm2 = register_module("norm2", make_layer_norm(o.d_model()));
  dropout1 = register_module("dropout1", Dropout(o.dropout()));
  dropout2 = register_module("dropout2", Dropout(o.dropout()));
}
void TransformerEncoderLayerImpl::reset_parameters() {
  self_attn->_reset_parameters();
  linear1->reset_parameters(), linear2->reset_parameters();
  norm1->reset_parameters(), norm2->reset_parameters();
}
Tensor TransformerEncoderLayerImpl::forward(const Tensor& src, const Tensor& src_mask,
                                            const Tensor& src_key_padding_mask) {
  const bool first = options.norm_first();
  const Tensor x = add_residual(first, norm1, src, [&](const Tensor& in) {
    return dropout1(apply_attention(self_attn, in, in, src_mask, src_key_padding_mask));
  });
  return add_residual(first, norm2, x, [&](const Tensor& in) {
    return dropout2(linear2(dropout(apply_activation(linear1(in), options.activation()))));
  });
}

void TransformerDecoderLayerImpl::reset() {
  const auto& o = options;
  self_attn = register_module("self_attn", make_attention(o));
  multihead_attn = register_module("multihead_attn", make_attention(o));
  linear1 = register_module("linear1", Linear(o.d_model(), o.dim_feedforward()));
  dropout = register_module("dropout", Dropout(o.dropout()));
  linear2 = register_module("linear2", Linear(o.dim_feedforward(), o.d_model()));
  norm1 = register_module("norm1", make_layer_norm(o.d_model()));
  norm2 = register_module("norm2", make_layer_norm(o.d_model()));
  norm3 = register_module("norm3", make_layer_norm(o.d_model()));
  dropout1 = register_module("dropout1", Dropout(o.dropout()));
  dropout2 = register_module("dropout2", Dropout(o.dropout()));
  dropout3 = register_module("dropout3", Dropout(o.dropout()));
}
void TransformerDecoderLayerImpl::reset_parameters() {
  self_attn->_reset_parameters(), multihead_attn->_reset_parameters();
  linear1->reset_parameters(), linear2->reset_parameters();
  norm1->reset_parameters(), norm2->reset_parameters(), norm3->reset_parameters();
}
Tensor TransformerDecoderLayerImpl::forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask,
                                            const Tensor& memory_mask, const Tensor& tgt_key_padding_mask,
                                            const Tensor& memory_key_padding_mask) {
  const bool first = options.norm_first();
  Tensor x = add_residual(first, norm1, tgt, [&](const Tensor& in) {
    return dropout1(apply_attention(self_attn, in, in, tgt_mask, tgt_key_padding_mask));
  });
  x = add_residual(first, norm2, x, [&](const Tensor& in) {
    return dropout2(apply_attention(multihead_attn, in, memory, memory_mask, memory_key_padding_mask));
  });
  return add_residual(first, norm3, x, [&](const Tensor& in) {
    return dropout3(linear2(dropout(apply_activation(linear1(in), options.activation()))));
  });
}

void TransformerEncoderImpl::reset() {
  layers = register_module("layers", clone_layers("TransformerEncoder", options.encoder_layer(), options.num_layers()));
  norm = options.norm().clone();
  if (!norm.is_empty()) register_module("norm", norm.ptr());
}
void TransformerEncoderImpl::reset_parameters() {
  for (size_t i = 0; i < layers->size(); ++i) layers->at<TransformerEncoderLayerImpl>(i).reset_parameters();
}
Tensor TransformerEncoderImpl::forward(const Tensor& src, const Tensor& src_mask, const Tensor& src_key_padding_mask) {
  Tensor x = src;
  for (size_t i = 0; i < layers->size(); ++i)
    x = call_module(layers->at<TransformerEncoderLayerImpl>(i), x, src_mask, src_key_padding_mask);
  return norm.is_empty() ? x : norm.forward(x);
}

void TransformerDecoderImpl::reset() {
  layers = register_module("layers", clone_layers("TransformerDecoder", options.decoder_layer(), options.num_layers()));
  norm = options.norm().clone();
  if (!norm.is_empty()) register_module("norm", norm.ptr());
}
void TransformerDecoderImpl::reset_parameters() {
  for (size_t i = 0; i < layers->size(); ++i) layers->at<TransformerDecoderLayerImpl>(i).reset_parameters();
}
Tensor TransformerDecoderImpl::forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask,
                                       const Tensor& memory_mask, const Tensor& tgt_key_padding_mask,
                                       const Tensor& memory_key_padding_mask) {
  Tensor x = tgt;
  for (size_t i = 0; i < layers->size(); ++i)
    x = call_module(layers->at<TransformerDecoderLayerImpl>(i), x, memory, tgt_mask, memory_mask, tgt_key_padding_mask,
                    memory_key_padding_mask);
  return norm.is_empty() ? x : norm.forward(x);
}

void TransformerImpl::reset() {
  const auto& o = options;
  const auto layer = TransformerEncoderLayerOptions(o.d_model(), o.nhead())
                         .dim_feedforward(o.dim_feedforward())
                         .dropout(o.dropout())
                         .activation(o.activation())
                         .norm_first(o.norm_first())
                         .batch_first(o.batch_first());
  encoder = !o.custom_encoder().is_empty()
                ? o.custom_encoder().clone()
                : AnyModule(TransformerEncoder(
                      TransformerEncoderOptions(layer, o.num_encoder_layers()).norm(make_layer_norm(o.d_model()))));
  register_module("encoder", encoder.ptr());
  decoder = !o.custom_decoder().is_empty()
                ? o.custom_decoder().clone()
                : AnyModule(TransformerDecoder(
                      TransformerDecoderOptions(layer, o.num_decoder_layers()).norm(make_layer_norm(o.d_model()))));
  register_module("decoder", decoder.ptr());
  reset_parameters();
}
void TransformerImpl::reset_parameters() {
  for (const Tensor& parameter : parameters())
    if (parameter.dim() > 1) init::xavier_uniform_(parameter);
}
Tensor TransformerImpl::forward(const Tensor& src, const Tensor& tgt, const Tensor& src_mask, const Tensor& tgt_mask,
                                const Tensor& memory_mask, const Tensor& src_key_padding_mask,
                                const Tensor& tgt_key_padding_mask, const Tensor& memory_key_padding_mask) {
  const int64_t batch = options.batch_first() ? 0 : 1;
  const int64_t rank = src.dim();
  TANDEM_CHECK(rank == tgt.dim() && (rank == 2 || rank == 3),
               "Transformer: src and tgt should have 3 dimensions, but got ", rank, " and ", tgt.dim(),
               "; without a batch both have 2");
  TANDEM_CHECK(rank == 2 || src.size(batch) == tgt.size(batch),
               "Transformer: src and tgt should have equal batch size (at dim ", batch, "), but got ", src.size(batch),
               " and ", tgt.size(batch));
  TANDEM_CHECK(src.size(-1) == options.d_model() && tgt.size(-1) == options.d_model(),
               "Transformer: src and tgt should have same feature size as d_model (at dim ", rank - 1, "), but got ",
               src.size(-1), " and ", tgt.size(-1), " while d_model is ", options.d_model());
  const Tensor memory = encoder.forward(src, src_mask, src_key_padding_mask);
  return decoder.forward(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask);
}
Tensor TransformerImpl::generate_square_subsequent_mask(int64_t sz) {
  return full({sz, sz}, -std::numeric_limits<double>::infinity()).triu(1);
}

}  // namespace tandem::nn
