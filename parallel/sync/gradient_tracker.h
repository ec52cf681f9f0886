// GradientTracker: counts the gradients of a backward, and decides when a bucket is full.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tandem::nn::parallel::detail {

/// State of one forward of the wrapper, shared with the backwards that pass through its outputs.
struct ForwardState {
  // for each parameter: whether it requires a gradient in this forward
  std::shared_ptr<const std::vector<bool>> requires_grad;
  // weight of this forward's gradients in the average over ranks; 0 after a backward has counted it
  double weight = 0;
  uint64_t first_sequence_number = 0;  // sequence number of the first node that the forward recorded
  // True if an output cannot report that a backward passes through it, because no output has a history or an output is
  // a leaf. Then every backward that reaches the module's parameters before the next forward counts as a backward
  // through this forward.
  bool has_no_output_hook = false;
};
using ForwardStatePtr = std::shared_ptr<ForwardState>;

struct TrackerOptions {
  /// If true, a parameter may have no gradient in a backward.
  bool find_unused_parameters = false;
  /// If true, every backward of this rank adds as many gradients to each parameter as the first backward did.
  bool static_graph = false;
  /// If true, the first backward records the order in which gradients arrive.
  bool record_order = false;
};

/// Tracks the gradients of one backward, by indices of parameters and buckets. A bucket is full when all its expected
/// gradients have arrived. Buckets are returned in the order of their indices. Not thread-safe.
class GradientTracker {
 public:
  /// @param error_prefix  name with which errors begin: "DistributedDataParallel"
  /// @param names  names of the parameters, for error messages
  GradientTracker(std::string error_prefix, std::vector<std::string> names, TrackerOptions options);
  /// Sets the bucket of each parameter. May be called only between two backwards.
  void set_buckets(const std::vector<size_t>& bucket_of_parameter, size_t buckets);

  // ---- forwards
  /// Begins a forward. A backward that has not ended is forgotten.
  /// @param synchronize  whether the backwards until the next forward average gradients
  ForwardStatePtr begin_forward(bool synchronize, double weight, std::vector<bool> requires_grad, uint64_t first_node);
  /// The latest forward.
  ForwardState& forward() const { return *forward_; }
  bool synchronizes() const { return synchronize_; }
  /// Adds the weight of a forward to the weight of this rank's gradients. If called again for the same forward, adds
  /// nothing.
  void add_forward_weight(ForwardState& forward) { weight_ += std::exchange(forward.weight, 0.); }
  /// Returns the weight of the gradients that have accumulated since the last average.
  double weight() const { return weight_; }

  // ---- the running backward
  /// Returns whether a synchronized backward is running. If the backward's token has expired, the backward has thrown,
  /// and its state is dropped.
  bool is_running();
  /// Returns whether a synchronized backward is running, like is_running(), but also if that backward has thrown.
  bool has_started() const { return is_running_; }
  /// Begins a synchronized backward. @param token  expires when the backward ends or throws
  void begin_backward(const std::weak_ptr<const bool>& token);
  /// Records that the running backward should add a gradient to the parameter. Returns false if the graph is static and
  /// adds no gradient to this parameter.
  /// @throws Error if the parameter's bucket has been returned already
  bool expect_gradients(size_t parameter);
  bool is_expected(size_t parameter) const { return expected_[parameter]; }
  /// Returns whether the backward is synchronized and does not yet expect a gradient of the parameter.
  bool should_expect_gradient(size_t parameter) const { return synchronize_ && !(is_running_ && expected_[parameter]); }
  /// Records that a backward, synchronized or not, added a gradient to the parameter.
  void mark_used(size_t parameter) { used_[parameter] = true; }
  /// Records that the parameter's gradient was dropped, for example by zero_grad().
  void mark_unused(size_t parameter) { used_[parameter] = false; }
  /// Counts an expected gradient. @throws Error if the parameter has more gradients than the rules allow
  void count_gradient(size_t parameter);
  /// Returns the next bucket if it is full; otherwise nullopt.
  std::optional<size_t> take_next_full_bucket();
  /// Returns the next bucket, full or not; nullopt after the last one.
  std::optional<size_t> take_next_bucket();
  /// Returns whether a gradient of some parameter in the bucket is expected.
  bool is_bucket_in_use(size_t bucket) const { return bucket_progress_[bucket].in_use; }
  /// Returns whether all expected gradients have arrived.
  bool all_gradients_arrived() const;
  bool is_missing(size_t parameter) const { return expected_[parameter] && num_arrived_[parameter] == 0; }
  /// Takes part in a backward of other ranks, without a backward on this rank: expects a gradient of every parameter
  /// that required one in the latest forward, and counts these gradients as arrived. The parameters also count as used,
  /// unless allows_unused_parameters() is true.
  void shadow_backward();
  /// Returns a list of the parameters for which this backward expects no gradient, such as ", without parameters 0,
  /// 3-5". The list is part of the description of a collective, which must be equal on all ranks, so all ranks must
  /// expect gradients of the same parameters.
  std::string describe_unexpected() const;

  // ---- unused parameters
  /// Returns whether this rank may have no gradient of a parameter in this backward. Under static_graph that is the
  /// first backward.
  bool allows_unused_parameters() const {
    return options_.static_graph ? globally_used_.empty() : options_.find_unused_parameters;
  }
  /// Returns whether it is possible that the parameter has a gradient on no rank: unused parameters are allowed, and
  /// this rank has no gradient of it.
  bool may_be_globally_unused(size_t parameter) const {
    return (options_.find_unused_parameters || options_.static_graph) && !used_[parameter];
  }
  /// Returns whether no bucket may be sent before the first backward of a static graph has ended.
  bool should_delay_launch() const { return options_.static_graph && static_graph_counts_.empty(); }
  /// Stores the number of gradients of each parameter in the first backward of a static graph. Call this at the end of
  /// every backward.
  void record_static_graph();
  /// Returns, for each parameter, whether this rank got the gradients that it must get.
  std::vector<bool> got_expected_gradients() const;
  /// Returns the number of parameters whose gradient is expected but missing on this rank.
  int64_t num_unused_parameters() const;
  /// averaged_parameters() returns, for each parameter, whether this backward averages its gradient.
  /// set_averaged_locally() decides this from what this rank knows.
  const std::vector<bool>& averaged_parameters() const { return averaged_; }
  void set_averaged_locally();
  /// Decides averaged_parameters() from what all ranks know.
  /// @param globally_used  for each parameter: whether some rank used it; nullopt if all ranks used all parameters
  void set_averaged_globally(const std::optional<std::vector<bool>>& globally_used);

  /// Ends the backward, after which all ranks have the same gradients.
  void finish_backward();
  /// Returns whether the buckets should be rebuilt in the order in which gradients arrived in the first backward.
  bool should_rebuild_buckets() const { return should_rebuild_buckets_; }
  /// Returns the order in which gradients arrived in the first backward, and forgets it. Parameters without a gradient
  /// are at the end.
  std::vector<size_t> take_gradient_order();

 private:
  struct BucketProgress {
    size_t num_pending = 0;  // number of expected gradients of the bucket that have not arrived
    bool in_use = false;     // whether a gradient of some parameter in the bucket is expected
  };
  void drop_backward();

  const std::string error_prefix_;
  const std::vector<std::string> parameter_names_;
  const TrackerOptions options_;
  std::vector<size_t> bucket_of_parameter_;
  std::vector<BucketProgress> bucket_progress_;  // progress of each bucket
  bool synchronize_ = true, is_running_ = false;
  std::weak_ptr<const bool> backward_token_;  // token of the running backward, which expires if the backward throws
  ForwardStatePtr forward_;
  double weight_ = 0;
  size_t next_bucket_ = 0;        // index of the bucket to be returned next
  std::vector<bool> expected_;    // for each parameter: whether its gradient is expected in the running backward
  std::vector<int> num_arrived_;  // for each parameter: number of gradients that have arrived in the running backward
  std::vector<int> static_graph_counts_;  // number of gradients of each parameter in every backward of a static graph;
                                          // empty before the first one
  std::vector<bool> globally_used_;  // static graph: whether some rank used each parameter; empty in the first backward
  // for each parameter: whether it got a gradient since the last average, also under no_sync()
  std::vector<bool> used_;
  std::vector<bool> averaged_;  // for each parameter: whether the running backward averages its gradient
  // record_order_: the first backward records the order of gradients. should_rebuild_buckets_: the next forward
  // rebuilds the buckets in this order.
  bool record_order_, should_rebuild_buckets_ = false;
  std::vector<size_t> gradient_order_;
};

}  // namespace tandem::nn::parallel::detail
