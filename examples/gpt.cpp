// Pre-trains a small GPT on a text: tokenizer, windows of tokens, Trainer, and a text that the model writes.
// usage: gpt TEXT [STEPS [FOLDER [STRATEGY [DEVICES]]]]      FOLDER: for the tokens, the model and its tokenizer
#include <tandem/models/language_modeling.h>
#include <tandem/tandem.h>
#include <tandem/text/text_streamer.h>
#include <tandem/text/token_windows.h>
#include <tandem/text/train_bpe.h>
#include <tandem/train/train.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

using namespace tandem;

int main(int argc, char** argv) try {
  TANDEM_CHECK(argc > 1, "usage: gpt TEXT [STEPS [FOLDER [STRATEGY [DEVICES]]]]");
  const int steps = argc > 2 ? std::atoi(argv[2]) : 500;
  const std::string folder = argc > 3 ? argv[3] : "runs/gpt";
  std::filesystem::create_directories(folder);

  // Byte-level BPE: the tokens are the pieces of words that occur most often.
  const text::GPT2Tokenizer tokenizer =
      text::train_bpe_from_files({argv[1]}, text::BpeTrainerOptions().vocab_size(512));
  tokenizer.save(folder);
  std::ifstream file(argv[1], std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  text::TokenFileWriter writer(folder + "/tokens", tokenizer.vocab_size());
  writer.append(tokenizer.tokenize_to_ids(text));
  writer.finish();

  // The model learns from windows at random positions in the first nine tenths, and is validated on the last tenth.
  const text::TokenFile tokens(folder + "/tokens");
  const int64_t block_size = 32, training = tokens.size() * 9 / 10;
  const auto windows = [&] { return text::TokenWindowsOptions().block_size(block_size); };
  const train::DataSource source(text::TokenWindows(tokens, windows().end(training).random_positions(true).stride(1)));
  const train::DataSource validation(text::TokenWindows(tokens, windows().begin(training)));

  manual_seed(1);
  models::GptModel model(models::GptConfig()
                             .vocab_size(tokenizer.vocab_size())
                             .n_positions(block_size)
                             .n_embd(64)
                             .n_layer(2)
                             .n_head(2)
                             .bos_token_id(tokenizer.eos_token_id())
                             .eos_token_id(tokenizer.eos_token_id()));
  models::LanguageModeling module(model, models::TransformerTrainingOptions()
                                             .lr(3e-3)
                                             .weight_decay(0.1)
                                             .schedule("cosine")
                                             .warmup_steps(steps / 20)
                                             .total_steps(steps));
  train::TrainerOptions options;
  options.strategy(argc > 4 ? argv[4] : "single").devices(argc > 5 ? std::atoi(argv[5]) : 1);
  options.max_steps(steps).gradient_clip_val(1).default_root_dir(folder).enable_progress_bar(false);
  options.callback(train::ThroughputMonitor(
      train::ThroughputMonitorOptions().items_per_batch(16 * block_size).item("tokens").seconds_per_line(2)));
  train::Trainer trainer(options);
  trainer.fit(module, train::DataSource(source).batch_size(16));
  const double loss =
      train::Trainer(options).validate(module, train::DataSource(validation).batch_size(16)).at("val_loss");

  model->eval();
  model->save_pretrained(folder);  // Hugging Face's GPT2LMHeadModel.from_pretrained(folder) reads it
  std::cout << "after " << steps << " steps: validation loss " << loss << " nats per token; it writes:\nThe";
  text::TextStreamer streamer(tokenizer, [](const std::string& part) { std::cout << part << std::flush; });
  const Tensor prompt = tensor(tokenizer.tokenize_to_ids("The")).unsqueeze(0).to(model->wte->weight.device());
  auto generation = models::GenerationOptions().max_new_tokens(30 - prompt.size(1)).do_sample(true).seed(1);
  generation.streamer([&](const Tensor& next) { streamer.put(next.item<int64_t>()); });
  model->generate(prompt, generation);
  streamer.end();
  std::cout << '\n';
} catch (const std::exception& error) {
  std::cerr << "gpt: " << error.what() << '\n';
  return 1;
}
