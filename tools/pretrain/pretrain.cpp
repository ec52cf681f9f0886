// Implements `tandem pretrain`: prepares tokens and model, trains, prints samples, and writes the model.
#include "tandem/tools/pretrain/pretrain.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "tandem/core/cuda/cuda.h"
#include "tandem/core/durations.h"
#include "tandem/core/generator.h"
#include "tandem/logs/metrics_writer.h"
#include "tandem/ops/ops.h"
#include "tandem/parallel/collectives/distributed.h"
#include "tandem/text/tokenize_files.h"
#include "tandem/text/train_bpe.h"
#include "tandem/tools/atomic_file.h"
#include "tandem/tools/usage.h"
#include "tandem/train/callbacks/model_checkpoint.h"
#include "tandem/train/callbacks/throughput_monitor.h"
#include "tandem/train/trainer.h"

namespace tandem::tools::pretrain {
namespace {

namespace fs = std::filesystem;

bool is_first() { return !distributed::is_launched() || distributed::get_node_local_rank(0) == 0; }
template <class... Args> void print(const char* format, Args... args) {
  if (!is_first()) return;
  std::printf(format, args...);
  std::fflush(stdout);
}

/// Prints a continuation of the prompt after each validation. The draws have a seed of their own, so that the training
/// does not depend on them.
class SamplePrinter : public train::Callback {
 public:
  SamplePrinter(std::shared_ptr<const text::Tokenizer> tokenizer, GenerateSettings settings)
      : tokenizer_(std::move(tokenizer)), settings_(std::move(settings)) {}
  void on_validation_end(train::Fit& fit) override {
    if (fit.rank() != 0) return;
    auto& module = dynamic_cast<models::LanguageModeling&>(fit.module());
    const std::string sample = continue_text(*module.model, *tokenizer_, settings_);
    std::printf("step %lld, validation loss %.4f\n--- sample\n%s\n---\n", static_cast<long long>(fit.global_step()),
                fit.metrics().at("val_loss"), sample.c_str());
    std::fflush(stdout);
  }

 private:
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  GenerateSettings settings_;
};

train::Logger make_json_logger(const std::string& path, bool append) {
  const auto writer = std::make_shared<std::optional<logs::MetricsWriter>>();  // shared by copies of the logger
  return [path, append, writer](int64_t step, const std::vector<std::pair<std::string, double>>& metrics) {
    if (!*writer) writer->emplace(path, append);
    (*writer)->add(step, metrics);
  };
}

/// The tokenizer, and the corpus as tokens.
struct Corpus {
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::optional<text::TokenFile> tokens;
};
/// Trains or loads the tokenizer, and makes or opens the token file. Ranks on one machine make the same files; each
/// gets its name when it is complete.
Corpus prepare_corpus(const Settings& s) {
  Corpus corpus;
  if (!s.tokenizer.empty()) {
    corpus.tokenizer = text::load_tokenizer(s.tokenizer);
  } else {
    print("training byte-level BPE with %lld tokens\n", static_cast<long long>(s.vocab_size));
    corpus.tokenizer = std::make_shared<const text::GPT2Tokenizer>(
        text::train_bpe_from_files(s.text, text::BpeTrainerOptions().vocab_size(s.vocab_size)));
  }
  corpus.tokens = s.tokens.empty() ? text::tokenize_files(*corpus.tokenizer, s.text, s.output + "/tokens.bin")
                                   : text::TokenFile(s.tokens);
  return corpus;
}

}  // namespace

double measure_flops(Device device) {
  constexpr int64_t kSize = 1024;
  const Tensor a = ones({kSize, kSize}, TensorOptions(kFloat32).device(device)), b = a.clone();
  double best = 0;
  // Repeats for half a second: the first products warm up, and other programs may disturb some.
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  for (int i = 0; i < 5 || std::chrono::steady_clock::now() < end; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const Tensor product = a.matmul(b);
    product[0][0].item<float>();  // waits for a GPU
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, 2.0 * kSize * kSize * kSize / seconds);
  }
  return best;
}

Result pretrain(Settings s) {
  check_usage(s.text.empty() != s.tokens.empty(), "give text files, or a token file by --tokens");
  check_usage(s.tokens.empty() || !s.tokenizer.empty(), "--tokens needs --tokenizer, the folder of the tokenizer");
  check_usage(s.width % s.heads == 0, "--width is ", s.width, " and --heads is ", s.heads,
              "; accepted: a number of heads that divides the width");
  check_can_write("--log", s.log);
  if (s.devices == 0) {
    const int gpus = device_count(kCUDA);
    s.devices = s.strategy == "single" ? 1 : s.device != "cpu" && gpus > 0 ? gpus : 2;
  }
  fs::create_directories(s.output);
  const Corpus corpus = rethrow_as_usage_error([&] { return prepare_corpus(s); });
  const text::TokenFile& tokens = *corpus.tokens;
  check_usage(tokens.vocab_size() == corpus.tokenizer->vocab_size(), tokens.path(), " is for a vocabulary of ",
              tokens.vocab_size(), " tokens, but the tokenizer has ", corpus.tokenizer->vocab_size());
  const auto validation_tokens = static_cast<int64_t>(s.validation_part * static_cast<double>(tokens.size()));
  const auto windows = text::TokenWindowsOptions().block_size(s.block_size);
  auto [training, validation] = rethrow_as_usage_error([&] {
    auto options = windows;
    text::TokenWindows train(tokens, options.random_positions(true).end(-validation_tokens));
    options = windows;
    return std::pair(train, text::TokenWindows(tokens, options.begin(tokens.size() - validation_tokens)));
  });

  manual_seed(s.seed);
  models::GptConfig config;
  config.vocab_size(tokens.vocab_size()).n_positions(s.block_size).n_embd(s.width).n_layer(s.layers).n_head(s.heads);
  config.resid_pdrop(s.dropout).embd_pdrop(s.dropout).attn_pdrop(s.dropout);
  config.bos_token_id(corpus.tokenizer->eos_token_id()).eos_token_id(corpus.tokenizer->eos_token_id());
  const models::GptModel model(config);
  int64_t parameters = 0;
  for (const Tensor& p : model->parameters()) parameters += p.numel();
  const bool has_gpu = s.device != "cpu" && device_count(kCUDA) > 0;
  if (s.peak_flops == 0)
    s.peak_flops = measure_flops(has_gpu ? kCUDA : kCPU) * static_cast<double>(has_gpu ? s.devices : 1);
  print("%lld tokens (%lld for validation), %lld parameters, %.3g FLOP per token, peak %.3g FLOP/s\n",
        static_cast<long long>(tokens.size()), static_cast<long long>(validation_tokens),
        static_cast<long long>(parameters), models::flops_per_token(*model, s.block_size), s.peak_flops);

  models::LanguageModeling module(model,
                                  models::TransformerTrainingOptions()
                                      .lr(s.lr)
                                      .weight_decay(s.weight_decay)
                                      .beta2(0.95)
                                      .schedule(s.schedule)
                                      .warmup_steps(static_cast<int64_t>(s.warmup * static_cast<double>(s.steps)))
                                      .total_steps(s.steps));
  const auto source =
      train::DataSource(training).batch_size(s.batch_size).shuffle(true).drop_last(true).workers(s.workers);
  const auto batches = static_cast<int64_t>(training.size().value()) / s.batch_size;
  check_usage(batches >= 1, "--batch-size is ", s.batch_size, ", but the text has ", training.size().value(),
              " windows; accepted: a smaller batch, or a longer text");
  // An epoch of the Trainer is the time between two validations.
  const int64_t epoch = std::min(batches / s.accumulate > 0 ? batches / s.accumulate * s.accumulate : batches,
                                 s.eval_steps * s.accumulate);
  GenerateSettings sample;
  sample.prompt = s.prompt;
  sample.max_new_tokens = s.sample_tokens;
  sample.seed = s.seed;
  auto options =
      train::TrainerOptions()
          .accelerator(s.device)
          .strategy(s.strategy)
          .devices(static_cast<int>(s.devices))
          .precision(s.precision)
          .seed(s.seed)
          .default_root_dir(s.output)
          .max_steps(s.stop_after_steps > 0 ? s.stop_after_steps : s.steps)
          .limit_train_batches(epoch)
          .accumulate_grad_batches(s.accumulate)
          .gradient_clip_val(s.clip)
          .log_every_n_steps(std::clamp<int64_t>(s.steps / 100, 1, 50))
          .ckpt_path(s.resume ? "last" : "")
          .callback(train::ThroughputMonitor(train::ThroughputMonitorOptions()
                                                 .items_per_batch(static_cast<double>(s.batch_size * s.block_size))
                                                 .item("tokens")
                                                 .flops_per_item(models::flops_per_token(*model, s.block_size))
                                                 .peak_flops(s.peak_flops)
                                                 .seconds_per_line(::isatty(STDERR_FILENO) == 1 ? 1e9 : 10)))
          .callback(train::ModelCheckpoint(
              train::ModelCheckpointOptions().every_n_train_steps(std::max<int64_t>(epoch / s.accumulate, 1))));
  if (s.sample_tokens > 0) options.callback(SamplePrinter(corpus.tokenizer, sample));
  if (!s.log.empty()) options.logger(make_json_logger(s.log, s.resume));
  if (!s.tensorboard.empty()) options.tensorboard(s.tensorboard);
  train::Trainer trainer(options);
  const auto validation_source = train::DataSource(validation).batch_size(s.batch_size);
  trainer.fit(module, source, validation_source);
  model->eval();
  Result result;
  train::Trainer validator(train::TrainerOptions()
                               .accelerator(s.device)
                               .strategy(s.strategy)
                               .devices(static_cast<int>(s.devices))
                               .precision(s.precision)
                               .seed(s.seed)
                               .enable_progress_bar(false));
  result.validation_loss = validator.validate(module, validation_source).at("val_loss");
  result.train_loss = trainer.metrics().at("train_loss");
  result.steps = trainer.global_step();
  if (distributed::is_initialized() && distributed::get_rank() != 0) return result;
  print("%lld steps, validation loss %.4f nats per token\n", static_cast<long long>(result.steps),
        result.validation_loss);
  model->save_pretrained(s.output);
  corpus.tokenizer->save(s.output);
  print("the model is in %s\n", s.output.c_str());
  return result;
}

}  // namespace tandem::tools::pretrain
