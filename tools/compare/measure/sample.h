// One measurement of one mode: a few steps of training on a job, in this process or in processes of its own.
#pragma once
#include "tandem/core/trace/trace.h"
#include "tandem/tools/compare/measure/fingerprint.h"
#include "tandem/tools/compare/measure/memory_by_cause.h"
#include "tandem/tools/compare/measure/modes.h"
#include "tandem/tools/compare/measure/planted.h"

namespace tandem::tools::compare {

/// What is the same for all modes that are compared.
struct Job {
  std::string model = "fashion_cnn";
  std::string data;            // folder of FashionMNIST, whose test images are taken; empty: images of random numbers
  std::string device = "cpu";  // cpu or cuda
  int devices = 2;             // or ranks
  int64_t batch = 128;         // images per step, over all devices
  uint64_t seed = 1;
  int threads = 0;            // of all devices together; 0: all cores
  int warmup = 2, steps = 5;  // warmup: steps that are not counted
  bool trace = false;         // whether events and memory are recorded
  bool probe = false;         // instead of training, all-reduces of several sizes are timed
  bool plain = false;         // dropout off, batch norm in evaluation, and the parameters kept: for the agreement
  bool fingerprints = false;  // of each operation of the first rank, on its first device
  Planted planted;
};

/// One rank's part of a sample.
struct RankSample {
  int rank = 0;
  std::vector<StepTimes> steps;
  std::vector<double> losses;
  std::vector<TraceEvent> events;
  std::vector<Memory> memory;            // of each device that this rank computes on, over the last step
  std::vector<int64_t> allocator_peaks;  // of these devices, over the same step, as their allocators counted
  double planted_seconds = 0;            // that a planted fault slept, in the mean of the counted steps
  int64_t bytes_moved = 0;               // between devices or ranks, in all counted steps
  std::vector<int64_t> parameter_bytes, buffer_bytes;
  int64_t flat_bytes = 0;  // of parameters and buffers in DataParallel's flat buffers
  int64_t flat_parameter_bytes = 0;
  std::vector<std::vector<double>> all_reduce_seconds;  // of a probe, by size and repeat
  std::vector<float> parameters;                        // of a plain job, one after the other
  std::vector<Fingerprint> fingerprints;
  std::vector<Device> devices;  // that it computes on
  std::vector<Owned> owned;     // for `memory`, in this process
};
struct Sample {
  std::vector<RankSample> ranks;
  /// Seconds of each counted step, by rank 0.
  std::vector<double> seconds() const;
  /// The events of all ranks.
  std::vector<TraceEvent> events() const;
};

/// A plain job on one device, in the order of sums of a mode: the gradients of the shards are accumulated one by one,
/// of DP those of (sum of the shard's losses) / N, of DDP those of the shards' mean losses, times 1 / ranks.
RankSample run_reference(const Mode& mode, const Job& job);
/// Seconds of steps without a trace and with one, which alternate, on one device.
struct TracedSteps {
  std::vector<double> without, with;
};
TracedSteps alternate_tracing(const Job& job, int pairs);
/// Runs this rank's part of DDP over processes, in an initialised group.
RankSample run_process(const Mode& mode, const Job& job);
/// Runs all of it: DDP over local with a thread for each rank, over gloo and nccl with a process for each.
/// @throws Error of the mode that failed
Sample run_sample(const Mode& mode, const Job& job);

}  // namespace tandem::tools::compare
