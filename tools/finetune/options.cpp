// Declares the command-line options of `tandem finetune`.
#include "tandem/tools/command_line.h"
#include "tandem/tools/finetune/finetune.h"
#include "tandem/tools/usage.h"

namespace tandem::tools {
namespace {

void add_data_options(CLI::App& c, finetune::Settings& s) {
  add_option(c, "--train", s.train, "FILE",
             "Texts with labels to train on: JSON Lines (.jsonl), tab-separated (.tsv, .txt) or .csv")
      ->default_str("sentence pairs that are generated");
  add_option(c, "--validation", s.validation, "FILES",
             "Texts to evaluate on, separated by commas; the first is also evaluated after each epoch")
      ->delimiter(',');
  add_option(c, "--test", s.test, "FILES", "More texts to evaluate on after the training")->delimiter(',');
  add_option(c, "--text-column", s.text_column, "NAME", "Column of the texts");
  add_option(c, "--pair-column", s.pair_column, "NAME", "Column of the second texts; \"\": the texts are single");
  add_option(c, "--label-column", s.label_column, "NAME", "Column of the labels; rows labelled - are left out");
  add_option(c, "--max-length", s.max_length, "N", "Maximum number of tokens of a pair; longer ones are cut")
      ->check(make_integer_validator(4, 1 << 16));
  add_option(c, "--limit", s.limit, "N", "Train on the first N rows only")
      ->default_str("all")
      ->check(make_integer_validator(1));
}
void add_training_options(CLI::App& c, finetune::Settings& s) {
  add_option(c, "--epochs", s.epochs, "N", "Number of epochs")
      ->default_str("3, or 10 for the small new model")
      ->check(make_integer_validator(1, 10000));
  add_option(c, "--batch-size", s.batch_size, "N", "Number of rows of a batch, over all devices")
      ->check(make_integer_validator(1, 1 << 20));
  add_option(c, "--accumulate", s.accumulate, "N", "Number of batches whose gradients make a step")
      ->check(make_integer_validator(1, 1 << 20));
  add_option(c, "--lr", s.lr, "X", "Learning rate after the warm-up")
      ->default_str("2e-05, or 0.0004 for the small new model")
      ->check(make_number_validator(1e-12, 1e3));
  add_option(c, "--warmup", s.warmup, "X", "Part of the steps in which the learning rate rises")
      ->check(make_number_validator(0, 1));
  add_option(c, "--schedule", s.schedule, "NAME",
             "How the learning rate falls after the warm-up: linear, cosine, constant")
      ->check(make_choice_validator({"linear", "cosine", "constant"}));
  add_option(c, "--weight-decay", s.weight_decay, "X", "Weight decay of AdamW; biases and LayerNorm have none")
      ->check(make_number_validator(0, 1e3));
  add_option(c, "--clip", s.clip, "X", "Maximum norm of the gradients; 0: they are not clipped")
      ->check(make_number_validator(0, 1e9));
  add_option(c, "--dropout", s.dropout, "P", "Dropout probability of all layers")
      ->default_str("the model's")
      ->check(make_number_validator(0, 0.999));
  add_option(c, "--seed", s.seed, "N", "Seed of new weights, the order of the rows and dropout")
      ->check(make_integer_validator(0));
}
void add_device_options(CLI::App& c, finetune::Settings& s) {
  add_strategy_options(c, s.strategy, s.devices, s.device, s.precision);
  add_option(c, "--workers", s.workers, "N", "Number of threads of each rank that make batches; 0: the training thread")
      ->check(make_integer_validator(0, 64));
}

}  // namespace

void add_finetune_command(CLI::App& app) {
  auto s = std::make_shared<finetune::Settings>();
  CLI::App* const c =
      app.add_subcommand("finetune", "Fine-tune a BERT for the classification of texts or pairs of texts");
  add_option(*c, "--model", s->model, "FOLDER",
             "Model to fine-tune, as Hugging Face lays it out: config.json, weights and tokenizer")
      ->default_str("a small new model");
  add_data_options(*c, *s);
  add_training_options(*c, *s);
  add_device_options(*c, *s);
  add_option(*c, "--output", s->output, "FOLDER", "Folder for the trained model, its tokenizer and checkpoints");
  add_option(*c, "--checkpoint-steps", s->checkpoint_steps, "N", "Steps from one checkpoint to the next")
      ->default_str("one for each epoch")
      ->check(make_integer_validator(1));
  c->add_flag("--resume", s->resume, "Continue from the last checkpoint in the output folder");
  add_option(*c, "--log", s->log, "FILE", "Write metrics to FILE (.jsonl)")->default_str("not written");
  add_option(*c, "--tensorboard", s->tensorboard, "FOLDER", "Write metrics for TensorBoard")
      ->default_str("not written");
  c->footer(
      "example: tandem finetune --model bert-base-uncased --train multinli_1.0_train.jsonl \\\n"
      "           --validation multinli_1.0_dev_matched.jsonl,multinli_1.0_dev_mismatched.jsonl");
  c->callback([s] { finetune::finetune(*s); });
}

}  // namespace tandem::tools
