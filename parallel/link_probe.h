// Measures latency and bandwidth between the ranks, and derives a bucket size from them. Internal.
#pragma once
#include "tandem/parallel/collectives/process_group.h"

namespace tandem::nn::parallel::detail {

/// Model of an all-reduce: S bytes take about latency + S / bandwidth.
struct LinkEstimate {
  double latency = 0;    // seconds
  double bandwidth = 0;  // bytes of the tensor per second
};
/// Measures the link with all-reduces of two sizes. This takes some tens of milliseconds, or as long as the link needs
/// for 30 MiB. All ranks must call it; all get the same estimate, that of the slowest rank.
/// @param who  name of the caller, in front of the descriptions of the collectives
[[gnu::cold]] LinkEstimate probe_link(const std::string& who, distributed::ProcessGroup& group);

/// Returns the best bucket size for `bytes` of gradients. Many small buckets pay the latency often; with few large
/// buckets, the last one is long and no computation hides it. The sum of both costs is least at sqrt(bytes * bandwidth
/// * latency). The result is between 64 KiB and `bytes`.
[[gnu::cold]] int64_t bucket_bytes_for(const LinkEstimate& link, int64_t bytes);

}  // namespace tandem::nn::parallel::detail
