// The program that faults.cpp starts as a rank: trains a small network under DistributedDataParallel.
// usage: faults_program FOLDER TIMEOUT_MS STEPS COMPUTES
// Rank 0 writes FOLDER/checkpoint.safetensors every few steps. The rank COMPUTES (-1: none) computes without end from
// its fourth step on, and takes part in no more collectives.
//
// usage: faults_program FOLDER TIMEOUT_MS STEPS ends=HOW:MS,HOW:MS,...
// For each rank: how the process ends, MS milliseconds after five steps that all ranks train. "exit" calls exit(0) and
// "return" returns from main, both while the rank has a group. "destroy" and "destroy+exit" call
// destroy_process_group() first. "train" continues training.
//
// usage: faults_program FOLDER TIMEOUT_MS STEPS bare=RANK
// The rank RANK (-1: none) runs backward through the bare module between steps, as for a saliency map. Rank 0 writes
// the
// parameters, which are equal on all ranks, to FOLDER/end.pt.
//
// usage: faults_program FOLDER TIMEOUT_MS STEPS resumes
// Resumes from the last checkpoint in FOLDER, and writes FOLDER/end.pt.
//
// usage: faults_program FOLDER TIMEOUT_MS STEPS trainer
// Does the same with the Trainer: with batch norm, dropout, an average of the weights, accumulated batches and
// validation.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "tandem/tandem.h"
#include "tandem/tests/parallel/resumable.h"
#include "tandem/train/train.h"

using namespace tandem;

namespace {
void say(const char* what) {
  std::printf("%s %d\n", what, static_cast<int>(::getpid()));
  std::fflush(stdout);
}
void train_from_checkpoint(const std::string& folder, int64_t steps) {
  const int rank = distributed::get_rank(), ranks = distributed::get_world_size();
  test::ResumableTraining training{.folder = folder + "/checkpoints", .steps = steps, .save_every = 20, .workers = 1};
  training.batch = static_cast<size_t>(4 * ranks);
  training.begin = [](int64_t step) {
    std::printf("begins after step %lld\n", static_cast<long long>(step));
    say("trains");
  };
  const auto sampler = data::samplers::ShardSampler(50, static_cast<size_t>(ranks), static_cast<size_t>(rank));
  const std::vector<Tensor> end = test::train(training, sampler, ranks);
  if (rank == 0) save(end, folder + "/end.pt");
}
/// Says from which step the Trainer begins.
struct SayBegin : train::Callback {
  void on_train_start(train::Fit& fit) override {
    std::printf("begins after step %lld\n", static_cast<long long>(fit.global_step()));
    say("trains");
  }
};
void train_with_trainer(const std::string& folder, int64_t steps) {
  manual_seed(7);
  const data::datasets::TensorPairDataset examples(rand({56, 16}), randint(4, {56}, kInt64));
  nn::Sequential net(nn::Linear(16, 32), nn::BatchNorm1d(32), nn::ReLU(), nn::Dropout(0.3), nn::Linear(32, 4));
  const auto module =
      train::make_training_module(net, nn::CrossEntropyLoss(), [](const std::vector<Tensor>& parameters) {
        return std::make_unique<optim::Adam>(parameters, optim::AdamOptions(1e-3));
      });
  train::Trainer trainer(train::TrainerOptions()
                             .accelerator("cpu")
                             .strategy("ddp")
                             .max_steps(steps)
                             .accumulate_grad_batches(2)
                             .enable_progress_bar(false)
                             .default_root_dir(folder)
                             .ckpt_path("last")
                             .callback(train::EMA(0.99))
                             .callback(SayBegin())
                             .callback(train::ModelCheckpoint(train::ModelCheckpointOptions().every_n_train_steps(5))));
  const auto source = train::DataSource(examples).batch_size(16).shuffle(true).workers(1);
  trainer.fit(module, source, train::DataSource(examples).batch_size(24));
  if (distributed::get_rank() != 0) return;
  std::vector<Tensor> end = net->parameters();
  for (const Tensor& buffer : net->buffers()) end.push_back(buffer);
  end.push_back(tensor(trainer.metrics().at("val_loss"), kFloat64));
  save(end, folder + "/end.pt");
}
/// Trains and ends as `ends` ("ends=HOW:MS,...") specifies for this rank.
int train_and_end(const std::string& ends, int64_t steps) {
  std::istringstream list(ends.substr(ends.find('=') + 1));
  std::string end;
  for (int r = 0; r <= distributed::get_rank(); ++r) std::getline(list, end, ',');
  // Never destroyed, as in a program that calls exit() deep inside other functions.
  static auto* const net = new nn::Linear(16, 4);
  static auto* const ddp = new nn::parallel::DistributedDataParallel<nn::Linear>(*net);
  const std::string how = end.substr(0, end.find(':'));
  for (int64_t step = 0; step < (how == "train" ? steps : 5); ++step) {
    (*net)->zero_grad();
    (*ddp)(ones({8, 16})).sum().backward();
    if (step == 0) say("trains");
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(end.c_str() + how.size() + 1)));
  say("leaves");
  if (how.find("destroy") == 0) distributed::destroy_process_group();
  say("done");
  if (how.find("exit") != std::string::npos) std::exit(0);
  return 0;
}
void train_beside_bare_backwards(const std::string& folder, int who, int64_t steps) {
  const int rank = distributed::get_rank();
  manual_seed(7);
  nn::Sequential net(nn::Linear(16, 32), nn::ReLU(), nn::Linear(32, 4));
  nn::parallel::DistributedDataParallel ddp(net);
  optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.01));
  const Tensor x = full({8, 16}, 0.1 * (rank + 1)), y = zeros({8, 4});
  const auto bare = [&](int64_t step) {
    if (rank == who && step % 3 == 0) net->forward(full({2, 16}, 5.0)).sum().backward();
  };
  for (int64_t step = 0; step < steps; ++step) {
    bare(step);  // also before the first step
    optimizer.zero_grad();
    mse_loss(ddp(x), y).backward();
    optimizer.step();
  }
  bare(0);  // also after the last step
  for (const Tensor& p : net->parameters()) {
    const Tensor zeros_of = p.detach().clone();
    distributed::broadcast(zeros_of, 0);
    TANDEM_CHECK(p.equal(zeros_of), "the parameters of rank ", rank, " are not those of rank 0");
  }
  if (rank == 0) save(net->parameters(), folder + "/end.pt");
}
}  // namespace

int main(int argc, char** argv) try {
  TANDEM_CHECK(argc == 5, "usage: faults_program FOLDER TIMEOUT_MS STEPS COMPUTES");
  const std::string folder = argv[1];
  const int64_t steps = std::atoll(argv[3]);
  const int computes = std::atoi(argv[4]);
  say("start");
  distributed::InitOptions options;
  options.timeout = std::chrono::milliseconds(std::atoll(argv[2]));
  distributed::init_process_group("gloo", options);
  say("joined");
  if (std::string(argv[4]).find("ends=") == 0) return train_and_end(argv[4], steps);
  if (std::string(argv[4]).find("bare=") == 0) {
    train_beside_bare_backwards(folder, std::atoi(argv[4] + 5), steps);
  } else if (argv[4] == std::string("resumes")) {
    train_from_checkpoint(folder, steps);
  } else if (argv[4] == std::string("trainer")) {
    train_with_trainer(folder, steps);
  } else {
    nn::Sequential net(nn::Linear(16, 32), nn::ReLU(), nn::Linear(32, 4));
    nn::parallel::DistributedDataParallel ddp(net);
    optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.01));
    const Tensor x = ones({8, 16}), y = zeros({8, 4});
    for (int64_t step = 0; step < steps; ++step) {
      optimizer.zero_grad();
      mse_loss(ddp(x), y).backward();
      optimizer.step();
      if (distributed::get_rank() == 0 && step % 5 == 0) save(net, folder + "/checkpoint.safetensors");
      if (step == 0) say("trains");
      if (step == 3 && distributed::get_rank() == computes) {
        say("computes");
        for (Tensor z = rand({64, 64});;) z = z.matmul(z).clamp(0, 1);
      }
    }
  }
  distributed::destroy_process_group();
  say("done");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 3;
}
