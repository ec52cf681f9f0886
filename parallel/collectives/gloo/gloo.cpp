#include "tandem/parallel/collectives/gloo/gloo.h"

#include "tandem/parallel/collectives/staged.h"

namespace tandem::distributed {

bool is_gloo_available() { return TANDEM_HAS_GLOO; }

ProcessGroupPtr make_gloo_group(Rendezvous job, std::chrono::milliseconds timeout) {
  const int rank = job.rank, size = job.size;
  return make_queued_group(rank, size, "gloo", timeout,
                           make_staged_communicator(rank, make_gloo_communicator(std::move(job), timeout)));
}

}  // namespace tandem::distributed
