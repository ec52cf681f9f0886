// Two ranks of NCCL on one GPU, which benchmarks/gpu_report.sh launches where there is one. NCCL refuses ranks that
// share a GPU unless they seem to be machines of their own, which then talk by sockets: right or wrong is all that this
// shows.
#include <cstdio>
#include <cstdlib>

#include "tandem/tandem.h"

using namespace tandem;

namespace {

/// All elements are `expected`.
void check(const char* what, const Tensor& x, double expected) {
  TANDEM_CHECK(x.sub(expected).abs().max().item<double>() == 0, what, ": got ", x.to(kCPU), "; accepted: ", expected);
}

}  // namespace

int main() try {
  const char* const rank_text = std::getenv("RANK");
  TANDEM_CHECK(rank_text, "nccl_program: RANK is not set; start it with tandem launch -n 2 -- nccl_program");
  ::setenv("NCCL_HOSTID", ("rank " + std::string(rank_text)).c_str(), 1);
  for (const char* name : {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"}) ::setenv(name, "1", 1);
  ::setenv("NCCL_NET", "Socket", 1);
  const Device device(kCUDA, 0);
  distributed::InitOptions options;
  options.device = device;
  options.timeout = std::chrono::minutes(2);
  distributed::init_process_group("nccl", options);
  const int rank = distributed::get_rank(), size = distributed::get_world_size();
  for (const int64_t count : {int64_t(1), int64_t(1000), int64_t(1) << 20}) {
    Tensor x = full({count}, rank + 1.0, device);
    distributed::all_reduce(x);
    check("all_reduce", x, size * (size + 1) / 2);
    x.fill_(rank + 5.0);
    distributed::broadcast(x, size - 1);
    check("broadcast", x, size + 4);
    std::vector<Tensor> parts, sums;
    for (int i = 0; i < size; ++i) parts.push_back(empty({count}, device)), sums.push_back(full({count}, i, device));
    distributed::all_gather(parts, full({count}, rank, device));
    for (int i = 0; i < size; ++i) check("all_gather", parts[static_cast<size_t>(i)], i);
    distributed::reduce_scatter(x, sums);
    check("reduce_scatter", x, rank * size);
  }
  distributed::barrier();
  distributed::destroy_process_group();
  std::printf("rank %d of %d: all_reduce, broadcast, all_gather and reduce_scatter are right\n", rank, size);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 3;
}
