// What the ranks agree on beside the gradients: who used which parameters, and what each rank's gradients weigh.
#pragma once
#include <optional>
#include <string>

#include "tandem/core/cuda/cuda.h"
#include "tandem/parallel/sync/transport.h"

namespace tandem::nn::parallel::detail {

/// Whether that dtype tells the average of 1 from all of `ranks` ranks from one in which one rank has 0, in whatever
/// order they are added up, and divided before or after: each operation may be off by half of a last place, and all of
/// them together must be by less than half of the 1 / ranks that one rank brings.
bool tells_one_rank(DType dtype, int ranks);

/// The status of a step: an element that is 1 where every parameter got what was expected, and under weights a second
/// one, the rank's weight. All ranks' are averaged, in the last bucket if the transport carries them there and its
/// dtype is exact enough, otherwise on their own.
class Agreement {
 public:
  /// @param name  of whom it works for, in errors and in what its collectives are about: "DDP 1"
  Agreement(std::string name, distributed::ProcessGroupPtr group, bool weighted, bool static_graph);
  Agreement(const Agreement&) = delete;
  ~Agreement();  // complains on standard error of unused parameters that nobody will look at any more
  /// How many elements the status needs in a last bucket of this dtype, among parameters of which some may be float64;
  /// 0 where it has to go on its own.
  int64_t elements_in(DType bucket, bool any_wide, const Transport& transport) const;
  /// Where the status is from now on: in a bucket, or where that is undefined in memory of its own.
  void lay_out(const Tensor& in_bucket, bool any_wide, Device device);

  /// Weights count as powers of two near their mean, so that scaled gradients stay in a half type's range. The ranks
  /// agree on it before anything is sent with a weight.
  bool knows_unit() const { return unit_known_; }
  void agree_on_unit(double weight);
  /// Of this rank's gradients in a bucket, before they are sent.
  void weigh(Tensor gradients, double weight) const;
  /// What this rank says. With it goes the last bucket.
  void say(bool all_used, double weight);
  /// Starts the average of a status on its own; null where it is in a bucket.
  distributed::WorkPtr send();
  /// Of what was sent: from the mean over all ranks to that over those which count. @param divisor  without weights,
  /// how many count
  void rescale(const Transport& sent, const Buckets& buckets, int divisor) const;
  /// When all has come. Returns by parameter whether any rank got what was expected; nothing where every rank did, or
  /// where that is known only later; see Note [Unused parameters on a GPU].
  /// @param fine           by parameter, whether this rank did
  /// @param allows_unused  whether no is an answer
  /// @throws Error naming the parameters that some rank did not use, unless that is allowed
  std::optional<std::vector<bool>> used_anywhere(std::vector<bool> fine, bool allows_unused,
                                                 const std::vector<std::string>& names);

 private:
  bool is_short(const Tensor& all_used) const;
  std::vector<bool> used_on_any_rank(const std::vector<bool>& fine, bool allows_unused,
                                     const std::vector<std::string>& names) const;

  const std::string name_;
  const distributed::ProcessGroupPtr group_;
  const bool weighted_, static_graph_;
  double unit_ = 1;
  bool unit_known_;     // there is one, or no weights
  Tensor apart_;        // undefined where the status is in the last bucket
  Tensor all_used_;     // an element of the status
  Tensor rank_weight_;  // another one: that of this rank, then their mean
  cuda::Event used_known_;
  Tensor all_used_here_;         // page-locked, where all_used_ is copied
  Tensor last_all_used_;         // where it was copied last
  bool used_under_way_ = false;  // until that is looked at
  std::vector<bool> last_fine_;
};

}  // namespace tandem::nn::parallel::detail
