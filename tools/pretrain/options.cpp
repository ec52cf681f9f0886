// Declares the command-line options of `tandem pretrain`.
#include "tandem/tools/command_line.h"
#include "tandem/tools/pretrain/pretrain.h"

namespace tandem::tools {
namespace {

void add_text_options(CLI::App& c, pretrain::Settings& s) {
  add_option(c, "FILES", s.files, "FILES", "Text files to train on");
  add_option(c, "--tokens", s.tokens, "FILE", "Token file to train on instead of texts, as `tandem tokenize` writes")
      ->default_str("the texts are encoded")
      ->check(make_existing_file_validator());
  add_option(c, "--tokenizer", s.tokenizer, "FOLDER", "Tokenizer that encodes the texts, or that made the token file")
      ->default_str("a byte-level BPE is trained on the texts");
  add_option(c, "--vocab-size", s.vocab_size, "N", "Number of tokens of the tokenizer that is trained")
      ->check(make_integer_validator(257, 1 << 20));
  add_option(c, "--validation", s.validation, "X",
             "Share of the tokens, at the end, to validate on; or a text file, or with --tokens a token file; 0: none");
}
void add_model_options(CLI::App& c, pretrain::Settings& s) {
  add_option(c, "--layers", s.layers, "N", "Number of layers")->check(make_integer_validator(1, 1024));
  add_option(c, "--heads", s.heads, "N", "Number of attention heads of a layer")
      ->check(make_integer_validator(1, 1024));
  add_option(c, "--width", s.width, "N", "Size of a hidden state, a multiple of --heads")
      ->check(make_integer_validator(1, 1 << 17));
  add_option(c, "--block-size", s.block_size, "N",
             "Number of tokens of a training example, and of the model's positions")
      ->check(make_integer_validator(2, 1 << 20));
  add_option(c, "--dropout", s.dropout, "P", "Dropout probability of all layers")
      ->check(make_number_validator(0, 0.999));
}
void add_training_options(CLI::App& c, pretrain::Settings& s) {
  add_option(c, "--batch-size", s.batch_size, "N", "Number of examples of a batch, over all devices")
      ->check(make_integer_validator(1, 1 << 20));
  add_option(c, "--accumulate", s.accumulate, "N", "Number of batches whose gradients make a step")
      ->check(make_integer_validator(1, 1 << 20));
  add_option(c, "--steps", s.steps, "N", "Number of steps")
      ->default_str("600 without --epochs")
      ->check(make_integer_validator(1));
  add_option(c, "--epochs", s.epochs, "N",
             "Number of epochs; an epoch draws as many examples as the training text has without overlap")
      ->default_str("not limited")
      ->check(make_integer_validator(1, 1 << 20));
  add_option(c, "--lr", s.lr, "X", "Learning rate after the warm-up")->check(make_number_validator(0, 1e3));
  add_option(c, "--min-lr", s.min_lr, "X", "Learning rate at which the schedule cosine ends")
      ->default_str("a tenth of --lr")
      ->check(make_number_validator(0, 1e3));
  add_option(c, "--warmup", s.warmup, "X", "Part of the steps in which the learning rate rises")
      ->check(make_number_validator(0, 1));
  add_option(c, "--schedule", s.schedule, "NAME",
             "How the learning rate falls after the warm-up: cosine, linear, constant")
      ->check(make_choice_validator({"cosine", "linear", "constant"}));
  add_option(c, "--weight-decay", s.weight_decay, "X", "Weight decay of AdamW; biases and LayerNorm have none")
      ->check(make_number_validator(0, 1e3));
  add_option(c, "--clip", s.clip, "X", "Maximum norm of the gradients; 0: they are not clipped")
      ->check(make_number_validator(0, 1e9));
  add_option(c, "--seed", s.seed, "N", "Seed of the initial weights, the examples, dropout and the samples")
      ->check(make_integer_validator(0));
}
void add_device_options(CLI::App& c, pretrain::Settings& s) {
  add_strategy_options(c, s.strategy, s.devices, s.device, s.precision);
  add_option(c, "--peak-flops", s.peak_flops, "X",
             "Floating-point operations per second that all devices together can do, for the utilisation")
      ->default_str("the measured rate of a large float32 matrix product")
      ->check(make_number_validator(1, 1e21));
}
void add_output_options(CLI::App& c, pretrain::Settings& s) {
  add_option(c, "--val-interval", s.val_interval, "N", "Steps from one validation to the next")
      ->check(make_integer_validator(1, 1 << 30));
  add_option(c, "--sample-interval", s.sample_interval, "N",
             "Steps from one text that the model writes to the next; 0: only one at the end")
      ->check(make_integer_validator(0, 1 << 30));
  add_option(c, "--prompt", s.prompt, "TEXT", "Beginning of these texts")->default_str("the start of a text");
  add_option(c, "--output", s.output, "FOLDER", "Folder for the model, the tokenizer, the tokens and checkpoints");
  add_option(c, "--checkpoint-interval", s.checkpoint_interval, "N", "Steps from one checkpoint to the next")
      ->default_str("that of --val-interval")
      ->check(make_integer_validator(1, 1 << 30));
  c.add_flag(
      "--resume", s.resume,
      "Continue from the last checkpoint in the output folder, with the tokens there, as if the training had not "
      "been interrupted");
  add_option(c, "--log", s.log, "FILE", "Write metrics to FILE (.jsonl)")->default_str("not written");
  add_option(c, "--tensorboard", s.tensorboard, "FOLDER", "Write metrics for TensorBoard")->default_str("not written");
}

}  // namespace

void add_pretrain_command(CLI::App& app) {
  auto s = std::make_shared<pretrain::Settings>();
  CLI::App* const c = app.add_subcommand("pretrain", "Train a GPT on texts from the start");
  add_text_options(*c, *s);
  add_model_options(*c, *s);
  add_training_options(*c, *s);
  add_device_options(*c, *s);
  add_output_options(*c, *s);
  c->footer("example: tandem pretrain corpus.txt --steps 1000 --prompt \"In the beginning\" --output my_gpt");
  c->callback([s] { pretrain::pretrain(*s); });
}

}  // namespace tandem::tools
