// Which streams a thread's work goes to, on each GPU. Internal.
#pragma once
#include "tandem/core/cuda/cuda.h"
#include "tandem/core/internal.h"

namespace tandem::cuda {

/// Of the streams that guards have made current, of one device or several (null: the default streams), the one of a
/// device. What a thread has is RankContext::streams.
const Stream& stream_of(const Streams& streams, Device device);
/// The same, without what a capture under way puts in its place.
const Stream& uncaptured_stream_of(const Streams& streams, Device device);
/// What is put on `streams` from now on waits for what is on `others` now, on each device where they differ.
void wait_for_streams(const Streams& streams, const Streams& others);

/// Lets copies between two GPUs take the straight way where there is one; the first time that it is asked.
void connect_peers(Device a, Device b);

}  // namespace tandem::cuda
