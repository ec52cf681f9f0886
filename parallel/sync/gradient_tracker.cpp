// Implements GradientTracker: counts the gradients that each bucket still lacks, and finds parameters without a
// gradient.
#include "tandem/parallel/sync/gradient_tracker.h"

#include <algorithm>
#include <climits>

#include "tandem/core/error.h"

namespace tandem::nn::parallel::detail {

GradientTracker::GradientTracker(std::string error_prefix, std::vector<std::string> names, TrackerOptions options)
    : error_prefix_(std::move(error_prefix)),
      parameter_names_(std::move(names)),
      options_(options),
      record_order_(options.record_order) {
  const size_t n = parameter_names_.size();
  expected_.resize(n), num_arrived_.resize(n), used_.resize(n), averaged_.resize(n);
  forward_ = std::make_shared<ForwardState>(ForwardState{std::make_shared<const std::vector<bool>>(n, true)});
}
void GradientTracker::set_buckets(const std::vector<size_t>& bucket_of_parameter, size_t buckets) {
  bucket_of_parameter_ = bucket_of_parameter;
  bucket_progress_.assign(buckets, {});
}

ForwardStatePtr GradientTracker::begin_forward(bool synchronize, double weight, std::vector<bool> requires_grad,
                                               uint64_t first_node) {
  synchronize_ = synchronize;
  if (is_running()) drop_backward();
  const auto& last = forward_->requires_grad;
  forward_ = std::make_shared<ForwardState>(
      ForwardState{*last == requires_grad ? last : std::make_shared<const std::vector<bool>>(std::move(requires_grad)),
                   weight, first_node});
  return forward_;
}
void GradientTracker::drop_backward() {
  is_running_ = false;
  weight_ = 0;
}
bool GradientTracker::is_running() {
  if (is_running_ && backward_token_.expired()) drop_backward();
  return is_running_;
}

void GradientTracker::begin_backward(const std::weak_ptr<const bool>& token) {
  is_running_ = true;
  backward_token_ = token;
  next_bucket_ = 0;
  if (record_order_) gradient_order_.clear();  // drop what an earlier backward that threw has recorded
  expected_.assign(expected_.size(), false);
  num_arrived_.assign(num_arrived_.size(), 0);
  for (BucketProgress& bucket : bucket_progress_) bucket = {};
}
bool GradientTracker::expect_gradients(size_t i) {
  const size_t b = bucket_of_parameter_[i];
  TANDEM_CHECK(
      b >= next_bucket_, error_prefix_, ": ", parameter_names_[i],
      " got a gradient after its bucket was reduced, because it was frozen during the forward of this backward; "
      "change requires_grad before the forward");
  expected_[i] = true;
  bucket_progress_[b].in_use = true;
  const int coming = static_graph_counts_.empty() ? 1 : static_graph_counts_[i];
  bucket_progress_[b].num_pending += static_cast<size_t>(coming);
  return coming > 0;
}
void GradientTracker::count_gradient(size_t i) {
  const int most = !options_.static_graph ? 1 : static_graph_counts_.empty() ? INT_MAX : static_graph_counts_[i];
  ++num_arrived_[i];
  TANDEM_CHECK(num_arrived_[i] <= most || options_.static_graph, error_prefix_,
               ": Expected to mark a variable ready only once. ", parameter_names_[i],
               " got a second gradient in one backward; use no_sync() for all backwards but the last, or pass "
               "static_graph(true) if the graph is the same in every step");
  TANDEM_CHECK(num_arrived_[i] <= most, error_prefix_,
               ": Your training graph has changed in this iteration, which static_graph does not allow: ",
               parameter_names_[i], " got ", num_arrived_[i], " gradients in this backward, but ", most,
               " in the first; use each parameter equally often in every step, or leave out static_graph(true)");
  if (record_order_ && num_arrived_[i] == 1) gradient_order_.push_back(i);
  if (num_arrived_[i] == 1 || !static_graph_counts_.empty()) --bucket_progress_[bucket_of_parameter_[i]].num_pending;
}
std::optional<size_t> GradientTracker::take_next_full_bucket() {
  if (next_bucket_ == bucket_progress_.size() || bucket_progress_[next_bucket_].num_pending > 0) return {};
  return next_bucket_++;
}
std::optional<size_t> GradientTracker::take_next_bucket() {
  if (next_bucket_ == bucket_progress_.size()) return {};
  return next_bucket_++;
}
bool GradientTracker::all_gradients_arrived() const {
  return std::all_of(bucket_progress_.begin(), bucket_progress_.end(), [](auto& b) { return b.num_pending == 0; });
}
void GradientTracker::shadow_backward() {
  if (!static_graph_counts_.empty()) num_arrived_ = static_graph_counts_;
  for (size_t i = 0; i < expected_.size(); ++i) {
    if (!(*forward_->requires_grad)[i]) continue;
    expected_[i] = bucket_progress_[bucket_of_parameter_[i]].in_use = true;
    if (!allows_unused_parameters()) used_[i] = true;
  }
}
void GradientTracker::record_static_graph() {
  if (should_delay_launch()) static_graph_counts_ = num_arrived_;
}
std::vector<bool> GradientTracker::got_expected_gradients() const {
  std::vector<bool> got_expected(expected_.size());
  for (size_t i = 0; i < got_expected.size(); ++i) {
    if (!expected_[i] || (static_graph_counts_.empty() && !globally_used_.empty()))
      got_expected[i] = true;
    else if (globally_used_.empty())
      got_expected[i] = used_[i];
    // Expect the counts of the first backward. A rank without a batch in that backward knows only which parameters
    // other ranks used.
    else
      got_expected[i] = static_graph_counts_[i] == num_arrived_[i] && (num_arrived_[i] == 0 || globally_used_[i]);
  }
  return got_expected;
}
void GradientTracker::set_averaged_locally() {
  for (size_t i = 0; i < averaged_.size(); ++i)
    averaged_[i] = expected_[i] && (globally_used_.empty() ? used_ : globally_used_)[i];
}
void GradientTracker::set_averaged_globally(const std::optional<std::vector<bool>>& globally_used) {
  if (options_.static_graph && globally_used_.empty())
    globally_used_ = globally_used ? *globally_used : std::vector<bool>(used_.size(), true);
  for (size_t i = 0; globally_used && i < used_.size(); ++i) averaged_[i] = expected_[i] && (*globally_used)[i];
}
int64_t GradientTracker::num_unused_parameters() const {
  int64_t unused = 0;
  for (size_t i = 0; i < used_.size(); ++i) unused += expected_[i] && !used_[i];
  return unused;
}
void GradientTracker::finish_backward() {
  used_.assign(used_.size(), false);
  drop_backward();
  should_rebuild_buckets_ = std::exchange(record_order_, false) && bucket_progress_.size() > 1;
}

std::vector<size_t> GradientTracker::take_gradient_order() {
  should_rebuild_buckets_ = false;
  for (size_t i = parameter_names_.size(); i-- > 0;)
    if (!std::count(gradient_order_.begin(), gradient_order_.end(), i)) gradient_order_.push_back(i);
  return std::exchange(gradient_order_, {});
}
std::string GradientTracker::describe_unexpected() const {
  std::string out;
  for (size_t i = 0, end; i < expected_.size(); i = end + 1) {
    for (end = i; end < expected_.size() && !expected_[end];) ++end;
    if (end == i) continue;
    out.append(out.empty() ? ", without parameters " : ", ").append(std::to_string(i));
    if (end > i + 1) out.append("-").append(std::to_string(end - 1));
  }
  return out;
}

}  // namespace tandem::nn::parallel::detail
