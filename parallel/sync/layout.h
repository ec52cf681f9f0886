// Layout: where each gradient lies. Which gradients travel together, and the flat memory that they have there.
#pragma once
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::nn::parallel::detail {

/// Of one parameter, what decides its bucket.
struct BucketItem {
  DType dtype;
  Device device;
  int64_t bytes;
};
using BucketPlan = std::vector<std::vector<size_t>>;
/// Groups parameters into buckets of one dtype and device and at most `cap` bytes (the first: `first_cap`, so that
/// communication starts early); a larger parameter has its own. The last bucket, whose gradients come last and which
/// nothing hides, is split so that it too has at most `first_cap`.
/// @param order  in which gradients come; the reverse of the parameters' where it is empty
BucketPlan plan_buckets(const std::vector<BucketItem>& items, int64_t first_cap, int64_t cap,
                        std::vector<size_t> order = {});

/// Where tensors lie in one flat tensor.
struct FlatPlan {
  std::vector<int64_t> at;  // where each begins
  int64_t shard;            // elements of each shard; their number times this is the whole
};
/// Places tensors of so many elements one after the other, each at a multiple of `vector` elements, with room between.
/// Cut into several shards of one length, the flat tensor is cut nowhere but at a multiple of kNormBlock elements from
/// a tensor's start, or outside of all tensors, so that no shard cuts through a block of a norm.
FlatPlan plan_flat(const std::vector<int64_t>& elements, int64_t vector, int64_t shards = 1);
/// A run of a tensor's elements that lies in a shard.
struct ShardPiece {
  size_t tensor;           // its number
  int64_t from, elements;  // of the tensor
  int64_t at;              // in the shard
  bool operator==(const ShardPiece&) const = default;
};
/// What a shard has, in the order of the plan's tensors.
std::vector<ShardPiece> shard_pieces(const FlatPlan& plan, const std::vector<int64_t>& elements, int64_t shard);

/// A flat tensor per bucket, in which the gradients of its parameters lie one after the other, with zeros between. The
/// last has elements behind its gradients, which are averaged with them: the status. Where there is nobody to average
/// with (`is_alone`) they hold no gradients, which stay where backward puts them: a bucket is one element and the
/// status. In several shards there is room for no status.
class Buckets {
 public:
  Buckets() = default;
  Buckets(BucketPlan plan, const std::vector<Tensor>& parameters, int64_t status_elements, bool is_alone,
          int64_t shards = 1);
  const BucketPlan& plan() const { return plan_; }
  size_t size() const { return plan_.size(); }
  /// The bucket of each parameter.
  const std::vector<size_t>& of_parameters() const { return bucket_of_; }
  /// A parameter's place, with its sizes and strides.
  const Tensor& slot(size_t parameter) const { return slots_[parameter]; }
  /// All of a bucket, the status too.
  const Tensor& flat(size_t bucket) const { return flats_[bucket]; }
  /// A bucket without the status.
  Tensor gradients(size_t bucket) const;
  /// Of a bucket in shards, one of them, and what it has of which parameters.
  Tensor shard(size_t bucket, int64_t number) const;
  std::vector<ShardPiece> pieces(size_t bucket, int64_t number) const;
  /// Undefined where there are no buckets, or none was asked for.
  const Tensor& status() const { return status_; }

 private:
  BucketPlan plan_;
  std::vector<FlatPlan> places_;  // by bucket
  std::vector<size_t> bucket_of_;
  std::vector<Tensor> slots_, flats_;
  Tensor status_;
};

}  // namespace tandem::nn::parallel::detail
