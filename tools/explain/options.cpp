// Declares the command-line options of `tandem explain`.
#include "tandem/tools/command_line.h"
#include "tandem/tools/explain/explain.h"
#include "tandem/tools/usage.h"

namespace tandem::tools {
namespace {

constexpr int64_t kMaxExamples =
    1 << 16;  // limit of the batch size, of the number of examples, and of the number of steps

/// Adds the options that apply to both the script on one device and the parallel script.
void add_common_options(CLI::App& c, explain::Settings& s) {
  add_option(c, "--model", s.model, "NAME", "Network to train: mlp or fashion_cnn (with batch norm and dropout)")
      ->check(make_choice_validator({"mlp", "fashion_cnn"}));
  add_option(c, "--batch-size", s.batch, "N", "Batch size on one device")
      ->check(make_integer_validator(1, kMaxExamples));
  add_option(c, "--epochs", s.epochs, "N", "Number of epochs")->check(make_integer_validator(1, 1000));
  add_option(c, "--examples", s.examples, "N", "Number of examples")
      ->default_str("two batches of all ranks")
      ->check(make_integer_validator(1, kMaxExamples));
  add_option(c, "--optimizer", s.optimizer, "NAME", "Optimizer: sgd (without momentum) or adam")
      ->check(make_choice_validator({"sgd", "adam"}));
  add_option(c, "--lr", s.lr, "X", "Learning rate on one device")->check(make_number_validator(1e-12, 1e3));
  add_option(c, "--seed", s.seed, "N", "Seed of the initial weights, the order of the examples and dropout")
      ->check(make_integer_validator(0));
  add_option(c, "--data", s.data, "FOLDER", "Folder with the four IDX files of FashionMNIST, plain or .gz")
      ->default_str("random images");
  c.add_flag("--no-dropout", s.no_dropout, "Turn dropout off");
  c.add_flag("--frozen-norm", s.frozen_norm, "Batch norm uses its running statistics");
}

}  // namespace

void add_explain_command(CLI::App& app) {
  auto s = std::make_shared<explain::Settings>();
  CLI::App* const c = app.add_subcommand("explain",
                                         "Show how much training on one device differs from a parallel script, which "
                                         "the options describe, and list the causes");
  add_common_options(*c, *s);
  add_option(*c, "--mode", s->modes, "NAMES",
             "Modes of the parallel script, separated by commas: dp (DataParallel), ddp (DDP)")
      ->delimiter(',')
      ->check(make_choice_validator({"dp", "ddp"}));
  add_option(*c, "--ranks", s->ranks, "N", "Number of ranks (DDP) or devices (DataParallel)")
      ->check(make_integer_validator(2, 8));
  CLI::Option* const backend = add_option(*c, "--backend", s->backend, "NAME", "Backend of DDP: local or gloo")
                                   ->check(make_choice_validator({"local", "gloo"}));
  add_option(*c, "--global-batch", s->global_batch, "N",
             "Examples per optimizer step of the parallel script, summed over all ranks")
      ->default_str(
          "as if the model were only wrapped: --batch-size for each rank of DDP, --batch-size in total under "
          "DataParallel")
      ->check(make_integer_validator(1, kMaxExamples));
  add_option(*c, "--steps", s->steps, "N", "Number of optimizer steps of the parallel script")
      ->default_str("those of --epochs")
      ->check(make_integer_validator(1, kMaxExamples));
  CLI::Option* const sampler =
      add_option(*c, "--sampler", s->sampler, "NAME",
                 "Sampler that divides the examples among the ranks of DDP: shard (ShardSampler), block (LibTorch's "
                 "DistributedRandomSampler) or whole (no division: each rank takes all examples)")
          ->check(make_choice_validator({"shard", "block", "whole"}));
  c->add_flag("--no-set-epoch", s->no_set_epoch, "Do not call set_epoch on the sampler");
  add_option(*c, "--sampler-seed", s->sampler_seed, "N", "Seed for the order of the examples in the parallel script")
      ->default_str("value of --seed")
      ->check(make_integer_validator(0));
  c->add_flag(
      "--uneven", s->uneven,
      "Add half a batch and one example, so that the number of examples is not divisible by the number of ranks");
  CLI::Option* const tail =
      add_option(*c, "--tail", s->tail, "NAME",
                 "What DDP does if the number of examples is not divisible by the number of ranks: pad (repeat some "
                 "examples), drop (omit some) or keep (the first ranks get one more)")
          ->check(make_choice_validator({"pad", "drop", "keep"}));
  CLI::Option* const in_replicas = c->add_flag(
      "--mean-in-replicas", s->mean_in_replicas,
      "Under DataParallel, each replica returns the mean of its losses, and the script averages these means");
  CLI::Option* const accumulate = add_option(*c, "--accumulate", s->accumulate, "N",
                                             "Gradient accumulation: number of backward passes per optimizer step")
                                      ->check(make_integer_validator(1, 64));
  c->add_flag("--divide-loss", s->divide_loss, "Divide each loss by the number of accumulated backward passes")
      ->needs(accumulate);
  add_option(*c, "--loss", s->loss, "NAME", "Reduction of the loss in the parallel script: mean or sum")
      ->check(make_choice_validator({"mean", "sum"}));
  add_option(*c, "--lr-scale", s->lr_scale, "X", "Factor by which the parallel script multiplies --lr")
      ->check(make_number_validator(1e-6, 1e6));
  CLI::Option* const seeds = c->add_flag("--rank-seeds", s->rank_seeds, "Each rank of DDP adds its rank to the seed");
  add_option(*c, "--json", s->json, "FILE", "Write the table to FILE")->default_str("not written");
  c->footer("example: tandem explain --model fashion_cnn --mode ddp --ranks 2 --lr-scale 2 --no-set-epoch --uneven");
  c->callback([=] {
    const auto names = [&](const char* mode) {
      return std::find(s->modes.begin(), s->modes.end(), mode) != s->modes.end();
    };
    for (const CLI::Option* const option : {backend, sampler, tail, seeds})
      check_usage(option->count() == 0 || names("ddp"), option->get_name(), " applies to DDP, but --mode is ",
                  join_with_commas(s->modes));
    check_usage(in_replicas->count() == 0 || names("dp"), in_replicas->get_name(),
                " applies to DataParallel, but --mode is ", join_with_commas(s->modes));
    if (const int status = explain::explain(*s); status != 0) throw CLI::RuntimeError(status);
  });
}

}  // namespace tandem::tools
