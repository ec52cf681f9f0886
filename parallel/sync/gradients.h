// The gradients of some parameters, and their way from backward into the layout and back.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "tandem/autograd/node.h"
#include "tandem/nn/module.h"
#include "tandem/parallel/sync/layout.h"

namespace tandem::nn::parallel::detail {

/// Each parameter that requires a gradient has a hook on its accumulator, and a slot in a bucket.
class Gradients {
 public:
  /// @param are_views   whether grad() lies in a bucket; otherwise it is a tensor of its own, copied there and back
  /// @throws Error naming a parameter that others have
  Gradients(const NamedParameters& parameters, bool are_views);
  Gradients(const Gradients&) = delete;
  ~Gradients();  // takes the hooks away
  /// Calls f in each backward when a gradient was added: the last step of construction.
  void watch(const std::function<void(size_t parameter)>& f);

  size_t size() const { return parameters_.size(); }
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<Tensor>& parameters() const { return parameters_; }
  const Buckets& buckets() const { return buckets_; }
  bool is_alone() const { return is_alone_; }
  /// Of each bucket, the bytes of its gradients.
  std::vector<int64_t> bucket_sizes() const;

  /// Lays gradients out anew; those that are there move into the buckets, if they are views.
  /// @param is_alone  whether there is nobody to bring them together with: then they stay where backward puts them
  void lay_out(BucketPlan plan, int64_t status_elements, bool is_alone, int64_t shards = 1);
  /// Whether a parameter learns in the forward that begins. @throws Error when it went to another device or dtype
  bool begin_forward(size_t parameter);
  /// Whether the backward under way adds to it.
  bool is_added_to(size_t parameter) const;
  /// Of one that backward just added to: whatever grad() is, it has no history and lies where it should.
  void settle(size_t parameter);
  /// Brings a gradient into its bucket, where it lives from now on if gradients are views.
  void to_slot(size_t parameter);
  /// What is averaged of a parameter that gets no gradient: the one that it has.
  /// @param keep  whether to remember that one, for a parameter that no rank adds to
  void fill(size_t parameter, bool keep);
  /// From a bucket to where the gradients are. One that was not averaged is as it was before fill().
  void hand_back(size_t bucket, const std::vector<bool>& averaged);
  /// Forgets what fill() remembered.
  void forget() { untouched_.clear(); }

 private:
  void take();

  const bool views_;
  bool is_alone_ = false;
  std::vector<std::string> names_;
  std::vector<Tensor> parameters_;
  std::vector<std::shared_ptr<autograd::AccumulateGrad>> accumulators_;
  std::vector<unsigned> hooks_;
  Buckets buckets_;
  std::map<size_t, Tensor> untouched_;
};

}  // namespace tandem::nn::parallel::detail
