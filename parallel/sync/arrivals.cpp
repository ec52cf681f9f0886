// Implements GradientTracker: counts the gradients that each bucket still lacks, and finds parameters without a
// gradient.
#include "tandem/parallel/sync/arrivals.h"

#include <algorithm>
#include <climits>

#include "tandem/core/error.h"

namespace tandem::nn::parallel::detail {

Arrivals::Arrivals(std::string owner, std::vector<std::string> names, ArrivalRules rules)
    : owner_(std::move(owner)), names_(std::move(names)), rules_(rules), order_wanted_(rules.wants_order) {
  const size_t n = names_.size();
  expected_.resize(n), came_.resize(n), used_.resize(n), averaged_.resize(n);
  forward_ = std::make_shared<Forward>(Forward{std::make_shared<const std::vector<bool>>(n, true)});
}
void Arrivals::set_buckets(const std::vector<size_t>& of_parameters, size_t buckets) {
  bucket_of_ = of_parameters;
  progress_.assign(buckets, {});
}

ForwardPtr Arrivals::begin(bool synchronize, double weight, std::vector<bool> learning, uint64_t first_node) {
  synchronize_ = synchronize;
  if (is_running()) forget();
  const auto& last = forward_->learning;
  forward_ = std::make_shared<Forward>(Forward{
      *last == learning ? last : std::make_shared<const std::vector<bool>>(std::move(learning)), weight, first_node});
  return forward_;
}
void Arrivals::forget() {
  running_ = false;
  weight_ = 0;
}
bool Arrivals::is_running() {
  if (running_ && under_way_.expired()) forget();
  return running_;
}

void Arrivals::start(const std::weak_ptr<const bool>& token) {
  running_ = true;
  under_way_ = token;
  next_ = 0;
  if (order_wanted_) order_.clear();  // drop what an earlier backward that threw has recorded
  expected_.assign(expected_.size(), false);
  came_.assign(came_.size(), 0);
  for (Progress& bucket : progress_) bucket = {};
}
bool Arrivals::expect(size_t i) {
  const size_t b = bucket_of_[i];
  TANDEM_CHECK(
      b >= next_, owner_, ": ", names_[i],
      " got a gradient after its bucket was reduced, because it was frozen during the forward of this backward");
  expected_[i] = true;
  progress_[b].in_use = true;
  const int coming = usual_.empty() ? 1 : usual_[i];
  progress_[b].pending += static_cast<size_t>(coming);
  return coming > 0;
}
void Arrivals::count(size_t i) {
  const int most = !rules_.static_graph ? 1 : usual_.empty() ? INT_MAX : usual_[i];
  ++came_[i];
  TANDEM_CHECK(came_[i] <= most || rules_.static_graph, owner_, ": Expected to mark a variable ready only once. ",
               names_[i],
               " got a second gradient in one backward; use no_sync() for all backwards but the last, or pass "
               "static_graph(true) if the graph is the same in every step");
  TANDEM_CHECK(came_[i] <= most, owner_,
               ": Your training graph has changed in this iteration, which static_graph does not allow: ", names_[i],
               " got ", came_[i], " gradients in this backward, but ", most, " in the first");
  if (order_wanted_ && came_[i] == 1) order_.push_back(i);
  if (came_[i] == 1 || !usual_.empty()) --progress_[bucket_of_[i]].pending;
}
std::optional<size_t> Arrivals::next_full() {
  if (next_ == progress_.size() || progress_[next_].pending > 0) return {};
  return next_++;
}
std::optional<size_t> Arrivals::next() {
  if (next_ == progress_.size()) return {};
  return next_++;
}
bool Arrivals::all_came() const {
  return std::all_of(progress_.begin(), progress_.end(), [](auto& b) { return b.pending == 0; });
}
void Arrivals::shadow() {
  if (!usual_.empty()) came_ = usual_;
  for (size_t i = 0; i < expected_.size(); ++i) {
    if (!(*forward_->learning)[i]) continue;
    expected_[i] = progress_[bucket_of_[i]].in_use = true;
    if (!allows_unused()) used_[i] = true;
  }
}
void Arrivals::learn_graph() {
  if (holds_back()) usual_ = came_;
}
std::vector<bool> Arrivals::as_expected() const {
  std::vector<bool> fine(expected_.size());
  for (size_t i = 0; i < fine.size(); ++i) {
    if (!expected_[i] || (usual_.empty() && !used_anywhere_.empty()))
      fine[i] = true;
    else if (used_anywhere_.empty())
      fine[i] = used_[i];
    // Expect the counts of the first backward. A rank without a batch in that backward knows only which parameters
    // other ranks used.
    else
      fine[i] = usual_[i] == came_[i] && (came_[i] == 0 || used_anywhere_[i]);
  }
  return fine;
}
void Arrivals::guess_averaged() {
  for (size_t i = 0; i < averaged_.size(); ++i)
    averaged_[i] = expected_[i] && (used_anywhere_.empty() ? used_ : used_anywhere_)[i];
}
void Arrivals::agree(const std::optional<std::vector<bool>>& used_anywhere) {
  if (rules_.static_graph && used_anywhere_.empty())
    used_anywhere_ = used_anywhere ? *used_anywhere : std::vector<bool>(used_.size(), true);
  for (size_t i = 0; used_anywhere && i < used_.size(); ++i) averaged_[i] = expected_[i] && (*used_anywhere)[i];
}
int64_t Arrivals::unused() const {
  int64_t unused = 0;
  for (size_t i = 0; i < used_.size(); ++i) unused += expected_[i] && !used_[i];
  return unused;
}
void Arrivals::finish() {
  used_.assign(used_.size(), false);
  forget();
  order_due_ = std::exchange(order_wanted_, false) && progress_.size() > 1;
}

std::vector<size_t> Arrivals::take_order() {
  order_due_ = false;
  for (size_t i = names_.size(); i-- > 0;)
    if (!std::count(order_.begin(), order_.end(), i)) order_.push_back(i);
  return std::exchange(order_, {});
}
std::string Arrivals::without() const {
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
