// GradScaler: scales losses so that float16 gradients do not underflow, and skips steps whose gradients overflow.
#pragma once
#include <map>
#include <optional>

#include "tandem/autograd/ivalue.h"
#include "tandem/core/option.h"
#include "tandem/optim/optimizer.h"
#include "tandem/parallel/collectives/process_group.h"

namespace tandem::amp {

struct GradScalerOptions {
  TANDEM_ARG(double, init_scale) = 65536;       // first scale
  TANDEM_ARG(double, growth_factor) = 2;        // multiplies the scale after growth_interval steps without inf or NaN
  TANDEM_ARG(double, backoff_factor) = 0.5;     // multiplies the scale after a step with inf or NaN
  TANDEM_ARG(int64_t, growth_interval) = 2000;  // number of consecutive steps without inf or NaN before the scale grows
  TANDEM_ARG(bool, enabled) = true;             // if false, step() makes the optimizer's step, and nothing is scaled
  // group whose ranks all skip a step if one of them has inf or NaN. Not set: the default group, if there is one. Null:
  // each rank decides for itself.
  TANDEM_ARG(std::optional<distributed::ProcessGroupPtr>, process_group) = std::nullopt;
};

/// Gradient scaling for training in float16, as torch.amp.GradScaler:
///   scaler.scale(loss).backward();
///   scaler.step(optimizer);  // skipped if a gradient is infinite or NaN
///   scaler.update();
/// The scale, its growth tracker and the flag found_inf are on the device of the first loss, and kernels of the
/// optimizer read the flag. So the host waits for no GPU, and a Graph can record these calls. Setters of the factors
/// and of the interval take effect at the next capture.
///
/// If there is a process group of several ranks, the first unscale_() or step() for each optimizer in an iteration
/// is a collective: an all-reduce (MAX) of found_inf. All ranks must call it in the same order. A Graph cannot record
/// collectives.
class GradScaler {
 public:
  /// @throws Error if growth_factor is 1 or less, or backoff_factor is 1 or more
  explicit GradScaler(GradScalerOptions options = {});

  /// Returns output * scale, which autograd records. @throws Error at the first call while a Graph records, because
  /// that call allocates the scale
  Tensor scale(const Tensor& output);
  std::vector<Tensor> scale(const std::vector<Tensor>& outputs);
  /// Divides the gradients of the optimizer's parameters by the scale, and notes whether one of them is infinite or
  /// NaN. Call it before step() if the program changes gradients, for example clips them. step() calls it otherwise.
  /// @throws Error for float16 gradients, after unscale_() or step() of this optimizer since the last update(), and
  /// before the first scale()
  void unscale_(optim::Optimizer& optimizer);
  /// Makes the optimizer's step, unless a gradient is infinite or NaN on any rank of the group. A skipped step changes
  /// neither parameters nor state, except that it allocates the state of a first step. Unlike unscale_(), step()
  /// accepts float16 gradients, which the optimizer then divides in float32; they stay scaled.
  /// @param closure  accepted only if scaling is disabled
  /// @return the closure's loss; undefined if scaling is enabled
  /// @throws Error after step() of this optimizer since the last update(), before the first scale(), and if no
  /// parameter of the optimizer has a gradient
  Tensor step(optim::Optimizer& optimizer, const optim::Optimizer::LossClosure& closure = nullptr);
  /// Updates the scale, at the end of an iteration: backs off if a step was skipped, else counts and grows.
  /// @throws Error before the first scale(), and if there was no unscale_() or step() since the last update()
  void update();
  /// Sets the scale to a number, or to the number that a tensor holds, instead of updating it.
  /// @throws Error unless the tensor has one element and requires no gradient, and before the first scale()
  void update(double new_scale);
  void update(const Tensor& new_scale);

  /// Returns the scale; 1 if scaling is disabled. The host waits for the device.
  double get_scale() const;
  double get_growth_factor() const { return options_.growth_factor(); }
  void set_growth_factor(double factor) { options_.growth_factor(factor); }
  double get_backoff_factor() const { return options_.backoff_factor(); }
  void set_backoff_factor(double factor) { options_.backoff_factor(factor); }
  int64_t get_growth_interval() const { return options_.growth_interval(); }
  void set_growth_interval(int64_t interval) { options_.growth_interval(interval); }
  /// Returns whether scaling is enabled.
  bool is_enabled() const { return options_.enabled(); }

  /// Returns a dict with PyTorch's keys: "scale", "growth_factor", "backoff_factor", "growth_interval" and
  /// "_growth_tracker"; an empty dict if scaling is disabled. Call it after update().
  IValue state_dict() const;
  /// Restores what state_dict() returned, here or in PyTorch. Does nothing if scaling is disabled.
  /// @throws Error for an empty dict, and if a key is missing
  void load_state_dict(const IValue& state);
  /// Writes state_dict() to an archive.
  void save(serialize::OutputArchive& archive) const;
  /// Reads what save() or PyTorch wrote. @throws Error as load_state_dict()
  void load(serialize::InputArchive& archive);

 private:
  enum class Stage { ready, unscaled, stepped };
  /// Progress of one optimizer since the last update().
  struct OptimizerProgress {
    Stage stage = Stage::ready;
    Tensor found_inf;  // float32 number on the scale's device; undefined before unscale_() and step()
  };
  void check_has_scale(const char* function) const;
  void create_scale(Device device);
  distributed::ProcessGroupPtr group() const;
  Tensor find_inf(const optim::Optimizer& optimizer, const Tensor& factor) const;
  void set_scale(const Tensor& new_scale);
  int64_t growth_tracker() const;

  GradScalerOptions options_;
  int64_t init_growth_tracker_ = 0;
  Tensor scale_, growth_tracker_;  // float32 and int32 numbers; undefined before the first scale()
  std::map<const optim::Optimizer*, OptimizerProgress> progress_;
};

}  // namespace tandem::amp
