#include "tandem/parallel/collectives/gloo.h"

namespace tandem::distributed {

ProcessGroupPtr make_gloo_group(const InitOptions&) {
  TANDEM_CHECK_AS(NotImplementedError, false, "init_process_group: this build of Tandem has no Gloo");
  return nullptr;
}

}  // namespace tandem::distributed
