// Arrivals: which gradients a backward is expected to bring, which have come, and who may go without.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tandem::nn::parallel::detail {

/// What the backwards through a forward are to know of it.
struct Forward {
  std::shared_ptr<const std::vector<bool>> learning;  // by parameter: whether it requires a gradient there
  double weight = 0;                                  // until a backward through it has counted that
  uint64_t first_node = 0;                            // sequence number that its first node got
  // Some output cannot say when a backward goes through it: none is a tensor with a history, or one is a leaf. Then
  // each backward of the module's parameters until the next forward is taken for one of this forward.
  bool unwatched = false;
};
using ForwardPtr = std::shared_ptr<Forward>;

/// What a backward may bring.
struct ArrivalRules {
  /// Whether a parameter may go without a gradient.
  bool find_unused_parameters = false;
  /// Whether every backward brings each parameter as many gradients as the first, on each rank by itself.
  bool static_graph = false;
  /// Whether the order of the first backward's gradients is of use.
  bool wants_order = false;
};

/// Counts the gradients of parameters 0, 1, ... that fill buckets 0, 1, ...; a bucket is full when all its expected
/// ones have come, and they are handed out in order. It knows numbers alone. One thread at a time.
class Arrivals {
 public:
  /// @param names  of the parameters, for errors
  Arrivals(std::vector<std::string> names, ArrivalRules rules);
  /// The bucket of each parameter from now on.
  void set_buckets(const std::vector<size_t>& of_parameters, size_t buckets);

  /// A forward: it says of the backwards to come whether they synchronize, and forgets one that is under way.
  ForwardPtr begin(bool synchronize, double weight, std::vector<bool> learning, uint64_t first_node);
  /// The last one.
  Forward& forward() const { return *forward_; }
  bool synchronizes() const { return synchronize_; }
  /// Adds what a forward weighs to what this rank's gradients do, once.
  void weigh(Forward& forward) { weight_ += std::exchange(forward.weight, 0.); }
  /// Of the forwards since the ranks had the same gradients.
  double weight() const { return weight_; }

  /// Whether a backward that synchronizes is under way. If the last one threw, this forgets its state.
  bool is_running();
  /// The same, unless the last one threw.
  bool has_started() const { return running_; }
  /// Begins one. Of a backward of the others' that this rank has none for nobody keeps the token.
  /// @param token  lives as long as the backward
  void start(const std::weak_ptr<const bool>& token);
  /// Expects what a backward brings a parameter. Returns false where that is nothing. @throws Error when its bucket is
  /// gone already
  bool expect(size_t parameter);
  bool is_expected(size_t parameter) const { return expected_[parameter]; }
  /// Whether expect() would change something.
  bool is_news(size_t parameter) const { return synchronize_ && !(running_ && expected_[parameter]); }
  /// A gradient was added, in whatever backward.
  void use(size_t parameter) { used_[parameter] = true; }
  /// The gradient was dropped since.
  void drop(size_t parameter) { used_[parameter] = false; }
  /// Since the ranks had the same gradients, so under no_sync() too.
  bool is_used(size_t parameter) const { return used_[parameter]; }
  /// An expected gradient has come. @throws Error when there are more than may come
  void count(size_t parameter);
  /// The next bucket, once it is full.
  std::optional<size_t> next_full();
  /// The next bucket, whatever has come.
  std::optional<size_t> next();
  /// Whether a gradient in it is expected.
  bool is_in_use(size_t bucket) const { return progress_[bucket].in_use; }
  /// Whether all that was expected has come.
  bool all_came() const;
  /// Whether an expected one has not.
  bool is_missing(size_t parameter) const { return expected_[parameter] && came_[parameter] == 0; }
  /// Of a backward of the others': everything that learns in the last forward is expected, and counts as come. Where
  /// nobody may go without, it counts as used too.
  void shadow();
  /// At the end of the first backward under static_graph: what it brought is usual from now on.
  void learn_graph();
  /// By parameter: whether it got what a backward is expected to bring.
  std::vector<bool> as_expected() const;
  /// Whether a rank may go without a gradient in this backward; under static_graph in the first.
  bool allows_unused() const { return rules_.static_graph ? used_anywhere_.empty() : rules_.find_unused_parameters; }
  /// Whether fill() may have to be undone.
  bool may_be_unused() const { return rules_.find_unused_parameters || rules_.static_graph; }
  /// Under static_graph buckets wait for the end of the first backward.
  bool holds_back() const { return rules_.static_graph && usual_.empty(); }

  /// By parameter: whether this backward averages it. Before the ranks have agreed, as far as this rank knows.
  const std::vector<bool>& averaged() const { return averaged_; }
  void guess_averaged();
  /// What the ranks have agreed on: who is used on any of them. Nothing where all are.
  void agree(const std::optional<std::vector<bool>>& used_anywhere);
  /// Expected, and never used on this rank.
  int64_t unused() const;
  /// The ranks have the same gradients.
  void finish();
  /// What the backwards through one forward brought first is a better order for buckets; that is due at the next
  /// forward which synchronizes.
  bool order_is_due() const { return order_due_; }
  /// That order, the others behind; it is due no more.
  std::vector<size_t> take_order();
  /// The parameters that are not expected: ", without parameters 0, 3-5". The ranks must expect the same.
  std::string without() const;

 private:
  struct Progress {
    size_t pending = 0;   // gradients that have not come
    bool in_use = false;  // a gradient of it is expected
  };
  void forget();

  const std::vector<std::string> names_;
  const ArrivalRules rules_;
  std::vector<size_t> bucket_of_;
  std::vector<Progress> progress_;
  bool synchronize_ = true, running_ = false;
  std::weak_ptr<const bool> under_way_;
  ForwardPtr forward_;
  double weight_ = 0;
  size_t next_ = 0;                        // bucket to hand out
  std::vector<bool> expected_;             // of the backward under way
  std::vector<int> came_;                  // in the backward under way
  std::vector<int> usual_;                 // in each backward of a static graph, once there was one
  std::vector<bool> used_anywhere_;        // of a static graph: on any rank, once there was a backward
  std::vector<bool> used_;                 // since the ranks had the same gradients
  std::vector<bool> averaged_;             // by the backward that ends
  bool order_wanted_, order_due_ = false;  // until the first backward; from then to the next forward
  std::vector<size_t> order_;              // in which gradients came
};

}  // namespace tandem::nn::parallel::detail
