// Callbacks that average weights: EMA over steps, StochasticWeightAveraging over epochs. Also LearningRateMonitor.
#pragma once
#include "tandem/core/option.h"
#include "tandem/core/owned_ptr.h"
#include "tandem/train/callback.h"

namespace tandem::train {

namespace detail {
/// The averages of a callback; a copy of the callback begins without averages.
struct WeightAverage;
}  // namespace detail

/// Averages the weights exponentially: after each step, average = decay * average + (1 - decay) * weights. Validation
/// uses the averages, and so does the module after training. Training itself does not.
class EMA : public Callback {
 public:
  /// @throws Error unless decay is from 0 to 1
  explicit EMA(double decay = 0.999);
  void on_train_start(Fit& fit) override;
  void on_train_batch_end(Fit& fit, int64_t batch_index) override;
  void on_validation_start(Fit& fit) override;
  void on_validation_end(Fit& fit) override;
  void on_train_end(Fit& fit) override;
  void on_exception(Fit& fit, const std::string& message) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 private:
  double decay_;
  int64_t last_step_ = 0;
  bool is_restored_ = false;  // whether load() has read the averages
  std::shared_ptr<detail::WeightAverage> average_;
};

struct StochasticWeightAveragingOptions {
  StochasticWeightAveragingOptions(double swa_lrs) : swa_lrs_(swa_lrs) {}
  /// Learning rate while weights are averaged.
  TANDEM_ARG(double, swa_lrs);
  /// First epoch that counts, from 0 on.
  TANDEM_ARG(int64_t, swa_epoch_start) = 0;
  /// Number of epochs that the rate takes from its value to swa_lrs, along half a cosine.
  TANDEM_ARG(int64_t, annealing_epochs) = 10;
};

/// Stochastic weight averaging (Izmailov et al. 2018, arXiv:1803.05407). From an epoch on, the schedules stop, the rate
/// goes to a constant, and the weights at the ends of epochs are averaged. After training the module has the averages.
/// One more pass over the training batches then computes the statistics of batch norms. They are the means of the
/// batches' statistics or, with ddp, of the statistics of all ranks' parts of the batches, as with smaller batches.
class StochasticWeightAveraging : public Callback {
 public:
  /// @throws Error for a rate that is not positive, and negative numbers of epochs
  explicit StochasticWeightAveraging(StochasticWeightAveragingOptions options);
  void on_train_epoch_start(Fit& fit) override;
  void on_train_epoch_end(Fit& fit) override;
  void on_train_start(Fit& fit) override;
  void on_train_end(Fit& fit) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 private:
  StochasticWeightAveragingOptions options_;
  int64_t num_averaged_ = 0;
  bool is_restored_ = false;         // whether load() has read this state
  std::vector<double> first_rates_;  // of the groups, when averaging began
  std::shared_ptr<detail::WeightAverage> average_;
};

/// Logs the learning rate of each parameter group before each step: as "lr", or "lr/0", "lr/1", ... for several groups.
class LearningRateMonitor : public Callback {
 public:
  void on_before_optimizer_step(Fit& fit) override;
};

}  // namespace tandem::train
