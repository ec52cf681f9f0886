// Source of the random numbers of an operation: reserve_random_numbers reserves them in the device's Philox stream.
// Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// state: Philox state {seed, stream, block}, int64 in the device's memory. offset: number of blocks to add to `block`.
struct RandomReservation {
  Tensor state;
  uint64_t offset;
};
/// Reserves the next `elements` numbers of the device's default generator.
RandomReservation reserve_random_numbers(Device device, int64_t elements);
/// Like reserve_random_numbers, but returns a state that includes the offset and that no other operation reads. An
/// operation whose backward draws the same numbers again saves this state.
Tensor reserve_random_state(Device device, int64_t elements);

}  // namespace tandem::detail
