// Measures latency and bandwidth between the ranks, and derives a bucket size from them. Internal.
#pragma once
#include "tandem/parallel/collectives/process_group.h"

namespace tandem::nn::parallel::detail {

/// Cost model of an all-reduce: S bytes take about latency + S / bandwidth seconds.
struct LinkEstimate {
  double latency = 0;    // seconds
  double bandwidth = 0;  // bytes of the reduced tensor per second
};
/// Measures the link between the ranks by all-reduces of two sizes. This takes some tens of milliseconds, or as long as
/// the link needs for 30 MiB. All ranks must call it. All get the same estimate, which is the slowest rank's.
/// @param caller  name of the caller, with which the descriptions of the collectives begin
[[gnu::cold]] LinkEstimate probe_link(const std::string& caller, distributed::ProcessGroup& group);

/// Returns the bucket size that takes the least time for `bytes` of gradients. Each bucket costs the latency once, so
/// small buckets are slow; the last bucket overlaps with no computation, so large buckets are slow too. The sum of both
/// costs is least at sqrt(bytes * bandwidth * latency). The result is at most `bytes`, but at least 64 KiB.
[[gnu::cold]] int64_t optimal_bucket_bytes(const LinkEstimate& link, int64_t bytes);

}  // namespace tandem::nn::parallel::detail
