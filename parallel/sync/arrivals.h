// Arrivals: counts the gradients that a backward is expected to bring, and decides when a bucket is full.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tandem::nn::parallel::detail {

/// State of a forward for the backwards through it.
struct Forward {
  std::shared_ptr<const std::vector<bool>> learning;  // by parameter: requires a gradient in this forward
  double weight = 0;                                  // weight that no backward has counted so far
  uint64_t first_node = 0;                            // sequence number of the first node that the forward recorded
  // True if some output cannot report a backward through it: no output has a history, or one is a leaf. Then every
  // backward of the module's parameters until the next forward counts as a backward through this forward.
  bool unwatched = false;
};
using ForwardPtr = std::shared_ptr<Forward>;

struct ArrivalRules {
  /// If true, a parameter may have no gradient.
  bool find_unused_parameters = false;
  /// If true, every backward of this rank brings each parameter as many gradients as the first backward did.
  bool static_graph = false;
  /// If true, the first backward records the order of its gradients.
  bool wants_order = false;
};

/// Tracks the gradients of one backward. It knows only indices: parameters 0, 1, ... fill buckets 0, 1, ... A bucket is
/// full when all its expected gradients have arrived; buckets are returned in order. Not thread-safe.
class Arrivals {
 public:
  /// @param owner  name of the strategy; errors begin with it: "DistributedDataParallel"
  /// @param names  names of the parameters, for errors
  Arrivals(std::string owner, std::vector<std::string> names, ArrivalRules rules);
  /// Sets the bucket of each parameter, between two backwards.
  void set_buckets(const std::vector<size_t>& of_parameters, size_t buckets);

  // ---- forwards
  /// Begins a forward. A backward that has not ended is forgotten.
  /// @param synchronize  whether the backwards until the next forward average gradients
  ForwardPtr begin(bool synchronize, double weight, std::vector<bool> learning, uint64_t first_node);
  /// The latest forward.
  Forward& forward() const { return *forward_; }
  bool synchronizes() const { return synchronize_; }
  /// Adds the weight of a forward to the weight of this rank's gradients. The second call for a forward adds nothing.
  void weigh(Forward& forward) { weight_ += std::exchange(forward.weight, 0.); }
  /// Weight of the gradients that have accumulated since the last average.
  double weight() const { return weight_; }

  // ---- the running backward
  /// Returns whether a synchronized backward is running. If its token is gone, it threw; then its state is forgotten.
  bool is_running();
  /// As is_running(), without the check of the token.
  bool has_started() const { return running_; }
  /// @param token  lives as long as the backward
  void start(const std::weak_ptr<const bool>& token);
  /// Expects gradients of a parameter. Returns false if a static graph brings it none.
  /// @throws Error if its bucket was returned already
  bool expect(size_t parameter);
  bool is_expected(size_t parameter) const { return expected_[parameter]; }
  /// Returns whether the backward synchronizes and does not expect the parameter yet.
  bool is_news(size_t parameter) const { return synchronize_ && !(running_ && expected_[parameter]); }
  /// Records that a backward, synchronized or not, added a gradient.
  void use(size_t parameter) { used_[parameter] = true; }
  /// Records that the gradient was dropped, by zero_grad() for example.
  void drop(size_t parameter) { used_[parameter] = false; }
  /// Counts an expected gradient. @throws Error if it is one more than the rules allow
  void count(size_t parameter);
  /// Returns the next bucket if it is full.
  std::optional<size_t> next_full();
  /// Returns the next bucket, full or not.
  std::optional<size_t> next();
  /// Returns whether some gradient in the bucket is expected.
  bool is_in_use(size_t bucket) const { return progress_[bucket].in_use; }
  /// Returns whether all expected gradients have arrived.
  bool all_came() const;
  bool is_missing(size_t parameter) const { return expected_[parameter] && came_[parameter] == 0; }
  /// Joins a backward of other ranks without a backward on this rank: expects all parameters that require a gradient
  /// in the latest forward, and counts them as arrived. They count as used too, unless allows_unused().
  void shadow();
  /// Parameters that are not expected, for the description of a collective: ", without parameters 0, 3-5". All ranks
  /// must expect the same parameters.
  std::string without() const;

  // ---- unused parameters
  /// Returns whether this rank may have no gradient of a parameter in this backward. Under static_graph that is the
  /// first backward.
  bool allows_unused() const { return rules_.static_graph ? used_anywhere_.empty() : rules_.find_unused_parameters; }
  /// Returns whether a parameter without a gradient on this rank may turn out to have none on any rank.
  bool may_stay_unused(size_t parameter) const {
    return (rules_.find_unused_parameters || rules_.static_graph) && !used_[parameter];
  }
  /// Returns whether no bucket may be sent before the first backward of a static graph has ended.
  bool holds_back() const { return rules_.static_graph && usual_.empty(); }
  /// Stores the counts of the first backward of a static graph. Call this at the end of every backward.
  void learn_graph();
  /// By parameter: whether this rank got the gradients that it must get.
  std::vector<bool> as_expected() const;
  /// Number of expected parameters that have no gradient on this rank.
  int64_t unused() const;
  /// By parameter: whether this backward averages it. guess_averaged() decides with this rank's knowledge alone.
  const std::vector<bool>& averaged() const { return averaged_; }
  void guess_averaged();
  /// Decides averaged() with the knowledge of all ranks.
  /// @param used_anywhere  by parameter: whether some rank used it; nullopt if all ranks used all parameters
  void agree(const std::optional<std::vector<bool>>& used_anywhere);

  /// Ends the backward. All ranks now have the same gradients.
  void finish();
  /// Returns whether the buckets should be rebuilt in the order of the first backward's gradients.
  bool order_is_due() const { return order_due_; }
  /// Returns that order, once. Parameters without a gradient are at the end.
  std::vector<size_t> take_order();

 private:
  struct Progress {
    size_t pending = 0;   // expected gradients that have not arrived
    bool in_use = false;  // some gradient is expected
  };
  void forget();

  const std::string owner_;
  const std::vector<std::string> names_;
  const ArrivalRules rules_;
  std::vector<size_t> bucket_of_;
  std::vector<Progress> progress_;  // by bucket
  bool synchronize_ = true, running_ = false;
  std::weak_ptr<const bool> under_way_;  // token of the running backward
  ForwardPtr forward_;
  double weight_ = 0;
  size_t next_ = 0;  // bucket that is returned next
  // By parameter:
  std::vector<bool> expected_;       // in the running backward
  std::vector<int> came_;            // gradients that have arrived in the running backward
  std::vector<int> usual_;           // static graph: gradients in each backward; empty before the first
  std::vector<bool> used_anywhere_;  // static graph: used by some rank; empty before the first backward
  std::vector<bool> used_;           // got a gradient since the last average, under no_sync() too
  std::vector<bool> averaged_;       // by the backward that ends
  // order_wanted_: record the order of gradients in the first backward. order_due_: use it at the next forward.
  bool order_wanted_, order_due_ = false;
  std::vector<size_t> order_;
};

}  // namespace tandem::nn::parallel::detail
