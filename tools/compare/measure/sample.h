// Measures one mode once: trains a few steps of a job, with all ranks in this process or with one process per rank.
#pragma once
#include "tandem/core/trace/trace.h"
#include "tandem/tools/compare/measure/fingerprint.h"
#include "tandem/tools/compare/measure/injected_fault.h"
#include "tandem/tools/compare/measure/memory_by_cause.h"
#include "tandem/tools/compare/measure/modes.h"

namespace tandem::tools::compare {

/// Settings of a measurement that are the same for all compared modes.
struct Job {
  std::string model = "fashion_cnn";
  /// Folder of FashionMNIST, whose test images are used for training. If empty, trains on random images. bert and gpt
  /// train on random tokens.
  std::string data;
  std::string device = "cpu";  // cpu or cuda
  int devices = 2;             // number of devices (DP) or ranks (DDP)
  int64_t batch = 128;         // examples per step, summed over all devices
  uint64_t seed = 1;
  int threads = 0;  // total number of threads over all devices; 0: all cores
  /// Number of steps: `warmup` steps that are not measured, then `steps` measured ones.
  int warmup = 2, steps = 5;
  bool trace = false;  // record trace events and memory allocations
  bool probe = false;  // instead of training, time all-reduces of several sizes
  /// Train without dropout and with batch norm in evaluation mode, and return the final parameters. Used to compare a
  /// mode with its reference.
  bool for_reference_comparison = false;
  bool fingerprints = false;  // record hashes of operations' results on rank 0's first device
  InjectedFault fault;
};

/// Measurements from one rank.
struct RankSample {
  int rank = 0;
  std::vector<StepTimes> steps;
  std::vector<double> losses;
  std::vector<TraceEvent> events;
  /// Index in `steps` of the step that the report shows, the same for all ranks: the step of median duration on rank 0.
  /// Set if job.trace is set.
  int shown_step = 0;
  std::vector<Memory> memory;            // memory over the shown step, for each of `devices`
  std::vector<int64_t> allocator_peaks;  // peak over the shown step according to the allocator, for each of `devices`
  /// Activity of the process during the whole job. If all ranks are threads of one process, only rank 0 has it.
  Activity activity;
  double machine_cpu = -1;  // CPU seconds of all programs of the machine during the measured steps; -1 if unknown
  double process_cpu = 0;   // CPU seconds of this process during the measured steps
  /// Seconds per step that this rank slept because of a fault injected by --plant; mean over the measured steps.
  double planted_seconds = 0;
  /// Bytes moved between devices (DP), or sent by this rank (DDP), summed over the measured steps.
  int64_t bytes_moved = 0;
  std::vector<int64_t> parameter_bytes, buffer_bytes;
  int64_t flat_bytes = 0;  // size of DataParallel's flat buffers of parameters and buffers, in bytes
  int64_t flat_parameter_bytes = 0;
  /// Times of all-reduces if job.probe is set, by size and repeat.
  std::vector<std::vector<double>> all_reduce_seconds;
  std::vector<float> parameters;  // concatenated final parameters, if job.for_reference_comparison is set
  std::vector<Fingerprint> fingerprints;
  std::vector<Device> devices;  // devices that this rank computes on
  /// Owners of memory blocks at the end of the shown step, from which `memory` is computed.
  std::vector<BlockInUse> owned_blocks;
};
struct Sample {
  std::vector<RankSample> ranks;
  /// Returns the seconds of each measured step on rank 0.
  std::vector<double> seconds() const;
  /// Returns the activity of each process: one per rank, or a single one if all ranks are threads of one process. Empty
  /// without a trace.
  std::vector<Activity> activities() const;
  /// Returns the trace events of all ranks.
  std::vector<TraceEvent> events() const;
};

/// Trains on one device as the reference for `mode`, without dropout and with batch norm in evaluation mode.
/// Accumulates gradients shard by shard, in the order in which the mode sums them. For DP, each shard contributes the
/// gradients of (sum of the shard's losses) / N, where N is the batch size. For DDP, each shard contributes the
/// gradients of its mean loss, and the sum is multiplied by 1 / ranks.
RankSample run_reference(const Mode& mode, const Job& job);
/// Seconds of single steps on one device, alternately without and with a trace.
struct TracedSteps {
  std::vector<double> untraced, traced;
};
TracedSteps alternate_tracing(const Job& job, int pairs);
/// Runs this process's rank of a DDP mode. The process group must be initialised.
RankSample run_this_rank(const Mode& mode, const Job& job);
/// Runs all ranks of a mode. DDP over local runs each rank in a thread; DDP over gloo or nccl runs each rank in a
/// process.
/// @throws Error if the mode fails
Sample run_sample(const Mode& mode, const Job& job);

}  // namespace tandem::tools::compare
