// Implements the launch of elementwise kernels. One function launches all of them, because they have the same parameter
// type.
#include "tandem/kernels/cuda/launch.h"

#include "tandem/kernels/cuda/planner.h"

namespace tandem::kernels::cuda {

void launch_elements(const char* op, ElementKernel kernel, const ElementPlan& plan, int64_t blocks, int64_t threads,
                     Device device) {
  launch(op, kernel, {checked_grid_size(blocks), static_cast<unsigned>(threads)}, device, plan);
}

}  // namespace tandem::kernels::cuda
