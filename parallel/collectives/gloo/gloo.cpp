// Implements make_gloo_group: a process group over Gloo, or an error in builds without Gloo.
#include "tandem/parallel/collectives/gloo/gloo.h"

#include "tandem/parallel/collectives/flight_recorder.h"
#include "tandem/parallel/collectives/staged.h"

namespace tandem::distributed {

bool is_gloo_available() { return TANDEM_HAS_GLOO; }

ProcessGroupPtr make_gloo_group(Rendezvous job, std::chrono::milliseconds timeout) {
  const int rank = job.rank, size = job.size;
  if (!job.flight_log) job.flight_log = std::make_shared<FlightLog>(rank, size);
  const std::shared_ptr<FlightLog> flight = job.flight_log;
  auto communicator = make_staged_communicator(rank, make_gloo_communicator(std::move(job), timeout));
  return make_queued_group(rank, size, "gloo", timeout, std::move(communicator), kCPU, nullptr, flight);
}

}  // namespace tandem::distributed
