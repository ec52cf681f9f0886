// How fast the ranks' link is, and the size of buckets that suits it. Internal.
#pragma once
#include "tandem/parallel/collectives/process_group.h"

namespace tandem::nn::parallel::detail {

/// An all-reduce of S bytes takes about latency + S / bandwidth.
struct LinkEstimate {
  double latency = 0;    // seconds
  double bandwidth = 0;  // bytes of the tensor in a second
};
/// Times all-reduces of two sizes; some tens of milliseconds, or as long as the link takes for 30 MiB. All ranks call
/// it, and get the same numbers: those of the slowest.
/// @param who  in front of what its collectives are about
[[gnu::cold]] LinkEstimate probe_link(const std::string& who, distributed::ProcessGroup& group);

/// Many buckets pay the latency often; of few, the last is long, and nothing hides it. With `bytes` of gradients the
/// sum of both is least at sqrt(bytes * bandwidth * latency); from 64 KiB to all of them.
[[gnu::cold]] int64_t bucket_bytes_for(const LinkEstimate& link, int64_t bytes);

}  // namespace tandem::nn::parallel::detail
