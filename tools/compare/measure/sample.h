// Measures one mode once: trains a few steps on a job, in this process or in a process for each rank.
#pragma once
#include "tandem/core/trace/trace.h"
#include "tandem/tools/compare/measure/fingerprint.h"
#include "tandem/tools/compare/measure/memory_by_cause.h"
#include "tandem/tools/compare/measure/modes.h"
#include "tandem/tools/compare/measure/planted.h"

namespace tandem::tools::compare {

/// Settings that are the same for all compared modes.
struct Job {
  std::string model = "fashion_cnn";
  std::string data;            // folder of FashionMNIST, for its test images; empty: random images
  std::string device = "cpu";  // cpu or cuda
  int devices = 2;             // number of devices or ranks
  int64_t batch = 128;         // images per step, over all devices
  uint64_t seed = 1;
  int threads = 0;            // total over all devices; 0: all cores
  int warmup = 2, steps = 5;  // warmup: steps before the counted steps
  bool trace = false;         // record events and memory
  bool probe = false;         // time all-reduces of several sizes instead of training
  bool plain = false;         // no dropout, batch norm in evaluation, parameters kept: for the agreement
  bool fingerprints = false;  // record fingerprints of operations on the first rank's first device
  Planted planted;
};

/// One rank's part of a sample.
struct RankSample {
  int rank = 0;
  std::vector<StepTimes> steps;
  std::vector<double> losses;
  std::vector<TraceEvent> events;
  std::vector<Memory> memory;            // memory of each of `devices` over the last step
  std::vector<int64_t> allocator_peaks;  // peak of each of `devices` over the last step, from its allocator
  double planted_seconds = 0;            // seconds slept by a planted fault, mean of the counted steps
  int64_t bytes_moved = 0;               // bytes moved between devices, or sent by this rank, in all counted steps
  std::vector<int64_t> parameter_bytes, buffer_bytes;
  int64_t flat_bytes = 0;  // bytes of parameters and buffers in DataParallel's flat buffers
  int64_t flat_parameter_bytes = 0;
  std::vector<std::vector<double>> all_reduce_seconds;  // times of a probe, by size and repeat
  std::vector<float> parameters;                        // parameters of a plain job, concatenated
  std::vector<Fingerprint> fingerprints;
  std::vector<Device> devices;  // devices that this rank computes on
  std::vector<Owned> owned;     // input for `memory`; not passed between processes
};
struct Sample {
  std::vector<RankSample> ranks;
  /// Returns the seconds of each counted step on rank 0.
  std::vector<double> seconds() const;
  /// Returns the events of all ranks.
  std::vector<TraceEvent> events() const;
};

/// Runs a plain job on one device in the mode's order of sums: accumulates gradients shard by shard. For DP these are
/// the gradients of (sum of the shard's losses) / N; for DDP those of the shards' mean losses, then multiplied by 1 /
/// ranks.
RankSample run_reference(const Mode& mode, const Job& job);
/// Seconds of alternating steps without and with a trace, on one device.
struct TracedSteps {
  std::vector<double> without, with;
};
TracedSteps alternate_tracing(const Job& job, int pairs);
/// Runs this rank's part of DDP over processes, in an initialised group.
RankSample run_process(const Mode& mode, const Job& job);
/// Runs all ranks of a sample. DDP over local uses a thread for each rank; over gloo and nccl, a process for each.
/// @throws Error if the mode fails
Sample run_sample(const Mode& mode, const Job& job);

}  // namespace tandem::tools::compare
