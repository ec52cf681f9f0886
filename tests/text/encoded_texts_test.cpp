// Tests of EncodedTexts: padding, parts of batches, and the same training with all strategies of the Trainer.
#include "tandem/text/encoded_texts.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/mistakes.h"
#include "tandem/tests/train/nets.h"

using namespace tandem;
using text::EncodedTexts;
using text::Encoding;
using text::TextBatch;
using State = std::vector<Tensor>;

namespace {

Encoding encoding(std::vector<int64_t> ids, int64_t second_from = 100) {
  Encoding e;
  e.ids = std::move(ids);
  for (size_t i = 0; i < e.ids.size(); ++i) e.type_ids.push_back(static_cast<int64_t>(i) >= second_from ? 1 : 0);
  return e;
}
Tensor matrix(std::vector<int64_t> values, int64_t rows) { return tensor(values).view({rows, -1}); }

/// Texts of 1 to 9 tokens from 1 to 19, whose class depends on their tokens.
EncodedTexts some_texts(int64_t rows) {
  std::vector<Encoding> encodings;
  std::vector<int64_t> labels;
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<int64_t> ids;
    for (int64_t i = 0; i <= row * 5 % 9; ++i) ids.push_back(1 + (row * 7 + i * i) % 19);
    labels.push_back((ids[0] + ids.back()) % 3);
    encodings.push_back(encoding(std::move(ids), 4));
  }
  return EncodedTexts(encodings, labels);
}

/// Averages the embeddings of a text's tokens, and classifies the average.
struct Classifier : train::TrainingModule<Classifier, TextBatch> {
  Classifier() {
    manual_seed(2);
    reset();
  }
  void reset() override {
    words = register_module("words", nn::Embedding(20, 8));
    types = register_module("types", nn::Embedding(2, 8));
    output = register_module("output", nn::Linear(8, 3));
  }
  Tensor forward(const TextBatch& batch) override {
    const Tensor mask = batch.attention_mask.unsqueeze(2).to(kFloat32);
    // The width of the batch is an input, so that parts padded to other widths would give other numbers.
    const double width = static_cast<double>(batch.input_ids.size(1));
    return output((words(batch.input_ids) + types(batch.token_type_ids)).mul(mask).sum(1) / width);
  }
  Tensor loss(const Tensor& logits, const TextBatch& batch) override { return cross_entropy(logits, batch.labels); }
  train::Optimizers configure_optimizers() override { return test::sgd(0.5)(parameters()); }
  nn::Embedding words{nullptr}, types{nullptr};
  nn::Linear output{nullptr};
};
struct TrainedTexts {
  State state;
  std::map<std::string, double> metrics;
};
TrainedTexts train_texts(int64_t rows, const std::string& strategy, int devices) {
  const EncodedTexts texts = some_texts(rows);
  const auto source = train::DataSource(texts).batch_size(12).shuffle(true).lengths(texts.lengths());
  Classifier net;
  train::Trainer trainer(test::quiet(strategy, devices).max_epochs(3));
  trainer.fit(net, source, source);
  return {test::copy_state(net), trainer.metrics()};
}

}  // namespace

TEST_CASE("a batch of encoded texts is padded to its longest text", "[text]") {
  EncodedTexts texts({encoding({5, 6, 7}, 2), encoding({8}), encoding({9, 10, 11, 12, 13}, 1)}, {0, 2, 1},
                     text::EncodedTextsOptions().pad_token_id(3));
  CHECK(texts.lengths() == std::vector<int64_t>{3, 1, 5});
  const TextBatch batch = texts.get_batch(std::vector<size_t>{1, 0});
  CHECK(batch.input_ids.equal(matrix({8, 3, 3, 5, 6, 7}, 2)));
  CHECK(batch.attention_mask.equal(matrix({1, 0, 0, 1, 1, 1}, 2)));
  CHECK(batch.token_type_ids.equal(matrix({0, 0, 0, 0, 0, 1}, 2)));
  CHECK(batch.labels.equal(tensor(std::vector<int64_t>{2, 0})));
  // A part has the width of the whole batch.
  const TextBatch part = texts.get_batch(data::BatchPart({1}, {2, 1, 0}));
  CHECK(part.input_ids.equal(matrix({8, 3, 3, 3, 3}, 1)));
  EncodedTexts rounded({encoding({5, 6, 7})}, {}, text::EncodedTextsOptions().pad_to_multiple_of(4));
  CHECK(rounded.get_batch(std::vector<size_t>{0}).input_ids.equal(matrix({5, 6, 7, 0}, 1)));
  CHECK(rounded.get_batch(std::vector<size_t>{0}).labels.equal(tensor(std::vector<int64_t>{-100})));
}

TEST_CASE("encoded texts that do not fit each other are refused", "[text]") {
  EncodedTexts texts({encoding({1}), encoding({1, 2})}, {0, 1});
  Encoding uneven = encoding({1, 2});
  uneven.type_ids.pop_back();
  test::check({
      {"another number of labels",
       [] {
         EncodedTexts({encoding({1})}, {0, 1});
       },
       {"1 texts", "2 labels"}},
      {"an empty encoding",
       [] {
         EncodedTexts({encoding({1}), Encoding()});
       },
       {"text 1", "0 tokens"}},
      {"lists of different lengths", [&] { EncodedTexts({uneven}); }, {"text 0", "2 tokens", "1 type IDs"}},
      {"a negative token", [] { EncodedTexts({encoding({-1})}); }, {"token -1", "2^31 - 1"}},
      {"a token that is too large", [] { EncodedTexts({encoding({int64_t{1} << 31})}); }, {"token 2147483648"}},
      {"no such row", [&] { texts.get_batch(std::vector<size_t>{2}); }, {"no text 2", "less than 2"}},
      {"a part outside of its batch",
       [&] { texts.get_batch(data::BatchPart({1}, {0})); },
       {"text 1", "not in the batch"}},
      {"multiple of 0",
       [] { EncodedTexts({}, {}, text::EncodedTextsOptions().pad_to_multiple_of(0)); },
       {"pad_to_multiple_of is 0"}},
  });
}

TEST_CASE("all strategies train on the same padded batches of texts, bit for bit", "[text][train]") {
  for (const int devices : {2, 3}) {
    const TrainedTexts dp = train_texts(48, "dp", devices);
    for (const std::string strategy : {"dp_loss", "ddp_local"}) {
      INFO(strategy << " on " << devices << " devices");
      const State state = train_texts(48, strategy, devices).state;
      if (devices == 2 || strategy == "dp_loss")
        CHECK(test::is_same_state(state, dp.state));
      else  // 1e-6: float32; ddp divides by the number of ranks after the sum, which rounds unless it is a power of 2
        CHECK(test::state_difference(state, dp.state) < 1e-6);
    }
    // 1e-6: float32; the gradients of shards are added in another order.
    CHECK(test::state_difference(train_texts(48, "single", 1).state, dp.state) < 1e-6);
  }
}

TEST_CASE("uneven parts of batches of texts give the gradient of the mean over all rows", "[text][train]") {
  const int64_t rows = GENERATE(47, 37);  // last batches of 11 rows and of 1 row
  const TrainedTexts expected = train_texts(rows, "single", 1);
  for (const std::string strategy : {"dp", "dp_loss", "ddp_local"}) {
    const TrainedTexts other = train_texts(rows, strategy, 3);
    CHECK(test::state_difference(other.state, expected.state) < 1e-6);  // as above
    CHECK(other.metrics.at("val_loss") == Approx(expected.metrics.at("val_loss")).epsilon(1e-5));
  }
}
