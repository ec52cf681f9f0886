// Implements warn_of_ranks_that_never_talk, the only function of update.h that is not inline.
#include "tandem/optim/update.h"

#include <cstdio>

namespace tandem::optim::detail {

/// Ranks without communication train independent models: the group was made, but the model was not wrapped.
void warn_of_ranks_that_never_talk() {
  RankState& state = RankContext::current().state();
  if (state.world_size > 1 && state.collectives == 0 && !state.warned_of_no_collective.exchange(true))
    std::fprintf(
        stderr,
        "tandem: warning: the optimizer makes a step in a group of %d ranks that has exchanged nothing: each rank "
        "trains a model of its own. Wrap the model in DistributedDataParallel, or all_reduce its gradients.\n",
        state.world_size);
}

}  // namespace tandem::optim::detail
