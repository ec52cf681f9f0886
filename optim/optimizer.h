// Base classes of optimizers, as in torch::optim: parameter groups with options, clearing of gradients, saving of
// state.
#pragma once
#include <map>
#include <utility>
#include <variant>

#include "tandem/core/option.h"
#include "tandem/core/tensor.h"

namespace tandem::serialize {
class OutputArchive;
class InputArchive;
}  // namespace tandem::serialize

namespace tandem::optim {
namespace detail {
class StepValues;
}

/// Options of an optimizer, or of one parameter group.
class OptimizerOptions {
 public:
  /// Called with each option's name in PyTorch and a pointer to the option, a number or a flag. The two numbers of a
  /// pair are visited one by one, for example betas as "beta1" and "beta2".
  using Visitor = std::function<void(const std::string& name, std::variant<double*, bool*> setting)>;
  virtual ~OptimizerOptions() = default;
  virtual std::unique_ptr<OptimizerOptions> clone() const = 0;
  /// Returns default options (for SGD, whose lr has no default, with lr 0.001); null if the class cannot be constructed
  /// without arguments.
  virtual std::unique_ptr<OptimizerOptions> default_options() const { return nullptr; }
  /// Calls the visitor for each option. The visitor may change the options.
  virtual void visit_options(const Visitor& visitor) = 0;
  /// Returns the learning rate.
  virtual double get_lr() const = 0;
  /// Sets the learning rate.
  virtual void set_lr(double lr) = 0;
  /// Returns OptimizerCloneableOptions::master_weights().
  bool get_master_weights() const { return master_weights_; }
  /// Sets OptimizerCloneableOptions::master_weights().
  void set_master_weights(bool master_weights) { master_weights_ = master_weights; }

 private:
  bool master_weights_ = false;
};
/// Base class of an optimizer's options, Derived.
// Instantiated once, in the optimizer's source file; otherwise every file would compile these virtual functions.
template <class Derived> class OptimizerCloneableOptions : public OptimizerOptions {
 public:
  std::unique_ptr<OptimizerOptions> clone() const override { return std::make_unique<Derived>(self()); }
  std::unique_ptr<OptimizerOptions> default_options() const override {
    if constexpr (std::is_default_constructible_v<Derived>)
      return std::make_unique<Derived>();
    else if constexpr (std::is_constructible_v<Derived, double>)
      return std::make_unique<Derived>(1e-3);
    else
      return nullptr;
  }
  double get_lr() const override { return self().lr(); }
  void set_lr(double lr) override { static_cast<Derived&>(*this).lr(lr); }
  /// Whether the optimizer keeps float32 copies of float16 and bfloat16 parameters, the master weights, and float32
  /// state. A step updates the master weights and rounds them to the parameters, so that updates that are too small for
  /// a half type add up. Other parameters are not affected. PyTorch has no such option; NVIDIA's Apex and Transformer
  /// Engine call it master_weights too.
  bool master_weights() const { return get_master_weights(); }
  Derived& master_weights(bool master_weights) {
    set_master_weights(master_weights);
    return static_cast<Derived&>(*this);
  }

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }
};

/// Parameters with their own options. A group without options gets the optimizer's options. If a group has options, an
/// option that still has its default value counts as not set, and takes the optimizer's value, as in LibTorch.
class OptimizerParamGroup {
 public:
  OptimizerParamGroup(std::vector<Tensor> params);
  OptimizerParamGroup(std::vector<Tensor> params, std::unique_ptr<OptimizerOptions> options);
  OptimizerParamGroup(const OptimizerParamGroup& other);
  OptimizerParamGroup(OptimizerParamGroup&&) noexcept;
  OptimizerParamGroup& operator=(OptimizerParamGroup&&) noexcept;
  ~OptimizerParamGroup();

  /// Returns the group's parameters. has_options(): whether the group has options.
  const std::vector<Tensor>& params() const { return params_; }
  bool has_options() const { return options_ != nullptr; }
  /// Returns the group's options. @throws Error if the group has no options
  OptimizerOptions& options();
  const OptimizerOptions& options() const { return const_cast<OptimizerParamGroup*>(this)->options(); }
  /// Returns the options for owners that may outlive the group: a recorded step reads them before each replay.
  std::shared_ptr<const OptimizerOptions> shared_options() const;
  /// Replaces the group's options.
  void set_options(std::unique_ptr<OptimizerOptions> options);
  /// Returns a group of the `count` parameters from index `begin` on. The new group shares this group's options.
  OptimizerParamGroup subgroup(size_t begin, size_t count) const;
  /// Returns the base rate of schedules. Unless it was set, the first call sets it to the group's learning rate; the
  /// group's first schedule makes this call.
  double initial_lr();
  /// Whether the base rate is set, for example because a schedule was made for this group.
  bool has_initial_lr() const { return initial_lr_.has_value(); }
  /// Sets the base rate of schedules.
  void set_initial_lr(double rate) { initial_lr_ = rate; }

 private:
  std::vector<Tensor> params_;
  std::shared_ptr<OptimizerOptions> options_;
  std::optional<double> initial_lr_;
};

/// Base class of optimizers. Parameters may be on several devices. A step updates the parameters of
/// one group on one device together. A gradient may have another floating dtype than its parameter.
class Optimizer {
 public:
  using LossClosure = std::function<Tensor()>;
  /// Optimizers can be moved but not copied.
  virtual ~Optimizer();
  Optimizer(Optimizer&&) noexcept;

  /// Calls the closure, if there is one, then updates all parameters that have a gradient. Returns the closure's loss.
  /// @throws Error after set_step_owner(), because another object then makes the steps
  virtual Tensor step(const LossClosure& closure = nullptr);
  /// Updates some of parameters(), given by their indices, if they have gradients; bit-equal to step().
  /// Does nothing for LBFGS, whose step() does all the work itself.
  void step_parameters(std::vector<size_t> numbers);
  /// Makes a step whose kernels change nothing, neither parameters nor state, if `found_inf` (float32, one element) is
  /// not 0. The host does not read it, so a Graph can record the step. amp::GradScaler calls this function.
  /// @param gradient_factor  multiplies the gradients (float32, one element); undefined: 1
  /// @throws Error as step(), and for a gradient_factor if the optimizer does not support it (see
  /// supports_found_inf())
  void step_unless(const Tensor& found_inf, const Tensor& gradient_factor = {});
  /// Makes step() throw from now on, because `owner` (for example "DDP 1") updates parameters by step_parameters(). An
  /// empty `owner` allows step() again.
  void set_step_owner(std::string owner);
  /// Returns the name passed to set_step_owner(); empty if the program calls step() itself.
  const std::string& step_owner() const { return step_owner_; }
  /// Makes the gradients of all parameters undefined, or zero if `set_to_none` is false.
  void zero_grad(bool set_to_none = true);
  /// Adds a parameter group. @throws Error for options of another optimizer, for invalid option values, and for
  /// parameters that are undefined, not leaves, or in the optimizer already
  void add_param_group(OptimizerParamGroup group);
  /// Returns the groups, whose options may be changed between steps.
  std::vector<OptimizerParamGroup>& param_groups() { return groups_; }
  /// Returns the groups.
  const std::vector<OptimizerParamGroup>& param_groups() const { return groups_; }
  /// Returns the options of groups that were added without options.
  OptimizerOptions& defaults() { return *defaults_; }
  /// Returns the parameters of all groups, group by group.
  const std::vector<Tensor>& parameters() const { return parameters_; }
  /// Returns the number of parameters in all groups.
  size_t size() const { return parameters_.size(); }
  /// Returns the learning rate of the first group.
  double lr() const { return groups_.front().options().get_lr(); }
  /// Sets the learning rate of all groups.
  void set_lr(double lr);

  /// Returns the state tensors by name ("0.exp_avg", ...), for saving. A parameter that was never updated has no state.
  /// Master weights are named "0.master_param", as in Transformer Engine.
  std::vector<std::pair<std::string, Tensor>> state() const;
  /// Options of each group by name ("0.lr", "0.momentum", ..., and "0.initial_lr" if a schedule was made), as text with
  /// enough digits to restore the exact numbers.
  using Settings = std::map<std::string, std::string>;
  /// Returns the options of all groups.
  Settings settings() const;
  /// Replaces the state by copies of these tensors, and the options named in `settings` by their values. State that is
  /// not in `state` is reset; master weights are then made from the parameters in the next step.
  /// @throws Error for the name of an unknown tensor or setting, a tensor of a wrong shape, or an invalid value; then
  /// nothing is changed
  void load_state(const std::vector<std::pair<std::string, Tensor>>& state, const Settings& settings = {});
  /// Writes state and options into an archive, in the format of Python's state_dict(); see serialize/archive.h.
  void save(serialize::OutputArchive& archive) const;
  /// Reads an archive that save(), Python or LibTorch wrote. @throws Error as load_state, and if a Python option asks
  /// for something that this optimizer lacks (maximize)
  void load(serialize::InputArchive& archive);

 protected:
  explicit Optimizer(std::unique_ptr<OptimizerOptions> defaults);
  /// Adds the groups passed to the constructor. @throws Error if there is no parameter
  void add_param_groups(std::vector<OptimizerParamGroup> groups);

  /// A member variable of the optimizer that can hold a state tensor of a parameter.
  struct StateSlot {
    std::string name;
    const Tensor& parameter;
    bool is_scalar;  // whether the state is a 0-dim number, such as a step count
    Tensor& tensor;
    // sizes of the state; nullopt: 0-dim if scalar, else the parameter's sizes
    std::optional<tandem::detail::Shape> sizes = {};
    // dtype of the state; nullopt: float32 if scalar, else the parameter's dtype
    std::optional<DType> dtype = {};
  };
  virtual std::vector<StateSlot> state_slots() = 0;
  /// Whether update() obeys gradient_scaling(). If not, step_unless() reads found_inf on the host.
  virtual bool supports_found_inf() const { return false; }
  /// Returns the float32 master weights of parameters()[k], with the parameter's strides; undefined if the parameter
  /// has none. update() calls this function for each parameter that it updates. It then updates the master weights and
  /// writes them to the parameter. Where the parameter is not the rounded master weight, the program has changed it
  /// since the last step, and update() begins with the parameter's element.
  Tensor master_weights(const char* op, const OptimizerOptions& options, size_t k);
  /// Returns found_inf and the factor of the gradients (float32, two elements) on `device`; undefined unless
  /// step_unless() makes this step.
  Tensor gradient_scaling(Device device);
  /// Updates a group whose first parameter is parameters()[first]. Not recorded by autograd.
  virtual void update(const OptimizerParamGroup& group, size_t first) = 0;
  /// Resizes the state for size() parameters.
  virtual void resize_state() = 0;
  /// @throws Error for options of another type, or invalid values
  virtual void check_options(const OptimizerOptions& options) const = 0;
  /// Returns the device memory that holds the numbers of a group's update, such as the learning rate. `first`: index of
  /// the group's first parameter in parameters(). `part` distinguishes several updates of the same group on the same
  /// device.
  std::shared_ptr<detail::StepValues> step_values(size_t first, Device device, int part = 0);

 private:
  std::vector<StateSlot> all_slots();
  void apply_settings(Settings settings, std::vector<OptimizerParamGroup>& groups) const;
  std::unique_ptr<OptimizerOptions> defaults_;
  std::vector<OptimizerParamGroup> groups_;
  std::vector<Tensor> parameters_;
  std::vector<Tensor> master_weights_;  // by parameter; undefined if it has none
  std::string step_owner_;
  std::map<Device, Tensor> gradient_scaling_;  // copies by device; empty unless step_unless() makes a step
  std::map<std::tuple<size_t, Device, int>, std::shared_ptr<detail::StepValues>> step_values_;
};

}  // namespace tandem::optim
