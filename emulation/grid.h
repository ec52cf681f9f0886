// Runs a kernel's grid on the CPU, one fiber per CUDA thread: what the emulated device's streams call when a launch's
// turn has come.
#pragma once
#include <cstddef>
#include <functional>

#include "tandem/emulation/thread_order.h"
#include "tandem/emulation/vector_types.h"

namespace tandem::emulation {

/// The limits of every GPU since compute capability 3, with the shared memory of 9.0.
/// @throws CudaError that names the kernel, what is beyond them, and what would be accepted
void check_shape(const char* name, dim3 grid, dim3 block, size_t shared_bytes);
/// Runs every block of a grid, one after another, on the calling host thread; returns when all are done. Host threads
/// do not disturb one another: each has its own fibers.
/// @param name          of the kernel, for messages
/// @param shared_bytes  of dynamic shared memory, for each block
/// @param thread        what each CUDA thread does; threadIdx and so on (simt.h) say who it is
/// @throws CudaError    that names kernel, block and thread when threads wait for ever, meet wrongly, write beyond a
///                      shared array or ask for too much, and as check_shape does; what a thread throws passes
///                      through. The rest of the grid is then given up.
void run_grid(const char* name, dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()>& thread);

}  // namespace tandem::emulation
