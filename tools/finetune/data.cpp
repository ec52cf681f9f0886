// Reads or generates the files of `tandem finetune`, and makes the small model.
#include <algorithm>
#include <filesystem>
#include <set>

#include "tandem/core/generator.h"
#include "tandem/serialize/file.h"
#include "tandem/text/bert_tokenizer.h"
#include "tandem/tools/finetune/finetune.h"
#include "tandem/tools/finetune/sentence_rules.h"
#include "tandem/tools/usage.h"

namespace tandem::tools::finetune {

namespace fs = std::filesystem;

void generate_data(Settings& settings, const std::string& folder) {
  fs::create_directories(folder);
  constexpr size_t kTrain = 12000, kOther = 1000;
  const std::vector<SentencePair> pairs = make_sentence_pairs(kTrain + 2 * kOther, /*seed=*/1);
  const auto write = [&](const std::string& name, size_t begin, size_t end) {
    const auto at = [&](size_t i) { return pairs.begin() + static_cast<std::ptrdiff_t>(i); };
    write_multinli(folder + "/" + name, {at(begin), at(end)});
    return folder + "/" + name;
  };
  settings.train = write("train.jsonl", 0, kTrain);
  settings.validation = {write("validation.jsonl", kTrain, kTrain + kOther)};
  settings.test = {write("test.jsonl", kTrain + kOther, kTrain + 2 * kOther)};
}

Splits read_splits(const Settings& settings, const std::vector<std::string>& model_labels) {
  auto options = text::LabelledTextsOptions()
                     .text_column(settings.text_column)
                     .pair_column(settings.pair_column)
                     .label_column(settings.label_column);
  const auto read = [&](const std::string& path) {
    Split split{fs::path(path).stem().string(),
                rethrow_as_usage_error([&] { return text::read_labelled_texts(path, options); })};
    const auto rows = static_cast<int64_t>(split.texts.texts.size());
    if (const std::optional<int64_t> published = text::multinli_num_rows(path))
      check_usage(rows == *published, path, " has ", rows,
                  " labelled rows, but MultiNLI's published file of this name ", "has ", *published,
                  "; the file is damaged, or has another file's name");
    return split;
  };
  Splits splits{read(settings.train), {}};
  text::LabelledTexts& train = splits.train.texts;
  const std::set<std::string> names(train.label_names.begin(), train.label_names.end());
  if (names == std::set<std::string>(model_labels.begin(), model_labels.end())) {
    for (int64_t& label : train.labels)
      label = std::find(model_labels.begin(), model_labels.end(), train.label_names[static_cast<size_t>(label)]) -
              model_labels.begin();
    train.label_names = model_labels;
  }
  options.label_names(train.label_names);
  for (const auto* files : {&settings.validation, &settings.test})
    for (const std::string& path : *files) splits.evaluation.push_back(read(path));
  if (settings.limit > 0 && settings.limit < static_cast<int64_t>(train.texts.size())) {
    const auto count = static_cast<size_t>(settings.limit);
    train.texts.resize(count);
    if (!train.pairs.empty()) train.pairs.resize(count);
    train.labels.resize(count);
  }
  return splits;
}

void make_small_model(const std::string& folder, uint64_t seed) {
  fs::create_directories(folder);
  std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  int64_t size = 5;
  for (const std::string& word : sentence_words()) vocabulary += word + "\n", ++size;
  {
    tandem::detail::FileSink file("tandem finetune", folder + "/vocab.txt");
    file.write(vocabulary.data(), vocabulary.size());
    file.commit();
  }
  text::BertTokenizer(folder + "/vocab.txt", text::BertTokenizerOptions().model_max_length(64)).save(folder);
  manual_seed(seed);
  const models::BertForSequenceClassification model(models::BertConfig()
                                                        .vocab_size(size)
                                                        .hidden_size(128)
                                                        .num_hidden_layers(3)
                                                        .num_attention_heads(4)
                                                        .intermediate_size(256)
                                                        .max_position_embeddings(64)
                                                        .hidden_dropout_prob(0)
                                                        .attention_probs_dropout_prob(0)
                                                        .id2label({"entailment", "neutral", "contradiction"}));
  model->save_pretrained(folder);
}

}  // namespace tandem::tools::finetune
