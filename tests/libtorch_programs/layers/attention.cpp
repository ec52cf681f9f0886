// Multi-head attention, and transformer encoders and decoders, with masks.
#include <torch/torch.h>

#include <iostream>
#include <limits>

namespace nn = torch::nn;
namespace F = torch::nn::functional;

torch::Tensor wave(torch::IntArrayRef sizes, double step = 0.7) {
  int64_t count = 1;
  for (const auto size : sizes) count *= size;
  return (torch::arange(count, torch::kFloat64) * step + 0.3).sin().view(sizes) * 0.8;
}

template <class M> M known(M module) {
  module->to(torch::kFloat64);
  torch::NoGradGuard guard;
  double step = 0.2;
  for (auto& parameter : module->parameters()) parameter.copy_(wave(parameter.sizes(), step += 0.13));
  return module;
}

template <class M> void gradients(M& module) {
  for (const auto& parameter : module->named_parameters())
    std::cout << parameter.key() << ' ' << parameter->sizes() << ' '
              << parameter->grad().square().sum().template item<double>() << '\n';
}

void attention() {
  auto self = known(nn::MultiheadAttention(nn::MultiheadAttentionOptions(4, 2)));
  const auto x = wave({3, 2, 4});
  auto [y, weights] = self(x, x, x);
  std::cout << y << '\n' << weights << '\n';
  y.square().sum().backward();
  gradients(self);

  auto cross = known(nn::MultiheadAttention(
      nn::MultiheadAttentionOptions(4, 2).kdim(3).vdim(3).bias(false).add_zero_attn(true).add_bias_kv(false)));
  const auto ignored = torch::tensor({{false, false, true, false}, {false, true, true, false}});
  auto [z, shares] = cross(x, wave({4, 2, 3}), wave({4, 2, 3}, 0.4), ignored);
  std::cout << z << '\n' << shares << '\n';
  const auto later = torch::triu(torch::full({3, 3}, -std::numeric_limits<double>::infinity(), torch::kFloat64), 1);
  auto [masked, none] =
      self(x, x, x, /*key_padding_mask=*/torch::Tensor(), /*need_weights=*/false, /*attn_mask=*/later);
  std::cout << masked << '\n' << none.defined() << '\n';
  const auto direct =
      torch::scaled_dot_product_attention(wave({1, 2, 3, 4}), wave({1, 2, 3, 4}, 0.4), wave({1, 2, 3, 4}, 0.2),
                                          /*attn_mask=*/{}, /*dropout_p=*/0.0, /*is_causal=*/true);
  std::cout << direct << '\n';
}

void transformers() {
  auto layer =
      known(nn::TransformerEncoderLayer(nn::TransformerEncoderLayerOptions(4, 2).dim_feedforward(6).dropout(0)));
  std::cout << layer(wave({3, 1, 4})) << '\n';
  auto encoder = known(nn::TransformerEncoder(
      nn::TransformerEncoderOptions(
          nn::TransformerEncoderLayer(
              nn::TransformerEncoderLayerOptions(4, 2).dim_feedforward(6).dropout(0).activation(torch::kGELU)),
          2)
          .norm(nn::AnyModule(nn::LayerNorm(nn::LayerNormOptions({4}))))));
  const auto mask = nn::TransformerImpl::generate_square_subsequent_mask(3).to(torch::kFloat64);
  const auto encoded = encoder(wave({3, 2, 4}), mask, torch::tensor({{false, false, true}, {false, false, false}}));
  std::cout << mask << '\n' << encoded << '\n';
  auto decoder = known(nn::TransformerDecoder(
      nn::TransformerDecoderOptions(nn::TransformerDecoderLayerOptions(4, 2).dim_feedforward(5).dropout(0), 2)));
  const auto decoded = decoder(wave({2, 2, 4}, 0.3), encoded);
  std::cout << decoded << '\n';
  decoded.select(2, 1).square().sum().backward();
  gradients(decoder);

  auto whole = known(nn::Transformer(
      nn::TransformerOptions(4, 2, /*num_encoder_layers=*/1, /*num_decoder_layers=*/1).dim_feedforward(5).dropout(0)));
  const auto y = whole(wave({3, 2, 4}), wave({2, 2, 4}, 0.5), /*src_mask=*/torch::Tensor(),
                       nn::TransformerImpl::generate_square_subsequent_mask(2).to(torch::kFloat64));
  y.select(2, 0).square().sum().backward();
  std::cout << y << '\n';
  gradients(whole);
}

int main() {
  attention();
  transformers();
  return 0;
}
