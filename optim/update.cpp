// Implements warn_if_ranks_never_communicate, the only function of update.h that is not inline.
#include "tandem/optim/update.h"

#include <cstdio>

namespace tandem::optim::detail {

/// Warns if the ranks have not communicated, because they then train independent models. Probably the program made a
/// group, but did not wrap its model in DistributedDataParallel.
void warn_if_ranks_never_communicate() {
  RankState& state = ThreadContext::current().rank_state();
  if (state.world_size > 1 && state.num_collectives == 0 && !state.has_warned_of_no_collective.exchange(true))
    std::fprintf(
        stderr,
        "tandem: warning: the optimizer makes a step in a group of %d ranks that have not communicated: each rank "
        "trains a separate model. Wrap the model in DistributedDataParallel, or all_reduce its gradients.\n",
        state.world_size);
}

}  // namespace tandem::optim::detail
