// What faults.cpp starts and strikes: a rank that trains a small network under DistributedDataParallel.
// usage: faults_program FOLDER TIMEOUT_MS STEPS COMPUTES
// Rank 0 writes FOLDER/checkpoint.safetensors every few steps. The rank COMPUTES (-1: none) computes from its fourth
// step on, and meets nobody any more.
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
  {
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
