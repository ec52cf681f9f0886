// Broadcast and reduce-add of many tensors at once, packed into flat buffers. Each is the other's backward.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::nn::parallel {

/// Copies of `tensors`, which are all on one device, on each of `devices`: copies[r][i] is tensors[i] on devices[r].
/// The first of `devices` that is the tensors' own gets them as they are; the copies for another lie in one buffer per
/// dtype, filled by one transfer. One node for all: its backward is reduce_add_coalesced.
/// @throws Error without devices, for one that does not exist, or for tensors on several
std::vector<std::vector<Tensor>> broadcast_coalesced(const std::vector<Tensor>& tensors,
                                                     const std::vector<Device>& devices);

/// Sums over devices, on `device`: sums[i] = (tensors[0][i] + tensors[1][i]) + tensors[2][i] ..., always in this order,
/// straight, so that the result is the same each time. What is on another device comes in one transfer per dtype.
/// @param tensors  a list per device, of which each is on one device; an undefined tensor stands for zeros
/// @return         as many as in each list; undefined where all are
/// @throws Error   unless the lists are of one length, and the tensors that are added of one shape
std::vector<Tensor> reduce_add_coalesced(const std::vector<std::vector<Tensor>>& tensors, Device device);

namespace detail {

/// Room for copies of a list of tensors on one device: a buffer per dtype, and in it a view per tensor, which begins at
/// a multiple of 64 elements.
class FlatBuffers {
 public:
  FlatBuffers() = default;
  FlatBuffers(const std::vector<Tensor>& like, Device device);
  /// Copies the tensors, of this list's shapes, to their places.
  void pack(const std::vector<Tensor>& tensors);
  /// Copies all of it from the same buffers of another device: one transfer per dtype.
  void receive(const FlatBuffers& other);
  /// The views; in-place writes to one are not seen as writes to another.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  /// Whether it is room for these, by dtype and shape.
  bool fits(const std::vector<Tensor>& tensors) const;

 private:
  std::vector<Tensor> buffers_, tensors_;
};

/// Gives copies[r][i] their history as copies of tensors[i]; those whose original wants no gradient have none.
void record_broadcast(const std::vector<Tensor>& tensors, const std::vector<std::vector<Tensor>>& copies);

}  // namespace detail
}  // namespace tandem::nn::parallel
