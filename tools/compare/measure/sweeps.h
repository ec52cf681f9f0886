// Declares additional measurements: DDP by bucket size, the overhead of communication, and inference under DP by batch
// size.
#pragma once
#include "tandem/tools/compare/predict.h"

namespace tandem::tools::compare {

/// Measures and predicts step times for bucket sizes from 64 KiB to the whole model, each size four times the previous
/// one.
/// @param mode  DDP over any backend
BucketSweep sweep_buckets(const Mode& mode, const Job& job, int repeats, const simulate::StepProfile& profile,
                          const simulate::Link& link);
/// Measures, in interleaved repeats, the time that communication adds to a step. Predicts this time from a link and a
/// profile that were measured for the job `fitted`, which has another number of devices or another batch.
Overhead measure_overhead(const Mode& mode, const Job& job, int repeats, const Job& fitted,
                          const simulate::StepProfile& profile, const LinkProbe& probe);
/// Returns the overhead of tracing as a fraction of an untraced step, from `pairs` pairs of steps with and without a
/// trace.
Interval tracing_cost(const Job& job, int pairs);
/// Describes how many of the overheads the model predicts, leaving out those that it was fitted to. Also says whether
/// the model is closer to the measurements than two baselines: "communication is free", and "the overhead is the same
/// as where it was fitted".
std::vector<std::string> describe_skill(const std::vector<Overhead>& overheads);
/// Times forward passes without gradients on one device, and under DataParallel with and without persistent replicas.
Inference sweep_inference(const Job& job, int repeats);
/// Returns the bucket size with the shortest predicted time for `bytes` of gradients (S) over a link of latency a and
/// bandwidth B: sqrt(S * B * a), but at least 64 KiB and at most S.
double optimal_bucket_bytes(const simulate::Link& link, double bytes);

}  // namespace tandem::tools::compare
