// Base class of DataParallel and DistributedDataParallel. Its state is the state of the wrapped module, under that
// module's names.
#pragma once
#include "tandem/nn/module.h"

namespace tandem::nn::parallel::detail {

/// A module that wraps another one, which is its child "module". Parameters are listed under names such as
/// "module.fc1.weight", as in PyTorch. state_dict() and saved files use the wrapped module's own names, so the wrapper
/// and the wrapped module can load each other's files.
class WrapperModule : public Module {
 public:
  using Module::Module;
  /// Returns the parameters and buffers of the wrapped module, under its own names, such as "fc1.weight".
  NamedParameters state_dict() const override { return wrapped_module().state_dict(); }
  /// Copies values into the wrapped module. The names may be the wrapped module's own, or those of PyTorch's wrappers
  /// ("module.fc1.weight").
  /// @throws Error as Module::load_state_dict
  void load_state_dict(const NamedParameters& state) override;
  void save(serialize::OutputArchive& archive) const override;
  /// Loads a file that a wrapper or the wrapped module itself has written, in Tandem or in PyTorch.
  void load(serialize::InputArchive& archive) override;

 private:
  Module& wrapped_module() const { return *named_children()["module"]; }
};

}  // namespace tandem::nn::parallel::detail
