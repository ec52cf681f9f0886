// Broadcasts many tensors, or reduces many tensors by addition, at once: they are packed into flat buffers. Each
// operation is the backward of the other.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::nn::parallel {

/// Copies `tensors`, which must all be on one device, to each of `devices`: copies[r][i] is tensors[i] on devices[r].
/// The first entry of `devices` that equals the tensors' own device gets aliases of the tensors. The copies for every
/// other entry lie in one buffer per dtype, filled by one transfer. Autograd records one node for all copies; its
/// backward is reduce_add_coalesced.
/// @throws Error if `devices` is empty or names a device that does not exist, or if the tensors are on several devices
std::vector<std::vector<Tensor>> broadcast_coalesced(const std::vector<Tensor>& tensors,
                                                     const std::vector<Device>& devices);

/// Adds tensors over devices: sums[i] = (tensors[0][i] + tensors[1][i]) + tensors[2][i] ... on `device`. The order of
/// additions is fixed, so the result is deterministic. The tensors of another device come in one transfer per dtype.
/// @param tensors  one list per device; all tensors of a list are on one device. An undefined tensor counts as zeros
/// @return         one sum per position in the lists; undefined if the tensors at that position are all undefined
/// @throws Error   if there are no lists, if they differ in length, or if tensors that are added differ in shape
std::vector<Tensor> reduce_add_coalesced(const std::vector<std::vector<Tensor>>& tensors, Device device);

namespace detail {

/// Flat buffers for copies of a list of tensors on one device: one buffer per dtype, with one view per tensor. Each
/// view begins at a multiple of 64 elements.
class FlatBuffers {
 public:
  FlatBuffers() = default;
  FlatBuffers(const std::vector<Tensor>& like, Device device);
  /// Copies the tensors into the views, whose shapes they must have.
  void pack(const std::vector<Tensor>& tensors);
  /// Copies all buffers of `other`, which has the same layout and is on another device, with one transfer per dtype.
  void copy_from(const FlatBuffers& other);
  /// Returns the views. Each has a version counter of its own: an in-place write to one view does not change the
  /// version of another view.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  /// Returns whether the views have the dtypes, shapes and strides of these tensors. Strides of tensors that are not
  /// dense are not compared, because their copies have other strides.
  bool has_same_layout(const std::vector<Tensor>& tensors) const;

 private:
  std::vector<Tensor> buffers_, tensors_;
};

/// Records in autograd that copies[r][i] is a copy of tensors[i]. If tensors[i] requires no gradient, its copies get no
/// history.
void record_broadcast(const std::vector<Tensor>& tensors, const std::vector<std::vector<Tensor>>& copies);

}  // namespace detail
}  // namespace tandem::nn::parallel
