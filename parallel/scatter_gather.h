// Scatter and gather: split a batch by rows over several devices, and join the shards. Each operation is the backward
// of the other.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::nn::parallel {

namespace detail {
/// Returns the number of rows for each device: an even split, in which the first devices get one row more if it leaves
/// a remainder (9 rows on 4 devices: 3, 2, 2, 2). If there are fewer rows than devices, there are fewer shards, so that
/// none is empty. If there are no rows, there is one empty shard.
std::vector<int64_t> shard_sizes(int64_t rows, size_t devices);
/// Splits rows in proportion to `chunk_sizes`: with {3, 1}, 8 rows become 6 and 2. If `rows` equals the sum of
/// `chunk_sizes`, the result is `chunk_sizes`.
std::vector<int64_t> shard_sizes(int64_t rows, const std::vector<int64_t>& chunk_sizes);
}  // namespace detail

/// Splits x along `dim` and copies shard r to devices[r]. If devices[r] is the device of x, the shard is a view of x.
/// If x is in page-locked memory, copies to GPUs are asynchronous: x must not change until they have completed.
/// @return the shards, whose sizes are shard_sizes(x.size(dim), devices.size())
/// @throws Error if `devices` is empty, if a device does not exist, or if x has no dimensions
std::vector<Tensor> scatter(const Tensor& x, const std::vector<Device>& devices, int64_t dim = 0);
/// Splits x into shards of the given sizes, one for each device.
/// @throws Error as the overload without sizes, if a size is below 1, or if the sizes do not add up to x.size(dim)
std::vector<Tensor> scatter(const Tensor& x, const std::vector<Device>& devices,
                            const std::vector<int64_t>& chunk_sizes, int64_t dim = 0);

/// Joins shards along `dim` on `device`. The shards may be on any devices. Scalars become a vector with one element per
/// shard. A single shard that is on `device` already is returned as it is.
/// @throws Error if there are no shards, or if the shards differ in dtype or in the size of a dimension other than
/// `dim`
Tensor gather(const std::vector<Tensor>& shards, Device device, int64_t dim = 0);

/// Returns the number of bytes that scatters, gathers, broadcasts and reductions have moved between devices since the
/// process began, in forward and backward. Copies within a device do not count. The count is never reset; subtract two
/// values.
int64_t bytes_moved();

namespace detail {
/// Copies the elements of `source` to `target`, which may be on another device. The copy is not recorded by autograd,
/// but counted by bytes_moved().
void transfer_tensor(const Tensor& source, const Tensor& target);
/// Splits x into shards of the given sizes.
std::vector<Tensor> scatter_by_sizes(const Tensor& x, const std::vector<int64_t>& sizes,
                                     const std::vector<Device>& devices, int64_t dim);
/// Scatters all tensors of a batch: shards[r][i] is the part of tensors[i] for devices[r]. Scalar tensors go to every
/// device whole, and undefined tensors remain undefined.
/// @param dims         dimension along which each tensor is split; nullopt: the tensor goes to every device whole
/// @param chunk_sizes  proportions of the shards; if empty, an even split
/// @throws Error if no tensor is split, or if the tensors that are split differ in size along these dimensions
std::vector<std::vector<Tensor>> scatter_batch(const std::vector<Tensor>& tensors,
                                               const std::vector<std::optional<int64_t>>& dims,
                                               const std::vector<Device>& devices,
                                               const std::vector<int64_t>& chunk_sizes);
/// Joins the outputs of all replicas: element i of the result joins shards[0][i], shards[1][i], ...
std::vector<Tensor> gather_batch(const std::vector<std::vector<Tensor>>& shards, Device device, int64_t dim);
}  // namespace detail

}  // namespace tandem::nn::parallel
