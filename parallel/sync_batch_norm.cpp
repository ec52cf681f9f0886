// Implements SyncBatchNorm: gathers the statistics of all ranks in forward, and all-reduces the sums of backward.
#include "tandem/parallel/sync_batch_norm.h"

#include "tandem/ops/nn/batch_norm.h"
#include "tandem/ops/ops.h"

namespace tandem::nn {
namespace {

using distributed::ProcessGroupPtr;

/// Combines the batch statistics of all ranks of a group.
class ProcessGroupStatsReducer final : public tandem::detail::BatchStatsReducer {
 public:
  explicit ProcessGroupStatsReducer(ProcessGroupPtr group) : group_(std::move(group)) {}

  bool is_single_rank() const override {
    const ProcessGroupPtr group = current_group();
    return !group || group->size() == 1;
  }
  int64_t combine_stats(Tensor& mean, Tensor& var, int64_t count) const override {
    const ProcessGroupPtr group = current_group();
    const int64_t ranks = group->size(), channels = mean.numel();
    // Use float64, because float32 cannot represent every count of elements.
    const TensorOptions options = TensorOptions(kFloat64).device(mean.device());
    const Tensor mine = cat({mean.to(kFloat64), var.to(kFloat64), full({1}, static_cast<double>(count), options)});
    const Tensor all = empty({ranks, 2 * channels + 1}, options);
    group->all_gather_into_tensor(all, mine.view({1, -1}), "SyncBatchNorm's forward")->wait();
    const Tensor counts = all.narrow(1, 2 * channels, 1), total = counts.sum();
    const Tensor means = all.narrow(1, 0, channels), vars = all.narrow(1, channels, channels);
    // share of each rank in the joined batch; clamped, because that batch may be empty
    const Tensor shares = counts / total.clamp_min(1);
    const Tensor whole = (means * shares).sum({0});
    mean.copy_(whole);
    var.copy_(((vars + (means - whole).square()) * shares).sum({0}));
    return static_cast<int64_t>(total.item<double>());
  }
  void all_reduce_sums(const Tensor& sums) const override {
    current_group()->all_reduce(sums, distributed::ReduceOp::SUM, "SyncBatchNorm's backward")->wait();
  }

 private:
  ProcessGroupPtr current_group() const {
    if (group_ || !distributed::is_initialized()) return group_;
    return distributed::default_group();
  }
  const ProcessGroupPtr group_;
};

}  // namespace

template class Cloneable<SyncBatchNormImpl>;

SyncBatchNormImpl::SyncBatchNormImpl(const BatchNormOptions& o, ProcessGroupPtr group) : NormImplBase(o) {
  stats_reducer = std::make_shared<ProcessGroupStatsReducer>(std::move(group));
}
Tensor SyncBatchNormImpl::forward(const Tensor& x) {
  TANDEM_CHECK(x.dim() >= 2, name(), ": expected at least 2D input (got ", x.dim(), "D input)");
  return tandem::detail::normalize_batch(*this, *this, options, static_cast<size_t>(x.dim()) - 2, x);
}

void convert_sync_batchnorm(Module& module, const ProcessGroupPtr& group) {
  const auto stats_reducer = std::make_shared<ProcessGroupStatsReducer>(group);
  module.apply([&](Module& each) {
    if (each.as<BatchNorm1d>() || each.as<BatchNorm2d>() || each.as<BatchNorm3d>())
      dynamic_cast<tandem::detail::NormTensors&>(each).stats_reducer = stats_reducer;
  });
}

}  // namespace tandem::nn
