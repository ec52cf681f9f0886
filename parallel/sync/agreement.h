// Agreement: the status that ranks exchange beside gradients: whether all parameters were used, and the ranks' weights.
#pragma once
#include <optional>
#include <string>

#include "tandem/core/cuda/cuda.h"
#include "tandem/parallel/sync/transport.h"

namespace tandem::nn::parallel::detail {

/// Returns whether an average in this dtype shows a single 0 among the 1s of all other ranks, for every order of
/// summation, no matter whether the ranks divide before or after it. Each of the `ranks` operations has a relative
/// error of at most half a unit in the last place. The sum of these errors must stay below half of 1 / ranks.
bool tells_one_rank(DType dtype, int ranks);

/// The status of a step. Its first element is 1 if this rank got all expected gradients. With weights, its second
/// element is this rank's weight. Both are averaged over the ranks: in the last bucket if the transport and the
/// bucket's dtype allow it, otherwise by a collective of their own.
class Agreement {
 public:
  /// @param owner  name of the strategy; errors begin with it: "DistributedDataParallel"
  /// @param name   name of the instance, in descriptions of collectives: "DDP 1"
  Agreement(std::string owner, std::string name, distributed::ProcessGroupPtr group, bool weighted, bool static_graph);
  Agreement(const Agreement&) = delete;
  ~Agreement();  // reports unused parameters on standard error, if no later backward can
  /// Returns the number of status elements that the last bucket must have; 0 if the status travels on its own.
  /// @param bucket    dtype of the last bucket
  /// @param any_wide  whether some parameter is float64
  int64_t elements_in(DType bucket, bool any_wide, const Transport& transport) const;
  /// Sets the memory of the status. @param in_bucket  part of a bucket; if undefined, the status gets its own memory
  void lay_out(const Tensor& in_bucket, bool any_wide, Device device);

  /// Gradients are multiplied by weight / unit. The unit is a power of two near the mean weight, so that half types do
  /// not overflow. All ranks must agree on the unit before the first gradient is sent.
  bool knows_unit() const { return unit_known_; }
  void agree_on_unit(double weight);
  /// Multiplies a bucket's gradients by weight / unit.
  void weigh(Tensor gradients, double weight) const;
  /// Writes this rank's status. Call this before the last bucket is sent.
  void say(bool all_used, double weight);
  /// Starts the average of the status. Returns null if the status is in a bucket.
  distributed::WorkPtr send();
  /// Turns the mean over all ranks into the mean over the ranks that count, in all buckets that were sent.
  /// @param divisor  without weights: the number of ranks that count
  void rescale(const Transport& sent, const Buckets& buckets, int divisor) const;
  /// Evaluates the averaged status. Returns by parameter whether some rank got the expected gradients. Returns nullopt
  /// if all ranks got all gradients, or if that is known only later (see Note [Unused parameters on a GPU]).
  /// @param fine           by parameter: whether this rank got the expected gradients
  /// @param allows_unused  if false, an unused parameter is an error
  /// @throws Error naming the unused parameters and the ranks
  std::optional<std::vector<bool>> used_anywhere(std::vector<bool> fine, bool allows_unused,
                                                 const std::vector<std::string>& names);

 private:
  bool is_short(const Tensor& all_used) const;
  std::vector<bool> used_on_any_rank(const std::vector<bool>& fine, bool allows_unused,
                                     const std::vector<std::string>& names) const;

  const std::string owner_, name_;
  const distributed::ProcessGroupPtr group_;
  const bool weighted_, static_graph_;
  double unit_ = 1;
  bool unit_known_;     // true without weights
  Tensor apart_;        // the status, if it travels on its own
  Tensor all_used_;     // first element of the status
  Tensor rank_weight_;  // second element: this rank's weight, later the mean weight
  cuda::Event used_known_;
  Tensor all_used_here_;         // page-locked copy of all_used_
  Tensor last_all_used_;         // the copy that the last backward made
  bool used_under_way_ = false;  // that copy has not been evaluated
  std::vector<bool> last_fine_;
};

}  // namespace tandem::nn::parallel::detail
