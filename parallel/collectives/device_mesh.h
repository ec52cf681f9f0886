// DeviceMesh: arranges ranks in a grid, with a process group along each dimension, for example one for data parallelism
// and one for tensor parallelism.
#pragma once
#include <optional>

#include "tandem/parallel/collectives/distributed.h"

namespace tandem::distributed {

/// Arranges the default group's ranks as the elements of a row-major array. All ranks make the mesh together, by
/// init_device_mesh. A dimension is given by number or, if the mesh has names, by name. The group along a dimension
/// consists of the ranks whose other coordinates equal this rank's; the rank of a member in that group is its
/// coordinate in that dimension.
class DeviceMesh {
 public:
  /// Use init_device_mesh.
  DeviceMesh(std::vector<int64_t> shape, std::vector<std::string> dim_names);
  /// Number of dimensions.
  int64_t ndim() const { return static_cast<int64_t>(shape_.size()); }
  /// Number of ranks along each dimension.
  const std::vector<int64_t>& shape() const { return shape_; }
  /// Name of each dimension; empty if the mesh has no names.
  const std::vector<std::string>& mesh_dim_names() const { return dim_names_; }
  /// Returns the number of ranks along a dimension, or in the whole mesh if `dim` is nullopt.
  int64_t size(std::optional<int64_t> dim = {}) const;
  /// Coordinates of this rank.
  const std::vector<int64_t>& get_coordinate() const { return coordinate_; }
  /// Returns the group along a dimension that this rank is in.
  const ProcessGroupPtr& get_group(int64_t dim) const { return groups_[wrap_dim(dim)]; }
  const ProcessGroupPtr& get_group(const std::string& name) const { return groups_[wrap_dim(dim_of_name(name))]; }
  /// Returns the rank of this process in the group along a dimension, which is its coordinate.
  int get_local_rank(int64_t dim) const { return get_group(dim)->rank(); }
  int get_local_rank(const std::string& name) const { return get_group(name)->rank(); }

 private:
  size_t wrap_dim(int64_t dim) const;
  int64_t dim_of_name(const std::string& name) const;
  std::vector<int64_t> shape_, coordinate_;
  std::vector<std::string> dim_names_;
  std::vector<ProcessGroupPtr> groups_;  // group of this rank along each dimension
};

/// Makes a mesh of the given shape. The product of the sizes must be the number of ranks in the default group. All
/// ranks must call this with the same arguments.
DeviceMesh init_device_mesh(const std::vector<int64_t>& mesh_shape,
                            const std::vector<std::string>& mesh_dim_names = {});

}  // namespace tandem::distributed
