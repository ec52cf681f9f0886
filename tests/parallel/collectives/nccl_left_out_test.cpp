// Tests a build with TANDEM_WITH_NCCL=OFF: it loads no NCCL library, even if one is installed and named.
#include <dlfcn.h>

#include <cstdlib>

#include "tandem/parallel/collectives/distributed.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/paths.h"

using namespace tandem;

TEST_CASE("a build that leaves NCCL out loads none, and says so", "[parallel][nccl]") {
  ::setenv("TANDEM_NCCL_LIBRARY", test::kFakeNccl, 1);
  REQUIRE(cuda::is_available());
  CHECK_FALSE(distributed::is_nccl_available());
  CHECK_THROWS_WITH(distributed::init_process_group("nccl"),
                    Contains("nccl: the NCCL library cannot be used: Distributed package doesn't have NCCL built in "
                             "(TANDEM_WITH_NCCL=OFF)"));
  CHECK(::dlopen(test::kFakeNccl, RTLD_NOW | RTLD_NOLOAD) == nullptr);
}
