// Run by language_models.py, which compares models with Hugging Face transformers.
//   language_models_program save FOLDER            saves small models of each kind below FOLDER, with inputs and logits
//   language_models_program gradients KIND FOLDER  loads a model and inputs.safetensors (input_ids, labels) from a
//   folder,
//                                                  and writes the loss, the logits and all gradients to
//                                                  outputs.safetensors
#include <cstdio>
#include <exception>

#include "tandem/models/models.h"
#include "tandem/tandem.h"

using namespace tandem;
using namespace tandem::models;

namespace {

void save_expected(const std::string& folder, const Tensor& ids, const Tensor& logits) {
  save_safetensors({{"input_ids", ids}, {"logits", logits.detach()}}, folder + "/expected.safetensors");
}
void save_models(const std::string& folder) {
  manual_seed(1);
  const Tensor ids = randint(50, {3, 9});
  const BertConfig bert = BertConfig()
                              .vocab_size(50)
                              .hidden_size(32)
                              .num_hidden_layers(2)
                              .num_attention_heads(4)
                              .intermediate_size(48)
                              .max_position_embeddings(16)
                              .initializer_range(0.5)
                              .id2label({"bad", "good", "neutral"});
  const BertForSequenceClassification classifier(bert);
  classifier->eval();
  classifier->save_pretrained(folder + "/bert");
  save_expected(folder + "/bert", ids, classifier(ids).logits);
  for (const bool tied : {true, false}) {
    const std::string suffix = tied ? "" : "_untied";
    const GptModel gpt(GptConfig()
                           .vocab_size(50)
                           .n_positions(16)
                           .n_embd(32)
                           .n_layer(2)
                           .n_head(4)
                           .initializer_range(0.5)
                           .tie_word_embeddings(tied)
                           .bos_token_id(std::nullopt)
                           .eos_token_id(49));
    gpt->eval();
    gpt->save_pretrained(folder + "/gpt" + suffix);
    save_expected(folder + "/gpt" + suffix, ids, gpt(ids));
    const LlamaForCausalLM llama(LlamaConfig()
                                     .vocab_size(50)
                                     .hidden_size(32)
                                     .intermediate_size(48)
                                     .num_hidden_layers(2)
                                     .num_attention_heads(4)
                                     .num_key_value_heads(2)
                                     .max_position_embeddings(16)
                                     .rope_theta(500)
                                     .initializer_range(0.5)
                                     .tie_word_embeddings(tied));
    llama->eval();
    llama->save_pretrained(folder + "/llama" + suffix);
    save_expected(folder + "/llama" + suffix, ids, llama(ids));
  }
}

void write_outputs(const std::string& folder, const nn::Module& module, const std::string& prefix, const Tensor& loss,
                   const Tensor& logits) {
  loss.backward();
  NamedTensors out = {{"loss", loss.detach()}, {"logits", logits.detach()}};
  for (const auto& item : module.named_parameters()) out.emplace("gradient." + prefix + item.key(), item->grad());
  save_safetensors(out, folder + "/outputs.safetensors");
}
void write_gradients(const std::string& kind, const std::string& folder) {
  const NamedTensors inputs = load_safetensors(folder + "/inputs.safetensors");
  const Tensor ids = inputs.at("input_ids"), labels = inputs.at("labels");
  if (kind == "bert") {
    const auto model = BertForSequenceClassification::from_pretrained(folder);
    const auto out = model(ids, Tensor(), Tensor(), labels);
    write_outputs(folder, *model, "", out.loss, out.logits);
  } else if (kind == "gpt") {
    const auto model = GptModel::from_pretrained(folder);
    write_outputs(folder, *model, "transformer.", model->loss(ids, labels), model(ids.narrow(0, 0, 1)));
  } else if (kind == "llama") {
    const auto model = LlamaForCausalLM::from_pretrained(folder);
    write_outputs(folder, *model, "", model->loss(ids, labels), model(ids.narrow(0, 0, 1)));
  } else {
    throw Error("KIND is " + kind + "; accepted: bert, gpt, llama");
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 2 && words[0] == "save")
    save_models(words[1]);
  else if (words.size() == 3 && words[0] == "gradients")
    write_gradients(words[1], words[2]);
  else
    throw Error("usage: language_models_program save FOLDER | gradients KIND FOLDER");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
