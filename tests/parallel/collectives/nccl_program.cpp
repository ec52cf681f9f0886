// Runs two NCCL ranks on one GPU; benchmarks/gpu_session.sh starts it. NCCL refuses two ranks on one GPU unless they
// appear to be on different machines. They then communicate over sockets, so this checks results and not speed.
#include <cstdio>
#include <cstdlib>

#include "tandem/tests/parallel/collectives/collective_checks.h"

using namespace tandem;

int main() try {
  const char* const rank = std::getenv("RANK");
  TANDEM_CHECK(rank, "nccl_program: RANK is not set; start it with tandem launch -n 2 -- nccl_program");
  ::setenv("NCCL_HOSTID", ("rank " + std::string(rank)).c_str(), 1);
  for (const char* name : {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"}) ::setenv(name, "1", 1);
  ::setenv("NCCL_NET", "Socket", 1);
  distributed::InitOptions options;
  options.device = Device(kCUDA, 0);
  options.timeout = std::chrono::minutes(2);
  int parts = 0;
  test::run_collective_checks(options, std::chrono::seconds(20), [&](const char* part) {
    std::printf("rank %s: %s\n", rank, part);
    std::fflush(stdout);
    ++parts;
  });
  std::printf("rank %s: all %d parts are right\n", rank, parts);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 3;
}
