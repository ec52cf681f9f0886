// Tests `tandem pretrain` and `tandem generate` on a small text.
#include <filesystem>
#include <sstream>

#include "tandem/models/gpt.h"
#include "tandem/models/llama.h"
#include "tandem/ops/ops.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/paths.h"
#include "tandem/tests/process.h"
#include "tandem/tests/temporary.h"
#include "tandem/tests/text/has_unicode.h"
#include "tandem/text/gpt2_tokenizer.h"
#include "tandem/tools/pretrain/pretrain.h"
#include "tandem/tools/usage.h"

using namespace tandem;
using namespace tandem::test;
namespace pretrain = tools::pretrain;

namespace {

/// Writes a text whose words follow each other in few ways.
void write_corpus(const std::string& path) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "the cat sat on the mat and the dog ran to the cat.\n";
  write_file(path, text);
}
const std::vector<std::string> kSmall = {"--vocab-size", "280",  "--layers",     "1",   "--heads",        "2",
                                         "--width",      "16",   "--block-size", "16",  "--batch-size",   "4",
                                         "--lr",         "0.02", "--peak-flops", "1e9", "--val-interval", "5"};

Result run_small(const std::string& text, const std::string& output, std::vector<std::string> more) {
  std::vector<std::string> arguments = {"pretrain", text, "--output", output};
  arguments.insert(arguments.end(), kSmall.begin(), kSmall.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(kCommand, arguments);
}
Result generate(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "generate");
  return run_program(kCommand, arguments);
}

}  // namespace

TEST_CASE("pretrain trains a model that generate continues a text with", "[command][pretrain]") {
  if (!has_unicode()) return;
  const TemporaryFolder folder;
  const std::string text = folder / "a.txt", out = folder / "out";
  write_corpus(text);
  const Result result = run_small(
      text, out, {"--steps", "40", "--sample-interval", "20", "--prompt", "the cat", "--log", folder / "log.jsonl"});
  INFO(result.output);
  REQUIRE(result.status == 0);
  CHECK_THAT(result.output, Contains("tokenizer: ") && Contains("training: 40 steps of 4 x 16 tokens") &&
                                Contains("step 20, sample:\nthe cat") && Contains("step 40: val_loss") &&
                                Contains("validation loss after 40 steps: ") &&
                                Contains("the model is in " + out + "\n"));
  const std::string log = read_file(folder / "log.jsonl");
  for (const char* name : {"\"train_loss\"", "\"lr\"", "\"tokens_per_second\"", "\"model_flops_utilization\"",
                           "\"val_loss\"", "\"final_val_loss\""})
    CHECK_THAT(log, Contains(name));
  // 1 nat: a uniform guess among 280 tokens has 5.6; the text repeats, so the loss falls fast.
  const size_t at = result.output.find("validation loss after 40 steps: ");
  CHECK(std::stod(result.output.substr(at + 32)) < 1);
  const auto model = models::GptModel::from_pretrained(out);
  CHECK(model->config.n_positions() == 16);
  CHECK(std::filesystem::exists(out + "/checkpoints/step_40.pt"));

  const Result greedy = generate({"--model", out, "--prompt", "the cat", "--max-new-tokens", "9", "--greedy"});
  INFO(greedy.output);
  CHECK(greedy.status == 0);
  const auto tokenizer = text::load_gpt2_tokenizer(out);
  const std::vector<int64_t> ids = tokenizer->tokenize_to_ids("the cat");
  const Tensor tokens =
      models::GptModel(model)->generate(tensor(ids).unsqueeze(0), models::GenerationOptions().max_new_tokens(9));
  const std::string expected = tokenizer->decode({tokens.data<int64_t>(), tokens.data<int64_t>() + tokens.numel()},
                                                 /*skip_special_tokens=*/true);
  CHECK_THAT(greedy.output, Contains(expected + "\n") && Contains("tokens/s"));
  const Result without_cache =
      generate({"--model", out, "--prompt", "the cat", "--max-new-tokens", "9", "--greedy", "--no-cache"});
  CHECK_THAT(without_cache.output, Contains(expected + "\n"));

  write_file(folder / "prompt.txt", "the dog");
  const std::vector<std::string> drawn = {"--model",       out,   "--prompt-file", folder / "prompt.txt",
                                          "--num-samples", "2",   "--temperature", "1.5",
                                          "--seed",        "7",   "--top-k",       "0",
                                          "--top-p",       "0.95"};
  const auto texts = [&] {
    const std::string output = generate(drawn).output;
    return output.substr(0, output.find(" tokens in "));
  };
  const std::string first = texts();
  CHECK_THAT(first, Contains("--- 1 of 2\nthe dog") && Contains("\n--- 2 of 2\nthe dog"));
  CHECK(texts() == first);
}

TEST_CASE("pretrain continues after it was interrupted, to the same bits", "[command][pretrain]") {
  if (!has_unicode()) return;
  const TemporaryFolder folder;
  const std::string text = folder / "a.txt", whole = folder / "whole", cut = folder / "cut";
  write_corpus(text);
  std::vector<std::string> more = {"--steps", "150", "--dropout", "0.1", "--accumulate", "2"};
  REQUIRE(run_small(text, whole, more).status == 0);
  std::vector<std::string> arguments = {"pretrain", text, "--output", cut};
  arguments.insert(arguments.end(), kSmall.begin(), kSmall.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Result interrupted = interrupt_program(kCommand, arguments, "step 15: val_loss");
  CHECK(interrupted.status != 0);
  CHECK_FALSE(std::filesystem::exists(cut + "/model.safetensors"));
  more.push_back("--resume");
  const Result resumed = run_small(text, cut, more);
  INFO(resumed.output);
  REQUIRE(resumed.status == 0);
  CHECK_THAT(resumed.output, Contains("continues with the tokens in " + cut + "/train.tokens") &&
                                 !Contains("step 5: val_loss") && Contains("step 150: val_loss"));
  CHECK(read_file(cut + "/model.safetensors") == read_file(whole + "/model.safetensors"));
}

TEST_CASE("pretrain takes a token file, and a validation file, in each strategy", "[command][pretrain]") {
  if (!has_unicode()) return;
  const TemporaryFolder folder;
  const std::string text = folder / "a.txt", other = folder / "b.txt";
  write_corpus(text);
  write_corpus(other);
  pretrain::Settings s;
  s.files = {text};
  s.validation = other;
  s.output = folder / "single";
  s.vocab_size = 270, s.layers = 1, s.heads = 2, s.width = 16, s.block_size = 16, s.batch_size = 4, s.steps = 3;
  s.sample_interval = 0, s.peak_flops = 1e9, s.accumulate = 2;
  const double single = *pretrain::pretrain(s).validation_loss;
  s.files.clear();
  s.tokens = s.output + "/train.tokens";
  s.validation = s.output + "/validation.tokens";
  s.accumulate = 1, s.batch_size = 8, s.devices = 2;
  for (const char* strategy : {"dp", "dp_loss", "ddp"}) {
    INFO(strategy);
    s.strategy = strategy;
    s.output = folder / strategy;
    // 1e-6: the same model, whose losses are added up in another order
    CHECK(*pretrain::pretrain(s).validation_loss == Approx(single).epsilon(1e-6));
    CHECK_FALSE(std::filesystem::exists(s.output + "/tokenizer.json"));
  }
}

TEST_CASE("pretrain says what is wrong with settings and files", "[command][pretrain]") {
  if (!has_unicode()) return;
  const TemporaryFolder folder;
  const std::string text = folder / "a.txt";
  write_corpus(text);
  pretrain::Settings s;
  s.files = {text};
  s.output = folder / "out";
  s.vocab_size = 270, s.peak_flops = 1e9;
  const auto message = [](pretrain::Settings settings) -> std::string {
    try {
      pretrain::pretrain(std::move(settings));
    } catch (const tools::UsageError& e) {
      return e.what();
    }
    return "";
  };
  const auto changed = [&](const std::function<void(pretrain::Settings&)>& change) {
    pretrain::Settings copy = s;
    change(copy);
    return message(copy);
  };
  CHECK_THAT(changed([](auto& c) { c.files.clear(); }), Contains("give the texts to train on, or --tokens"));
  CHECK_THAT(changed([&](auto& c) { c.tokens = text; }), Contains("either texts or --tokens, not both"));
  CHECK_THAT(changed([](auto& c) { c.heads = 3; }), Contains("--heads 3 must divide --width 128"));
  CHECK_THAT(changed([](auto& c) { c.validation = "1.5"; }), Contains("--validation: 1.5 is out of range"));
  CHECK_THAT(changed([](auto& c) { c.validation = "/no/such/file"; }), Contains("/no/such/file"));
  CHECK_THAT(changed([](auto& c) { c.min_lr = 1; }), Contains("--min-lr 1 is above --lr"));
  CHECK_THAT(changed([](auto& c) { c.min_lr = 1e-4, c.schedule = "linear"; }), Contains("--min-lr needs"));
  CHECK_THAT(changed([](auto& c) { c.block_size = 4096; }), Contains("accepted: a longer range"));
  CHECK_THAT(changed([](auto& c) { c.validation = "0", c.batch_size = 5000; }),
             Contains("too few for different examples in a batch of --batch-size 5000"));
  CHECK_THAT(changed([&](auto& c) { c.files.clear(), c.tokens = text; }), Contains("a.txt"));
}

TEST_CASE("generate writes with a Llama, and refuses what it cannot load", "[command][generate]") {
  if (!has_unicode()) return;
  const TemporaryFolder folder;
  const std::string text = folder / "a.txt", gpt = folder / "gpt", llama = folder / "llama";
  write_corpus(text);
  REQUIRE(run_small(text, gpt, {"--steps", "1", "--validation", "0"}).status == 0);
  const auto tokenizer = text::load_gpt2_tokenizer(gpt);
  models::LlamaForCausalLM(models::LlamaConfig()
                               .vocab_size(tokenizer->vocab_size())
                               .hidden_size(16)
                               .intermediate_size(24)
                               .num_hidden_layers(1)
                               .num_attention_heads(2)
                               .max_position_embeddings(20))
      ->save_pretrained(llama);
  CHECK_THAT(generate({"--model", llama, "--prompt", "the"}).output, Contains("there is no") || Contains("tokenizer"));
  tokenizer->save(llama);
  const Result result = generate({"--model", llama, "--prompt", "the", "--max-new-tokens", "5"});
  INFO(result.output);
  CHECK(result.status == 0);
  CHECK_THAT(result.output, Contains("the") && Contains("5 tokens in "));
  CHECK_THAT(generate({"--model", llama, "--max-new-tokens", "30"}).output,
             Contains("the prompt has 1 tokens, and the model 20 positions, so at most 19 tokens can follow"));
  write_file(llama + "/config.json", "{\"model_type\": \"mamba\"}");
  CHECK_THAT(generate({"--model", llama}).output, Contains("model_type is 'mamba'; accepted: gpt2, llama"));
}
