// The training runs that `tandem explain` compares: the script on one device, the parallel script, and one device that
// processes the parallel script's parts of each batch in the same order.
#pragma once
#include "tandem/core/tensor.h"
#include "tandem/tools/compare/measure/fingerprint.h"
#include "tandem/tools/explain/script.h"

namespace tandem::tools::explain {

/// Settings that all runs share.
struct Job {
  std::string model = "fashion_cnn";  // mlp or fashion_cnn
  bool ddp = true;                    // true: DDP; false: DataParallel
  std::string backend = "local";      // backend of DDP: local or gloo
  int ranks = 2;                      // ranks of DDP, or devices of DataParallel
  bool adam = false;                  // true: Adam; false: SGD without momentum
  uint64_t seed = 1;                  // seed of initial weights and dropout
  bool dropout = true,
       batch_statistics = true;  // false: dropout off; batch norm uses its running statistics, unchanged
  Tensor images, labels;
};

/// Results of a run.
struct Outcome {
  std::vector<std::string> names;             // names of the parameters
  std::vector<std::vector<uint64_t>> hashes;  // hash of each parameter, after each step
  std::vector<Tensor> parameters, buffers;    // values after the last step
  double loss = 0;                            // loss of all examples after the last step, in evaluation mode
  std::vector<compare::Fingerprint> fingerprints;
};

/// Run the script unchanged: on one device; or over job.ranks devices (DataParallel) or ranks (DDP).
Outcome run_one_device(const Job& job, const Script& script);
Outcome run_parallel(const Job& job, const Script& script);
/// Runs a parallel script on one device, each batch as a whole. A group is the rows that one replica has in one
/// forward. If `group_norm`, batch norm uses statistics per group; if `group_random`, dropout draws from the random
/// stream of the group's replica.
Outcome run_in_groups(const Job& job, const Script& script, bool group_norm, bool group_random);
/// Runs a parallel script on one device, group by group, and accumulates gradients in the parallel script's order.
Outcome run_in_order(const Job& job, const Script& script);

/// Return whether the job's model has active layers whose results depend on the mode.
bool has_batch_norm(const Job& job);
bool has_dropout(const Job& job);

/// Differences between two runs.
struct Comparison {
  double parameters = 0;   // largest difference of any parameter element at the end
  std::string largest_in;  // name of that parameter
  double loss = 0;
  int64_t step = 0;       // first step, from 1, after which a parameter differs; 0: none
  std::string parameter;  // first parameter that differs after that step
  std::string op;         // "conv2d, step 3": first operation on the first device or rank that differs; "": none
  bool equal() const { return step == 0 && parameters == 0; }
};
Comparison compare_outcomes(const Outcome& one, const Outcome& other);
/// Returns whether all parameters after each step, and all buffers at the end, are equal to the last bit.
bool same_bits(const Outcome& one, const Outcome& other);

}  // namespace tandem::tools::explain
