// Makes a small BERT and a file of sentence pairs in MultiNLI's form, for the examples bert_mnli_*.
// usage: make_bert_files FOLDER      writes FOLDER/model and FOLDER/train.jsonl
#include <filesystem>

#include "tandem/tools/finetune/finetune.h"
#include "tandem/tools/finetune/sentence_rules.h"

using namespace tandem::tools;

int main(int, char** argv) {
  const std::string folder = argv[1];
  std::filesystem::create_directories(folder);
  finetune::make_small_model(folder + "/model", /*seed=*/3);
  finetune::write_multinli(folder + "/train.jsonl", finetune::make_sentence_pairs(160, /*seed=*/9));
}
