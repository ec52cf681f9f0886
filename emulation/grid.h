// Runs a kernel's grid on the CPU, with one fiber per CUDA thread. A stream of an emulated device calls run_grid() when
// the launch is at the front of its queue.
#pragma once
#include <cstddef>
#include <functional>

#include "tandem/emulation/thread_order.h"
#include "tandem/emulation/vector_types.h"

namespace tandem::emulation {

/// Checks a launch against the limits of GPUs of compute capability 3 and later, and against the shared memory limit of
/// compute capability 9.0.
/// @throws CudaError that names the kernel, the value that is out of range, and the accepted range
void check_launch_shape(const char* name, dim3 grid, dim3 block, size_t shared_bytes);
/// Runs every block of a grid, one after another, on the calling host thread; returns when all are done. Several host
/// threads may run grids at the same time: each has its own fibers.
/// @param name          name of the kernel, for messages
/// @param shared_bytes  bytes of dynamic shared memory per block
/// @param thread        body of each CUDA thread; threadIdx and so on (simt.h) give its position
/// @throws CudaError    that names kernel, block and thread if threads deadlock, wait at different barriers, write
///                      outside a shared array or need too much shared memory; and as check_launch_shape does. An
///                      exception from a thread is passed on. After an exception the rest of the grid does not run.
void run_grid(const char* name, dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()>& thread);

}  // namespace tandem::emulation
