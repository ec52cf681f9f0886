// Makes a folder with a sentence model of nine tokens, anew for each test.
#pragma once
#include <filesystem>

#include "tandem/models/sentence_transformer.h"
#include "tandem/serialize/module.h"
#include "tandem/tandem.h"
#include "tandem/tests/temporary.h"

namespace tandem::test {

inline constexpr const char* kSmallVocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\n##b\n";
inline constexpr const char* kSmallConfig =
    R"({"model_type": "bert", "vocab_size": 9, "hidden_size": 16, "num_hidden_layers": 2,
  "num_attention_heads": 4, "intermediate_size": 24, "max_position_embeddings": 7})";
inline constexpr const char* kSmallModules = R"([{"type": "sentence_transformers.models.Transformer", "path": ""},
  {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},
  {"type": "sentence_transformers.models.Normalize", "path": "2_Normalize"}])";
inline constexpr const char* kSmallPooling = R"({"word_embedding_dimension": 16, "pooling_mode_mean_tokens": true})";

struct SmallSentenceModel {
  TemporaryFolder at;
  models::BertModel model;
  SmallSentenceModel() : model(make()) {
    std::filesystem::create_directory(at / "1_Pooling");
    write("vocab.txt", kSmallVocabulary), write("config.json", kSmallConfig), write("modules.json", kSmallModules);
    write("1_Pooling/config.json", kSmallPooling);
    save(model, at / "model.safetensors");
  }
  static models::BertModel make() {
    manual_seed(3);
    models::BertModel model(models::BertConfig()
                                .vocab_size(9)
                                .hidden_size(16)
                                .num_hidden_layers(2)
                                .num_attention_heads(4)
                                .intermediate_size(24)
                                .max_position_embeddings(7)
                                .initializer_range(0.5));
    model->eval();
    return model;
  }
  void write(const char* name, const std::string& text) const { write_file(at / name, text); }
  void remove(const char* name) const { std::filesystem::remove(at / name); }
};

}  // namespace tandem::test
