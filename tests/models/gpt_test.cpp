// Tests GptModel against Hugging Face transformers (fixtures/gpt.json), and its errors.
#include "tandem/models/gpt.h"

#include "tandem/models/bert.h"
#include "tandem/tests/nn/fusion_guard.h"
#include "tandem/tests/nn/module_rows.h"
#include "tandem/tests/temporary.h"

namespace tandem {
using models::GptConfig, models::GptModel;
using test::Tensors;

static GptConfig tiny_gpt() {
  return GptConfig()
      .vocab_size(11)
      .n_positions(7)
      .n_embd(16)
      .n_layer(2)
      .n_head(4)
      .resid_pdrop(0)
      .embd_pdrop(0)
      .attn_pdrop(0);
}

TEST_CASE("GPT and BERT call their blocks and the head so that hooks run", "[models][gpt][bert]") {
  int calls = 0;
  const auto count = [&](nn::Module& module) {
    calls = 0;
    for (const auto& each : module.children())
      each->register_forward_hook([&](nn::Module&, const Tensors&, const Tensors&) { ++calls; });
  };
  GptModel gpt(tiny_gpt().tie_word_embeddings(false));
  count(*gpt->h);
  gpt->lm_head->register_forward_hook([&](nn::Module&, const Tensors&, const Tensors&) { calls += 10; });
  gpt(zeros({1, 3}, kInt64));
  CHECK(calls == 12);
  // A context and a mask are optional, so blocks can stand in a Sequential.
  const GptConfig small = tiny_gpt();
  nn::Sequential blocks{models::GptBlock(small), models::GptBlock(small)};
  CHECK(blocks->forward(randn({1, 3, 16})).sizes() == IntArrayRef({1, 3, 16}));
  models::BertEncoder bert(models::BertConfig().hidden_size(8).num_hidden_layers(3).num_attention_heads(2));
  count(*bert->layer);
  bert(randn({1, 3, 8}), Tensor());
  CHECK(calls == 3);
}

TEST_CASE("GptModel gives Hugging Face's logits, loss and gradients", "[models][gpt]") {
  const nlohmann::json rows = test::read_json("gpt.json").at("modules");
  for (const bool blocks : {true, false}) {
    const test::FusionGuard fusion(blocks);
    const auto check = [&](const char* name, GptModel model) {
      test::check_module(rows, name, *model, [&](const Tensors& in) {
        const Tensor labels = in[0].clone();
        labels[0][2] = -100;
        return Tensors{model(in[0]), model->loss(in[0], labels)};
      });
    };
    check("gpt", GptModel(tiny_gpt()));
    check("gpt/untied",
          GptModel(tiny_gpt().tie_word_embeddings(false).activation_function("gelu").layer_norm_epsilon(1e-3)));
    check("gpt/relu", GptModel(tiny_gpt().activation_function("relu")));
  }
}

TEST_CASE("GptModel begins as GPT-2 does, copies itself, and names what does not fit", "[models][gpt]") {
  manual_seed(1);
  const GptModel model(tiny_gpt().vocab_size(400).n_embd(64).n_layer(8).resid_pdrop(0.5));
  const auto deviation = [&](const Tensor& t) { return t.detach().std().item<double>(); };
  CHECK(deviation(model->wte->weight) == Approx(0.02).epsilon(0.05));
  const auto block = model->h->ptr<models::GptBlockImpl>(7);
  CHECK(deviation(block->attn->c_attn->weight) == Approx(0.02).epsilon(0.05));
  CHECK(deviation(block->attn->c_proj->weight) == Approx(0.005).epsilon(0.05));
  CHECK(deviation(block->mlp->c_proj->weight) == Approx(0.005).epsilon(0.05));
  CHECK(block->mlp->c_fc->bias.equal(zeros({256})));
  const Tensor ids = tensor({1, 2, 3, 4, 5, 6}).reshape({2, 3});
  CHECK(!model(ids).equal(model(ids)));  // differs by dropout
  model->eval();
  const auto copy = std::dynamic_pointer_cast<models::GptModelImpl>(model->clone());
  CHECK(copy->forward(ids).equal(model(ids)));
  // The output at a position does not depend on later tokens.
  const Tensor longer = cat({ids, tensor({7, 8}).reshape({2, 1})}, 1);
  CHECK(model(longer).narrow(1, 0, 3).allclose(model(ids), 1e-5, 1e-6));

  CHECK_THROWS_WITH(model(ids[0]), Contains("input_ids is (3,); accepted: (N, L)"));
  CHECK_THROWS_WITH(model(zeros({1, 8}, kInt64)), Contains("input_ids is (1, 8); accepted: at most 7 tokens per text"));
  CHECK_THROWS_WITH(model->loss(ids, ids[0]), Contains("labels is (3,) and input_ids (2, 3)"));
  CHECK_THROWS_WITH(GptModel(tiny_gpt().n_head(5)), Contains("n_head 5 must divide n_embd 16"));
  CHECK_THROWS_WITH(GptModel(tiny_gpt().activation_function("swish")),
                    Contains("swish; accepted: gelu, gelu_new, relu"));
  CHECK_THROWS_WITH(GptModel(tiny_gpt().n_layer(0)), Contains("n_layer is 0"));
}

TEST_CASE("GptModel loads files of GPT2LMHeadModel and of GPT2Model", "[models][gpt]") {
  manual_seed(2);
  const GptModel model(tiny_gpt());
  const Tensor ids = tensor({1, 2, 3, 4, 5, 6}).reshape({2, 3});
  for (const char* const prefix : {"transformer.", ""}) {
    NamedTensors file = {{"lm_head.weight", zeros({11, 16})}};  // shared with the token embedding, so it is ignored
    for (const auto& parameter : model->named_parameters())
      file.emplace(std::string(prefix).append(parameter.key()), parameter.value().detach());
    file.emplace(std::string(prefix).append("h.0.attn.bias"), ones({7, 7}));  // mask stored in older files
    const test::TemporaryFolder folder;
    const std::string path = folder.path() + "/model.safetensors";
    save_safetensors(file, path);
    GptModel loaded(tiny_gpt());
    load(loaded, path);
    CHECK(loaded(ids).equal(model(ids)));
  }
}

TEST_CASE("GptModel saves a folder and loads it again; GptConfig names what it refuses", "[models][gpt]") {
  manual_seed(3);
  const test::TemporaryFolder folder;
  const Tensor ids = tensor({1, 2, 3, 4, 5, 6}).reshape({2, 3});
  for (const bool tied : {true, false}) {
    const GptModel model(
        tiny_gpt().tie_word_embeddings(tied).activation_function("relu").bos_token_id(std::nullopt).eos_token_id(3));
    model->save_pretrained(folder.path());
    models::LoadingInfo info;
    const auto loaded = GptModel::from_pretrained(folder.path(), {}, &info);
    CHECK((info.missing_keys.empty() && info.unexpected_keys.empty()));
    CHECK(loaded(ids).equal(model(ids)));
    CHECK(loaded->config.eos_token_id() == 3);
    CHECK(!loaded->config.bos_token_id());
    // The names of GPT2Model, without an output layer
    NamedTensors file = {{"h.0.attn.bias", ones({7, 7})}};
    for (const auto& item : model->named_parameters())
      if (item.key() != "lm_head.weight") file.emplace(item.key(), item->detach());
    save_safetensors(file, folder / "model.safetensors");
    const auto headless = GptModel::from_pretrained(folder.path(), {}, &info);
    CHECK(info.missing_keys == (tied ? std::vector<std::string>() : std::vector<std::string>{"lm_head.weight"}));
    CHECK(info.unexpected_keys == std::vector<std::string>{"h.0.attn.bias"});
    CHECK(headless->wte->weight.equal(model->wte->weight));
    file.erase("ln_f.bias");
    save_safetensors(file, folder / "model.safetensors");
    CHECK_THROWS_WITH(GptModel::from_pretrained(folder.path()), Contains("model.safetensors lacks ln_f.bias"));
  }
  tiny_gpt().n_embd(20).to_json_file(folder / "config.json");
  CHECK_THROWS_WITH(GptModel::from_pretrained(folder.path()),
                    Contains("wte.weight is (11, 16) in the file and (11, 20) in the model"));
  const auto read = [&](const char* text) {
    test::write_file(folder / "config.json", text);
    return GptConfig::from_json_file(folder / "config.json");
  };
  CHECK(read(R"({"n_embd": 64, "n_inner": null})").n_embd() == 64);
  CHECK_THROWS_WITH(read(R"({"model_type": "gpt_neo"})"), Contains("model_type is gpt_neo; accepted: gpt2"));
  CHECK_THROWS_WITH(read(R"({"n_inner": 100})"), Contains("n_inner is 100; accepted: 4 n_embd, 3072"));
  CHECK_THROWS_WITH(read(R"({"scale_attn_weights": false})"), Contains("scale_attn_weights is false; accepted: true"));
}

}  // namespace tandem
