// Tests SentenceTransformer on a small model folder made by the test: its vectors, and its errors for damaged folders.
#include "tandem/models/sentence_transformer.h"

#include <filesystem>

#include "tandem/tests/catch.h"
#include "tandem/tests/models/small_sentence_model.h"
#include "tandem/tests/text/has_unicode.h"

namespace tandem {
using models::SentenceTransformer;
using Folder = test::SmallSentenceModel;

TEST_CASE("SentenceTransformer averages the states of a text's tokens, whatever its batch", "[models][bert]") {
  if (!test::has_unicode()) return;
  Folder folder;
  SentenceTransformer st(folder.at.path());
  const std::vector<std::string> texts = {"a", "a b c a b c a", "", "ab, c", "b"};
  const Tensor vectors = st.encode(texts, 2);
  REQUIRE(vectors.sizes() == Shape{5, 16});
  for (size_t i = 0; i < texts.size(); ++i) {
    INFO(texts[i]);
    const Tensor ids = st.tokenizer({texts[i]}).input_ids;
    CHECK(ids.size(1) <= 7);
    Tensor mean = std::get<0>(folder.model(ids)).mean(1)[0];
    mean = mean / mean.norm();
    CHECK(vectors[static_cast<int64_t>(i)].allclose(mean, 1e-5, 1e-6));
  }
  CHECK(st.encode({}).sizes() == Shape{0, 16});
  CHECK_THROWS_WITH(st.encode({"a"}, 0), Contains("batch_size is 0"));

  if (cuda::is_available()) {
    SentenceTransformer on_gpu(folder.at.path(), "cuda:0");
    CHECK(on_gpu.encode(texts, 2).allclose(vectors, 1e-5, 1e-6));
  }

  // Backward through forward() reaches all parameters.
  const Tensor both = st.forward(st.tokenizer({"a b", "c"}));
  (both[0] * both[1]).sum().backward();
  for (const auto& item : st.model->named_parameters()) {
    INFO(item.key());
    CHECK((item->grad().defined() && item->grad().isfinite().all().item<bool>()));
  }
}

TEST_CASE("SentenceTransformer reads what the files beside the weights say", "[models][bert]") {
  if (!test::has_unicode()) return;
  Folder folder;
  folder.write("sentence_bert_config.json", R"({"max_seq_length": 4, "do_lower_case": false})");
  folder.write("tokenizer_config.json", R"({"do_lower_case": false, "strip_accents": null, "model_max_length": 1e30})");
  folder.remove("modules.json");
  const SentenceTransformer st(folder.at.path());
  CHECK(st.tokenizer.model_max_length() == 4);
  CHECK(st.tokenizer.tokenize("A a") == std::vector<std::string>{"[UNK]", "a"});
  CHECK(!st.normalize);
  // The weights may also come from a file of torch.save.
  folder.remove("model.safetensors");
  save(folder.model, folder.at / "pytorch_model.bin");
  CHECK_NOTHROW(SentenceTransformer(folder.at.path()));
}

TEST_CASE("SentenceTransformer names the file that is missing or wrong", "[models][bert]") {
  if (!test::has_unicode()) return;
  const auto says = [](const std::function<void(const Folder&)>& damage, const std::string& text) {
    Folder folder;
    damage(folder);
    CHECK_THROWS_WITH(SentenceTransformer(folder.at.path()), Contains(text));
  };
  says([](const Folder& f) { f.remove("vocab.txt"); }, "has no tokenizer; accepted: a folder with ");
  says([](const Folder& f) { f.remove("config.json"); }, "config.json cannot be read");
  says([](const Folder& f) { f.remove("model.safetensors"); }, "has no weights; accepted: model.safetensors or");
  says([](const Folder& f) { f.remove("1_Pooling/config.json"); }, "1_Pooling/config.json cannot be read");
  says([](const Folder& f) { std::filesystem::resize_file(f.at / "model.safetensors", 4000); }, "model.safetensors");
  says([](const Folder& f) { std::filesystem::resize_file(f.at / "model.safetensors", 20000); }, "it is truncated");
  says([](const Folder& f) { f.write("vocab.txt", std::string(test::kSmallVocabulary) + "d\n"); },
       "has a tokenizer of 10 tokens, but config.json has a vocab_size of 9");
  says([](const Folder& f) { f.write("vocab.txt", "some\nother\nfile\n"); }, "has 3 lines, none of which is [UNK]");
  says([](const Folder& f) { f.write("1_Pooling/config.json", R"({"pooling_mode_cls_token": true})"); },
       "asks for pooling_mode_cls_token; accepted: pooling_mode_mean_tokens");
  says([](const Folder& f) { f.write("modules.json", R"([{"type": "sentence_transformers.models.Dense"}])"); },
       "has a module of type sentence_transformers.models.Dense; accepted: Transformer");
  says([](const Folder& f) { f.write("config.json", R"({"vocab_size": 9, "hidden_size": 12})"); }, "model.safetensors");
}

}  // namespace tandem
