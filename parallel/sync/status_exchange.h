// StatusExchange: the status that ranks exchange in addition to gradients: whether all parameters were used, and the
// ranks' weights.
#pragma once
#include <optional>
#include <string>

#include "tandem/core/cuda/cuda.h"
#include "tandem/parallel/sync/transport.h"

namespace tandem::nn::parallel::detail {

/// Returns whether an average in this dtype shows that a single rank has 0 and all others have 1. This must hold for
/// every order of summation, and whether ranks divide before or after it. Each of the `ranks` operations has a relative
/// error of at most half a unit in the last place. The sum of these errors must stay below half of 1 / ranks.
bool can_detect_single_unused_rank(DType dtype, int ranks);

/// Status of a step, which the ranks average. Its first element is 1 if this rank got all expected gradients, otherwise
/// 0. With weights, its second element is this rank's weight. The status is averaged as part of the last bucket if the
/// transport and the bucket's dtype allow it, otherwise by a collective of its own.
class StatusExchange {
 public:
  /// @param error_prefix  name with which errors begin: "DistributedDataParallel"
  /// @param name   name of the instance in descriptions of collectives: "DDP 1"
  StatusExchange(std::string error_prefix, std::string name, distributed::ProcessGroupPtr group, bool weighted,
                 bool static_graph);
  StatusExchange(const StatusExchange&) = delete;
  ~StatusExchange();  // warns if parameters got no gradient in the last backward, because no later backward reports it
  /// Returns the number of status elements at the end of the last bucket; 0 if the status has a collective of its own.
  /// @param bucket    dtype of the last bucket
  /// @param any_float64  whether some parameter is float64
  int64_t num_status_elements(DType bucket, bool any_float64, const Transport& transport) const;
  /// Sets the memory of the status. @param in_bucket  part of a bucket; if undefined, allocates memory
  void allocate_status(const Tensor& in_bucket, bool any_float64, Device device);

  /// Returns whether the ranks have agreed on the unit of weights. Gradients are multiplied by weight / unit. The unit
  /// is a power of two near the mean weight, so that half types do not overflow. All ranks must agree on it before the
  /// first gradient is sent.
  bool has_weight_scale() const { return has_weight_scale_; }
  void all_reduce_weight_scale(double weight);
  /// Multiplies a bucket's gradients by weight / unit, where unit is the unit of weights that has_weight_scale()
  /// describes.
  void add_forward_weight(Tensor gradients, double weight) const;
  /// Writes the status of this rank. Call this before the last bucket is sent.
  void set_status(bool all_used, double weight);
  /// Starts to average a status that is outside the buckets. Returns null if the status is in a bucket.
  distributed::WorkPtr start_all_reduce();
  /// Converts the mean over all ranks to the mean over the ranks that have gradients, in all buckets that were sent.
  /// @param divisor  number of ranks that have gradients; ignored with weights
  void rescale_buckets(const Transport& sent, const Buckets& buckets, int divisor) const;
  /// Evaluates the averaged status. Returns, for each parameter, whether some rank got the expected gradients. Returns
  /// nullopt if all ranks got all gradients, or if this is not known yet (see Note [Unused parameters on a GPU]).
  /// @param got_expected   for each parameter: whether this rank got the expected gradients
  /// @param allows_unused_parameters  if false, an unused parameter is an error
  /// @throws Error naming the unused parameters and the ranks
  std::optional<std::vector<bool>> globally_used(std::vector<bool> got_expected, bool allows_unused_parameters,
                                                 const std::vector<std::string>& names);

 private:
  bool has_unused_on_any_rank(const Tensor& all_used) const;
  std::vector<bool> gather_globally_used(const std::vector<bool>& got_expected, bool allows_unused_parameters,
                                         const std::vector<std::string>& names) const;

  const std::string error_prefix_, ddp_name_;
  const distributed::ProcessGroupPtr group_;
  const bool is_weighted_, static_graph_;
  double weight_scale_ = 1;
  bool has_weight_scale_;   // whether the unit of weights is known; always true without weights
  Tensor separate_status_;  // memory of the status, if the status is not a part of the last bucket
  Tensor all_used_;         // first element of the status: whether this rank used all parameters
  Tensor rank_weight_;  // second element of the status: the weight of this rank, and after averaging the mean weight
  cuda::Event status_copied_;
  Tensor host_all_used_;  // page-locked copy of all_used_
  Tensor last_all_used_;  // same tensor as host_all_used_; defined after the first backward has started a copy to it
  bool status_copy_pending_ = false;  // true if last_all_used_ has not been evaluated yet
  std::vector<bool> last_got_expected_;
};

}  // namespace tandem::nn::parallel::detail
