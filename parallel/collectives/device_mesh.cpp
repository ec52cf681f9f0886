// Implements DeviceMesh: computes the coordinates of this rank, and makes a group along each dimension.
#include "tandem/parallel/collectives/device_mesh.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace tandem::distributed {

DeviceMesh init_device_mesh(const std::vector<int64_t>& mesh_shape, const std::vector<std::string>& mesh_dim_names) {
  return {mesh_shape, mesh_dim_names};
}
DeviceMesh::DeviceMesh(std::vector<int64_t> shape, std::vector<std::string> dim_names)
    : shape_(std::move(shape)), dim_names_(std::move(dim_names)) {
  const ProcessGroupPtr all = default_group();
  const int64_t ranks = std::accumulate(shape_.begin(), shape_.end(), int64_t{1}, std::multiplies<>());
  TANDEM_CHECK(ranks <= all->size(), "init_device_mesh: Mesh should not be bigger than default world size ",
               all->size(), ", but found ", ranks, " ranks! The mesh is ", IntArrayRef(shape_));
  TANDEM_CHECK(!shape_.empty() && ranks == all->size(), "init_device_mesh: the mesh ", IntArrayRef(shape_),
               " has room for ", ranks, " ranks; accepted: a mesh of all ", all->size(), " ranks");
  TANDEM_CHECK(dim_names_.empty() || dim_names_.size() == shape_.size(),
               "init_device_mesh: mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names): ",
               dim_names_.size(), " and len(mesh_shape):", shape_.size(), ".");
  // The mesh is row-major: neighbouring ranks differ in the last coordinate.
  coordinate_.resize(shape_.size());
  for (int64_t rest = all->rank(), d = ndim() - 1; d >= 0; --d) {
    coordinate_[static_cast<size_t>(d)] = rest % shape_[static_cast<size_t>(d)];
    rest /= shape_[static_cast<size_t>(d)];
  }
  int64_t stride = ranks;
  for (size_t d = 0; d < shape_.size(); ++d) {
    stride /= shape_[d];
    // first: rank with coordinate 0 in dimension d and with this rank's coordinates in all other dimensions
    const int64_t here = coordinate_[d], first = all->rank() - here * stride;
    groups_.push_back(split_group(static_cast<int>(first), static_cast<int>(here), all,
                                  {.name = dim_names_.empty() ? "dim " + std::to_string(d) : dim_names_[d]}));
  }
}
int64_t DeviceMesh::size(std::optional<int64_t> dim) const {
  if (dim) return shape_[wrap_dim(*dim)];
  return std::accumulate(shape_.begin(), shape_.end(), int64_t{1}, std::multiplies<>());
}
size_t DeviceMesh::wrap_dim(int64_t dim) const {
  TANDEM_CHECK(dim >= -ndim() && dim < ndim(), "DeviceMesh: Dimension out of range (expected to be in range of [",
               -ndim(), ", ", ndim() - 1, "], but got ", dim, ")");
  return static_cast<size_t>(dim < 0 ? dim + ndim() : dim);
}
int64_t DeviceMesh::dim_of_name(const std::string& name) const {
  const auto at = std::find(dim_names_.begin(), dim_names_.end(), name);
  std::string known;
  for (const std::string& each : dim_names_) known += (known.empty() ? "" : ", ") + each;
  TANDEM_CHECK(at != dim_names_.end(), "DeviceMesh: Mesh dimension '", name, "' does not exist. ",
               known.empty() ? "No `mesh_dim_names` found." : "Available mesh dimensions are: " + known);
  return at - dim_names_.begin();
}

}  // namespace tandem::distributed
