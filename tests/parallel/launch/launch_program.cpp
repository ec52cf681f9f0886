// The program that launch_test.cpp launches: a rank that runs a first collective, and then does what its argument says.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "tandem/parallel/collectives/job_environment.h"
#include "tandem/tandem.h"

using namespace tandem;

namespace {
/// Returns the number of ranks whose shared memory this process has mapped.
size_t shared_segments() {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("/memfd:tandem") != std::string::npos;
  return count;
}
/// Runs collectives until rank 0 finds the file.
void train_until_file(const char* file) {
  std::printf("goes on\n");
  std::fflush(stdout);
  for (const Tensor end = zeros({1}); end.item<float>() == 0;
       std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
    if (distributed::get_rank() == 0 && ::access(file, F_OK) == 0) end.fill_(1);
    distributed::all_reduce(end);
  }
}
/// "leave R HOW WHEN": rank R ends its process in the way HOW, while it has a group. The others compute for one second
/// (WHEN is "alone"), call all_reduce after that second ("later"), or wait in all_reduce ("now") or recv ("recv") when
/// rank R ends.
int leave(const std::string& words) {
  int leaver = 0;
  char how[16] = {}, when[16] = {};
  TANDEM_CHECK(std::sscanf(words.c_str(), "leave %d %15s %15s", &leaver, how, when) == 3, "launch_program: ", words);
  const std::string end = how, need = when;
  const int rank = distributed::get_rank();
  const Tensor x = ones({3});
  static auto* const ddp = new nn::parallel::DistributedDataParallel<nn::Linear>(nn::Linear(3, 2));  // never destroyed
  (*ddp)(x.view({1, 3})).sum().backward();
  distributed::barrier();
  if (rank == leaver) {
    if (need == "now" || need == "recv") std::this_thread::sleep_for(std::chrono::milliseconds(300));
    if (end == "destroy") distributed::destroy_process_group();
    if (end == "_exit") ::_exit(0);
    if (end == "return") return 0;
    std::exit(end == "status_3" ? 3 : 0);
  }
  if (need == "recv") distributed::recv(x, leaver);
  if (need == "now") distributed::all_reduce(x);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  if (need == "later") distributed::all_reduce(x);
  std::printf("goes on\n");
  return 0;
}
}  // namespace

int main(int argc, char** argv) try {
  const std::string what = argc > 1 ? argv[1] : "sum";
  if (what == "local rank") {
    std::printf("rank %d has the local rank %d\n", distributed::read_job_environment({}).rank,
                distributed::read_local_rank().value_or(-1));
    return 0;
  }
  if (what == "wrong token") ::setenv("TANDEM_JOB_TOKEN", "guessed", 1);
  distributed::InitOptions options;
  options.timeout =
      what == "hang" || what.find("stop") == 0 ? std::chrono::milliseconds(1500) : std::chrono::minutes(1);
  distributed::init_process_group("gloo", options);
  if (what.find("leave ") == 0) return leave(what);
  const int rank = distributed::get_rank();
  if (what == "sum") std::printf("%zu segments are shared\n", shared_segments());
  const Tensor x = full({3}, rank + 1.0);
  distributed::all_reduce(x);
  std::printf("the sum is %g\n", x[0].item<double>());
  std::fflush(stdout);
  // Rank 1 waits until the others have the sum too, so that its end hits them in the next collective.
  for (int r = 0; rank == 1 && r < distributed::get_world_size(); ++r)
    if (r != rank) distributed::default_group()->recv(x.clone(), r)->wait();
  if (rank != 1) distributed::default_group()->send(x, 1)->wait();
  if (what == "die in a group") {
    const auto pair = distributed::new_group({1, 2});
    if (rank == 1) {
      distributed::recv(x.clone(), 2);  // rank 2 sends this after it has joined the group
      std::raise(SIGKILL);
    }
    if (rank == 2) {
      const auto there = distributed::isend(x.clone(), 1);
      distributed::all_reduce(x, distributed::ReduceOp::SUM, pair);
    }
  }
  if (what == "die in a Join") {
    nn::Linear net(3, 2);
    nn::parallel::DistributedDataParallel ddp(net);
    nn::parallel::Join join({&ddp});
    // When rank 1 dies, rank 0 is out of batches and rank 2 continues.
    for (int step = 0; step < 2 * rank + 1; ++step) {
      if (rank == 1 && step == 2) {
        std::this_thread::sleep_for(std::chrono::milliseconds(500));  // by then the others have the last step's sums
        std::raise(SIGKILL);
      }
      ddp(x.view({1, 3})).sum().backward();
    }
    join.finish();
  }
  if (what == "go on, second group") {
    distributed::destroy_process_group();
    distributed::init_process_group("gloo", options);
  }
  if (what.find("go on") == 0) train_until_file(argv[2]);
  if (rank == 1 && what == "throw")
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // by then rank 0 waits in its next collective
  if (rank == 1 && what == "throw") throw std::runtime_error("no data here");
  if (rank == 1 && what == "memory")
    for (std::vector<Tensor> kept;;) kept.push_back(empty({1 << 26}));
  if (rank == 1 && what == "die") std::raise(SIGKILL);
  if (rank == 1 && what == "stop") std::raise(SIGSTOP);
  if (rank == 1 && what.find("in pieces") != std::string::npos) {  // the others wait for the rest of this rank's tensor
    std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      std::raise(what == "die in pieces" ? SIGKILL : SIGSTOP);
    }).detach();
  }
  if (what.find("in pieces") != std::string::npos)
    for (const Tensor large = zeros({1 << 22});;) distributed::all_reduce(large);
  if (what == "compute") {
    std::printf("computes");
    for (std::fflush(stdout);;) std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  if (rank == 1 && what == "hang") std::this_thread::sleep_for(std::chrono::minutes(2));
  if (rank == 1 && what == "uncaught") std::thread([] { throw std::runtime_error("nobody catches this"); }).join();
  distributed::all_reduce(x);
  distributed::destroy_process_group();
  distributed::init_process_group("gloo", options);  // a second group must work too
  distributed::barrier();
  distributed::destroy_process_group();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 3;
}
