// Implements the strategies dp, dp_loss and ddp.
#include <algorithm>
#include <map>
#include <mutex>

#include "tandem/core/internal.h"
#include "tandem/ops/ops.h"
#include "tandem/parallel/data_parallel.h"
#include "tandem/parallel/distributed_data_parallel.h"
#include "tandem/train/strategy.h"

namespace tandem::train {
namespace {

detail::AnyTrainingModule& hooks_of(nn::Module& module) { return dynamic_cast<detail::AnyTrainingModule&>(module); }

/// DataParallel. With dp, outputs are gathered on the first device, which computes the loss; with dp_loss, each replica
/// computes the loss of its shard.
class DataParallelStrategy final : public Strategy {
 public:
  DataParallelStrategy(detail::Trainable module, std::vector<Device> devices, bool loss_in_replicas)
      : Strategy(std::move(module), std::move(devices)),
        loss_in_replicas_(loss_in_replicas),
        dp_(
            module_.module,
            [original = module_.module](Device device) { return nn::parallel::clone_to_device(*original, device); },
            devices_) {
    TANDEM_CHECK(loss_in_replicas || !module_.hooks->has_own_training_step(), "Trainer: the strategy is dp, but ",
                 module_.module->name(),
                 " has a training_step() of its own, which computes outputs and loss at once; "
                 "accepted: dp_loss, or a class with forward() and loss()");
  }

  BatchResult train_batch(MicroBatch& micro_batch, const StepSettings& settings) override {
    std::map<const nn::Module*, std::vector<detail::LoggedValue>> logged;
    detail::BatchLoss loss = with_autocast(settings, [&] {
      return loss_in_replicas_ ? loss_of_replicas(micro_batch, logged) : loss_of_outputs(micro_batch);
    });
    backward(loss, 1, settings);
    BatchResult result{std::move(loss), module_.hooks->take_logged()};
    for (const auto& replica : dp_.replicas())
      for (detail::LoggedValue& value : logged[replica.get()]) result.logged.push_back(std::move(value));
    return result;
  }

 private:
  detail::BatchLoss loss_of_replicas(const MicroBatch& micro_batch,
                                     std::map<const nn::Module*, std::vector<detail::LoggedValue>>& logged) {
    const std::vector<double> weights = shard_weights(*micro_batch.batch);
    std::mutex mutex;
    bool are_means = true;
    const auto part = [&](nn::Module& replica, const detail::AnyTree& shard) -> nn::parallel::LossPart {
      detail::AnyTrainingModule& hooks = hooks_of(replica);
      const auto r = std::find_if(dp_.replicas().begin(), dp_.replicas().end(),
                                  [&replica](const auto& each) { return each.get() == &replica; });
      const double weight = weights.at(static_cast<size_t>(r - dp_.replicas().begin()));
      const detail::BatchLoss loss = hooks.training_loss(shard, weight);
      const std::lock_guard lock(mutex);
      logged[&replica] = hooks.take_logged();
      are_means = loss.is_mean;
      // The mean of the batch is the sum of the shards' means, each times its part of the weight.
      return {loss.is_mean && micro_batch.weight > 0 ? loss.value * (weight / micro_batch.weight) : loss.value,
              Tensor()};
    };
    const std::vector<nn::parallel::LossPart> parts = dp_.apply_to_shards(part, *micro_batch.batch);
    return {nn::parallel::total_loss(parts, devices_[0]), micro_batch.weight, are_means};
  }
  /// Returns the weight of each shard, computed where the batch is: the host would have to wait for a shard on a GPU.
  std::vector<double> shard_weights(const detail::AnyTree& batch) const {
    std::vector<double> weights;
    int64_t begin = 0;
    for (const int64_t rows : nn::parallel::shard_sizes(batch.rows(), devices_.size())) {
      detail::AnyTree shard = batch;
      shard.visit([&](Tensor& t) {
        if (t.defined() && t.dim() > 0) t = t.narrow(0, begin, rows);
      });
      weights.push_back(module_.hooks->weight_of(shard));
      begin += rows;
    }
    return weights;
  }
  detail::BatchLoss loss_of_outputs(MicroBatch& micro_batch) {
    const auto forward = [](nn::Module& replica, const detail::AnyTree& shard) {
      return hooks_of(replica).forward_any(shard);
    };
    const std::vector<detail::AnyTree> outputs = dp_.apply_to_shards(forward, *micro_batch.batch);
    std::vector<std::vector<Tensor>> shards;
    shards.reserve(outputs.size());
    for (const detail::AnyTree& output : outputs) shards.push_back(collect_tree_tensors(output));
    const detail::AnyTree output = replace_tensors(outputs[0], nn::parallel::gather_batch(shards, devices_[0], 0));
    micro_batch.batch->move_to(devices_[0]);
    return module_.hooks->loss_of_output(output, *micro_batch.batch, micro_batch.weight);
  }

  bool loss_in_replicas_;
  nn::parallel::DataParallel<nn::Module> dp_;
};

/// DistributedDataParallel whose forward is a module's training step.
class TrainingStepDdp final : public nn::parallel::DistributedDataParallelBase {
 public:
  TrainingStepDdp(const detail::Trainable& module, const nn::parallel::DistributedDataParallelOptions& options)
      : DistributedDataParallelBase(module.module, options), training_module_(module) {}
  detail::BatchLoss training_loss(const MicroBatch& micro_batch) {
    const nn::parallel::ForwardStatePtr forward = pre_forward(micro_batch.batch->rows());
    const GeneratorGuard guard(generator());
    detail::BatchLoss loss = training_module_.hooks->training_loss(*micro_batch.batch, micro_batch.weight);
    post_forward(forward, {loss.value});
    return loss;
  }
  /// Joins a step as a rank without a batch. Returns the sum of all parameters. Its backward with a zero gradient
  /// gives each parameter a zero gradient, even if a parameter is NaN.
  Tensor sum_of_parameters() {
    const nn::parallel::ForwardStatePtr forward = pre_forward(0);
    Tensor sum;
    for (const Tensor& p : training_module_.module->parameters())
      if (p.requires_grad()) sum = sum.defined() ? sum + p.sum() : p.sum();
    post_forward(forward, {sum});
    return sum;
  }
  /// Copies the buffers of rank 0 to this rank, if they may differ, as the next forward would.
  void sync_buffers_now() {
    const NoGradGuard guard;
    pre_forward(0);
  }

 private:
  detail::Trainable training_module_;
};

class DdpStrategy final : public Strategy {
 public:
  DdpStrategy(detail::Trainable module, std::vector<Device> devices, bool find_unused_parameters)
      : Strategy(std::move(module), std::move(devices)),
        group_(distributed::default_group()),
        ddp_(module_, nn::parallel::DistributedDataParallelOptions().find_unused_parameters(find_unused_parameters)) {}
  int rank() const override { return group_->rank(); }
  int world_size() const override { return group_->size(); }

  void add_weights(double weight, StepSettings& settings) override {
    const Tensor total = full({}, weight, TensorOptions(kFloat64).device(devices_[0]));
    group_->all_reduce(total, distributed::ReduceOp::SUM, "Trainer: weight of the step")->wait();
    if (total.is_cuda())
      settings.total_on_device = total;  // to read it would wait for the previous step
    else
      settings.total_weight = total.item<double>();
  }
  BatchResult train_batch(MicroBatch& micro_batch, const StepSettings& settings) override {
    if (!micro_batch.batch && !settings.is_last) return {};
    std::optional<nn::parallel::DistributedDataParallelBase::NoSync> no_sync;
    if (!settings.is_last) no_sync.emplace(ddp_);
    if (!micro_batch.batch) {
      detail::BatchLoss none{ddp_.sum_of_parameters()};
      backward(none, 0, settings);
      return {};
    }
    micro_batch.batch->move_to(devices_[0]);
    detail::BatchLoss loss = with_autocast(settings, [&] { return ddp_.training_loss(micro_batch); });
    // DDP averages over ranks, so the sum over ranks is the average times the number of ranks.
    backward(loss, world_size(), settings);
    return {std::move(loss), module_.hooks->take_logged()};
  }
  void begin_evaluation() override { ddp_.sync_buffers_now(); }
  double sum_over_ranks(double value) override {
    const Tensor sum = full({}, value, TensorOptions(kFloat64).device(group_->device()));
    group_->all_reduce(sum, distributed::ReduceOp::SUM, "Trainer: sum over ranks")->wait();
    return sum.item<double>();
  }
  void add_up_over_ranks(const Tensor& values) override {
    group_->all_reduce(values, distributed::ReduceOp::SUM, "Trainer: tensor over ranks")->wait();
  }
  std::vector<std::string> gather(const std::string& bytes) override {
    return distributed::all_gather_bytes(bytes, group_);
  }
  void abort(const std::string& reason) override { group_->abort(reason); }

 private:
  distributed::ProcessGroupPtr group_;
  TrainingStepDdp ddp_;
};

}  // namespace

std::unique_ptr<Strategy> make_strategy(StrategyKind kind, detail::Trainable module, std::vector<Device> devices,
                                        bool find_unused_parameters) {
  switch (kind) {
    case StrategyKind::single: return std::make_unique<Strategy>(std::move(module), std::move(devices));
    case StrategyKind::dp:
    case StrategyKind::dp_loss:
      return std::make_unique<DataParallelStrategy>(std::move(module), std::move(devices),
                                                    kind == StrategyKind::dp_loss);
    case StrategyKind::ddp: break;
  }
  return std::make_unique<DdpStrategy>(std::move(module), std::move(devices), find_unused_parameters);
}

}  // namespace tandem::train
