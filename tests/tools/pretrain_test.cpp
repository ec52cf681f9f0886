// Tests of `tandem pretrain` and `tandem generate`: equal results of strategies, resuming, and the written model.
#include "tandem/tools/pretrain/pretrain.h"

#include <filesystem>

#include "tandem/serialize/safetensors.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/paths.h"
#include "tandem/tests/process.h"
#include "tandem/tests/temporary.h"
#include "tandem/text/tokenize_files.h"
#include "tandem/text/train_bpe.h"
#include "tandem/tools/usage.h"

using namespace tandem;
using namespace tandem::tools;
using pretrain::Settings;

namespace {

/// A folder with a text of rules: "one and two is three."
struct SmallText {
  SmallText() {
    const std::vector<std::string> words = {"zero", "one", "two", "three", "four", "five", "six"};
    std::string text;
    for (size_t i = 0; i < 400; ++i) {
      const size_t a = i * 7 % 4, b = i * 11 % 3;
      text += words[a] + " and " + words[b] + " is " + words[a + b] + ".\n";
    }
    test::write_file(folder / "text.txt", text);
  }
  Settings settings(const std::string& output, const std::string& strategy = "single", int64_t devices = 1) const {
    Settings s;
    s.text = {folder / "text.txt"};
    s.output = folder / output;
    s.strategy = strategy;
    s.devices = devices;
    s.device = "cpu";
    s.vocab_size = 280;
    s.layers = s.heads = 2;
    s.width = 16;
    s.block_size = 16;
    s.batch_size = 12;
    s.steps = 12;
    s.eval_steps = 5;
    s.sample_tokens = 4;
    s.peak_flops = 1e9;
    return s;
  }
  NamedTensors weights(const std::string& output) const {
    return load_safetensors(folder / (output + "/model.safetensors"));
  }
  test::TemporaryFolder folder;
};
double difference(const NamedTensors& a, const NamedTensors& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (const auto& [name, tensor] : a) largest = std::max(largest, (tensor - b.at(name)).abs().max().item<double>());
  return largest;
}

}  // namespace

TEST_CASE("text files become a token file that decodes to the texts", "[pretrain][text]") {
  const SmallText job;
  test::write_file(job.folder / "end.txt", "no line end");
  const auto tokenizer =
      text::train_bpe_from_files({job.folder / "text.txt"}, text::BpeTrainerOptions().vocab_size(300));
  const text::TokenFile file =
      text::tokenize_files(tokenizer, {job.folder / "text.txt", job.folder / "end.txt"}, job.folder / "tokens");
  file.verify();
  CHECK(tokenizer.decode(file.read(0, file.size())) ==
        test::read_file(job.folder / "text.txt") + "<|endoftext|>no line end<|endoftext|>");
  test::write_file(job.folder / "empty.txt", "");
  CHECK_THROWS_WITH(text::tokenize_files(tokenizer, {job.folder / "empty.txt"}, job.folder / "tokens"),
                    Contains("empty.txt is empty"));
  CHECK_THROWS_WITH(text::tokenize_files(tokenizer, {job.folder / "none.txt"}, job.folder / "tokens"),
                    Contains("none.txt"));
  file.verify();  // the earlier file is still there
}

TEST_CASE("the floating-point operations of a token follow the formula", "[pretrain]") {
  const models::GptModel model(models::GptConfig().vocab_size(10).n_positions(8).n_embd(4).n_layer(2).n_head(2));
  // Each layer: attention 4 * 12 + 12 and 4 * 4 + 4, MLP 4 * 16 + 16 and 16 * 4 + 4, two norms of 8; then the last norm
  // and the embeddings of tokens, which are also the head.
  const double parameters = 2 * (60 + 20 + 80 + 68 + 16) + 8 + 10 * 4;
  CHECK(models::flops_per_token(*model, 8) == 6 * parameters + 12.0 * 2 * 4 * 8);
}

TEST_CASE("all strategies pretrain the same weights", "[pretrain]") {
  const SmallText job;
  const auto run = [&](const std::string& strategy, int64_t devices) {
    const std::string output = strategy + std::to_string(devices);
    pretrain::pretrain(job.settings(output, strategy, devices));
    return job.weights(output);
  };
  const NamedTensors single = run("single", 1);
  for (const int64_t devices : {2, 3}) {
    INFO(devices << " devices");
    const NamedTensors loss = run("dp_loss", devices);
    // 1e-4: float32, and Adam divides small gradients by their own size; the gradients of shards are added up in
    // another order than those of rows.
    CHECK(difference(loss, single) < 1e-4);
    CHECK(difference(run("dp", devices), single) < 1e-4);
    if (devices == 2)
      CHECK(difference(run("ddp", devices), loss) == 0);
    else  // ddp divides by 3 after the sum, which rounds
      CHECK(difference(run("ddp", devices), loss) < 1e-4);
  }
}

TEST_CASE("a pretraining that is stopped and resumed at any step ends with the same weights", "[pretrain]") {
  const SmallText job;
  const auto run = [&](const std::string& output, const std::string& strategy, int64_t stop_after, bool resume) {
    Settings s = job.settings(output, strategy, strategy == "single" ? 1 : 2);
    s.dropout = 0.1;
    s.accumulate = 2;
    s.stop_after_steps = stop_after;
    s.resume = resume;
    s.eval_steps = 3;
    return pretrain::pretrain(s);
  };
  for (const std::string strategy : {"single", "ddp"}) {
    const pretrain::Result whole = run(strategy, strategy, -1, false);
    CHECK(whole.steps == 12);
    for (const int64_t step : {3, 7}) {  // a step with a checkpoint, and one after it
      INFO(strategy << " stopped after step " << step);
      const std::string output = strategy + std::to_string(step);
      run(output, strategy, step, false);
      const pretrain::Result resumed = run(output, strategy, -1, true);
      CHECK(resumed.validation_loss == whole.validation_loss);
      CHECK(difference(job.weights(output), job.weights(strategy)) == 0);
    }
  }
}

TEST_CASE("a pretrained model predicts better than the frequencies of tokens, and generate continues its text",
          "[pretrain]") {
  const SmallText job;
  Settings s = job.settings("out");
  s.steps = 150;
  s.eval_steps = 75;
  s.lr = 3e-3;
  s.width = 32;
  s.log = job.folder / "log.jsonl";
  const pretrain::Result result = pretrain::pretrain(s);
  // Entropy of the tokens' frequencies, in nats: the loss of a model that knows nothing else.
  const text::TokenFile tokens(s.output + "/tokens.bin");
  std::map<int64_t, double> counts;
  for (const int64_t token : tokens.read(0, tokens.size())) ++counts[token];
  double entropy = 0;
  for (const auto& [token, count] : counts) {
    const double p = count / static_cast<double>(tokens.size());
    entropy -= p * std::log(p);
  }
  CHECK(result.validation_loss < entropy / 2);
  CHECK_THAT(test::read_file(s.log), Contains("tokens_per_second") && Contains("model_flops_utilization") &&
                                         Contains("val_loss") && Contains("train_loss"));
  const test::Result continued = test::run_program(
      test::kCommand,
      {"generate", "--model", s.output, "--prompt", "two and", "--max-new-tokens", "6", "--temperature", "0"});
  INFO(continued.output);
  CHECK(continued.status == 0);
  CHECK(continued.output.starts_with("two and"));
  CHECK(continued.output.size() > std::string("two and\n").size());
  pretrain::GenerateSettings g;
  g.model = s.output;
  g.prompt = "two and";
  g.max_new_tokens = 6;
  g.temperature = 0;
  const auto model = models::GptModel::from_pretrained(s.output);
  CHECK(pretrain::continue_text(*model, *text::load_tokenizer(s.output), g) + "\n" == continued.output);
}

TEST_CASE("wrong calls of pretrain and generate say what is accepted", "[pretrain]") {
  const SmallText job;
  const auto usage_error = [&](const std::function<void(Settings&)>& change) {
    Settings s = job.settings("out");
    change(s);
    try {
      pretrain::pretrain(s);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK_THAT(usage_error([](Settings& s) { s.text.clear(); }), Contains("--tokens"));
  CHECK_THAT(usage_error([](Settings& s) { s.tokens = "x"; }), Contains("--tokens"));
  CHECK_THAT(usage_error([](Settings& s) { s.text = {"/none"}; }), Contains("/none"));
  CHECK_THAT(usage_error([](Settings& s) { s.heads = 3; }), Contains("--width is 16") && Contains("--heads is 3"));
  CHECK_THAT(usage_error([](Settings& s) { s.block_size = 5000; }), Contains("5000 + 1 tokens"));
  CHECK_THAT(usage_error([](Settings& s) { s.batch_size = 5000; }), Contains("--batch-size is 5000"));
  const test::Result refused = test::run_program(test::kCommand, {"generate", "--model", "/none", "--prompt", "x"});
  CHECK(refused.status == 2);
  CHECK_THAT(refused.output, Contains("tandem generate: ") && Contains("/none"));
}
