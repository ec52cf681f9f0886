// Declares the training runs that `tandem explain` compares: the script on one device, the parallel script, and a run
// on one device that processes the parallel script's shards of each batch in the same order.
#pragma once
#include "tandem/core/tensor.h"
#include "tandem/tools/compare/measure/fingerprint.h"
#include "tandem/tools/explain/script.h"

namespace tandem::tools::explain {

/// Settings that all runs share.
struct Job {
  std::string model = "fashion_cnn";  // mlp or fashion_cnn
  bool ddp = true;                    // DDP if true, DataParallel if false
  std::string backend = "local";      // backend of DDP: local or gloo
  int ranks = 2;                      // ranks of DDP, or devices of DataParallel
  bool adam = false;                  // Adam if true, SGD without momentum if false
  uint64_t seed = 1;                  // seed for the initial weights and dropout
  /// If `dropout` is false, dropout is off. If `batch_statistics` is false, batch norm uses its running statistics and
  /// does not update them.
  bool dropout = true, batch_statistics = true;
  Tensor images, labels;
};

/// Results of a run.
struct Outcome {
  std::vector<std::string> names;             // names of the parameters
  std::vector<std::vector<uint64_t>> hashes;  // hash of each parameter after each step, at [step][parameter]
  std::vector<Tensor> parameters, buffers;    // values of parameters and buffers after the last step
  double loss = 0;                            // loss over all examples after the last step, in evaluation mode
  std::vector<compare::Fingerprint> fingerprints;
};

/// Train the script without changes: on one device, or in parallel on job.ranks devices (DataParallel) or ranks (DDP).
Outcome run_one_device(const Job& job, const Script& script);
Outcome run_parallel(const Job& job, const Script& script);
/// Trains a parallel script on one device, processing each batch as a whole. The rows that one replica would process in
/// one forward are a group. If `group_norm`, batch norm computes its statistics per group. If `group_random`, dropout
/// draws from the random-number stream of the group's replica.
Outcome run_in_groups(const Job& job, const Script& script, bool group_norm, bool group_random);
/// Runs the training of a parallel script on one device. Processes one replica's rows after the other, and accumulates
/// gradients in the order in which the parallel script adds them.
Outcome run_replicas_in_order(const Job& job, const Script& script);

/// Return whether the job's model has batch norm (dropout) layers that run in training mode. The results of such layers
/// depend on the parallel mode.
bool has_batch_norm(const Job& job);
bool has_dropout(const Job& job);

/// Differences between two runs.
struct Comparison {
  double parameters = 0;  // largest absolute difference between the elements of both runs' parameters after training
  std::string largest_difference_parameter;  // name of the parameter with the largest difference
  double loss = 0;                           // absolute difference between Outcome::loss of both runs
  /// First step, counted from 1, after which a parameter differs between the runs, or which only one of the runs has; 0
  /// if there is no such step.
  int64_t step = 0;
  std::string parameter;  // first parameter that differs after step `step`
  /// First operation on the first device or rank whose result differs between the runs, such as "conv2d, step 3"; "" if
  /// no result differs.
  std::string op;
  bool equal() const { return step == 0 && parameters == 0; }
};
Comparison compare_outcomes(const Outcome& one, const Outcome& other);
/// Returns whether all parameters after each step, and all buffers at the end, are equal to the last bit.
bool is_bitwise_equal(const Outcome& one, const Outcome& other);

}  // namespace tandem::tools::explain
