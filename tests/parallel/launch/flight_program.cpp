// The program that flight_test.cpp launches: ranks that sum a few times, until one of them fails as the argument says.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tandem/tandem.h"

using namespace tandem;

namespace {

/// Sleeps so long that ranks that wait for this rank give up.
void sleep_long() { std::this_thread::sleep_for(std::chrono::minutes(1)); }

/// Records that this rank has finished all its sums. Rank 1 also waits for the records of the other ranks: it dies
/// afterwards, and a rank still in its last sum would fail in that sum.
void print_passed(int rank) {
  const auto file = [](int of) {
    return std::string(std::getenv("TANDEM_FLIGHT_DIR")) + "/passed_" + std::to_string(of);
  };
  std::ofstream(file(rank)).put('1');
  for (int other = 0; rank == 1 && other < distributed::get_world_size(); ++other)
    for (int tries = 0; tries < 6000 && !std::filesystem::exists(file(other)); ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

void run(const std::string& what) {
  const int rank = distributed::get_rank();
  const Tensor x = ones({2, 3});
  distributed::ProcessGroupPtr pair;
  if (what == "groups" || what == "circle")
    pair = distributed::split_group(rank / 2, rank, nullptr, {.name = rank < 2 ? "left" : "right"});
  for (int i = 0; i < 3; ++i)
    distributed::all_reduce(x, distributed::ReduceOp::SUM, pair, false, "sum " + std::to_string(i));
  if (what == "request") {
    std::printf("%s\n", distributed::write_flight_record().c_str());
    return distributed::barrier();
  }
  if (what == "groups" || what == "circle") {
    if (rank == 3 && what == "groups") sleep_long();
    if (rank != 3) distributed::all_reduce(x, distributed::ReduceOp::SUM, pair, false, "the last of the pair");
    return distributed::barrier(nullptr, "the end");
  }
  if (what == "more") {
    if (rank == 0) distributed::all_reduce(x, distributed::ReduceOp::SUM, nullptr, false, "one more");
    return;
  }
  if (what == "pair") {
    if (rank == 0) distributed::recv(x, 2, nullptr, /*tag=*/5);
    if (rank == 2) sleep_long();
    return distributed::barrier();
  }
  if (what == "killed") {
    print_passed(rank);
    if (rank == 1) std::raise(SIGKILL);
  }
  if (rank == 1 && what == "stopped") std::raise(SIGSTOP);
  if (rank == 1 && what == "late") sleep_long();
  if (rank == 2 && what == "other") distributed::broadcast(x, 0, nullptr, false, "weights");
  if (rank == 2 && what == "shape")
    distributed::all_reduce(ones({4}), distributed::ReduceOp::SUM, nullptr, false, "the loss");
  distributed::all_reduce(x, distributed::ReduceOp::SUM, nullptr, false, "the loss");
}

}  // namespace

int main(int, char** argv) try {
  const std::string what = argv[1];
  const bool by_time = what == "stopped" || what == "late" || what == "groups" || what == "circle" || what == "pair";
  distributed::InitOptions options;
  options.timeout = by_time ? std::chrono::milliseconds(1500) : std::chrono::minutes(1);
  if (what.starts_with("local ")) {
    distributed::run_ranks(3, [&](int) {
      distributed::init_process_group("local", options);
      run(what.substr(6));
    });
    return 0;
  }
  distributed::init_process_group("gloo", options);
  run(what);
  distributed::destroy_process_group();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 3;
}
