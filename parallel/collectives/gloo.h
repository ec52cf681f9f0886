// The backend `gloo`: ranks are processes that talk over TCP. Internal.
#pragma once
#include "tandem/parallel/collectives/distributed.h"

namespace tandem::distributed {

/// @throws NotImplementedError in a build without Gloo
ProcessGroupPtr make_gloo_group(const InitOptions& options);

}  // namespace tandem::distributed
