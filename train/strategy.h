// Strategy: the devices of the parameters, the computation of a batch, and the exchange between ranks. Internal.
#pragma once
#include "tandem/parallel/amp/grad_scaler.h"
#include "tandem/parallel/collectives/distributed.h"
#include "tandem/train/training_module.h"

namespace tandem::train {

/// This rank's part of a batch.
struct MicroBatch {
  std::optional<detail::AnyTree> batch;  // nullopt if the batch has no part for this rank
  double weight = 0;                     // number of losses
};

/// Settings of the batches whose gradients make one step of the optimizer.
struct StepSettings {
  double total_weight = 1;      // number of losses of all batches of the step, over all ranks
  Tensor total_on_device = {};  // replaces total_weight if it is defined: the host does not know the number
  bool is_last = true;          // whether this is the last batch of the step
  std::optional<DType> autocast_dtype = {};
  amp::GradScaler* scaler = nullptr;
};

/// Results of a batch on this rank.
struct BatchResult {
  detail::BatchLoss loss = {};  // detached; the value is undefined if this rank has no part
  std::vector<detail::LoggedValue> logged = {};
};

/// The only part of the Trainer that differs between single, dp, dp_loss and ddp. This base class computes on one
/// device, as the only rank.
class Strategy {
 public:
  /// Moves the module to the first device.
  Strategy(detail::Trainable module, std::vector<Device> devices);
  virtual ~Strategy() = default;
  Strategy(const Strategy&) = delete;

  const detail::Trainable& module() const { return module_; }
  const std::vector<Device>& devices() const { return devices_; }
  virtual int rank() const { return 0; }
  virtual int world_size() const { return 1; }

  /// Sets the total weight of a step to the sum of `weight` over all ranks, which must all call this.
  virtual void add_weights(double weight, StepSettings& settings) { settings.total_weight = weight; }
  /// Computes the forward, the loss and the backward of a batch. The gradients of all batches of a step add up to the
  /// gradient of (sum of the losses of all ranks) / total_weight. After the last batch, all ranks have it.
  virtual BatchResult train_batch(MicroBatch& micro_batch, const StepSettings& settings);
  /// Clips the gradients' norm over all parameters.
  virtual void clip_gradients(double max_norm);
  /// Makes the optimizer's step.
  virtual void optimizer_step(optim::Optimizer& optimizer, amp::GradScaler* scaler);
  /// Called before batches are evaluated.
  virtual void begin_evaluation() {}
  /// Computes validation_step() for a batch. Evaluation uses the first device of a rank.
  std::vector<detail::LoggedValue> evaluate(MicroBatch& micro_batch, const StepSettings& settings);

  /// Returns the sum of a number over all ranks. All ranks must call this, and the next two functions.
  virtual double sum_over_ranks(double value) { return value; }
  /// Adds up the elements of a tensor over all ranks, in place.
  virtual void add_up_over_ranks(const Tensor& /*values*/) {}
  /// Returns the bytes that each rank passed, by rank.
  virtual std::vector<std::string> gather(const std::string& bytes) { return {bytes}; }
  /// Makes the calls of the other ranks fail with this reason, because this rank has failed.
  virtual void abort(const std::string& /*reason*/) {}

 protected:
  /// Calls f under autocast, if the settings ask for it.
  detail::BatchLoss with_autocast(const StepSettings& settings, const std::function<detail::BatchLoss()>& f) const;
  /// Runs the backward of a loss. The gradient of the sum of its losses is `factor` / total weight. So the mean loss of
  /// a step with one batch has the gradient 1, as in a loop without the Trainer. Detaches the loss.
  static void backward(detail::BatchLoss& loss, double factor, const StepSettings& settings);
  detail::Trainable module_;
  std::vector<Device> devices_;
};

/// The strategies, without their backends.
enum class StrategyKind { single, dp, dp_loss, ddp };
/// Makes the strategy. For ddp, the process group must be initialized.
std::unique_ptr<Strategy> make_strategy(StrategyKind kind, detail::Trainable module, std::vector<Device> devices,
                                        bool find_unused_parameters);

}  // namespace tandem::train
