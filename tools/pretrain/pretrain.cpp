// Implements `tandem pretrain`: trains the model, and prints losses and samples.
#include "tandem/tools/pretrain/pretrain.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tandem/core/generator.h"
#include "tandem/models/language_modeling.h"
#include "tandem/parallel/collectives/distributed.h"
#include "tandem/tools/atomic_file.h"
#include "tandem/tools/training_job.h"
#include "tandem/tools/usage.h"
#include "tandem/train/callbacks/model_checkpoint.h"
#include "tandem/train/callbacks/throughput_monitor.h"
#include "tandem/train/evaluation_guard.h"
#include "tandem/train/trainer.h"

namespace tandem::tools::pretrain {
namespace {

constexpr int64_t kSampleTokens = 100;
constexpr int kValidationBatches = 50;  // of a validation during the training; the last one takes all

/// Prints the loss of each validation, and now and then a text that the model writes.
class Reporter : public train::Callback {
 public:
  Reporter(std::shared_ptr<const text::Tokenizer> tokenizer, std::string prompt, int64_t interval, uint64_t seed)
      : tokenizer_(std::move(tokenizer)), prompt_(std::move(prompt)), interval_(interval), seed_(seed) {}
  void on_train_start(train::Fit& fit) override { last_step_ = fit.global_step(); }
  void on_train_batch_end(train::Fit& fit, int64_t) override {
    const int64_t step = fit.global_step();
    if (fit.rank() != 0 || !tokenizer_ || interval_ == 0 || step == last_step_ || step % interval_ != 0) return;
    last_step_ = step;
    print_sample(dynamic_cast<models::LanguageModeling&>(fit.module()).model, step);
  }
  void on_validation_end(train::Fit& fit) override {
    if (fit.rank() != 0 || !fit.metrics().contains("val_loss")) return;
    const double loss = fit.metrics().at("val_loss");
    print_once("step %lld: val_loss %.4f, perplexity %.4g\n", static_cast<long long>(fit.global_step()), loss,
               std::exp(loss));
  }
  void print_sample(const models::GptModel& model, int64_t step) const {
    const train::EvaluationGuard evaluation(*model, seed_, /*rank=*/0);  // the training's random numbers are not used
    std::vector<int64_t> ids = tokenizer_->tokenize_to_ids(prompt_);
    if (ids.empty()) ids = {tokenizer_->eos_token_id().value_or(0)};
    const int64_t positions = model->config.n_positions();
    ids.resize(static_cast<size_t>(std::min(static_cast<int64_t>(ids.size()), positions - 1)));
    const auto length = static_cast<int64_t>(ids.size());
    auto options = models::GenerationOptions()
                       .max_new_tokens(std::min(kSampleTokens, positions - length))
                       .do_sample(true)
                       .temperature(0.8)
                       .seed(seed_);
    if (tokenizer_->eos_token_id()) options.eos_token_id(*tokenizer_->eos_token_id());
    const Tensor prompt = tensor(ids).view({1, length}).to(model->wte->weight.device());
    const Tensor tokens = models::GptModel(model)->generate(prompt, options).to(kCPU)[0];
    const int64_t* const data = tokens.data<int64_t>();
    const std::string text = tokenizer_->decode({data, data + tokens.numel()}, /*skip_special_tokens=*/true);
    print_once("step %lld, sample:\n%s\n\n", static_cast<long long>(step), text.c_str());
  }

 private:
  std::shared_ptr<const text::Tokenizer> tokenizer_;  // null: no samples
  std::string prompt_;
  int64_t interval_;
  uint64_t seed_;
  int64_t last_step_ = 0;
};

/// Replaces settings whose defaults depend on others.
void complete_settings(Settings& s) {
  check_usage(!s.tokens.empty() || !s.files.empty() || s.resume,
              "give the texts to train on, or --tokens, a token file");
  check_usage(s.tokens.empty() || s.files.empty(), "give either texts or --tokens, not both");
  check_usage(s.width % s.heads == 0, "--heads ", s.heads, " must divide --width ", s.width);
  check_usage(!distributed::is_launched() || !s.tokens.empty(),
              "a job of several processes needs --tokens; `tandem tokenize` makes the tokenizer and the token file");
  check_usage(s.min_lr <= s.lr, "--min-lr ", s.min_lr, " is above --lr ", s.lr);
  check_usage(s.min_lr <= 0 || s.schedule == "cosine", "--min-lr needs --schedule cosine");
  validation_share(s.validation);  // may throw
  check_can_write("--log", s.log);
  if (s.min_lr < 0) s.min_lr = s.schedule == "cosine" ? s.lr / 10 : 0;
  if (s.steps == 0 && s.epochs == 0) s.steps = 600;
  if (s.checkpoint_interval == 0) s.checkpoint_interval = s.val_interval;
  s.devices = resolve_num_devices(s.devices, s.strategy, s.device);
  std::error_code error;
  std::filesystem::create_directories(s.output, error);
  check_usage(!error, "--output ", s.output, " cannot be created: ", error.message());
}

models::GptModel make_model(const Settings& s, const Corpus& corpus) {
  manual_seed(s.seed);
  const std::optional<int64_t> end = corpus.tokenizer ? corpus.tokenizer->eos_token_id() : std::nullopt;
  return models::GptModel(models::GptConfig()
                              .vocab_size(corpus.training.file().vocab_size())
                              .n_positions(s.block_size)
                              .n_layer(s.layers)
                              .n_head(s.heads)
                              .n_embd(s.width)
                              .resid_pdrop(s.dropout)
                              .embd_pdrop(s.dropout)
                              .attn_pdrop(s.dropout)
                              .bos_token_id(end)
                              .eos_token_id(end));
}

/// Returns the rate that all devices together can reach.
double all_peak_flops(const Settings& s) {
  if (s.peak_flops > 0) return s.peak_flops;
  const bool on_gpu = s.device != "cpu" && device_count(kCUDA) > 0;
  // Virtual CPU devices share the machine.
  return measure_peak_flops(on_gpu ? kCUDA : kCPU) * static_cast<double>(on_gpu ? s.devices : 1);
}

train::TrainerOptions trainer_options(const Settings& s) {
  return train::TrainerOptions()
      .accelerator(s.device)
      .strategy(s.strategy)
      .devices(static_cast<int>(s.devices))
      .precision(s.precision)
      .seed(s.seed)
      .enable_progress_bar(false)
      .default_root_dir(s.output);
}
train::TrainerOptions training_options(const Settings& s, int64_t steps, int64_t batches_per_epoch) {
  auto options = trainer_options(s)
                     .max_steps(steps)
                     .accumulate_grad_batches(s.accumulate)
                     .gradient_clip_val(s.clip)
                     .log_every_n_steps(std::clamp<int64_t>(steps / 100, 1, 10))
                     .limit_val_batches(kValidationBatches)
                     .ckpt_path(s.resume ? "last" : "");
  const int64_t interval = s.val_interval * s.accumulate;  // in batches
  if (interval <= batches_per_epoch)
    options.val_check_interval(interval);
  else
    options.check_val_every_n_epoch(interval / batches_per_epoch);
  return options;
}

}  // namespace

Result pretrain(Settings s) {
  complete_settings(s);
  const Corpus corpus = prepare_corpus(s);
  // An epoch draws as many examples as the text has without overlap.
  const int64_t examples = (corpus.training_tokens - 1) / s.block_size, per_step = s.batch_size * s.accumulate;
  check_usage(static_cast<int64_t>(*corpus.training.size()) >= s.batch_size, "the training text has ",
              corpus.training_tokens, " tokens, too few for different examples in a batch of --batch-size ",
              s.batch_size, "; give more text or a smaller value");
  const int64_t by_epochs = (s.epochs * examples + per_step - 1) / per_step;
  const int64_t steps = s.steps == 0 ? by_epochs : s.epochs == 0 ? s.steps : std::min(s.steps, by_epochs);

  const models::GptModel model = make_model(s, corpus);
  models::LanguageModeling module(model,
                                  models::TransformerTrainingOptions()
                                      .lr(s.lr)
                                      .min_lr(s.min_lr)
                                      .weight_decay(s.weight_decay)
                                      .beta2(0.95)  // as GPT-3 was trained
                                      .schedule(s.schedule)
                                      .warmup_steps(static_cast<int64_t>(s.warmup * static_cast<double>(steps)))
                                      .total_steps(steps));
  int64_t parameters = 0;
  for (const Tensor& parameter : model->parameters()) parameters += parameter.numel();
  const double flops = models::flops_per_token(model, s.block_size), peak = all_peak_flops(s);
  print_once("model: %lld layers of width %lld, %.2f million parameters, %.3g MFLOP per token\n",
             static_cast<long long>(s.layers), static_cast<long long>(s.width), static_cast<double>(parameters) / 1e6,
             flops / 1e6);
  print_once(
      "training: %lld steps of %lld x %lld tokens (%.3g epochs), %s on %lld device%s, precision %s, peak %.4g "
      "GFLOP/s (%s)\n",
      static_cast<long long>(steps), static_cast<long long>(per_step), static_cast<long long>(s.block_size),
      static_cast<double>(steps * per_step) / static_cast<double>(examples), s.strategy.c_str(),
      static_cast<long long>(s.devices), s.devices == 1 ? "" : "s", s.precision.c_str(), peak / 1e9,
      s.peak_flops > 0 ? "given" : "measured");

  const Reporter reporter(corpus.tokenizer, s.prompt, s.sample_interval, s.seed);
  auto monitor = train::ThroughputMonitorOptions()
                     .items_per_batch(static_cast<double>(s.batch_size * s.block_size))
                     .item("tokens")
                     .flops_per_item(flops)
                     .peak_flops(peak)
                     .seconds_per_line(5);
  auto options =
      training_options(s, steps, static_cast<int64_t>(*corpus.training.size()) / s.batch_size)
          .callback(train::ThroughputMonitor(monitor))
          .callback(Reporter(reporter))
          .callback(train::ModelCheckpoint(train::ModelCheckpointOptions().every_n_train_steps(s.checkpoint_interval)));
  train::Logger json;
  if (!s.log.empty()) options.logger(json = make_json_logger(s.log, s.resume));
  if (!s.tensorboard.empty()) options.tensorboard(s.tensorboard);
  std::optional<train::DataSource> validation;
  if (corpus.validation) validation.emplace(train::DataSource(*corpus.validation).batch_size(s.batch_size));
  train::Trainer trainer(options);
  trainer.fit(module, train::DataSource(corpus.training).batch_size(s.batch_size).drop_last(true), validation);

  Result result{{}, trainer.global_step()};
  if (validation)
    result.validation_loss = train::Trainer(trainer_options(s)).validate(module, *validation).at("val_loss");
  if (distributed::is_initialized() && distributed::get_rank() != 0) return result;
  if (json && result.validation_loss) json(result.steps, {{"final_val_loss", *result.validation_loss}});
  model->eval();
  model->save_pretrained(s.output);
  const bool has_sample = s.sample_interval > 0 && result.steps % s.sample_interval == 0;
  if (corpus.tokenizer && !has_sample) reporter.print_sample(model, result.steps);
  if (result.validation_loss)
    print_once("validation loss after %lld steps: %.4f nats per token, perplexity %.4g\n",
               static_cast<long long>(result.steps), *result.validation_loss, std::exp(*result.validation_loss));
  print_once("the model is in %s\n", s.output.c_str());
  return result;
}

}  // namespace tandem::tools::pretrain
