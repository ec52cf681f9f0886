// Tests BertModel against Hugging Face transformers (fixtures/bert.json), and its errors.
#include "tandem/models/bert.h"

#include "tandem/tests/nn/module_rows.h"
#include "tandem/tests/temporary.h"

namespace tandem {
using models::BertConfig, models::BertModel;
using test::Tensors;

static BertConfig tiny() {
  return BertConfig()
      .vocab_size(11)
      .hidden_size(16)
      .num_hidden_layers(2)
      .num_attention_heads(4)
      .intermediate_size(24)
      .max_position_embeddings(7)
      .hidden_dropout_prob(0)
      .attention_probs_dropout_prob(0);
}
static Tensors listed(const std::tuple<Tensor, Tensor>& both) {
  const auto& [hidden, pooled] = both;
  return pooled.defined() ? Tensors{hidden, pooled} : Tensors{hidden};
}

TEST_CASE("BertModel gives Hugging Face's outputs and gradients", "[models][bert]") {
  const nlohmann::json rows = test::read_json("bert.json").at("modules");
  const auto check = [&](const char* name, BertModel model, const auto& forward) {
    test::check_module(rows, name, *model, [&](const Tensors& in) { return listed(forward(model, in)); });
  };
  const auto with_mask = [](BertModel& m, const Tensors& in) { return m(in[0], in[1].to(kInt64)); };
  const auto ids_alone = [](BertModel& m, const Tensors& in) { return m(in[0]); };
  check("bert", BertModel(tiny()), [](BertModel& m, const Tensors& in) { return m(in[0], in[1].to(kInt64), in[2]); });
  check("bert/no_mask", BertModel(tiny()), ids_alone);
  check("bert/gelu_new", BertModel(tiny().hidden_act("gelu_new")), ids_alone);
  check("bert/relu", BertModel(tiny().hidden_act("relu").layer_norm_eps(1e-5), /*add_pooling_layer=*/false), with_mask);
}

TEST_CASE("BertModel begins as BERT does, copies itself, and names what does not fit", "[models][bert]") {
  manual_seed(1);
  BertModel model(tiny().vocab_size(400).hidden_dropout_prob(0.5));
  const Tensor words = model->embeddings->word_embeddings->weight.detach();
  CHECK(words[0].equal(zeros({16})));  // row of the padding token [PAD]
  CHECK(words.slice(0, 1).std().item<double>() == Approx(0.02).epsilon(0.05));
  CHECK(model->pooler->dense->bias.equal(zeros({16})));
  const Tensor ids = tensor({1, 2, 3, 4, 5, 6}).reshape({2, 3});
  CHECK(!std::get<0>(model(ids)).equal(std::get<0>(model(ids))));  // differs by dropout
  model->eval();
  const auto copy = std::dynamic_pointer_cast<models::BertModelImpl>(model->clone());
  CHECK(std::get<1>(copy->forward(ids)).equal(std::get<1>(model(ids))));

  CHECK_THROWS_WITH(model(ids[0]), Contains("input_ids is (3,); accepted: (N, L)"));
  CHECK_THROWS_WITH(model(zeros({1, 8}, kInt64)), Contains("input_ids is (1, 8); accepted: at most 7 tokens per text"));
  CHECK_THROWS_WITH(model(ids, ones({2, 4}, kInt64)), Contains("attention_mask is (2, 4) and input_ids (2, 3)"));
  CHECK_THROWS_WITH(BertModel(tiny().num_attention_heads(5)),
                    Contains("num_attention_heads 5 must divide hidden_size 16"));
  CHECK_THROWS_WITH(BertModel(tiny().hidden_act("swish")), Contains("swish; accepted: gelu, gelu_new, relu"));
  CHECK_THROWS_WITH(BertModel(tiny().num_hidden_layers(0)), Contains("num_hidden_layers is 0"));
}

TEST_CASE("BertModel loads files with the older names of BERT", "[models][bert]") {
  manual_seed(2);
  const BertModel model(tiny());
  NamedTensors old = {{"cls.predictions.bias", zeros({11})}};  // belongs to a head that the model does not have
  for (const auto& parameter : model->named_parameters()) {
    std::string older = "bert." + parameter.key();
    for (const auto& [now, before] :
         {std::pair("LayerNorm.weight", "LayerNorm.gamma"), {"LayerNorm.bias", "LayerNorm.beta"}})
      if (const size_t at = older.find(now); at != std::string::npos) older.replace(at, std::string::npos, before);
    old.emplace(older, parameter.value().detach());
  }
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/model.safetensors";
  save_safetensors(old, path);
  BertModel loaded(tiny());
  load(loaded, path);
  const Tensor ids = tensor({1, 2, 3, 4, 5, 6}).reshape({2, 3});
  model->eval(), loaded->eval();
  CHECK(std::get<1>(loaded(ids)).equal(std::get<1>(model(ids))));
}

TEST_CASE("BertConfig is read from config.json, with a reason for what is refused", "[models][bert]") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "config.json";
  const auto read = [&](const char* text) {
    test::write_file(path, text);
    return BertConfig::from_json_file(path);
  };
  const BertConfig c = read(R"({"model_type": "bert", "hidden_size": 64, "layer_norm_eps": 1e-5, "unknown": [1],
                               "hidden_act": "relu", "pad_token_id": null})");
  CHECK(c.hidden_size() == 64);
  CHECK(c.layer_norm_eps() == 1e-5);
  CHECK(c.hidden_act() == "relu");
  CHECK(c.vocab_size() == 30522);
  CHECK_THROWS_WITH(read(R"({"model_type": "roberta"})"),
                    Contains("config.json: model_type is roberta; accepted: bert"));
  CHECK_THROWS_WITH(read(R"({"position_embedding_type": "relative_key"})"), Contains("accepted: absolute"));
  CHECK_THROWS_WITH(read(R"({"hidden_size": "64"})"), Contains("hidden_size is \"64\"; accepted: integers"));
  CHECK_THROWS_WITH(read("{"), Contains("config.json is not valid JSON"));
  CHECK_THROWS_WITH(read("1"), Contains("is not a JSON object or list"));
  CHECK_THROWS_WITH(BertConfig::from_json_file(folder / "none.json"), Contains("none.json cannot be read"));
}

}  // namespace tandem
