// Implements `tandem finetune`: prepares model and data, trains, evaluates, and writes the model.
#include "tandem/tools/finetune/finetune.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "tandem/core/generator.h"
#include "tandem/ops/ops.h"
#include "tandem/parallel/collectives/distributed.h"
#include "tandem/tools/atomic_file.h"
#include "tandem/tools/training_job.h"
#include "tandem/tools/usage.h"
#include "tandem/train/callbacks/model_checkpoint.h"
#include "tandem/train/callbacks/throughput_monitor.h"
#include "tandem/train/trainer.h"

namespace tandem::tools::finetune {
namespace {

namespace fs = std::filesystem;
constexpr int64_t kEvaluationBatch = 64;

void print_split(const Split& split, const char* use) {
  std::vector<int64_t> counts(split.texts.label_names.size());
  for (const int64_t label : split.texts.labels) ++counts[static_cast<size_t>(label)];
  std::string text;
  for (size_t i = 0; i < counts.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(counts[i]) + " " + split.texts.label_names[i];
  print_once("%-10s %s: %zu rows (%s), %lld without a label left out\n", use, split.name.c_str(),
             split.texts.texts.size(), text.c_str(), static_cast<long long>(split.texts.num_left_out));
}

/// Loads the model with a classifier for the given labels.
models::BertForSequenceClassification load_model(const Settings& s, models::BertConfig config,
                                                 const std::vector<std::string>& labels) {
  config.id2label(labels);
  if (s.dropout >= 0) {
    config.hidden_dropout_prob(s.dropout).attention_probs_dropout_prob(s.dropout);
    config.classifier_dropout(s.dropout);
  }
  manual_seed(s.seed);  // of the new parts
  models::LoadingInfo info;
  const auto model = rethrow_as_usage_error([&] {
    return models::BertForSequenceClassification::from_pretrained(
        s.model, config, models::PretrainedOptions().ignore_mismatched_sizes(true), &info);
  });
  info.missing_keys.insert(info.missing_keys.end(), info.mismatched_keys.begin(), info.mismatched_keys.end());
  if (!info.missing_keys.empty())
    print_once("%s has no weights for %s: they are new\n", s.model.c_str(),
               join_with_commas(info.missing_keys).c_str());
  return model;
}

train::TrainerOptions trainer_options(const Settings& s) {
  return train::TrainerOptions()
      .accelerator(s.device)
      .strategy(s.strategy)
      .devices(static_cast<int>(s.devices))
      .precision(s.precision)
      .seed(s.seed)
      .default_root_dir(s.output);
}

/// Evaluates on each file with all devices of the strategy.
std::vector<SplitResult> evaluate(const Settings& s, models::TextClassification& module, const Splits& splits,
                                  const std::vector<text::EncodedTexts>& texts) {
  std::vector<SplitResult> results;
  for (size_t i = 0; i < texts.size(); ++i) {
    train::Trainer trainer(trainer_options(s).enable_progress_bar(false));
    const auto metrics =
        trainer.validate(module, train::DataSource(texts[i]).batch_size(kEvaluationBatch).lengths(texts[i].lengths()));
    results.push_back({splits.evaluation[i].name, trainer.metric_values().at("val_confusion"), metrics.at("val_loss")});
  }
  return results;
}

}  // namespace

int64_t SplitResult::correct() const { return confusion.diagonal().sum().item<int64_t>(); }
int64_t SplitResult::rows() const { return confusion.sum().item<int64_t>(); }

std::string format_result(const SplitResult& result, const std::vector<std::string>& labels) {
  char line[200];
  std::snprintf(line, sizeof line, "%s: accuracy %.4f (%lld of %lld), loss %.4f\n", result.name.c_str(),
                result.accuracy(), static_cast<long long>(result.correct()), static_cast<long long>(result.rows()),
                result.loss);
  std::string text = line;
  size_t width = 9;
  for (const std::string& label : labels) width = std::max(width, label.size());
  const auto cell = [&](const std::string& word) {
    return std::string(width + 2 - std::min(width, word.size()), ' ') + word;
  };
  text += "  label \\ predicted" + std::string(width > 17 ? width - 17 : 0, ' ');
  const size_t first = std::max<size_t>(width, 17);
  for (const std::string& label : labels) text += cell(label);
  text += "\n";
  for (size_t row = 0; row < labels.size(); ++row) {
    text += "  " + labels[row] + std::string(first - labels[row].size(), ' ');
    for (size_t column = 0; column < labels.size(); ++column)
      text += cell(
          std::to_string(result.confusion[static_cast<int64_t>(row)][static_cast<int64_t>(column)].item<int64_t>()));
    text += "\n";
  }
  return text;
}

std::vector<SplitResult> finetune(Settings s) {
  check_usage(!s.model.empty() || s.train.empty(), "--train needs --model, the folder of a BERT to fine-tune");
  check_usage(s.train.empty() == s.validation.empty(), "--train and --validation go together; give both, or neither");
  check_usage(!s.train.empty() || s.test.empty(), "--test needs --train and --validation");
  check_can_write("--log", s.log);
  s.devices = resolve_num_devices(s.devices, s.strategy, s.device);
  if (s.epochs == 0) s.epochs = s.model.empty() ? 10 : 3;
  if (s.lr == 0) s.lr = s.model.empty() ? 4e-4 : 2e-5;
  if (s.train.empty()) {
    generate_data(s, s.output + "/data");
    print_once("no --train: sentence pairs about quantities, containment and negation are in %s/data\n",
               s.output.c_str());
  }
  if (s.model.empty()) {
    s.model = s.output + "/initial_model";
    make_small_model(s.model, s.seed);
  }
  const models::BertConfig config =
      rethrow_as_usage_error([&] { return models::BertConfig::from_json_file(s.model + "/config.json"); });
  const auto tokenizer = rethrow_as_usage_error([&] { return text::load_tokenizer(s.model); });
  check_usage(tokenizer->vocab_size() <= config.vocab_size(), s.model, " has a tokenizer of ", tokenizer->vocab_size(),
              " tokens, but a model for ", config.vocab_size(), "; the tokenizer may be of another model");
  const Splits splits = read_splits(s, config.id2label());
  const std::vector<std::string>& labels = splits.train.texts.label_names;
  print_split(splits.train, "training");
  for (size_t i = 0; i < splits.evaluation.size(); ++i)
    print_split(splits.evaluation[i], i < s.validation.size() ? "validation" : "test");

  const int64_t max_length = std::min({s.max_length, tokenizer->model_max_length(), config.max_position_embeddings()});
  const auto encode = [&](const Split& split) {
    return text::EncodedTexts::encode(*tokenizer, split.texts, text::EncodeOptions().max_length(max_length));
  };
  const text::EncodedTexts training = encode(splits.train);
  std::vector<text::EncodedTexts> evaluation;
  for (const Split& split : splits.evaluation) evaluation.push_back(encode(split));

  const int64_t batches = (static_cast<int64_t>(*training.size()) + s.batch_size - 1) / s.batch_size;
  const int64_t steps = (batches + s.accumulate - 1) / s.accumulate * s.epochs;
  const models::BertForSequenceClassification model = load_model(s, config, labels);
  models::TextClassification module(model,
                                    models::TransformerTrainingOptions()
                                        .lr(s.lr)
                                        .weight_decay(s.weight_decay)
                                        .schedule(s.schedule)
                                        .warmup_steps(static_cast<int64_t>(s.warmup * static_cast<double>(steps)))
                                        .total_steps(steps));
  const auto source =
      train::DataSource(training).batch_size(s.batch_size).shuffle(true).workers(s.workers).lengths(training.lengths());
  const auto validation =
      train::DataSource(evaluation.at(0)).batch_size(kEvaluationBatch).lengths(evaluation[0].lengths());
  const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
  auto options =
      trainer_options(s)
          .max_epochs(s.epochs)
          .max_steps(s.stop_after_steps)
          .accumulate_grad_batches(s.accumulate)
          .gradient_clip_val(s.clip)
          .log_every_n_steps(std::clamp<int64_t>(steps / 100, 1, 50))
          .ckpt_path(s.resume ? "last" : "")
          .callback(train::ThroughputMonitor(train::ThroughputMonitorOptions()
                                                 .items_per_batch(static_cast<double>(s.batch_size))
                                                 .seconds_per_line(is_terminal ? 1e9 : 10)))
          .callback(train::ModelCheckpoint(train::ModelCheckpointOptions().every_n_train_steps(s.checkpoint_steps)));
  train::Logger json;
  if (!s.log.empty()) options.logger(json = make_json_logger(s.log, s.resume));
  if (!s.tensorboard.empty()) options.tensorboard(s.tensorboard);
  print_once("%lld steps, %s on %lld device%s, precision %s\n", static_cast<long long>(steps), s.strategy.c_str(),
             static_cast<long long>(s.devices), s.devices == 1 ? "" : "s", s.precision.c_str());
  train::Trainer trainer(options);
  trainer.fit(module, source, validation);

  model->eval();
  const std::vector<SplitResult> results = evaluate(s, module, splits, evaluation);
  const bool is_main = !distributed::is_initialized() || distributed::get_rank() == 0;
  if (!is_main) return results;
  for (const SplitResult& result : results) print_once("%s", format_result(result, labels).c_str());
  model->save_pretrained(s.output);
  tokenizer->save(s.output);
  print_once("the model is in %s\n", s.output.c_str());
  if (json)
    for (const SplitResult& result : results)
      json(trainer.global_step(),
           {{result.name + "_accuracy", result.accuracy()}, {result.name + "_loss", result.loss}});
  return results;
}

}  // namespace tandem::tools::finetune
