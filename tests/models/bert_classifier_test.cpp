// Tests BertForSequenceClassification against Hugging Face transformers (fixtures/bert_classifier.json), its files, and
// its errors.
#include <filesystem>

#include "tandem/models/bert_for_sequence_classification.h"
#include "tandem/tests/nn/module_rows.h"
#include "tandem/tests/temporary.h"
#include "tandem/tests/train/nets.h"
#include "tandem/train/train.h"

namespace tandem {
using models::BertConfig, models::BertForSequenceClassification, models::SequenceClassificationBatch;
using test::Tensors;

static BertConfig small_classifier(int64_t num_labels) {
  return BertConfig()
      .vocab_size(11)
      .hidden_size(16)
      .num_hidden_layers(2)
      .num_attention_heads(4)
      .intermediate_size(24)
      .max_position_embeddings(7)
      .hidden_dropout_prob(0)
      .attention_probs_dropout_prob(0)
      .num_labels(num_labels);
}
/// Returns a batch of three texts of five tokens.
static SequenceClassificationBatch small_batch() {
  SequenceClassificationBatch batch;
  batch.input_ids = arange(15).remainder(11).reshape({3, 5});
  batch.attention_mask = ones({3, 5}, kInt64);
  batch.attention_mask[1].narrow(0, 3, 2).zero_();
  batch.token_type_ids = zeros({3, 5}, kInt64);
  batch.labels = tensor({2, 0, 1});
  return batch;
}

TEST_CASE("BertForSequenceClassification gives Hugging Face's losses, gradients and AdamW steps", "[models][bert]") {
  const nlohmann::json rows = test::read_json("bert_classifier.json").at("modules");
  const auto check = [&](const char* name, const BertConfig& config) {
    BertForSequenceClassification model(config);
    SequenceClassificationBatch batch;
    const auto forward = [&](const Tensors& in) {
      batch = {in[0], in[1].detach().to(kInt64), in[2], in[3]};
      const auto [loss, logits] = model(batch.input_ids, batch.attention_mask, batch.token_type_ids, batch.labels);
      return Tensors{loss, logits};
    };
    test::check_module(rows, name, *model, forward);
    const auto& training =
        std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.at("name") == name; })->at("training");
    optim::AdamW optimizer(model->parameters(), optim::AdamWOptions(1e-2).weight_decay(0.1));
    for (const double expected : training.at("losses")) {
      optimizer.zero_grad();
      const Tensor loss = model(batch).loss;
      CHECK(loss.item<double>() == Approx(expected).epsilon(1e-9));  // float64
      loss.backward();
      optimizer.step();
    }
    // Adam divides by the root of squared gradients, which magnifies rounding errors where a gradient is nearly zero.
    for (const auto& item : model->named_parameters())
      test::check_tensor(item.key(), item->detach(), training.at("parameters").at(item.key()), 1e-6);
  };
  check("classes", small_classifier(3));
  check("regression", small_classifier(1));
  check("flags", small_classifier(2).problem_type("multi_label_classification"));
}

TEST_CASE("BertForSequenceClassification saves a folder and loads it again", "[models][bert]") {
  manual_seed(1);
  const test::TemporaryFolder folder;
  BertConfig config = small_classifier(3).classifier_dropout(0.2).id2label({"no", "maybe", "yes \"quoted\" \xC3\xA9"});
  const BertForSequenceClassification model(config);
  model->eval();
  model->save_pretrained(folder / "new/saved");
  models::LoadingInfo info;
  const auto loaded = BertForSequenceClassification::from_pretrained(folder / "new/saved", {}, &info);
  CHECK((info.missing_keys.empty() && info.unexpected_keys.empty() && info.mismatched_keys.empty()));
  CHECK(!loaded->is_training());
  CHECK(loaded->config.id2label() == config.id2label());
  CHECK(loaded->config.label2id("maybe") == 1);
  CHECK_THROWS_WITH(loaded->config.label2id("never"), Contains("no label \"never\"; accepted: no, maybe, yes"));
  CHECK(loaded->config.classifier_dropout() == 0.2);
  CHECK(loaded->config.hidden_size() == 16);
  const SequenceClassificationBatch batch = small_batch();
  CHECK(loaded(batch).logits.equal(model(batch).logits));
  CHECK(loaded(batch.input_ids).loss.defined() == false);

  // Another number of labels is an error that names the tensors, unless the caller accepts a new classifier.
  const auto other = [&](const models::PretrainedOptions& options) {
    return BertForSequenceClassification::from_pretrained(
        folder / "new/saved", BertConfig(loaded->config).id2label({"a", "b"}), options, &info);
  };
  CHECK_THROWS_WITH(other({}), Contains("model.safetensors does not fit config.json") &&
                                   Contains("classifier.weight is (3, 16) in the file and (2, 16) in the model") &&
                                   Contains("ignore_mismatched_sizes(true)"));
  const auto replaced = other(models::PretrainedOptions().ignore_mismatched_sizes(true));
  CHECK(info.mismatched_keys == std::vector<std::string>{"classifier.weight", "classifier.bias"});
  CHECK(replaced->bert->pooler->dense->weight.equal(model->bert->pooler->dense->weight));
  CHECK(replaced->classifier->bias.equal(zeros({2})));
  CHECK_THROWS_WITH(
      BertForSequenceClassification::from_pretrained(folder / "new/saved", BertConfig(loaded->config).hidden_size(32)),
      Contains("is (11, 16) in the file and (11, 32) in the model"));
}

TEST_CASE("A file of a BertModel gets a new classifier, and the caller learns it", "[models][bert]") {
  manual_seed(2);
  const test::TemporaryFolder folder;
  const BertConfig config = small_classifier(3);
  const models::BertModel bert(config, /*add_pooling_layer=*/false);
  NamedTensors file = {{"cls.predictions.bias", zeros({11})}};
  for (const auto& item : bert->named_parameters()) file.emplace(item.key(), item->detach());
  config.to_json_file(folder / "config.json");
  CHECK_THROWS_WITH(BertForSequenceClassification::from_pretrained(folder.path()), Contains("has no weights"));
  save_safetensors(file, folder / "model.safetensors");
  models::LoadingInfo info;
  auto model = BertForSequenceClassification::from_pretrained(folder.path(), config, {}, &info);
  CHECK(info.missing_keys == std::vector<std::string>{"bert.pooler.dense.weight", "bert.pooler.dense.bias",
                                                      "classifier.weight", "classifier.bias"});
  CHECK(info.unexpected_keys == std::vector<std::string>{"cls.predictions.bias"});
  CHECK(model->bert->embeddings->word_embeddings->weight.equal(bert->embeddings->word_embeddings->weight));
  file.erase("encoder.layer.1.output.dense.weight");
  save_safetensors(file, folder / "model.safetensors");
  CHECK_THROWS_WITH(BertForSequenceClassification::from_pretrained(folder.path(), config),
                    Contains("lacks bert.encoder.layer.1.output.dense.weight"));
}

TEST_CASE("BertForSequenceClassification names labels and options that do not fit", "[models][bert]") {
  BertForSequenceClassification model(small_classifier(3));
  SequenceClassificationBatch batch = small_batch();
  batch.labels = tensor({0, 1});
  CHECK_THROWS_WITH(model(batch), Contains("labels is int64 (2,) and logits (3, 3); accepted: int64 (3,)"));
  batch.labels = tensor({0, 1, 3});
  CHECK_THROWS_WITH(model(batch), Contains("3"));
  batch.labels = rand({3});
  CHECK_THROWS_WITH(model(batch), Contains("they must have the same shape for multi_label_classification"));
  batch.labels = {};
  batch.input_ids = full({1, 5}, 11, kInt64);
  batch.attention_mask = batch.token_type_ids = {};
  CHECK_THROWS_WITH(model(batch), Contains("11") && Contains("accepted: 0 to 10"));
  CHECK_THROWS_WITH(model(zeros({1, 8}, kInt64)), Contains("at most 7 tokens per text"));
  CHECK_THROWS_WITH(BertForSequenceClassification(small_classifier(2).problem_type("ranking")),
                    Contains("problem_type is ranking; accepted: regression"));
  CHECK_THROWS_WITH(small_classifier(0), Contains("num_labels is 0"));
  const test::TemporaryFolder folder;
  const auto read = [&](const char* text) {
    test::write_file(folder / "config.json", text);
    return BertConfig::from_json_file(folder / "config.json");
  };
  CHECK(read(R"({"id2label": {"1": "b", "0": "a", "2": "c"}})").id2label() == std::vector<std::string>{"a", "b", "c"});
  CHECK(read("{}").num_labels() == 2);
  CHECK_THROWS_WITH(read(R"({"id2label": {"0": "a", "2": "c"}})"),
                    Contains("id2label has the key \"2\"; accepted: each number from 0 to 1"));
  CHECK_THROWS_WITH(read(R"({"id2label": ["a"]})"), Contains("accepted: an object of strings"));
}

TEST_CASE("BertForSequenceClassification runs under DataParallel, with and without labels", "[models][bert]") {
  manual_seed(3);
  const BertForSequenceClassification model(small_classifier(3));
  const SequenceClassificationBatch batch = small_batch();
  set_cpu_device_count(2);
  nn::DataParallel dp(model, {"cpu:0", "cpu:1"});
  const auto whole = model(batch);
  const auto split = dp(batch);
  CHECK(split.logits.allclose(whole.logits, 1e-5, 1e-6));
  CHECK(split.loss.sizes() == IntArrayRef({2}));  // one loss per device, as in PyTorch
  SequenceClassificationBatch unlabelled = batch;
  unlabelled.labels = unlabelled.attention_mask = {};
  const auto without_loss = dp(unlabelled);
  CHECK(without_loss.logits.allclose(model(unlabelled).logits, 1e-5, 1e-6));
  CHECK(!without_loss.loss.defined());
  set_cpu_device_count(1);
}

namespace {
struct SmallTraining : train::TrainingModule<SmallTraining, SequenceClassificationBatch> {
  SmallTraining() { reset(); }
  void reset() override { model = register_module("model", BertForSequenceClassification(small_classifier(3))); }
  Tensor forward(const SequenceClassificationBatch& batch) override {
    return model(batch.input_ids, batch.attention_mask, batch.token_type_ids).logits;
  }
  Tensor loss(const Tensor& logits, const SequenceClassificationBatch& batch) override {
    return model->compute_loss(logits, batch.labels);
  }
  train::Optimizers configure_optimizers() override {
    return std::make_unique<optim::AdamW>(parameters(), optim::AdamWOptions(1e-2));
  }
  BertForSequenceClassification model{nullptr};
};
struct SmallTexts : data::datasets::BatchDataset<SmallTexts, SequenceClassificationBatch> {
  SequenceClassificationBatch get_batch(ArrayRef<size_t> indices) override {
    const SequenceClassificationBatch all = small_batch();
    std::vector<int64_t> rows;
    for (const size_t i : indices) rows.push_back(static_cast<int64_t>(i) % 3);
    const Tensor at = tensor(rows);
    const auto select = [&](const Tensor& t) { return t.index_select(0, at); };
    return {select(all.input_ids), select(all.attention_mask), select(all.token_type_ids), select(all.labels)};
  }
  std::optional<size_t> size() const override { return 4; }
};
}  // namespace

TEST_CASE("The Trainer trains a classifier of texts with every strategy", "[models][bert][train]") {
  std::vector<Tensor> expected;
  for (const char* const strategy : {"single", "dp", "dp_loss", "ddp_local"}) {
    INFO(strategy);
    manual_seed(5);
    const auto module = std::make_shared<SmallTraining>();
    const auto source = train::DataSource(SmallTexts()).batch_size(2);
    double first = 0;
    train::Trainer trainer(test::quiet(strategy, std::string(strategy) == "single" ? 1 : 2)
                               .max_epochs(4)
                               .logger([&](int64_t step, const std::vector<std::pair<std::string, double>>& metrics) {
                                 for (const auto& [name, value] : metrics)
                                   if (name == "train_loss" && step <= 1 && first == 0) first = value;
                               }));
    trainer.fit(module, source, source);
    const std::vector<Tensor> state = test::copy_state(*module);
    if (expected.empty()) {
      expected = state;
      CHECK(trainer.metrics().at("val_loss") < 0.9 * first);
    }
    // 1e-4: eight steps of AdamW in float32, whose quotients magnify the rounding of small gradients.
    CHECK(test::state_difference(state, expected) < 1e-4);
  }
}

}  // namespace tandem
