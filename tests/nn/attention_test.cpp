// Tests attention and transformers against PyTorch (fixtures/modules.json), and their errors.
#include "tandem/nn/attention.h"

#include "tandem/nn/transformer.h"
#include "tandem/tests/nn/module_rows.h"

namespace tandem {
namespace F = nn::functional;
using test::check_module;
using test::Tensors;

static Tensors listed(const std::tuple<Tensor, Tensor>& both) {
  const auto [output, weights] = both;
  return weights.defined() ? Tensors{output, weights} : Tensors{output};
}

TEST_CASE("MultiheadAttention gives PyTorch's outputs, weights and gradients", "[nn][attention]") {
  using nn::MultiheadAttention, nn::MultiheadAttentionOptions;
  MultiheadAttention m(4, 2);
  check_module("attention/self", *m, [&](const Tensors& in) { return listed(m(in[0], in[0], in[0])); });
  m = MultiheadAttention(MultiheadAttentionOptions(4, 2).batch_first(true));
  check_module("attention/self/padding", *m,
               [&](const Tensors& in) { return listed(m(in[0], in[0], in[0], in[1] != 0)); });
  m = MultiheadAttention(MultiheadAttentionOptions(4, 2).bias(false));
  check_module("attention/shared_kv", *m, [&](const Tensors& in) {
    return listed(m(in[0], in[1], in[1], Tensor(), true, Tensor(), /*average_attn_weights=*/false));
  });
  m = MultiheadAttention(4, 2);
  check_module("attention/masks", *m,
               [&](const Tensors& in) { return listed(m(in[0], in[1], in[2], in[3], true, in[4])); });
  m = MultiheadAttention(4, 2);
  check_module("attention/no_weights", *m,
               [&](const Tensors& in) { return listed(m(in[0], in[1], in[2], Tensor(), false, in[3])); });
  m = MultiheadAttention(MultiheadAttentionOptions(4, 2).kdim(3).vdim(5).add_bias_kv(true).add_zero_attn(true));
  check_module("attention/dims", *m,
               [&](const Tensors& in) { return listed(m(in[0], in[1], in[2], Tensor(), true, in[3])); });
  m = MultiheadAttention(4, 4);
  check_module("attention/unbatched", *m, [&](const Tensors& in) { return listed(m(in[0], in[1], in[2])); });
}

TEST_CASE("scaled_dot_product_attention gives PyTorch's values and gradients", "[nn][attention]") {
  nn::Identity none;
  const auto check = [&](const char* name, const std::function<Tensor(const Tensors&)>& f) {
    check_module(name, *none, [&](const Tensors& in) { return Tensors{f(in)}; });
  };
  check("sdpa", [](const Tensors& in) { return scaled_dot_product_attention(in[0], in[1], in[2]); });
  check("sdpa/mask", [](const Tensors& in) { return scaled_dot_product_attention(in[0], in[1], in[2], in[3]); });
  check("sdpa/numbers",
        [](const Tensors& in) { return scaled_dot_product_attention(in[0], in[1], in[2], in[3], 0, false, 0.5); });
  check("sdpa/causal",
        [](const Tensors& in) { return F::scaled_dot_product_attention(in[0], in[1], in[2], {}, 0, true); });
  check("sdpa/groups", [](const Tensors& in) {
    return scaled_dot_product_attention(in[0], in[1], in[2], {}, 0, false, {}, /*enable_gqa=*/true);
  });
  check("sdpa/nowhere",
        [](const Tensors& in) { return scaled_dot_product_attention(in[0], in[1], in[2], in[3] != 0); });

  // A bool mask and the equivalent mask of -infinity give the same result, also if a query may attend to no key.
  manual_seed(5);
  const Tensor q = randn({2, 3}), k = randn({4, 3}), v = randn({4, 2});
  const Tensor mask = tensor({0, 0, 0, 0, 1, 0, 1, 1}).reshape({2, 4}) != 0;
  const Tensor numbers = zeros({2, 4}).masked_fill(mask.logical_not(), -INFINITY);
  const Tensor y = scaled_dot_product_attention(q, k, v, mask);
  CHECK(scaled_dot_product_attention(q, k, v, numbers).equal(y));
  CHECK(y[0].equal(zeros({2})));
  // With dropout probability 1 the output is zero. With 0.5 it is the sum of the kept weights (all 1/4), each doubled.
  CHECK(scaled_dot_product_attention(q, k, v, {}, 1).equal(zeros({2, 2})));
  const Tensor same = scaled_dot_product_attention(zeros({1000, 3}), k, ones({4, 1}), {}, 0.5);
  CHECK(same.mul(2).equal(same.mul(2).round()));  // possible values: 0, 1/2, 1, 3/2, 2
  CHECK(same.mean().item<double>() == Approx(1).margin(0.1));

  CHECK_THROWS_WITH(scaled_dot_product_attention(q, k, v, mask, 0, true),
                    Contains("Explicit attn_mask should not be set when is_causal=True"));
  CHECK_THROWS_WITH(
      scaled_dot_product_attention(q, k, v, mask.to(kInt64)),
      Contains("Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
               "int64 and  query.dtype: float32 instead."));
  CHECK_THROWS_WITH(
      scaled_dot_product_attention(q, k, v, ones({3, 4}, kBool)),
      Contains("The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 0"));
  CHECK_THROWS_WITH(scaled_dot_product_attention(q, k, v, ones({2, 2, 4}, kBool)), Contains("attn_mask is (2, 2, 4)"));
  CHECK_THROWS_WITH(scaled_dot_product_attention(q, k, v[0]),
                    Contains("to all be  at least 2 dimensional, but got query.dim: 2 key.dim: 2 and value.dim: 1"));
  CHECK_THROWS_WITH(scaled_dot_product_attention(q, randn({4, 2}), v), Contains("key (4, 2)"));
  CHECK_THROWS_WITH(scaled_dot_product_attention(q, k.to(kFloat64), v), Contains("float64"));
  CHECK_THROWS_WITH(
      scaled_dot_product_attention(ones({2, 2, 3}), ones({3, 4, 3}), ones({3, 4, 2})),
      Contains("scaled_dot_product_attention: the leading dimensions of query and key: The size of tensor a (2)"));
  CHECK_THROWS_WITH(
      scaled_dot_product_attention(ones({5, 2, 2, 3}), ones({2, 4, 3}), ones({3, 4, 2})),
      Contains("dimensions of query, key and value: The size of tensor a (2) must match the size of tensor b (3)"));
  CHECK_THROWS_WITH(
      scaled_dot_product_attention(ones({3, 2, 3}), ones({2, 4, 3}), ones({2, 4, 3}), {}, 0, false, {}, true),
      Contains("Number of heads in key and value must divide the number of heads in query"));
}

TEST_CASE("scaled_dot_product_attention of three dimensions: NaN, half types and a key that changes",
          "[nn][attention]") {
  // A NaN in a query makes all its weights NaN, including keys hidden by is_causal, because -infinity is added to the
  // scores.
  Tensor q = ones({5, 2}), k = ones({3, 2}).requires_grad_();
  q[1][0] = NAN;
  scaled_dot_product_attention(q, k, ones({3, 1}), {}, 0, /*is_causal=*/true).backward(ones({5, 1}));
  CHECK(k.grad().isnan().all().item<bool>());

  manual_seed(7);
  const Tensor x = randn({2, 6, 8}) * 3, y = randn({2, 6, 8}) * 3;
  for (const DType half : {kFloat16, kBFloat16}) {  // halves are computed in float32 and rounded once
    const Tensor a = x.to(half), b = y.to(half);
    const Tensor exact = scaled_dot_product_attention(a.to(kFloat32), b.to(kFloat32), a.to(kFloat32));
    CHECK(scaled_dot_product_attention(a, b, a).equal(exact.to(half)));
  }

  Tensor query = x.clone().requires_grad_(), key = y.clone();
  const Tensor out = scaled_dot_product_attention(query, key, y);
  key.add_(1);  // forward saved a scaled copy of the key, so this does not affect backward
  out.sum().backward();
  Tensor again = x.clone().requires_grad_();
  scaled_dot_product_attention(again, y, y).sum().backward();
  CHECK(query.grad().equal(again.grad()));
}

TEST_CASE("MultiheadAttention: static keys, dropout, initial values, refusals", "[nn][attention]") {
  manual_seed(6);
  nn::MultiheadAttention m(nn::MultiheadAttentionOptions(4, 2).add_bias_kv(true).dropout(0.5));
  CHECK(m->in_proj_bias.equal(zeros({12})));
  CHECK(m->out_proj->bias.equal(zeros({4})));
  CHECK(m->in_proj_weight.abs().max().item<double>() <= std::sqrt(6.0 / 16));  // Xavier bound: sqrt(6 / (12 + 4))
  CHECK(m->bias_k.abs().max().item<double>() > 0);
  const Tensor q = randn({3, 2, 4}), k = randn({5, 2, 4});
  CHECK_FALSE(std::get<0>(m(q, k, k)).equal(std::get<0>(m(q, k, k))));
  m->eval();
  CHECK(std::get<0>(m(q, k, k)).equal(std::get<0>(m(q, k, k))));
  CHECK(std::get<0>(m->clone()->as<nn::MultiheadAttention>()->forward(q, k, k)).equal(std::get<0>(m(q, k, k))));
  // If dropout drops every attention weight, the output is the bias of the output projection, with and without
  // need_weights.
  nn::MultiheadAttention dropped(nn::MultiheadAttentionOptions(4, 2).dropout(1));
  nn::init::uniform_(dropped->out_proj->bias, 1, 2);
  for (const bool need_weights : {false, true}) {
    CAPTURE(need_weights);
    dropped->train();
    CHECK(std::get<0>(dropped(q, k, k, Tensor(), need_weights)).equal(dropped->out_proj->bias.expand({3, 2, 4})));
    dropped->eval();
    CHECK_FALSE(std::get<0>(dropped(q, k, k, Tensor(), need_weights)).equal(dropped->out_proj->bias.expand({3, 2, 4})));
  }

  // Passes keys and values that are already projected (static_k, static_v).
  const auto options = [&](const Tensor& in_proj) {
    return F::MultiheadAttentionForwardFuncOptions(4, 2, in_proj, {}, {}, {}, false, 0, m->out_proj->weight, {});
  };
  const Tensor eye3 = eye(4).repeat({3, 1}), heads = k.view({5, 4, 2}).transpose(0, 1);
  const Tensor plain = std::get<0>(F::multi_head_attention_forward(q, k, k, options(eye3)));
  const Tensor fixed = std::get<0>(F::multi_head_attention_forward(q, zeros({5, 2, 4}), zeros({5, 2, 4}),
                                                                   options(eye3).static_k(heads).static_v(heads)));
  CHECK(fixed.allclose(plain));

  m = nn::MultiheadAttention(4, 2);
  const auto with = [&](const Tensor& padding, const Tensor& mask) { return m(q, q, q, padding, true, mask); };
  CHECK_THROWS_WITH(with({}, zeros({2, 2})),
                    Contains("The size of the 2D attn_mask is not correct.") && Contains("(3, 3) and (4, 3, 3)"));
  CHECK_THROWS_WITH(with(zeros({2, 2}), {}), Contains("key_padding_mask is (2, 2); accepted: (2, 3)"));
  CHECK_THROWS_WITH(with(zeros({2, 3}, kInt64), {}),
                    Contains("only bool and floating types of key_padding_mask are supported, got int64"));
  CHECK_THROWS_WITH(m(q, k, q), Contains("query is (3, 2, 4), key (5, 2, 4)"));
  CHECK_THROWS_WITH(m(q, k, k[0]), Contains("all must have three dimensions, or, without a batch, two"));
  CHECK_THROWS_WITH(m(zeros({3, 2, 5}), k, k), Contains("must be embed_dim, 4"));
  CHECK_THROWS_WITH(nn::MultiheadAttention(4, 3), Contains("embed_dim must be divisible by num_heads"));
  CHECK_THROWS_WITH(F::multi_head_attention_forward(q, k, k, options({})), Contains("in_proj_weight must be defined"));
}

TEST_CASE("transformers give PyTorch's outputs and gradients", "[nn][transformer]") {
  const auto options = nn::TransformerEncoderLayerOptions(4, 2).dim_feedforward(6).dropout(0);
  const auto with = [&](nn::activation_t activation, bool norm_first) {
    auto o = options;
    return o.activation(activation).norm_first(norm_first);
  };
  using Encoder = nn::TransformerEncoderLayer;
  using Decoder = nn::TransformerDecoderLayer;
  Encoder layer(options);
  check_module("encoder_layer", *layer, [&](const Tensors& in) { return Tensors{layer(in[0])}; });
  layer = Encoder(with(kGELU, false));
  check_module("encoder_layer/masks", *layer, [&](const Tensors& in) { return Tensors{layer(in[0], in[1], in[2])}; });
  layer = Encoder(with([](const Tensor& x) { return x.relu(); }, true));
  check_module("encoder_layer/norm_first", *layer, [&](const Tensors& in) { return Tensors{layer(in[0])}; });
  Decoder decoder_layer(options);
  check_module("decoder_layer", *decoder_layer,
               [&](const Tensors& in) { return Tensors{decoder_layer(in[0], in[1])}; });
  decoder_layer = Decoder(with(kGELU, true));
  check_module("decoder_layer/masks", *decoder_layer,
               [&](const Tensors& in) { return Tensors{decoder_layer(in[0], in[1], in[2], in[3], in[4], in[5])}; });
  nn::TransformerEncoder encoder(
      nn::TransformerEncoderOptions(options, 2).norm(nn::LayerNorm(nn::LayerNormOptions({4}))));
  check_module("encoder", *encoder, [&](const Tensors& in) { return Tensors{encoder(in[0])}; });
  nn::TransformerDecoder decoder(nn::TransformerDecoderOptions(options, 2));
  check_module("decoder", *decoder, [&](const Tensors& in) {
    return Tensors{decoder(in[0], in[1], nn::TransformerImpl::generate_square_subsequent_mask(3).to(kFloat64))};
  });
  nn::Transformer whole(nn::TransformerOptions(4, 2, 1, 2).dim_feedforward(6).dropout(0));
  check_module("transformer", *whole, [&](const Tensors& in) { return Tensors{whole(in[0], in[1], Tensor(), in[2])}; });
}

TEST_CASE("transformers: copies, custom parts, batches first, refusals", "[nn][transformer]") {
  manual_seed(7);
  const auto options = nn::TransformerOptions(4, 2, 2, 1).dim_feedforward(6);
  nn::Transformer m(options);
  const Tensor src = randn({5, 2, 4}), tgt = randn({3, 2, 4});
  CHECK_FALSE(m(src, tgt).equal(m(src, tgt)));  // differs by dropout
  m->eval();
  const Tensor y = m(src, tgt);
  const auto copy = m->clone();
  CHECK(copy->as<nn::Transformer>()->forward(src, tgt).equal(y));
  auto o = options;
  nn::Transformer turned(o.batch_first(true));
  turned->eval();
  turned->load_state_dict(m->state_dict());
  CHECK(turned(src.transpose(0, 1), tgt.transpose(0, 1)).allclose(y.transpose(0, 1), 0, 1e-6));
  CHECK(m(src.select(1, 1), tgt.select(1, 1)).allclose(y.select(1, 1), 0, 1e-6));

  // The layers of an encoder are copies of the given layer and start with its values.
  const nn::TransformerEncoder again(nn::TransformerEncoderLayer(4, 2), 2);
  const auto weight = [&](size_t i) { return again->layers->at<nn::TransformerEncoderLayerImpl>(i).linear1->weight; };
  CHECK(weight(0).equal(weight(1)));
  CHECK_FALSE(weight(0).is_same(weight(1)));
  again->reset_parameters();
  CHECK_FALSE(weight(0).equal(weight(1)));

  struct TwiceImpl : nn::Cloneable<TwiceImpl> {
    void reset() override {}
    Tensor forward(const Tensor& x, const Tensor&, const Tensor&) { return x * 2; }
  };
  const nn::Transformer custom(nn::TransformerOptions(4, 2, 1, 1).custom_encoder(std::make_shared<TwiceImpl>()));
  custom->eval();
  CHECK(custom->encoder.ptr()->name() == "Twice");
  CHECK(custom->decoder.forward(tgt, src * 2, Tensor(), Tensor(), Tensor(), Tensor()).equal(custom->forward(src, tgt)));

  CHECK_THROWS_WITH(m(src, randn({3, 1, 4})),
                    Contains("src and tgt should have equal batch size (at dim 1), but got 2 and 1"));
  CHECK_THROWS_WITH(m(randn({5, 2, 3}), tgt),
                    Contains("same feature size as d_model (at dim 2), but got 3 and 4 while d_model is 4"));
  CHECK_THROWS_WITH(nn::TransformerEncoder(nn::TransformerEncoderLayer(4, 2), 0), Contains("num_layers is 0"));
  nn::TransformerEncoderLayer sigmoid(nn::TransformerEncoderLayerOptions(4, 2).activation(kSigmoid));
  CHECK_THROWS_WITH(sigmoid(src), Contains("activation should be kGELU, kReLU, or a callable"));
}

}  // namespace tandem
