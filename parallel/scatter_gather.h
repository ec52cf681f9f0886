// Scatter and gather: split a batch by rows over several devices, and join it again. Each is the other's backward.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::nn::parallel {

namespace detail {
/// Returns the number of rows for each device: an even split in which the first devices get one more (9 rows on 4
/// devices: 3, 2, 2, 2). If there are fewer rows than devices, there are fewer shards, so that none is empty. 0 rows
/// make one empty shard.
std::vector<int64_t> shard_sizes(int64_t rows, size_t devices);
/// Splits rows in proportion to `chunk_sizes`: with {3, 1}, 8 rows become 6 and 2. If the rows are as many as the sum
/// of `chunk_sizes`, the result is `chunk_sizes`.
std::vector<int64_t> shard_sizes(int64_t rows, const std::vector<int64_t>& chunk_sizes);
}  // namespace detail

/// Splits x, on any device, along `dim`; shard r goes to devices[r]. A shard whose device is x's is a view of x. If x
/// is in page-locked memory, copies to GPUs are asynchronous: x must not change until they have completed.
/// @return the shards, whose sizes are shard_sizes(x.size(dim), devices.size())
/// @throws Error if `devices` is empty, if a device does not exist, or if x has no dimensions
std::vector<Tensor> scatter(const Tensor& x, const std::vector<Device>& devices, int64_t dim = 0);
/// Splits x into shards of the given sizes, one for each device.
/// @throws Error as above, if a size is below 1, or if the sizes do not add up to x.size(dim)
std::vector<Tensor> scatter(const Tensor& x, const std::vector<Device>& devices,
                            const std::vector<int64_t>& chunk_sizes, int64_t dim = 0);

/// Joins shards, on any devices, along `dim` on `device`. Scalars become a vector with one element each.
/// @throws Error if there are no shards, or if they differ in dtype or in another dimension than `dim`
Tensor gather(const std::vector<Tensor>& shards, Device device, int64_t dim = 0);

/// Returns the total number of bytes that this process's scatters, gathers, broadcasts and reductions, forward and
/// backward, have moved between devices. Copies within a device do not count. The count never resets; compare two
/// values.
int64_t bytes_moved();

namespace detail {
/// Copies the elements of `source` to `target`, which may be on another device. Autograd does not record the copy.
/// bytes_moved() counts it.
void transfer(const Tensor& source, const Tensor& target);
/// Splits x into shards of the given sizes.
std::vector<Tensor> scatter_sizes(const Tensor& x, const std::vector<int64_t>& sizes,
                                  const std::vector<Device>& devices, int64_t dim);
/// Scatters all tensors of a batch: shards[r][i] is the part of tensors[i] for devices[r]. Scalar tensors go to every
/// device whole, and undefined tensors remain undefined. @throws Error if the other tensors differ in the number of
/// rows
/// @param dims         dimension along which each tensor is split; nullopt: the tensor goes to every device whole
/// @param chunk_sizes  proportions of the shards; if empty, an even split
std::vector<std::vector<Tensor>> scatter_batch(const std::vector<Tensor>& tensors,
                                               const std::vector<std::optional<int64_t>>& dims,
                                               const std::vector<Device>& devices,
                                               const std::vector<int64_t>& chunk_sizes);
/// Gathers the outputs of all replicas: out[i] joins shards[0][i], shards[1][i], ...
std::vector<Tensor> gather_batch(const std::vector<std::vector<Tensor>>& shards, Device device, int64_t dim);
}  // namespace detail

}  // namespace tandem::nn::parallel
