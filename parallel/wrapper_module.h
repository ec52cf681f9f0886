// Base class of DataParallel and DistributedDataParallel: its state is the wrapped module's, under that module's names.
#pragma once
#include "tandem/nn/module.h"

namespace tandem::nn::parallel::detail {

/// A module around another one, its child "module". Parameters are listed under names such as "module.fc1.weight", as
/// in PyTorch. The state and the saved file are the wrapped module's, so that the wrapper and the wrapped module can
/// load each other's files.
class WrapperModule : public Module {
 public:
  using Module::Module;
  /// Returns the wrapped module's parameters and buffers, under its names: "fc1.weight".
  NamedParameters state_dict() const override { return wrapped().state_dict(); }
  /// Copies values into the wrapped module. The names are the wrapped module's, or those of PyTorch's wrappers
  /// ("module.fc1.weight").
  /// @throws Error as Module::load_state_dict
  void load_state_dict(const NamedParameters& state) override;
  void save(serialize::OutputArchive& archive) const override;
  /// Reads a file that a wrapper or the bare module wrote, in Tandem or in PyTorch.
  void load(serialize::InputArchive& archive) override;

 private:
  Module& wrapped() const { return *named_children()["module"]; }
};

}  // namespace tandem::nn::parallel::detail
