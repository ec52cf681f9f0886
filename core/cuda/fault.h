// Fault word of a GPU: the first error that a kernel found in its data (an index out of range), kept until the host
// checks. Kernels go on and nothing waits for the error; it is thrown by the next synchronization.
#pragma once
#include <cstdint>
#include <exception>

#include "tandem/core/device.h"

namespace tandem::cuda {

/// Fault word of a device, in page-locked host memory. Keeps the first fault until it is thrown; later faults are
/// dropped.
struct Fault {
  int state;  // 0: no fault; 1: a kernel is writing the fault; 2: complete
  const char* op;
  // element number `position` of the index tensor is `index`, which is not in [0, limit)
  int64_t position, index, limit;
};

/// The device's fault word, to be passed to kernels. Never freed.
Fault* device_fault(Device device);

/// Reports an error that a host thread found in the device's work, for example an aborted collective with invalid
/// results. The next check_faults() throws it, once. Null withdraws the report.
void report_host_failure(Device device, std::exception_ptr failure);

/// Throws and clears the error that a kernel or a host thread reported. Call this after a synchronization; otherwise
/// errors of running work are missed.
/// @throws IndexError with the same text as the check on CPU devices
void check_faults(Device device);

}  // namespace tandem::cuda
