// The runs that `tandem explain` compares: the script on one device, the parallel one, and one device that takes the
// same parts of each batch in the order of the parallel one.
#pragma once
#include "tandem/core/tensor.h"
#include "tandem/tools/compare/measure/fingerprint.h"
#include "tandem/tools/explain/script.h"

namespace tandem::tools::explain {

/// What all runs have in common.
struct Job {
  std::string model = "fashion_cnn";             // mlp or fashion_cnn, whose dropout is a module
  bool ddp = true;                               // else DataParallel
  std::string backend = "local";                 // of DDP: local or gloo
  int ranks = 2;                                 // of DDP, or devices of DataParallel
  bool adam = false;                             // else plain SGD
  uint64_t seed = 1;                             // of initial weights and of dropout
  bool dropout = true, batch_statistics = true;  // false: off; the running statistics, which then stay as they are
  Tensor images, labels;
};

/// What came of a run.
struct Outcome {
  std::vector<std::string> names;             // of the parameters
  std::vector<std::vector<uint64_t>> hashes;  // of each parameter, after each step
  std::vector<Tensor> parameters, buffers;    // after the last step
  double loss = 0;                            // of all examples then, in evaluation
  std::vector<compare::Fingerprint> fingerprints;
};

/// The script as it is: on one device, over job.ranks devices, or by job.ranks ranks.
Outcome run_one_device(const Job& job, const Script& script);
Outcome run_parallel(const Job& job, const Script& script);
/// One device that takes each batch of a parallel script as a whole. Where a group is the rows that one replica has in
/// one forward, `group_norm` gives each its own statistics of batch norm, and `group_random` random numbers from its
/// replica's stream.
Outcome run_in_groups(const Job& job, const Script& script, bool group_norm, bool group_random);
/// One device that takes the groups of a parallel script one after the other, and adds up gradients in its order.
Outcome run_in_order(const Job& job, const Script& script);

/// Which layers the job's model has that depend on the mode.
bool has_batch_norm(const Job& job);
bool has_dropout(const Job& job);

/// How two runs differ.
struct Comparison {
  double parameters = 0;   // the largest difference of a parameter's element at the end
  std::string largest_in;  // the parameter that has it
  double loss = 0;
  int64_t step = 0;       // the first after which a parameter differs, from 1; 0: none
  std::string parameter;  // the first one that does
  std::string op;         // "conv2d, step 3": the first operation of the first device or rank that does; "": none
  bool equal() const { return step == 0 && parameters == 0; }
};
Comparison compare_outcomes(const Outcome& one, const Outcome& other);
/// Whether all parameters after each step and all buffers at the end have the same bits.
bool same_bits(const Outcome& one, const Outcome& other);

}  // namespace tandem::tools::explain
