// Layout: which gradients are reduced together in a bucket, and the offset of each gradient in its bucket.
#pragma once
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::nn::parallel::detail {

/// Properties of a parameter by which buckets are planned.
struct BucketItem {
  DType dtype;
  Device device;
  int64_t bytes;
};
using BucketPlan = std::vector<std::vector<size_t>>;
/// Groups parameters into buckets of one dtype and device and at most `cap` bytes. The first bucket has at most
/// `first_cap` bytes, so that communication starts early. A larger parameter gets a bucket of its own. No computation
/// overlaps with the reduction of the last gradients, so the last bucket is split to have at most `first_cap` bytes
/// too.
/// @param order  the order in which gradients arrive; if empty, the reverse order of the parameters
BucketPlan plan_buckets(const std::vector<BucketItem>& items, int64_t first_cap, int64_t cap,
                        std::vector<size_t> order = {});

/// Offsets of tensors in one flat tensor, which may consist of several shards of equal length.
struct FlatLayout {
  std::vector<int64_t> offsets;  // offset, in the flat tensor, of the first element of each tensor
  int64_t shard_numel;           // number of elements in each shard
};
/// Places tensors one after the other, each at a multiple of `vector` elements. If there are several shards, they have
/// equal lengths, and a boundary between two shards lies either in padding or at a multiple of kNormBlock elements from
/// the start of a tensor. Norms are summed over blocks of kNormBlock elements, and no block lies in two shards.
/// @param elements  number of elements of each tensor
FlatLayout plan_flat_layout(const std::vector<int64_t>& elements, int64_t vector, int64_t shards = 1);
/// A range of one tensor, which lies in one shard.
struct ShardRange {
  size_t tensor;         // index of the tensor
  int64_t begin, numel;  // range of elements within the tensor
  int64_t shard_offset;  // offset within the shard at which the elements begin
  bool operator==(const ShardRange&) const = default;
};
/// Lists the parts of tensors that lie in a shard, in the order of the plan.
std::vector<ShardRange> list_shard_ranges(const FlatLayout& plan, const std::vector<int64_t>& elements, int64_t shard);

/// Memory of the buckets: a flat tensor for each, in which gradients lie one after the other, with zeros as padding.
/// The last bucket may have status elements after its gradients, which are reduced with them. If `is_single_rank` is
/// true, there is no other rank: gradients stay where backward puts them, and a bucket consists of one element and the
/// status. Buckets of several shards have no status.
class Buckets {
 public:
  Buckets() = default;
  Buckets(BucketPlan plan, const std::vector<Tensor>& parameters, int64_t status_elements, bool is_single_rank,
          int64_t shards = 1);
  const BucketPlan& plan() const { return plan_; }
  size_t size() const { return plan_.size(); }
  /// Bucket of each parameter.
  const std::vector<size_t>& bucket_of_parameter() const { return bucket_of_parameter_; }
  /// Returns the part of a bucket that holds a parameter's gradient: a view with the sizes and strides of the
  /// parameter.
  const Tensor& slot(size_t parameter) const { return slots_[parameter]; }
  /// The whole bucket, status included.
  const Tensor& flat_tensor(size_t bucket) const { return flat_tensors_[bucket]; }
  /// The bucket without the status.
  Tensor gradients(size_t bucket) const;
  /// Returns a view of one shard of a bucket.
  Tensor shard(size_t bucket, int64_t number) const;
  /// Lists the ranges of gradients that lie in a shard. ShardRange::tensor is the index of the parameter.
  std::vector<ShardRange> shard_ranges(size_t bucket, int64_t number) const;
  /// Returns a view of the status elements at the end of the last bucket; undefined if there are none.
  const Tensor& status() const { return status_; }

 private:
  BucketPlan plan_;
  std::vector<FlatLayout> flat_layouts_;  // offsets in each bucket
  std::vector<size_t> bucket_of_parameter_;
  std::vector<Tensor> slots_, flat_tensors_;
  Tensor status_;
};

}  // namespace tandem::nn::parallel::detail
