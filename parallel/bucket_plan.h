// Buckets: which gradients are averaged together, and the flat memory in which they lie.
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

/// A flat tensor per bucket, in which the gradients of its parameters lie one after the other, with zeros between. The
/// last has elements behind its gradients, which are averaged with them: the status. Where there is nobody to average
/// with
/// (`is_alone`) they hold no gradients, which stay where backward puts them: a bucket is one element and the status.
class Buckets {
 public:
  Buckets() = default;
  Buckets(BucketPlan plan, const std::vector<Tensor>& parameters, int64_t status_elements, bool is_alone);
  const BucketPlan& plan() const { return plan_; }
  size_t size() const { return plan_.size(); }
  /// The bucket of a parameter.
  size_t of(size_t parameter) const { return bucket_of_[parameter]; }
  /// A parameter's place, with its sizes and strides.
  const Tensor& slot(size_t parameter) const { return slots_[parameter]; }
  /// All of a bucket, the status too.
  const Tensor& flat(size_t bucket) const { return flats_[bucket]; }
  /// A bucket without the status.
  Tensor gradients(size_t bucket) const;
  /// Undefined where there are no buckets, or none was asked for.
  const Tensor& status() const { return status_; }

 private:
  BucketPlan plan_;
  std::vector<size_t> bucket_of_;
  std::vector<Tensor> slots_, flats_;
  Tensor status_;
};

}  // namespace tandem::nn::parallel::detail
