// What DataParallel and DistributedDataParallel keep in files: the wrapped module's state, under its own names.
#pragma once
#include "tandem/nn/module.h"

namespace tandem::nn::parallel::detail {

/// A module around another one, its child "module". Parameters are listed under names such as "module.fc1.weight", as
/// PyTorch lists them; but its state, and what it saves, is what the wrapped module's would be, so that either can load
/// it.
class WrapperModule : public Module {
 public:
  using Module::Module;
  /// The wrapped module's parameters and buffers, by its names: "fc1.weight".
  NamedParameters state_dict() const override { return wrapped().state_dict(); }
  /// Copies values in, by these names or by those of PyTorch's wrappers ("module.fc1.weight").
  /// @throws Error as Module::load_state_dict
  void load_state_dict(const NamedParameters& state) override;
  void save(serialize::OutputArchive& archive) const override;
  /// Reads what a wrapper or the bare module wrote, here or in PyTorch.
  void load(serialize::InputArchive& archive) override;

 private:
  Module& wrapped() const { return *named_children()["module"]; }
};

}  // namespace tandem::nn::parallel::detail
