// Implements StatusExchange: ranks exchange their weights and whether each of them used every parameter.
#include "tandem/parallel/sync/status_exchange.h"

#include <cmath>
#include <cstdio>

#include "tandem/core/internal.h"
#include "tandem/ops/ops.h"
#include "tandem/ops/shape/copy.h"

namespace tandem::nn::parallel::detail {

bool can_detect_single_unused_rank(DType dtype, int ranks) {
  const int digits = dtype == kBFloat16 ? 8 : dtype == kFloat16 ? 11 : dtype == kFloat32 ? 24 : 53;
  return 2.0 * ranks * ranks < std::exp2(digits);
}

StatusExchange::StatusExchange(std::string error_prefix, std::string name, distributed::ProcessGroupPtr group,
                               bool weighted, bool static_graph)
    : error_prefix_(std::move(error_prefix)),
      ddp_name_(std::move(name)),
      group_(std::move(group)),
      is_weighted_(weighted),
      static_graph_(static_graph),
      has_weight_scale_(!weighted) {}
StatusExchange::~StatusExchange() {
  if (!status_copy_pending_) return;
  try {
    status_copied_.synchronize();
    if (has_unused_on_any_rank(last_all_used_))
      std::fprintf(stderr, "%s: on some rank, parameters got no gradient in the last backward\n",
                   error_prefix_.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", error_prefix_.c_str(), error.what());
  }
}

/// Returns the dtype of a status outside the buckets, which is also the narrowest dtype that may hold weights.
static DType status_dtype(bool any_float64, int ranks) {
  return any_float64 || !can_detect_single_unused_rank(kFloat32, ranks) ? kFloat64 : kFloat32;
}
int64_t StatusExchange::num_status_elements(DType bucket, bool any_float64, const Transport& transport) const {
  const int ranks = group_->size();
  const bool in_bucket = transport.reduces_status() && can_detect_single_unused_rank(bucket, ranks) &&
                         (!is_weighted_ || bucket == status_dtype(any_float64, ranks));
  return in_bucket ? 1 + is_weighted_ : 0;
}
void StatusExchange::allocate_status(const Tensor& in_bucket, bool any_float64, Device device) {
  const TensorOptions options = TensorOptions(status_dtype(any_float64, group_->size())).device(device);
  separate_status_ = in_bucket.defined() ? Tensor() : zeros({1 + is_weighted_}, options);
  const Tensor& status = in_bucket.defined() ? in_bucket : separate_status_;
  all_used_ = status.narrow(0, 0, 1);
  if (is_weighted_) rank_weight_ = status.narrow(0, 1, 1);
  // Allocate page-locked memory before the first collective, because the driver may wait for the GPU. Keep it when
  // buckets are rebuilt, because the copy that the last backward made may not have been evaluated yet.
  if (all_used_.is_cuda() && (!host_all_used_.defined() || host_all_used_.dtype() != all_used_.dtype()))
    host_all_used_ = core::empty_pinned({1}, all_used_.dtype());
}

void StatusExchange::all_reduce_weight_scale(double weight) {
  const Tensor mean = full({1}, weight, TensorOptions(kFloat64).device(group_->device()));
  group_->all_reduce(mean, distributed::ReduceOp::AVG, ddp_name_ + ": the ranks' first weights")->synchronize();
  if (const double m = mean.item<double>(); m > 0)
    weight_scale_ = std::exp2(std::round(std::log2(m))), has_weight_scale_ = true;
}
void StatusExchange::add_forward_weight(Tensor gradients, double weight) const {
  if (weight == 0)
    gradients.zero_();  // a rank without examples has NaN as mean loss and as gradients
  else if (weight != weight_scale_)
    gradients.mul_(weight / weight_scale_);
}
void StatusExchange::set_status(bool all_used, double weight) {
  all_used_.fill_(all_used);
  if (is_weighted_) rank_weight_.fill_(weight);
}
distributed::WorkPtr StatusExchange::start_all_reduce() {
  if (!separate_status_.defined()) return nullptr;
  return group_->all_reduce(separate_status_, distributed::ReduceOp::AVG,
                            ddp_name_ + ": whether all parameters were used");
}
void StatusExchange::rescale_buckets(const Transport& sent, const Buckets& buckets, int divisor) const {
  double factor = static_cast<double>(group_->size()) / divisor;
  Tensor device_factor;  // the factor as a tensor, used for weights on a GPU, so that the host need not wait for it
  if (is_weighted_ && rank_weight_.is_cuda()) {
    device_factor = weight_scale_ / rank_weight_.clamp_min(1e-30);
  } else if (is_weighted_) {
    const double mean = rank_weight_.item<double>();
    factor = mean > 0 ? weight_scale_ / mean : 0;
  }
  if (factor == 1 && !device_factor.defined()) return;
  for (size_t b = 0; b < buckets.size(); ++b) {
    if (!sent.is_sent(b)) continue;
    Tensor gradients = buckets.gradients(b);
    if (!device_factor.defined())
      gradients.mul_(factor);
    else if (gradients.dtype() == device_factor.dtype())
      gradients.mul_(device_factor);
    else
      gradients.copy_(gradients.to(device_factor.dtype()).mul_(device_factor));
  }
}

// Note [Unused parameters on a GPU]: the averaged status is on the GPU, and reading it would make the host wait in
// every step. Instead it is copied to the host asynchronously, and all ranks evaluate it at the end of the next
// backward, so the error comes one step late. With find_unused_parameters, gradients depend on the status, and the host
// does wait.
std::optional<std::vector<bool>> StatusExchange::globally_used(std::vector<bool> got_expected,
                                                               bool allows_unused_parameters,
                                                               const std::vector<std::string>& names) {
  if (all_used_.is_cpu() || allows_unused_parameters) {
    if (!has_unused_on_any_rank(all_used_)) return {};
    return gather_globally_used(got_expected, allows_unused_parameters, names);
  }
  if (std::exchange(status_copy_pending_, false)) {
    status_copied_.synchronize();
    if (has_unused_on_any_rank(last_all_used_))
      gather_globally_used(last_got_expected_, allows_unused_parameters, names);
  }
  copy_elements(all_used_, host_all_used_, /*non_blocking=*/true);
  last_all_used_ = host_all_used_;
  status_copy_pending_ = true;
  status_copied_.record(cuda::current_stream(all_used_.device()));
  last_got_expected_ = std::move(got_expected);
  return {};
}
/// Returns whether all_used was 0 on some rank before it was averaged. The average is 1, within rounding, if it was 1
/// on all ranks; each 0 lowers the average by 1 / (number of ranks).
bool StatusExchange::has_unused_on_any_rank(const Tensor& all_used) const {
  return all_used.item<double>() < 1 - 0.5 / group_->size();
}

std::vector<bool> StatusExchange::gather_globally_used(const std::vector<bool>& got_expected,
                                                       bool allows_unused_parameters,
                                                       const std::vector<std::string>& names) const {
  const auto n = static_cast<int64_t>(names.size());
  const Device device = group_->device();
  Tensor mine = zeros({n}, kBool);
  for (size_t i = 0; i < names.size(); ++i) mine.data_ptr<bool>()[i] = got_expected[i];
  std::vector<Tensor> all;
  all.reserve(static_cast<size_t>(group_->size()));
  for (int r = 0; r < group_->size(); ++r) all.push_back(empty({n}, TensorOptions(kBool).device(device)));
  group_->all_gather(all, mine.to(device), ddp_name_ + ": which parameters got a gradient")->synchronize();
  for (Tensor& flags : all) flags = flags.cpu();
  std::string unused;
  std::vector<bool> anywhere(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    std::string ranks;
    for (size_t r = 0; r < all.size(); ++r) {
      if (all[r].data_ptr<bool>()[i])
        anywhere[i] = true;
      else
        ranks += (ranks.empty() ? "" : ", ") + std::to_string(r);
    }
    if (!ranks.empty()) unused += (unused.empty() ? "" : "; ") + names[i] + " on rank " + ranks;
  }
  if (unused.empty() || allows_unused_parameters) return anywhere;
  const char* const when = all_used_.is_cuda() ? " in the previous backward" : "";
  TANDEM_CHECK(
      !static_graph_, error_prefix_,
      ": Your training graph has changed in this iteration, which static_graph does not allow: these parameters "
      "got fewer or more gradients",
      when, " than in the first backward: ", unused,
      "; use each parameter equally often in every step, or leave out static_graph(true)");
  TANDEM_FAIL(error_prefix_, ": your module has parameters that were not used in producing loss, and got no gradient",
              when, ": ", unused, "; use them in the loss on every rank, or pass find_unused_parameters(true)");
}

}  // namespace tandem::nn::parallel::detail
