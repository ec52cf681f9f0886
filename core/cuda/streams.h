// The current streams of a thread on each GPU. Internal.
#pragma once
#include "tandem/core/cuda/cuda.h"
#include "tandem/core/internal.h"

namespace tandem::cuda {

/// Returns the stream of a device in `streams`, or the stream that a capture under way uses instead of it. `streams`
/// are the current streams that guards have set, for example ThreadContext::streams; null means the default streams.
const Stream& stream_of(const Streams& streams, Device device);
/// As stream_of(), but ignores a capture under way.
const Stream& uncaptured_stream_of(const Streams& streams, Device device);
/// Makes work queued on `streams` from now on wait for the work queued on `others` so far, on each device where they
/// differ.
void wait_for_streams(const Streams& streams, const Streams& others);

/// Enables direct copies between two GPUs if the hardware supports them. Repeated calls do nothing.
void enable_p2p_access(Device a, Device b);

}  // namespace tandem::cuda
