// Scatter and gather: the rows of a batch to several devices, and back. Each is the other's backward.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::nn::parallel {

namespace detail {
/// How many of `rows` each device gets: as even as can be, the first ones one more (9 on 4 devices: 3, 2, 2, 2). Fewer
/// rows than devices make fewer shards, so that none is empty; no rows at all make one shard of none.
std::vector<int64_t> shard_sizes(int64_t rows, size_t devices);
/// The same in proportion to `chunk_sizes`, which a batch of exactly their sum gets: with {3, 1}, 8 rows are 6 and 2.
std::vector<int64_t> shard_sizes(int64_t rows, const std::vector<int64_t>& chunk_sizes);
}  // namespace detail

/// Cuts x, wherever it is, along `dim`; shard r goes to devices[r]. One that is there already is a view of x. From
/// page-locked memory to GPUs nobody waits for: such an x must stay as it is until the GPUs have it.
/// @return the shards, of shard_sizes(x.size(dim), devices.size())
/// @throws Error without devices, for one that does not exist, or for an x without dimensions
std::vector<Tensor> scatter(const Tensor& x, const std::vector<Device>& devices, int64_t dim = 0);
/// The same with shards of these sizes, one for each device.
/// @throws Error also for a size below 1, and unless they add up to x.size(dim)
std::vector<Tensor> scatter(const Tensor& x, const std::vector<Device>& devices,
                            const std::vector<int64_t>& chunk_sizes, int64_t dim = 0);

/// Joins shards, wherever they are, along `dim` on `device`. Scalars become a vector, one element each.
/// @throws Error when there are none, or when they differ in dtype or in another dimension than `dim`
Tensor gather(const std::vector<Tensor>& shards, Device device, int64_t dim = 0);

/// How many bytes all scatters, gathers, broadcasts and reductions of this process, forward and backward, have moved
/// from one device to another. What stays on its device is not counted. For differences: it only grows.
int64_t bytes_moved();

namespace detail {
/// Copies the elements of `source` to `target`, which may be on another device; unrecorded, counted by bytes_moved.
void transfer(const Tensor& source, const Tensor& target);
/// scatter into shards of given sizes.
std::vector<Tensor> scatter_sizes(const Tensor& x, const std::vector<int64_t>& sizes,
                                  const std::vector<Device>& devices, int64_t dim);
/// Scatters all tensors of a batch at once: shards[r][i] is the part of tensors[i] for devices[r]. Scalars go to every
/// device whole, undefined tensors stay undefined. @throws Error unless the others agree in the number of rows
/// @param dims         along which each is cut; nothing: it goes to every device whole
/// @param chunk_sizes  of the shards, in proportion; empty: as even as can be
std::vector<std::vector<Tensor>> scatter_batch(const std::vector<Tensor>& tensors,
                                               const std::vector<std::optional<int64_t>>& dims,
                                               const std::vector<Device>& devices,
                                               const std::vector<int64_t>& chunk_sizes);
/// Gathers the outputs of all replicas: out[i] from shards[0][i], shards[1][i], ...
std::vector<Tensor> gather_batch(const std::vector<std::vector<Tensor>>& shards, Device device, int64_t dim);
}  // namespace detail

}  // namespace tandem::nn::parallel
