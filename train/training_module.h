// TrainingModule: a module that knows its loss and its optimizer, with PyTorch Lightning's names.
#pragma once
#include "tandem/data/example.h"
#include "tandem/parallel/data_parallel.h"
#include "tandem/train/any_tree.h"
#include "tandem/train/metrics/metric.h"
#include "tandem/train/optimizers.h"

namespace tandem::train {

namespace detail {

/// A value that a step has logged: the mean of `weight` values, or their sum.
struct LoggedValue {
  std::string name;
  Tensor value;
  double weight;
  bool is_sum = false;
};

/// The loss of a batch, as a module computes it: the mean of `weight` losses, or their sum.
struct BatchLoss {
  Tensor value = {};
  double weight = 1;
  bool is_mean = true;
  /// Returns the derivative of the sum of the losses with respect to `value`.
  double sum_factor() const { return is_mean ? weight : 1; }
};

/// Interface through which the Trainer calls a module of any type.
class AnyTrainingModule {
 public:
  AnyTrainingModule() = default;
  /// A copy has no metrics until its reset() registers them, because its own metrics have other addresses.
  AnyTrainingModule(const AnyTrainingModule& other) : weight_(other.weight_), logged_(other.logged_) {}
  AnyTrainingModule& operator=(const AnyTrainingModule&) = delete;
  virtual ~AnyTrainingModule() = default;
  /// Returns the optimizer and its schedules. The Trainer calls it once, when the module is on its device.
  virtual Optimizers configure_optimizers() = 0;
  /// Returns the number of losses in a batch, known before the batch is computed.
  virtual double weight_of(const AnyTree& batch) = 0;
  /// Whether weight_of() is the number of rows, so that ranks need not tell each other.
  virtual bool is_weighted_by_rows() const = 0;
  /// Returns the loss of a batch, as training_step() computes it.
  virtual BatchLoss training_loss(const AnyTree& batch, double weight) = 0;
  /// Returns the output for a batch, and the loss of an output. Both together are training_loss().
  virtual AnyTree forward_any(const AnyTree& batch) = 0;
  virtual BatchLoss loss_of_output(const AnyTree& output, const AnyTree& batch, double weight) = 0;
  /// Whether the class has a training_step() of its own, so that its outputs cannot be gathered before the loss.
  virtual bool has_own_training_step() const = 0;
  virtual void validation_any(const AnyTree& batch, double weight) = 0;

  /// Called on each rank before and after the training batches of an epoch, and those of a validation. The functions
  /// that end may log values of the whole epoch, such as a metric that counted in all batches. If ranks log different
  /// values, the mean over ranks counts.
  virtual void on_train_epoch_start() {}
  virtual void on_train_epoch_end() {}
  virtual void on_validation_epoch_start() {}
  virtual void on_validation_epoch_end() {}

  /// Logs a metric of the present batch, in training_step() or validation_step(). The Trainer averages it over the
  /// batches and ranks of an epoch, weighted by the batches' weights. The value may be on any device.
  void log(const std::string& name, const Tensor& value);
  void log(const std::string& name, double value);
  /// Registers a metric of train/metrics/, such as a member, that validation_step() updates. After each validation, the
  /// Trainer computes it over all ranks. A single number is then logged under this name; Fit::metric_values() and
  /// Trainer::metric_values() have all of them. Call this in reset(), so that copies of the module register their own.
  void register_metric(const std::string& name, metrics::Metric& metric) { metrics_[name] = &metric; }
  const std::map<std::string, metrics::Metric*>& registered_metrics() const { return metrics_; }
  /// Returns the values that were logged since the last call.
  std::vector<LoggedValue> take_logged() { return std::exchange(logged_, {}); }

 protected:
  double weight_ = 1;  // weight of the batch that is being computed
  std::vector<LoggedValue> logged_;

 private:
  std::map<std::string, metrics::Metric*> metrics_;
};

/// Implements AnyTrainingModule for batches of type Batch and outputs of type Output, by the functions of Self.
template <class Self, class Batch, class Output> class TypedTrainingModule : public AnyTrainingModule {
 public:
  AnyTree forward_any(const AnyTree& batch) override {
    return AnyTree(Output(tandem::detail::call_module(self(), batch.get<Batch>())));
  }

 protected:
  Self& self() { return static_cast<Self&>(*this); }
};

}  // namespace detail

/// Base class of a user's module. Derived defines forward(), loss(), configure_optimizers() and reset():
///
///     struct Net : train::TrainingModule<Net> {
///       Net() { reset(); }
///       void reset() override { fc = register_module("fc", nn::Linear(4, 3)); }
///       Tensor forward(const data::Example<>& batch) override { return fc(batch.data); }
///       Tensor loss(const Tensor& output, const data::Example<>& batch) override {
///         return cross_entropy(output, batch.target);
///       }
///       train::Optimizers configure_optimizers() override {
///         return std::make_unique<optim::Adam>(parameters(), 1e-3);
///       }
///       nn::Linear fc{nullptr};
///     };
///
/// Batch: the type of the data source's batches. Output: what forward() returns. The Trainer calls training_step() for
/// each batch. On several devices, each has a copy of the module, made by clone(), and a part of the batch.
template <class Derived, class Batch = data::Example<>, class Output = Tensor>
class TrainingModule : public nn::Cloneable<Derived>, public detail::TypedTrainingModule<Derived, Batch, Output> {
 public:
  using nn::Cloneable<Derived>::Cloneable;
  /// Returns the output for a batch.
  virtual Output forward(const Batch& batch) = 0;
  /// Returns the mean loss of a batch. A class must define it or training_step().
  virtual Tensor loss(const Output&, const Batch&) {
    TANDEM_FAIL("TrainingModule: ", this->name(), " defines neither loss() nor training_step(); the Trainer needs one");
  }
  /// Returns the mean loss of a batch, by default loss(forward(batch), batch). A class that overrides it cannot be
  /// trained with the strategy dp, which gathers the outputs before the loss.
  virtual Tensor training_step(const Batch& batch) {
    return loss(tandem::detail::call_module(static_cast<Derived&>(*this), batch), batch);
  }
  /// Computes the metrics of a batch, and logs them. By default, it logs the loss as "val_loss".
  virtual void validation_step(const Batch& batch) {
    this->log("val_loss", loss(tandem::detail::call_module(static_cast<Derived&>(*this), batch), batch));
  }
  /// Returns the number of losses that loss() averages over; by default the number of rows of the batch. Override it
  /// where they differ, for example if a batch has padding. The Trainer calls it before it moves the batch to a GPU.
  virtual double weight(const Batch& batch) { return static_cast<double>(detail::AnyTree(batch).rows()); }

  // called by the Trainer
  double weight_of(const detail::AnyTree& batch) override {
    return is_weighted_by_rows() ? static_cast<double>(batch.rows()) : weight(batch.get<Batch>());
  }
  bool is_weighted_by_rows() const override {
    return std::is_same_v<decltype(&Derived::weight), double (TrainingModule::*)(const Batch&)>;
  }
  bool has_own_training_step() const override {
    return !std::is_same_v<decltype(&Derived::training_step), Tensor (TrainingModule::*)(const Batch&)>;
  }
  detail::BatchLoss training_loss(const detail::AnyTree& batch, double weight) override {
    this->weight_ = weight;
    return {training_step(batch.get<Batch>()), weight};
  }
  detail::BatchLoss loss_of_output(const detail::AnyTree& output, const detail::AnyTree& batch,
                                   double weight) override {
    this->weight_ = weight;
    return {loss(output.get<Output>(), batch.get<Batch>()), weight};
  }
  void validation_any(const detail::AnyTree& batch, double weight) override {
    this->weight_ = weight;
    validation_step(batch.get<Batch>());
  }
};

namespace detail {

/// Whether the loss is a loss module whose mean is over the targets that are not ignored, as nn::CrossEntropyLoss.
template <class Loss> inline constexpr bool kCountsTargets = requires(const Loss& loss) {
  loss->options.ignore_index();
};

/// Returns the sum of the class weights of the targets that are not ignored.
double count_targets(const Tensor& target, const Tensor& class_weight, int64_t ignore_index);
/// @throws Error unless a loss module averages
void check_loss_averages(Reduction reduction);

/// A network with a loss, as make_training_module() makes it. Its state is the network's, under the network's names.
template <class Net, class Loss, class Batch, class MakeOptimizer>
class NetWithLoss : public nn::parallel::detail::WrapperModule,
                    public TypedTrainingModule<NetWithLoss<Net, Loss, Batch, MakeOptimizer>, Batch,
                                               std::invoke_result_t<Net&, decltype(Batch::data)&>> {
 public:
  using Output = std::invoke_result_t<Net&, decltype(Batch::data)&>;
  NetWithLoss(Net net, Loss loss, MakeOptimizer make_optimizer)
      : WrapperModule("NetWithLoss"),
        net_(std::move(net)),
        loss_(std::move(loss)),
        make_optimizer_(std::move(make_optimizer)) {
    if constexpr (requires { loss_->options.reduction(); })
      check_loss_averages(nn::parallel::detail::plain_reduction(loss_->options.reduction()));
    if constexpr (kCountsTargets<Loss>) {
      auto options = loss_->options;
      sum_loss_ = Loss(options.reduction(Reduction::sum));
    }
    register_module("module", net_);
  }
  std::shared_ptr<Module> clone(const std::optional<Device>& device = {}) const override {
    using Impl = typename Net::ContainedType;
    auto copy = std::make_shared<NetWithLoss>(Net(std::dynamic_pointer_cast<Impl>(net_->clone(device))), loss_,
                                              make_optimizer_);
    copy->train(is_training());
    return copy;
  }
  Output forward(const Batch& batch) { return net_(batch.data); }
  Optimizers configure_optimizers() override { return make_optimizer_(parameters()); }
  double weight_of(const AnyTree& batch) override {
    if constexpr (kCountsTargets<Loss>) {
      const Tensor& target = batch.get<Batch>().target;
      if (!target.is_floating_point()) {
        const auto& options = loss_->options;
        return count_targets(target, options.weight(), options.ignore_index());
      }
    }
    return static_cast<double>(batch.rows());
  }
  bool is_weighted_by_rows() const override { return !kCountsTargets<Loss>; }
  bool has_own_training_step() const override { return false; }
  BatchLoss training_loss(const AnyTree& batch, double weight) override {
    return compute_loss(tandem::detail::call_module(*this, batch.get<Batch>()), batch.get<Batch>(), weight);
  }
  BatchLoss loss_of_output(const AnyTree& output, const AnyTree& batch, double weight) override {
    return compute_loss(output.get<Output>(), batch.get<Batch>(), weight);
  }
  void validation_any(const AnyTree& batch, double weight) override {
    const BatchLoss loss = training_loss(batch, weight);
    this->logged_.push_back({"val_loss", loss.value, weight, /*is_sum=*/!loss.is_mean});
  }

 private:
  BatchLoss compute_loss(const Output& output, const Batch& batch, double weight) {
    if constexpr (kCountsTargets<Loss>) {
      if (!batch.target.is_floating_point()) {
        Tensor& class_weight = sum_loss_->options.weight();
        if (class_weight.defined()) class_weight = class_weight.to(output.device());
        return {sum_loss_(nn::parallel::detail::upcast_for_sum(output), batch.target), weight, /*is_mean=*/false};
      }
    }
    return {loss_(output, batch.target), weight};
  }
  Net net_;
  Loss loss_;
  Loss sum_loss_ = loss_;  // for a loss that counts targets: the same with Reduction::sum
  MakeOptimizer make_optimizer_;
};

/// A module as the Trainer holds it: the module, and its interface for the Trainer.
struct Trainable {
  /// From a handle, a shared pointer, or a reference to a module that outlives the training.
  template <class M> Trainable(const nn::parallel::detail::ModuleRef<M>& ref) : module(ref.ptr), hooks(ref.ptr.get()) {}
  explicit Trainable(std::shared_ptr<nn::Module> cloned)
      : module(std::move(cloned)), hooks(dynamic_cast<AnyTrainingModule*>(module.get())) {}
  std::shared_ptr<nn::Module> module;
  AnyTrainingModule* hooks;
};
template <class M> Trainable make_trainable(M&& module) {
  using Impl = nn::parallel::detail::ModuleOfT<M>;
  static_assert(std::is_base_of_v<AnyTrainingModule, Impl>,
                "the Trainer needs a class that derives from train::TrainingModule, or the result of "
                "train::make_training_module(net, loss, make_optimizer)");
  return Trainable(nn::parallel::detail::ModuleRef<Impl>(std::forward<M>(module)));
}

}  // namespace detail

/// Returns a module that the Trainer can train, from a network, a loss, and a function that makes the optimizer:
///
///     auto module = train::make_training_module(net, nn::CrossEntropyLoss(), [](std::vector<Tensor> parameters) {
///       return std::make_unique<optim::Adam>(parameters, 1e-3);
///     });
///
/// In validation it logs "val_loss".
/// @param net   a module handle; net(batch.data) returns the output
/// @param loss  a loss module such as nn::CrossEntropyLoss, or a function (output, target) that returns the mean loss
///              over the rows of the batch
/// @param make_optimizer  function of the parameters that returns an optimizer or Optimizers
/// @throws Error if the loss module does not average: its reduction must be mean
template <class Batch = data::Example<>, class Net, class Loss, class MakeOptimizer>
auto make_training_module(Net net, Loss loss, MakeOptimizer make_optimizer) {
  return std::make_shared<detail::NetWithLoss<Net, Loss, Batch, MakeOptimizer>>(std::move(net), std::move(loss),
                                                                                std::move(make_optimizer));
}

}  // namespace tandem::train
