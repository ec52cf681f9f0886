// Moves gradients between the parameters' grad() and the buckets.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "tandem/autograd/node.h"
#include "tandem/nn/module.h"
#include "tandem/parallel/sync/layout.h"

namespace tandem::nn::parallel::detail {

/// The parameters that require a gradient. Each has a hook on its gradient accumulator, and a slot in a bucket.
class Gradients {
 public:
  /// @param owner      name of the strategy; errors begin with it: "DistributedDataParallel"
  /// @param are_views  if true, grad() is a view of the bucket; otherwise it is a tensor of its own and is copied
  /// @throws Error if another Gradients has one of the parameters
  Gradients(std::string owner, const NamedParameters& parameters, bool are_views);
  Gradients(const Gradients&) = delete;
  ~Gradients();  // removes the hooks
  /// Calls f in every backward that added a gradient to a parameter. Call this once, after lay_out().
  void watch(const std::function<void(size_t parameter)>& f);

  size_t size() const { return parameters_.size(); }
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<Tensor>& parameters() const { return parameters_; }
  const Buckets& buckets() const { return buckets_; }
  bool is_alone() const { return is_alone_; }
  /// Bytes of gradients in each bucket.
  std::vector<int64_t> bucket_sizes() const;

  /// Makes new buckets. If gradients are views, existing gradients move into them.
  /// @param is_alone  if true, there is no other rank, and gradients stay where backward puts them
  void lay_out(BucketPlan plan, int64_t status_elements, bool is_alone, int64_t shards = 1);
  /// Returns whether a parameter requires a gradient in the forward that begins. The gradient of a frozen parameter
  /// leaves its bucket. @throws Error if the parameter has another device, dtype or shape than at construction
  bool begin_forward(size_t parameter);
  /// Returns whether the running backward adds to the parameter's gradient.
  bool is_added_to(size_t parameter) const;
  /// Restores the invariants after backward added to a gradient: it has no history, and is a view if it has to be.
  void settle(size_t parameter);
  /// Copies a gradient into its slot, unless it is the slot.
  void to_slot(size_t parameter);
  /// Writes the slot of a parameter that gets no gradient in this backward: its old gradient, or zeros.
  /// @param keep  if true, hand_back() can restore the old gradient
  void fill(size_t parameter, bool keep);
  /// Copies a reduced bucket to grad(). Restores the gradients that were not averaged, if fill() kept them.
  void hand_back(size_t bucket, const std::vector<bool>& averaged);
  /// Drops the gradients that fill() kept.
  void forget() { untouched_.clear(); }

 private:
  void take();

  const std::string owner_;
  const bool views_;
  bool is_alone_ = false;
  std::vector<std::string> names_;
  std::vector<Tensor> parameters_;
  std::vector<std::shared_ptr<autograd::AccumulateGrad>> accumulators_;
  std::vector<unsigned> hooks_;
  Buckets buckets_;
  std::map<size_t, Tensor> untouched_;  // copies made by fill()
};

}  // namespace tandem::nn::parallel::detail
