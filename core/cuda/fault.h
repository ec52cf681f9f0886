// The error word of a GPU: what a kernel found wrong in its data (an index out of range), kept until the host looks.
// Kernels do not stop for it, and nothing waits for it: the next synchronization throws it.
#pragma once
#include <cstdint>
#include <exception>

#include "tandem/core/device.h"

namespace tandem::cuda {

/// Page-locked host memory, one for each device. The first fault stays until it is thrown; later ones are dropped.
struct Fault {
  int state;  // 0: none; 1: being written; 2: complete
  const char* op;
  int64_t place, index, limit;  // element `place` of the index tensor is `index`, which is not in [0, limit)
};

/// The device's, for kernels. Valid for the life of the process.
Fault* fault_word(Device device);

/// What a host thread found wrong with the device's work, a collective that had to be ended say, whose results nobody
/// is to use: thrown, once, by the next check_faults. Null takes it back.
void report_failure(Device device, std::exception_ptr failure);

/// Throws what a kernel or a host thread reported, and clears it. To be called after a synchronization, without which
/// it may miss what is still to be reported.
/// @throws IndexError in the words of the CPU's check
void check_faults(Device device);

}  // namespace tandem::cuda
