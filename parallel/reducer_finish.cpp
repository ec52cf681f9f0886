// The end of a backward: what is left is launched, all is waited for, and the gradients are handed back.
#include <algorithm>
#include <cmath>

#include "tandem/autograd/engine.h"
#include "tandem/core/trace/tracer.h"
#include "tandem/ops/ops.h"
#include "tandem/ops/shape/copy.h"
#include "tandem/parallel/reducer.h"

namespace tandem::nn::parallel {

void Reducer::finish() {
  const NoGradGuard guard;
  const PhaseSpan phase("reduce");
  const std::lock_guard lock(mutex_);
  const bool all_arrived = std::all_of(progress_.begin(), progress_.end(), [](auto& b) { return b.pending == 0; });
  // Some gradients may not come. The others wait for their buckets all the same, and must hear of it.
  for (size_t i = 0; !all_arrived && i < parameters_.size(); ++i)
    if (arrivals_[i] == 0 && expected_[i]) fill(i);
  if (options_.static_graph && known_arrivals_.empty()) known_arrivals_ = arrivals_;
  const std::vector<bool> fine = as_expected();
  launch_rest(std::all_of(fine.begin(), fine.end(), [](bool each) { return each; }));
  complete(all_arrived);
}
void Reducer::launch_rest(bool all_used) {
  if (!unit_known_) agree_on_unit();
  while (next_ < progress_.size()) launch(next_++, all_used);
}
/// Of the first backward, before anything is launched.
void Reducer::agree_on_unit() {
  const Tensor weight = full({1}, weight_, TensorOptions(kFloat64).device(group_->device()));
  group_->all_reduce(weight, distributed::ReduceOp::AVG, name_ + ": the ranks' first weights")->synchronize();
  const double mean = weight.item<double>();
  if (mean > 0) unit_ = std::exp2(std::round(std::log2(mean))), unit_known_ = true;
}
void Reducer::shadow_backward() {
  const ForwardPtr forward = begin(/*synchronize=*/true, /*weight=*/0);
  if (parameters_.empty()) return;
  const NoGradGuard guard;
  const PhaseSpan phase("reduce");
  const std::lock_guard lock(mutex_);
  start();
  const bool complains = allows_unused();  // so that the ranks look at who uses what
  if (!known_arrivals_.empty()) arrivals_ = known_arrivals_;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!(*forward->learning)[i]) continue;
    expected_[i] = progress_[buckets_.of(i)].in_use = true;
    if (!complains) used_[i] = true;
    fill(i);
  }
  if (weight_ == 0)
    for (size_t b = 0; b < progress_.size(); ++b) buckets_.gradients(b).zero_();
  launch_rest(/*all_used=*/!complains);
  complete(/*all_arrived=*/false);
}
void Reducer::complete(bool all_arrived) {
  for (size_t i = 0; i < averaged_.size(); ++i)
    averaged_[i] = expected_[i] && (used_anywhere_.empty() ? used_ : used_anywhere_)[i];
  const bool in_order =
      after_bucket_ && all_arrived && !options_.weighted && divisor_ == group_->size() && !allows_unused();
  wait_for_all(in_order);
  rescale();
  times_.overlapped = all_arrived && first_launch_ < last_gradient_;
  for (size_t i = 0; i < used_.size(); ++i) times_.unused += expected_[i] && !used_[i];
  check_used();
  for (size_t b = 0; b < progress_.size() && !in_order; ++b) hand_back(b);
  untouched_.clear();
  if (after_bucket_) after_bucket_(progress_.size());
  times_.backward = std::chrono::duration<double>(std::chrono::steady_clock::now() - backward_start_).count();
  ++iterations_;
  used_.assign(used_.size(), false);
  forget_backward();
  order_due_ = std::exchange(order_wanted_, false) && progress_.size() > 1;
}
/// What is averaged of a parameter that gets no gradient: the one that it has.
void Reducer::fill(size_t i) {
  if (is_alone_) return;
  const Tensor& grad = parameters_[i].grad();
  if (!grad.defined()) {
    Tensor(buckets_.slot(i)).zero_();
    return;
  }
  if ((options_.find_unused_parameters || options_.static_graph) && options_.gradient_as_bucket_view && !used_[i])
    untouched_[i] = grad.clone();
  to_slot(i);
}
/// From the bucket to where the gradients are.
void Reducer::hand_back(size_t b) {
  if (is_alone_) return;
  for (const size_t i : buckets_.plan()[b]) {
    Tensor slot = buckets_.slot(i);
    if (!averaged_[i]) {
      if (const auto kept = untouched_.find(i); kept != untouched_.end()) slot.copy_(kept->second);
      continue;
    }
    if (Tensor grad = parameters_[i].grad(); !grad.defined())
      parameters_[i].set_grad(options_.gradient_as_bucket_view ? slot : slot.clone());
    else if (!options_.gradient_as_bucket_view)
      grad.copy_(slot);
  }
}

/// @param in_order  whether a bucket that is there is handed back at once
void Reducer::wait_for_all(bool in_order) {
  const Device device = all_used_.device();
  if (device.is_cuda()) wait_begin_.record(cuda::current_stream(device));
  for (size_t b = 0; b < progress_.size(); ++b) {
    wait_for(b);
    if (!in_order) continue;
    hand_back(b);
    after_bucket_(b);
  }
  if (device.is_cuda()) wait_end_.record(cuda::current_stream(device));
}
/// For the last one, and what is averaged beside it.
void Reducer::wait_for(size_t b) {
  const PhaseSpan phase("exposed communication");
  const auto start = std::chrono::steady_clock::now();
  if (progress_[b].future) {
    const Tensor result = progress_[b].future->wait();
    if (hook_) take_result(b, result);
    if (progress_[b].future->work()) done_.push_back(progress_[b].future->work());
  }
  if (b + 1 == progress_.size() && status_work_) {
    status_work_->wait();
    done_.push_back(std::exchange(status_work_, nullptr));
  }
  times_.exposed += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
void Reducer::take_result(size_t b, const Tensor& result) {
  Tensor gradients = buckets_.gradients(b);
  const std::string wanted = "; accepted: " + std::to_string(gradients.numel()) +
                             " elements of a floating-point dtype on " + gradients.device().str() +
                             ", as many as the bucket has";
  TANDEM_CHECK(result.defined(), "DistributedDataParallel: the hook of bucket ", b, " gave an undefined tensor",
               wanted);
  TANDEM_CHECK(
      result.numel() == gradients.numel() && result.is_floating_point() && result.device() == gradients.device(),
      "DistributedDataParallel: the hook of bucket ", b, " gave ", result.dtype(), result.sizes(), " on ",
      result.device(), wanted);
  if (result.raw_data() != gradients.raw_data()) gradients.copy_(result.reshape({-1}));
}
/// From the mean over all ranks to that over what counts.
void Reducer::rescale() {
  double factor = static_cast<double>(group_->size()) / divisor_;
  Tensor factor_there;  // of weights on a GPU, for which the host does not wait
  if (options_.weighted && rank_weight_.is_cuda()) {
    factor_there = unit_ / rank_weight_.clamp_min(1e-30);
  } else if (options_.weighted) {
    const double mean = rank_weight_.item<double>();
    factor = mean > 0 ? unit_ / mean : 0;
  }
  if (factor == 1 && !factor_there.defined()) return;
  for (size_t b = 0; b < progress_.size(); ++b) {
    if (!progress_[b].future) continue;
    Tensor gradients = buckets_.gradients(b);
    if (!factor_there.defined())
      gradients.mul_(factor);
    else if (gradients.dtype() == factor_there.dtype())
      gradients.mul_(factor_there);
    else
      gradients.copy_(gradients.to(factor_there.dtype()).mul_(factor_there));
  }
}
ReduceTimes Reducer::last_times() const {
  ReduceTimes times = times_;
  for (const distributed::WorkPtr& work : done_) times.communication += work->seconds();
  if (!done_.empty() && all_used_.is_cuda()) {
    wait_end_.synchronize();
    times.exposed = wait_begin_.elapsed_time(wait_end_) / 1e3;
  }
  return times;
}

std::vector<int64_t> Reducer::bucket_sizes() const {
  std::vector<int64_t> sizes;
  for (const std::vector<size_t>& bucket : buckets_.plan()) {
    sizes.push_back(0);
    for (const size_t i : bucket) sizes.back() += parameters_[i].nbytes();
  }
  return sizes;
}

// Note [Unused parameters on a GPU]: whether every rank used every parameter is a number on the device, which the host
// could only wait for, every step. Instead it is copied while the GPU goes on and looked at in the end of the next
// backward, by all ranks alike: the error comes one step late. With find_unused_parameters, where gradients depend on
// it, the host does wait.
void Reducer::check_used() {
  std::vector<bool> used = as_expected();
  const bool first = options_.static_graph && used_anywhere_.empty();
  if (all_used_.is_cpu() || allows_unused()) {
    const bool all = !is_short(all_used_);
    const std::vector<bool> anywhere = all ? std::vector<bool>(used.size(), true) : used_on_any_rank(used);
    if (first) used_anywhere_ = anywhere;
    for (size_t i = 0; !all && i < used.size(); ++i) averaged_[i] = expected_[i] && anywhere[i];
    return;
  }
  if (std::exchange(used_under_way_, false)) {
    used_known_.synchronize();
    if (is_short(last_all_used_)) used_on_any_rank(last_used_);
  }
  copy_elements(all_used_, all_used_here_, /*non_blocking=*/true);
  last_all_used_ = all_used_here_;
  used_under_way_ = true;
  used_known_.record(cuda::current_stream(all_used_.device()));
  last_used_ = std::move(used);
}
/// By parameter: whether it got what a backward is expected to bring.
std::vector<bool> Reducer::as_expected() const {
  std::vector<bool> fine(parameters_.size());
  for (size_t i = 0; i < fine.size(); ++i) {
    if (!expected_[i] || (known_arrivals_.empty() && !used_anywhere_.empty()))
      fine[i] = true;
    else if (used_anywhere_.empty())
      fine[i] = used_[i];
    else  // a rank that had no backward of its own before knows what the others used
      fine[i] = known_arrivals_[i] == arrivals_[i] && (arrivals_[i] == 0 || used_anywhere_[i]);
  }
  return fine;
}
/// 1 everywhere averages to 1 within rounding; a single 0 takes away 1 / size.
bool Reducer::is_short(const Tensor& used) const { return used.item<double>() < 1 - 0.5 / group_->size(); }

/// @throws Error naming the parameters that some rank did not use, unless that is allowed
std::vector<bool> Reducer::used_on_any_rank(const std::vector<bool>& used) const {
  const auto n = static_cast<int64_t>(names_.size());
  const Device device = group_->device();
  Tensor mine = zeros({n}, kBool);
  for (size_t i = 0; i < names_.size(); ++i) mine.data_ptr<bool>()[i] = used[i];
  std::vector<Tensor> all;
  all.reserve(static_cast<size_t>(group_->size()));
  for (int r = 0; r < group_->size(); ++r) all.push_back(empty({n}, TensorOptions(kBool).device(device)));
  group_->all_gather(all, mine.to(device), name_ + ": which parameters got a gradient")->synchronize();
  for (Tensor& flags : all) flags = flags.cpu();
  std::string unused;
  std::vector<bool> anywhere(names_.size());
  for (size_t i = 0; i < names_.size(); ++i) {
    std::string ranks;
    for (size_t r = 0; r < all.size(); ++r) {
      if (all[r].data_ptr<bool>()[i])
        anywhere[i] = true;
      else
        ranks += (ranks.empty() ? "" : ", ") + std::to_string(r);
    }
    if (!ranks.empty()) unused += (unused.empty() ? "" : "; ") + names_[i] + " on rank " + ranks;
  }
  if (unused.empty() || allows_unused()) return anywhere;
  const char* const late = all_used_.is_cuda() ? " in the backward before" : "";
  TANDEM_CHECK(!options_.static_graph,
               "DistributedDataParallel: under static_graph these parameters got other gradients", late,
               " than in the first backward: ", unused, "; the graph must be the same in each step");
  TANDEM_FAIL("DistributedDataParallel: these parameters got no gradient", late, ": ", unused,
              "; use them in the loss on every rank, or pass find_unused_parameters(true)");
}

}  // namespace tandem::nn::parallel
