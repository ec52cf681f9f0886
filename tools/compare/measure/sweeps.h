// Measurements besides the table: DDP by bucket size, the overhead of communication, and inference under DP by batch
// size.
#pragma once
#include "tandem/tools/compare/predict.h"

namespace tandem::tools::compare {

/// Measures and predicts a step's time for bucket sizes from 64 KiB to the whole model, each four times the one before.
/// @param mode  DDP over any backend
BucketSweep sweep_buckets(const Mode& mode, const Job& job, int repeats, const simulate::StepProfile& profile,
                          const simulate::Link& link);
/// Measures, in interleaved repeats, the time that communication adds to a step; predicts it from a link and a profile
/// that were measured for another job, `fitted`.
Overhead measure_overhead(const Mode& mode, const Job& job, int repeats, const Job& fitted,
                          const simulate::StepProfile& profile, const LinkProbe& probe);
/// Returns the relative extra time of a traced step, from `pairs` pairs of steps with and without a trace.
Interval tracing_cost(const Job& job, int pairs);
/// Describes how many of the overheads that were not fitted the model predicts, and whether it has skill: whether it is
/// closer than two baselines, "communication is free" and "the overhead is the same as where it was fitted".
std::vector<std::string> skill_of(const std::vector<Overhead>& overheads);
/// Times forward passes without gradients on one device, and under DataParallel with and without persistent replicas.
Inference sweep_inference(const Job& job, int repeats);
/// Returns the bucket size of least cost for S = `bytes` over a link of latency a and bandwidth B: sqrt(S B a), but at
/// least 64 KiB and at most S.
double bucket_for(const simulate::Link& link, double bytes);

}  // namespace tandem::tools::compare
