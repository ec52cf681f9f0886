// What faults.cpp starts and strikes: a rank that trains a small network under DistributedDataParallel.
// usage: faults_program FOLDER TIMEOUT_MS STEPS COMPUTES
// Rank 0 writes FOLDER/checkpoint.safetensors every few steps. The rank COMPUTES (-1: none) computes from its fourth
// step on, and meets nobody any more.
// usage: faults_program FOLDER TIMEOUT_MS STEPS resumes
// It goes on from the last checkpoint in FOLDER, and writes FOLDER/end.safetensors.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tandem/tandem.h"

using namespace tandem;

namespace {
void say(const char* what) {
  std::printf("%s %d\n", what, static_cast<int>(::getpid()));
  std::fflush(stdout);
}
/// With all that a checkpoint must hold: dropout, moments, a schedule, a shuffled order.
void train_from_checkpoint(const std::string& folder, int64_t steps) {
  const auto rank = static_cast<size_t>(distributed::get_rank()),
             ranks = static_cast<size_t>(distributed::get_world_size());
  manual_seed(3);
  nn::Sequential net(nn::Linear(8, 32), nn::ReLU(), nn::Dropout(0.2), nn::Linear(32, 1));
  nn::parallel::DistributedDataParallel ddp(net);
  optim::Adam optimizer(net->parameters(), optim::AdamOptions(0.01));
  optim::StepLR schedule(optimizer, 50, 0.8);
  const Tensor x = rand({120, 8});
  auto loader = data::make_data_loader(
      data::datasets::TensorPairDataset(x, x.sum(1, /*keepdim=*/true).sin()).map(data::transforms::Stack<>()),
      data::samplers::ShardSampler(120, ranks, rank), data::DataLoaderOptions(4).workers(1));
  CheckpointManager checkpoints(folder + "/checkpoints");
  int64_t epoch = 0;
  checkpoints.add("model", net);
  checkpoints.add("optimizer", optimizer);
  checkpoints.add("schedule", schedule);
  checkpoints.add("loader", *loader);
  checkpoints.add("epoch", epoch);
  int64_t step = checkpoints.restore().value_or(0);
  std::printf("begins after step %lld\n", static_cast<long long>(step));
  say("trains");
  for (; step < steps; ++epoch) {
    loader->sampler().set_epoch(static_cast<size_t>(epoch));
    for (auto& batch : *loader) {
      optimizer.zero_grad();
      mse_loss(ddp(batch.data), batch.target).backward();
      optimizer.step();
      schedule.step();
      if (++step % 20 == 0) checkpoints.save(step);
      if (step >= steps) break;
    }
  }
  if (rank == 0) save(net, folder + "/end.safetensors");
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
  if (argv[4] == std::string("resumes")) {
    train_from_checkpoint(folder, steps);
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
