// Declares the command-line options of `tandem pretrain` and `tandem generate`.
#include "tandem/tools/command_line.h"
#include "tandem/tools/pretrain/pretrain.h"

namespace tandem::tools {
namespace {

void add_data_options(CLI::App& c, pretrain::Settings& s) {
  add_option(c, "FILES", s.text, "FILES", "Text files to train on")->default_str("none");
  add_option(c, "--tokens", s.tokens, "FILE", "Token file to train on, instead of text files")->default_str("none");
  add_option(c, "--tokenizer", s.tokenizer, "FOLDER", "Folder of a tokenizer")
      ->default_str("byte-level BPE, trained on the text files");
  add_option(c, "--vocab-size", s.vocab_size, "N", "Number of tokens of a tokenizer that is trained")
      ->check(make_integer_validator(257, 1 << 20));
  add_option(c, "--validation-part", s.validation_part, "X", "Part of the tokens, at their end, for validation")
      ->check(make_number_validator(1e-6, 0.9));
}
void add_model_options(CLI::App& c, pretrain::Settings& s) {
  const auto size = make_integer_validator(1, 1 << 20);
  add_option(c, "--layers", s.layers, "N", "Number of layers")->check(size);
  add_option(c, "--heads", s.heads, "N", "Number of heads of the attention")->check(size);
  add_option(c, "--width", s.width, "N", "Size of a hidden state")->check(size);
  add_option(c, "--block-size", s.block_size, "N", "Number of tokens of a text")->check(size);
  add_option(c, "--dropout", s.dropout, "P", "Dropout probability of all layers")
      ->check(make_number_validator(0, 0.999));
}
void add_training_options(CLI::App& c, pretrain::Settings& s) {
  const auto count = make_integer_validator(1, int64_t{1} << 40);
  add_option(c, "--steps", s.steps, "N", "Number of steps of the optimizer")->check(count);
  add_option(c, "--batch-size", s.batch_size, "N", "Number of texts of a batch, over all devices")
      ->check(make_integer_validator(1, 1 << 20));
  add_option(c, "--accumulate", s.accumulate, "N", "Number of batches whose gradients make a step")
      ->check(make_integer_validator(1, 1 << 20));
  add_option(c, "--lr", s.lr, "X", "Learning rate after the warm-up")->check(make_number_validator(0, 1e3));
  add_option(c, "--warmup", s.warmup, "X", "Part of the steps in which the learning rate rises")
      ->check(make_number_validator(0, 1));
  add_option(c, "--schedule", s.schedule, "NAME",
             "How the learning rate falls after the warm-up: linear, cosine, constant")
      ->check(make_choice_validator({"linear", "cosine", "constant"}));
  add_option(c, "--weight-decay", s.weight_decay, "X", "Weight decay of AdamW; biases and LayerNorm have none")
      ->check(make_number_validator(0, 1e3));
  add_option(c, "--clip", s.clip, "X", "Maximum norm of the gradients; 0: they are not clipped")
      ->check(make_number_validator(0, 1e9));
  add_option(c, "--seed", s.seed, "N", "Seed of the weights, the windows and dropout")
      ->check(make_integer_validator(0));
}
void add_device_options(CLI::App& c, pretrain::Settings& s) {
  add_option(c, "--strategy", s.strategy, "NAME",
             "single: one device; dp: DataParallel; dp_loss: DataParallel whose replicas compute the loss; ddp: "
             "DistributedDataParallel, over threads or, under `tandem launch`, processes")
      ->check(make_choice_validator({"single", "dp", "dp_loss", "ddp"}));
  add_option(c, "--devices", s.devices, "N", "Number of devices")
      ->default_str("1 for single, else all GPUs, or 2 virtual CPU devices")
      ->check(make_integer_validator(1, 64));
  add_option(c, "--device", s.device, "NAME", "Kind of devices: auto (GPUs if there are any), cpu or gpu")
      ->check(make_choice_validator({"auto", "cpu", "gpu"}));
  add_option(c, "--precision", s.precision, "NAME", "32, bf16-mixed or 16-mixed")
      ->check(make_choice_validator({"32", "bf16-mixed", "16-mixed"}));
  add_option(c, "--workers", s.workers, "N", "Number of threads of each rank that make batches; 0: the training thread")
      ->check(make_integer_validator(0, 64));
  add_option(c, "--peak-flops", s.peak_flops, "X", "Peak of all devices together, in FLOP/s, for the utilisation")
      ->default_str("measured by a product of float32 matrices")
      ->check(make_number_validator(1, 1e30));
}

}  // namespace

void add_pretrain_commands(CLI::App& app) {
  auto s = std::make_shared<pretrain::Settings>();
  CLI::App* const c = app.add_subcommand("pretrain", "Train a GPT on text files");
  add_data_options(*c, *s);
  add_model_options(*c, *s);
  add_training_options(*c, *s);
  add_device_options(*c, *s);
  add_option(*c, "--output", s->output, "FOLDER", "Folder for the model, its tokenizer and checkpoints");
  c->add_flag("--resume", s->resume, "Continue from the last checkpoint in the output folder");
  add_option(*c, "--eval-steps", s->eval_steps, "N", "Steps from one validation, sample and checkpoint to the next")
      ->check(make_integer_validator(1));
  add_option(*c, "--prompt", s->prompt, "TEXT", "Text that the samples continue")->default_str("a line end");
  add_option(*c, "--sample-tokens", s->sample_tokens, "N", "Number of tokens of a sample; 0: no samples")
      ->check(make_integer_validator(0, 1 << 20));
  add_option(*c, "--log", s->log, "FILE", "Write metrics to FILE (.jsonl)")->default_str("not written");
  add_option(*c, "--tensorboard", s->tensorboard, "FOLDER", "Write metrics for TensorBoard")
      ->default_str("not written");
  c->footer("example: tandem pretrain book.txt --layers 6 --width 384 --heads 6 --steps 2000");
  c->callback([s] { pretrain::pretrain(*s); });

  auto g = std::make_shared<pretrain::GenerateSettings>();
  CLI::App* const generate = app.add_subcommand("generate", "Continue a text with a GPT");
  add_option(*generate, "--model", g->model, "FOLDER", "Model and tokenizer, as Hugging Face lays them out")
      ->required();
  add_option(*generate, "--prompt", g->prompt, "TEXT", "Text to continue")->required();
  add_option(*generate, "--max-new-tokens", g->max_new_tokens, "N", "Maximum number of tokens to generate")
      ->check(make_integer_validator(1, 1 << 20));
  add_option(*generate, "--temperature", g->temperature, "X", "Divides the logits; 0: the likeliest token")
      ->check(make_number_validator(0, 1e3));
  add_option(*generate, "--top-k", g->top_k, "N", "Draw from the N likeliest tokens; 0: from all")
      ->check(make_integer_validator(0, 1 << 20));
  add_option(*generate, "--top-p", g->top_p, "P", "Draw from the likeliest tokens with this probability together")
      ->check(make_number_validator(1e-6, 1));
  add_option(*generate, "--seed", g->seed, "N", "Seed of the draws")->check(make_integer_validator(0));
  generate->footer("example: tandem generate --model pretrained --prompt \"In the beginning\"");
  generate->callback([g] { pretrain::generate(*g); });
}

}  // namespace tandem::tools
