// Checks that all ranks have bitwise equal parameters: ranks exchange hashes instead of values. Internal.
#pragma once
#include "tandem/nn/module.h"
#include "tandem/parallel/collectives/process_group.h"

namespace tandem::nn::parallel::detail {

/// Returns a hash of the elements' bits in row-major order, independent of strides. Tensors of equal size that differ
/// in one element always have different hashes. The values of a CUDA tensor are copied to the host.
uint64_t checksum(const Tensor& x);

/// Checks that the tensors are bitwise equal on all ranks. All ranks must call it, with tensors of the same names. Each
/// rank sends one hash of all tensors; only if these hashes differ, it sends one hash per tensor.
/// @param caller  name of the caller, with which the error message begins
/// @throws Error on every rank, naming the first tensor that differs, and the ranks whose value is not the most common
/// one. If several values are equally common and rank 0's is one of them, rank 0's counts as correct
[[gnu::cold]] void check_same_values(const std::string& caller, const NamedParameters& tensors,
                                     distributed::ProcessGroup& group);

}  // namespace tandem::nn::parallel::detail
