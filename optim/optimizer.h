// What optimizers share, as torch::optim: groups of parameters with options, gradients to clear, state to save.
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

/// The settings of an optimizer, or of one group of its parameters.
class OptimizerOptions {
 public:
  /// Called with each setting under PyTorch's name: a number or a flag.
  using Visitor = std::function<void(const std::string& name, std::variant<double*, bool*> setting)>;
  virtual ~OptimizerOptions() = default;
  virtual std::unique_ptr<OptimizerOptions> clone() const = 0;
  /// As their constructor makes them, without arguments; SGD's rate, which has no default, is 0.001 there.
  virtual std::unique_ptr<OptimizerOptions> untouched() const { return nullptr; }
  /// Calls the visitor with each setting; it may change them.
  virtual void visit(const Visitor& visitor) = 0;
  /// The learning rate.
  virtual double get_lr() const = 0;
  /// Sets the learning rate.
  virtual void set_lr(double lr) = 0;
};
/// What the options of one optimizer, Derived, have in common.
// Each is compiled with its optimizer, in one place: as virtual functions every file would have them all.
template <class Derived> class OptimizerCloneableOptions : public OptimizerOptions {
 public:
  std::unique_ptr<OptimizerOptions> clone() const override { return std::make_unique<Derived>(self()); }
  std::unique_ptr<OptimizerOptions> untouched() const override {
    if constexpr (std::is_default_constructible_v<Derived>)
      return std::make_unique<Derived>();
    else if constexpr (std::is_constructible_v<Derived, double>)
      return std::make_unique<Derived>(1e-3);
    else
      return nullptr;
  }
  double get_lr() const override { return self().lr(); }
  void set_lr(double lr) override { static_cast<Derived&>(*this).lr(lr); }

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }
};

/// Parameters with options of their own. Without any they get the optimizer's; of those given, what has the value that
/// the constructor gives it is taken as not set, and is the optimizer's too, as in LibTorch.
class OptimizerParamGroup {
 public:
  OptimizerParamGroup(std::vector<Tensor> params);
  OptimizerParamGroup(std::vector<Tensor> params, std::unique_ptr<OptimizerOptions> options);
  OptimizerParamGroup(const OptimizerParamGroup& other);
  OptimizerParamGroup(OptimizerParamGroup&&) noexcept;
  OptimizerParamGroup& operator=(OptimizerParamGroup&&) noexcept;
  ~OptimizerParamGroup();

  /// The tensors of the group, and whether it was given options.
  const std::vector<Tensor>& params() const { return params_; }
  bool has_options() const { return options_ != nullptr; }
  /// @throws Error when there are none
  OptimizerOptions& options();
  const OptimizerOptions& options() const { return const_cast<OptimizerParamGroup*>(this)->options(); }
  /// The same, for what may outlive the group: a recorded step reads them before each replay.
  std::shared_ptr<const OptimizerOptions> shared_options() const;
  /// Takes the place of the group's options.
  void set_options(std::unique_ptr<OptimizerOptions> options);
  /// The parameters from number `begin` on, under the same options: what is changed of these changes both.
  OptimizerParamGroup part(size_t begin, size_t count) const;
  /// What schedules are relative to: the rate when the first of them was made.
  double initial_lr();
  /// Whether a schedule was made.
  bool has_initial_lr() const { return initial_lr_.has_value(); }
  /// For schedules: what their rates are relative to.
  void set_initial_lr(double rate) { initial_lr_ = rate; }

 private:
  std::vector<Tensor> params_;
  std::shared_ptr<OptimizerOptions> options_;
  std::optional<double> initial_lr_;
};

/// Parameters may live on several devices; those of one device are updated together.
class Optimizer {
 public:
  using LossClosure = std::function<Tensor()>;
  /// An optimizer can be moved, not copied.
  virtual ~Optimizer();
  Optimizer(Optimizer&&) noexcept;

  /// Updates the parameters that have a gradient, after calling the closure, if any, whose loss it returns.
  /// @throws Error when something else makes this optimizer's steps: leave_steps_to()
  virtual Tensor step(const LossClosure& closure = nullptr);
  /// step() for some of parameters(), given by their numbers: updates those that have a gradient, to the same bits.
  void step_some(std::vector<size_t> numbers);
  /// From now on step() throws, as `who` makes the steps by step_some(): "DDP 1". An empty text ends that.
  void leave_steps_to(std::string who);
  /// Who makes the steps; empty where it is the program, by step().
  const std::string& who_steps() const { return who_steps_; }
  /// Drops the gradients of all parameters, or (set_to_none = false) fills them with zeros.
  void zero_grad(bool set_to_none = true);
  /// @throws Error for options of another optimizer, values that make no sense, and parameters that are undefined, not
  /// leaves, or in the optimizer already
  void add_param_group(OptimizerParamGroup group);
  /// The groups: one may change the options of each between steps.
  std::vector<OptimizerParamGroup>& param_groups() { return groups_; }
  /// The groups.
  const std::vector<OptimizerParamGroup>& param_groups() const { return groups_; }
  /// The options that groups without their own have got.
  OptimizerOptions& defaults() { return *defaults_; }
  /// Those of all groups, one group after the other.
  const std::vector<Tensor>& parameters() const { return parameters_; }
  /// How many parameters there are in all groups.
  size_t size() const { return parameters_.size(); }
  /// The rate of the first group.
  double lr() const { return groups_.front().options().get_lr(); }
  /// Sets the rate of every group.
  void set_lr(double lr);

  /// State tensors by name ("0.exp_avg", ...), for saving; those of parameters not yet updated are left out.
  std::vector<std::pair<std::string, Tensor>> state() const;
  /// Each group's options by name ("0.lr", "0.momentum", ..., and "0.initial_lr" where a schedule was made), as text
  /// from which the same numbers are read.
  using Settings = std::map<std::string, std::string>;
  /// Those of all groups.
  Settings settings() const;
  /// Copies of such tensors become the state; parameters that have none begin anew. Options that `settings` names
  /// change.
  /// @throws Error naming a tensor or a setting that is unknown here, a tensor that is not of its parameter's shape, or
  /// a setting that makes no sense; nothing is changed then
  void load_state(const std::vector<std::pair<std::string, Tensor>>& state, const Settings& settings = {});
  /// Writes state and options into an archive, as the state_dict() of Python's optimizers has them, and reads them from
  /// one, or from what LibTorch's optimizers save: serialize/archive.h.
  /// @throws Error as load_state, and for options of Python's that ask for what this optimizer lacks (maximize)
  void save(serialize::OutputArchive& archive) const;
  /// Reads what save() wrote, or what Python's or LibTorch's optimizers save.
  void load(serialize::InputArchive& archive);

 protected:
  explicit Optimizer(std::unique_ptr<OptimizerOptions> defaults);
  /// For constructors. @throws Error when there is no parameter
  void add_param_groups(std::vector<OptimizerParamGroup> groups);

  /// Every place that state can have, by name.
  struct Slot {
    std::string name;
    const Tensor& parameter;
    bool scalar;  // a step count, float32, not of the parameter's shape
    Tensor& tensor;
    std::optional<tandem::detail::Shape> sizes = {};  // if neither of the two
    std::optional<DType> dtype = {};                  // if not that of the parameter, or of a step count
  };
  virtual std::vector<Slot> slots() = 0;
  /// Updates a group, whose parameters are numbered from `first` on, unrecorded.
  virtual void update(const OptimizerParamGroup& group, size_t first) = 0;
  /// Makes room for the state of size() parameters.
  virtual void resize_state() = 0;
  /// @throws Error for options of another type, or values that make no sense
  virtual void check_options(const OptimizerOptions& options) const = 0;
  /// Where the numbers of the update of a group lie on a device: of the group that begins with parameter `first`.
  /// `part` tells several updates of one group and device apart.
  std::shared_ptr<detail::StepValues> step_values(size_t first, Device device, int part = 0);

 private:
  void apply_settings(Settings settings, std::vector<OptimizerParamGroup>& groups) const;
  std::unique_ptr<OptimizerOptions> defaults_;
  std::vector<OptimizerParamGroup> groups_;
  std::vector<Tensor> parameters_;
  std::string who_steps_;
  std::map<std::tuple<size_t, Device, int>, std::shared_ptr<detail::StepValues>> step_values_;
};

}  // namespace tandem::optim
