// Sweeps beside the table: DDP by the size of its buckets, and forward passes under DP by batch size.
#pragma once
#include "tandem/tools/compare/predict.h"

namespace tandem::tools::compare {

/// A step's time for buckets of 64 KiB to the whole model, each four times the one before, measured and predicted.
/// @param mode  DDP over some backend
BucketSweep sweep_buckets(const Mode& mode, const Job& job, int repeats, const simulate::StepProfile& profile,
                          const simulate::Link& link);
/// What communication adds to a step, measured in interleaved repeats, and predicted from a link and a profile that
/// were measured for `fitted`, another job.
Overhead measure_overhead(const Mode& mode, const Job& job, int repeats, const Job& fitted,
                          const simulate::StepProfile& profile, const LinkProbe& probe);
/// How a traced step compares with one that is not, in so many pairs.
Interval tracing_cost(const Job& job, int pairs);
/// In words: how many of the overheads that were not fitted the model predicts, and whether it has any skill: whether
/// it is nearer than to say that communication is free, or that it adds what it does where it was fitted.
std::vector<std::string> skill_of(const std::vector<Overhead>& overheads);
/// Forward passes without gradients on one device, and under DataParallel with and without persistent replicas.
Inference sweep_inference(const Job& job, int repeats);
/// The bucket size that costs least where S bytes go over a link with latency a and bandwidth B, about sqrt(S B a); at
/// least 64 KiB, at most S.
double bucket_for(const simulate::Link& link, double bytes);

}  // namespace tandem::tools::compare
