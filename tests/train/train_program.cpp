// train_program STRATEGY [throw | bar | FOLDER STEP...]: trains a small network with the Trainer, and prints a digest
// of its parameters on rank 0. With `throw`, a callback on rank 1 throws; with `bar`, progress is shown. With a folder,
// checkpoints are in it, and rank 1 is killed after each of these steps, once; the job continues when it is started
// again.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>

#include "tandem/tests/train/nets.h"
#include "tandem/train/train.h"

using namespace tandem;

namespace {

struct Thrower : train::Callback {
  void on_train_batch_end(train::Fit& fit, int64_t batch) override {
    if (fit.rank() == 1 && batch == 2) TANDEM_FAIL("no more");
  }
};
/// Kills the process of rank 1 after given steps, unless a file shows that it did so before.
struct Killer : train::Callback {
  Killer(std::string folder, std::vector<int64_t> steps) : folder(std::move(folder)), steps(std::move(steps)) {}
  void on_train_batch_end(train::Fit& fit, int64_t) override {
    const std::string mark = folder + "/killed_at_" + std::to_string(fit.global_step());
    if (fit.rank() != 1 || std::find(steps.begin(), steps.end(), fit.global_step()) == steps.end()) return;
    if (std::filesystem::exists(mark)) return;
    std::ofstream(mark) << "once";
    std::raise(SIGKILL);
  }
  std::string folder;
  std::vector<int64_t> steps;
};
struct Printer : train::Callback {
  void on_train_end(train::Fit& fit) override {
    if (fit.rank() != 0) return;
    double digest = 0;
    for (const Tensor& p : fit.module().parameters()) digest += p.detach().to(kFloat64).abs().sum().item<double>();
    std::printf("rank 0 of %d: %.17g, loss %.17g\n", fit.world_size(), digest, fit.metric("train_loss_epoch", "test"));
  }
};

}  // namespace

int main(int argc, char** argv) {
  try {
    auto options = test::quiet(argv[1], 2).max_epochs(2).callback(Printer());
    if (argc > 2 && std::strcmp(argv[2], "throw") == 0) options.callback(Thrower());
    if (argc > 2 && std::strcmp(argv[2], "bar") == 0) options.enable_progress_bar(true);
    if (argc > 3) {
      options.enable_progress_bar(true);  // a callback that only rank 0 has
      std::vector<int64_t> steps;
      for (int i = 3; i < argc; ++i) steps.push_back(std::atoll(argv[i]));
      options.default_root_dir(argv[2]).ckpt_path("last").callback(
          train::ModelCheckpoint(train::ModelCheckpointOptions().every_n_train_steps(1)));
      options.callback(Killer(argv[2], steps));
    }
    const auto module = train::make_training_module(test::noisy_net(), nn::CrossEntropyLoss(), test::sgd());
    const auto source = train::DataSource(test::classes(45)).batch_size(8).shuffle(true);
    train::Trainer trainer(options);
    trainer.fit(module, source);
    const double loss = trainer.validate(module, source).at("val_loss");  // a second call in the same job
    if (distributed::get_rank() == 0) std::printf("val_loss %.17g\n", loss);
  } catch (const std::exception& error) {
    std::printf("rank %d ended with: %s\n", distributed::get_rank(), error.what());
    return 1;
  }
}
