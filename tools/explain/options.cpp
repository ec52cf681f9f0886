// Declares the command-line options of `tandem explain`.
#include "tandem/tools/command_line.h"
#include "tandem/tools/explain/explain.h"
#include "tandem/tools/usage.h"

namespace tandem::tools {
namespace {

constexpr int64_t kMost = 1 << 16;  // limit of the batch size, of the number of examples, and of the number of steps

/// Adds the options that apply to both the script on one device and the parallel script.
void add_common(CLI::App& c, explain::Settings& s) {
  option(c, "--model", s.model, "NAME", "The network: mlp or fashion_cnn (which has batch norm and dropout)")
      ->check(one_of({"mlp", "fashion_cnn"}));
  option(c, "--batch-size", s.batch, "N", "Examples per step on one device")->check(whole_number(1, kMost));
  option(c, "--epochs", s.epochs, "N", "How often to go through the examples")->check(whole_number(1, 1000));
  option(c, "--examples", s.examples, "N", "How many examples there are")
      ->default_str("two batches of all ranks")
      ->check(whole_number(1, kMost));
  option(c, "--optimizer", s.optimizer, "NAME", "sgd (without momentum) or adam")->check(one_of({"sgd", "adam"}));
  option(c, "--lr", s.lr, "X", "Learning rate on one device")->check(number(1e-12, 1e3));
  option(c, "--seed", s.seed, "N", "Seed of the initial weights, the order of the examples and dropout")
      ->check(whole_number(0));
  option(c, "--data", s.data, "FOLDER", "The folder with FashionMNIST's four IDX files, plain or .gz")
      ->default_str("images of random numbers");
  c.add_flag("--no-dropout", s.no_dropout, "Leave dropout out");
  c.add_flag("--frozen-norm", s.frozen_norm, "Let batch norm use its running statistics");
}

}  // namespace

void add_explain(CLI::App& app) {
  auto s = std::make_shared<explain::Settings>();
  CLI::App* const c = app.add_subcommand("explain",
                                         "Show by how much a training on one device and a parallel script, which the "
                                         "options describe, differ, and why, cause by cause");
  add_common(*c, *s);
  option(*c, "--mode", s->modes, "NAMES", "The parallel script, several with commas between: dp (DataParallel), ddp")
      ->delimiter(',')
      ->check(one_of({"dp", "ddp"}));
  option(*c, "--ranks", s->ranks, "N", "Ranks of DDP, devices of DataParallel")->check(whole_number(2, 8));
  CLI::Option* const backend =
      option(*c, "--backend", s->backend, "NAME", "Of DDP: local or gloo")->check(one_of({"local", "gloo"}));
  option(*c, "--global-batch", s->global_batch, "N",
         "Examples per step of the optimizer in the parallel script, over all ranks")
      ->default_str(
          "as in a script that was only wrapped: --batch-size for each rank of DDP, --batch-size in all under "
          "DataParallel")
      ->check(whole_number(1, kMost));
  option(*c, "--steps", s->steps, "N", "Steps of the optimizer in the parallel script")
      ->default_str("those of --epochs")
      ->check(whole_number(1, kMost));
  CLI::Option* const sampler =
      option(*c, "--sampler", s->sampler, "NAME",
             "How the ranks of DDP share the examples: shard (ShardSampler), block (LibTorch's "
             "DistributedRandomSampler) or whole (they do not: each takes all)")
          ->check(one_of({"shard", "block", "whole"}));
  c->add_flag("--no-set-epoch", s->no_set_epoch, "The sampler is not told the epoch");
  option(*c, "--sampler-seed", s->sampler_seed, "N", "Seed of the order of the examples in the parallel script")
      ->default_str("that of --seed")
      ->check(whole_number(0));
  c->add_flag("--uneven", s->uneven, "Half a batch and one example more, so that they do not divide by the ranks");
  CLI::Option* const tail =
      option(*c, "--tail", s->tail, "NAME",
             "What the ranks of DDP do with examples that do not divide: pad (some come twice), drop (they are "
             "left out) or keep (the first ranks have one more)")
          ->check(one_of({"pad", "drop", "keep"}));
  CLI::Option* const in_replicas =
      c->add_flag("--mean-in-replicas", s->mean_in_replicas,
                  "Under DataParallel each replica computes the mean of its losses, and the script the mean of those");
  CLI::Option* const accumulate =
      option(*c, "--accumulate", s->accumulate, "N", "Backwards whose gradients add up in a step of the optimizer")
          ->check(whole_number(1, 64));
  c->add_flag("--divide-loss", s->divide_loss, "Divide the loss of each of these by their number")->needs(accumulate);
  option(*c, "--loss", s->loss, "NAME", "The loss of a batch in the parallel script: mean or sum")
      ->check(one_of({"mean", "sum"}));
  option(*c, "--lr-scale", s->lr_scale, "X", "Times --lr in the parallel script")->check(number(1e-6, 1e6));
  CLI::Option* const seeds = c->add_flag("--rank-seeds", s->rank_seeds, "Each rank of DDP adds its number to the seed");
  option(*c, "--json", s->json, "FILE", "Write the table")->default_str("not written");
  c->footer("example: tandem explain --model fashion_cnn --mode ddp --ranks 2 --lr-scale 2 --no-set-epoch --uneven");
  c->callback([=] {
    const auto names = [&](const char* mode) {
      return std::find(s->modes.begin(), s->modes.end(), mode) != s->modes.end();
    };
    for (const CLI::Option* const option : {backend, sampler, tail, seeds})
      check_usage(option->count() == 0 || names("ddp"), option->get_name(), " is about DDP, and --mode is ",
                  comma_separated(s->modes));
    check_usage(in_replicas->count() == 0 || names("dp"), in_replicas->get_name(),
                " is about DataParallel, and --mode is ", comma_separated(s->modes));
    if (const int status = explain::explain(*s); status != 0) throw CLI::RuntimeError(status);
  });
}

}  // namespace tandem::tools
