// Tests LlamaForCausalLM against Hugging Face transformers (fixtures/llama.json and generation.json), rotary
// embeddings, files, and errors.
#include "tandem/models/llama.h"

#include "tandem/tests/models/generating.h"
#include "tandem/tests/temporary.h"

namespace tandem {
using models::LlamaConfig, models::LlamaForCausalLM;
using test::Tensors;

static LlamaConfig tiny_llama() {
  return LlamaConfig()
      .vocab_size(11)
      .hidden_size(16)
      .intermediate_size(24)
      .num_hidden_layers(2)
      .num_attention_heads(4)
      .num_key_value_heads(2)
      .max_position_embeddings(7);
}

TEST_CASE("LlamaForCausalLM gives Hugging Face's logits, loss and gradients", "[models][llama]") {
  const nlohmann::json rows = test::read_json("llama.json").at("modules");
  const auto check = [&](const char* name, LlamaForCausalLM model) {
    // 1e-6: transformers computes cosines and sines in float32, and so does Tandem, but with another cosine.
    test::check_module(
        rows, name, *model,
        [&](const Tensors& in) {
          const Tensor labels = in[0].clone();
          labels[0][2] = -100;
          return Tensors{model(in[0]), model->loss(in[0], labels)};
        },
        1e-6);
  };
  check("llama", LlamaForCausalLM(tiny_llama()));
  check("llama/tied",
        LlamaForCausalLM(
            tiny_llama().tie_word_embeddings(true).num_key_value_heads(4).rope_theta(100).rms_norm_eps(1e-3)));
  check("llama/bias",
        LlamaForCausalLM(tiny_llama().attention_bias(true).mlp_bias(true).num_key_value_heads(1).head_dim_override(6)));
}

TEST_CASE("LlamaForCausalLM generates transformers' tokens, with padding and several stops", "[models][llama]") {
  const LlamaConfig config = tiny_llama().vocab_size(13).max_position_embeddings(40).rope_theta(1000);
  test::check_generated("llama", test::with_formula_weights(LlamaForCausalLM(config)));
  test::check_generated("llama/tied",
                        test::with_formula_weights(LlamaForCausalLM(LlamaConfig(config).tie_word_embeddings(true))));
}

TEST_CASE("Rotary embeddings rotate pairs of features, and products depend on distances only", "[models][llama]") {
  const models::RotaryEmbedding rotary(4, 100);
  const auto [cos, sin] = rotary.forward(tensor({0, 3}), kFloat64);
  // The frequencies of 4 features are 1 and 100^(-1/2) = 0.1. 1e-6: float32.
  CHECK(cos.allclose(tensor({1.0, 1.0, 1.0, 1.0, std::cos(3.0), std::cos(0.3), std::cos(3.0), std::cos(0.3)}, kFloat64)
                         .reshape({2, 4}),
                     1e-6, 1e-6));
  CHECK(sin[1].allclose(tensor({std::sin(3.0), std::sin(0.3), std::sin(3.0), std::sin(0.3)}, kFloat64), 1e-6, 1e-6));
  CHECK(models::rotate_half(tensor({1.0, 2.0, 3.0, 4.0})).equal(tensor({-3.0, -4.0, 1.0, 2.0})));
  manual_seed(1);
  const Tensor q = randn({1, 1, 1, 4}, kFloat64), k = randn({1, 1, 1, 4}, kFloat64);
  const auto at = [&](const Tensor& x, int64_t position) {
    const auto [c, s] = rotary.forward(tensor({position}), kFloat64);
    return models::apply_rotary_pos_emb(x, c, s);
  };
  const double near = (at(q, 5) * at(k, 3)).sum().item<double>(), far = (at(q, 12) * at(k, 10)).sum().item<double>();
  CHECK(near == Approx(far).margin(1e-5));
  CHECK_THROWS_WITH(models::RotaryEmbedding(3), Contains("head_dim is 3; it must be even and positive"));
  CHECK_THROWS_WITH(models::RotaryEmbedding(4, 0), Contains("theta is 0"));
}

TEST_CASE("LlamaForCausalLM saves a folder, loads it, copies itself, and names what does not fit", "[models][llama]") {
  manual_seed(2);
  const test::TemporaryFolder folder;
  const Tensor ids = tensor({1, 2, 3, 4, 5, 6}).reshape({2, 3});
  for (const bool tied : {false, true}) {
    const LlamaForCausalLM model(tiny_llama().tie_word_embeddings(tied).rope_theta(500));
    model->save_pretrained(folder.path());
    const auto loaded = LlamaForCausalLM::from_pretrained(folder.path());
    CHECK(loaded(ids).equal(model(ids)));
    LlamaForCausalLM other(model->config);
    load(other, folder / "model.safetensors");
    CHECK(other(ids).equal(model(ids)));
    const auto copy = std::dynamic_pointer_cast<models::LlamaForCausalLMImpl>(model->clone());
    CHECK(copy->forward(ids).equal(model(ids)));
  }
  LlamaConfig(tiny_llama()).hidden_size(20).to_json_file(folder / "config.json");
  CHECK_THROWS_WITH(LlamaForCausalLM::from_pretrained(folder.path()),
                    Contains("model.embed_tokens.weight is (11, 16) in the file and (11, 20) in the model"));
  LlamaForCausalLM model(tiny_llama());
  CHECK_THROWS_WITH(model(zeros({1, 8}, kInt64)), Contains("at most 7 tokens per text (max_position_embeddings)"));
  CHECK_THROWS_WITH(model(full({1, 2}, 11, kInt64)), Contains("11; accepted: 0 to 10"));
  CHECK_THROWS_WITH(LlamaForCausalLM(tiny_llama().num_key_value_heads(3)),
                    Contains("num_key_value_heads 3 must divide num_attention_heads 4"));
  CHECK_THROWS_WITH(LlamaForCausalLM(tiny_llama().num_attention_heads(6).num_key_value_heads(6)),
                    Contains("num_attention_heads 6 must divide hidden_size 16"));
  const auto read = [&](const char* text) {
    test::write_file(folder / "config.json", text);
    return LlamaConfig::from_json_file(folder / "config.json");
  };
  CHECK(read(R"({"rope_parameters": {"rope_type": "default", "rope_theta": 7.0}, "head_dim": 8})").rope_theta() == 7);
  CHECK(read(R"({"rope_theta": 9.0, "rope_scaling": null})").rope_theta() == 9);
  CHECK_THROWS_WITH(read(R"({"rope_scaling": {"rope_type": "llama3", "factor": 8}})"),
                    Contains("rope_type is llama3; accepted: default"));
  CHECK_THROWS_WITH(read(R"({"model_type": "mistral"})"), Contains("model_type is mistral; accepted: llama"));
  CHECK_THROWS_WITH(read(R"({"hidden_act": "gelu"})"), Contains("hidden_act is gelu; accepted: silu"));
}

}  // namespace tandem
