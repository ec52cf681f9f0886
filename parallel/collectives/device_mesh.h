// Ranks in a grid, with a group along each of its dimensions: data parallel one way, tensor parallel the other.
#pragma once
#include <optional>

#include "tandem/parallel/collectives/distributed.h"

namespace tandem::distributed {

/// The default group's ranks as the elements of a row-major array, made on every rank by init_device_mesh. Dimensions
/// are named by number or, where names were given, by name. The group along one has the ranks that differ from this one
/// in that coordinate alone; a rank in it is the coordinate.
class DeviceMesh {
 public:
  /// As init_device_mesh.
  DeviceMesh(std::vector<int64_t> shape, std::vector<std::string> dim_names);
  /// How many dimensions there are.
  int64_t ndim() const { return static_cast<int64_t>(shape_.size()); }
  /// Ranks along each dimension.
  const std::vector<int64_t>& shape() const { return shape_; }
  /// By dimension; empty where none were given.
  const std::vector<std::string>& mesh_dim_names() const { return names_; }
  /// Ranks along a dimension, or all.
  int64_t size(std::optional<int64_t> dim = {}) const;
  /// This rank's place.
  const std::vector<int64_t>& get_coordinate() const { return coordinate_; }
  /// The group along a dimension, of which this rank is one.
  const ProcessGroupPtr& get_group(int64_t dim) const { return groups_[index(dim)]; }
  const ProcessGroupPtr& get_group(const std::string& name) const { return groups_[index(dim(name))]; }
  /// This rank's rank in that group: its coordinate.
  int get_local_rank(int64_t dim) const { return get_group(dim)->rank(); }
  int get_local_rank(const std::string& name) const { return get_group(name)->rank(); }

 private:
  size_t index(int64_t dim) const;
  int64_t dim(const std::string& name) const;
  std::vector<int64_t> shape_, coordinate_;
  std::vector<std::string> names_;
  std::vector<ProcessGroupPtr> groups_;  // by dimension
};

/// A mesh of that shape, whose places are as many as the default group's ranks; all ranks call it alike.
DeviceMesh init_device_mesh(const std::vector<int64_t>& mesh_shape,
                            const std::vector<std::string>& mesh_dim_names = {});

}  // namespace tandem::distributed
