// Gradients: moves gradients between the parameters' grad() and the buckets.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "tandem/autograd/node.h"
#include "tandem/nn/module.h"
#include "tandem/parallel/sync/layout.h"

namespace tandem::nn::parallel::detail {

/// The parameters that require a gradient. Each has a hook on its gradient accumulator, and a slot, which is its part
/// of a bucket.
class Gradients {
 public:
  /// @param error_prefix  name with which errors begin: "DistributedDataParallel"
  /// @param gradient_as_bucket_view  if true, grad() is a view of the bucket; otherwise grad() has memory of its own
  /// and is copied
  /// @throws Error if a parameter is also in another Gradients object
  Gradients(std::string error_prefix, const NamedParameters& parameters, bool gradient_as_bucket_view);
  Gradients(const Gradients&) = delete;
  ~Gradients();  // removes the hooks from the accumulators
  /// Makes every backward call f(i) after it has added a gradient to parameter i. Call this once, after allocate().
  void add_post_hooks(const std::function<void(size_t parameter)>& f);

  size_t size() const { return parameters_.size(); }
  const std::vector<std::string>& names() const { return parameter_names_; }
  const std::vector<Tensor>& parameters() const { return parameters_; }
  const Buckets& buckets() const { return buckets_; }
  bool is_single_rank() const { return is_single_rank_; }
  /// Returns the bytes of gradients in each bucket.
  std::vector<int64_t> bucket_sizes() const;

  /// Makes new buckets. If gradients are views of buckets, moves existing gradients into them.
  /// @param is_single_rank  true if there is no other rank; gradients then stay where backward puts them
  void allocate(BucketPlan plan, int64_t status_elements, bool is_single_rank, int64_t shards = 1);
  /// Begins a forward. Returns whether a parameter requires a gradient in it; if not, moves its gradient out of the
  /// bucket. @throws Error if the parameter's device, dtype or shape has changed since construction
  bool begin_forward(size_t parameter);
  /// Returns whether the running backward adds to the parameter's gradient.
  bool accumulates_in_backward(size_t parameter) const;
  /// Call this after backward has added to a gradient. Detaches the gradient from its history and, if gradients are
  /// views, moves it into its slot.
  void finalize_gradient(size_t parameter);
  /// Copies a gradient into its slot in the bucket, unless it is there already.
  void copy_to_slot(size_t parameter);
  /// Fills the slot, in its bucket, of a parameter that gets no gradient in this backward: with its old gradient, or
  /// with zeros.
  /// @param keep  if true, keeps a copy of the old gradient, which copy_from_bucket() can restore
  void fill_slot(size_t parameter, bool keep);
  /// Copies the gradients in a reduced bucket to grad(). Restores gradients that were not averaged, if fill_slot() kept
  /// copies of them.
  void copy_from_bucket(size_t bucket, const std::vector<bool>& averaged);
  /// Drops the copies that fill_slot() kept.
  void drop_saved_gradients() { saved_gradients_.clear(); }

 private:
  void claim_accumulators();

  const std::string error_prefix_;
  const bool gradient_as_bucket_view_;
  bool is_single_rank_ = false;
  std::vector<std::string> parameter_names_;
  std::vector<Tensor> parameters_;
  std::vector<std::shared_ptr<autograd::AccumulateGrad>> accumulators_;
  std::vector<unsigned> hook_ids_;
  Buckets buckets_;
  std::map<size_t, Tensor> saved_gradients_;  // copies of old gradients that fill_slot() kept, by parameter
};

}  // namespace tandem::nn::parallel::detail
