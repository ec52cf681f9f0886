// save and load of tensors, modules and optimizers, as torch::save and torch::load.
#pragma once
#include "tandem/nn/module.h"
#include "tandem/optim/optimizer.h"
#include "tandem/serialize/archive.h"

namespace tandem {

/// A module's parameters and buffers under their names, as Python's state_dict() has them; back from what Python saved
/// so, from LibTorch's archives and from safetensors. Values are copied into the module's tensors, where they are.
/// @throws Error naming the file and the reason; after a failed load the module is what it was
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const std::shared_ptr<nn::Module>& module);
serialize::InputArchive& operator>>(serialize::InputArchive& archive, const std::shared_ptr<nn::Module>& module);
template <class M>
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const nn::ModuleHolder<M>& module) {
  module->save(archive);
  return archive;
}
template <class M> serialize::InputArchive& operator>>(serialize::InputArchive& archive, nn::ModuleHolder<M>& module) {
  module->load(archive);
  return archive;
}

/// An optimizer's state tensors (momenta, step counts) and the options of its groups, as Python's state_dict() has
/// them: a loaded optimizer goes on with the saved learning rate, whatever it was made with. Of safetensors without
/// options only the state is loaded. @throws Error as above; after a failed load the optimizer is what it was
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const optim::Optimizer& optimizer);
serialize::InputArchive& operator>>(serialize::InputArchive& archive, optim::Optimizer& optimizer);

/// Any value, and a map of tensors, in the place of the archive's dict, and back.
/// @throws Error for a file of something else
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const IValue& value);
serialize::InputArchive& operator>>(serialize::InputArchive& archive, IValue& value);
serialize::InputArchive& operator>>(serialize::InputArchive& archive, NamedTensors& tensors);

/// Writes a tensor, a vector or map of tensors, a module, an optimizer or an IValue to a path, a stream, or through a
/// function that takes bytes: what OutputArchive::save_to accepts. Note [Files of archives] says in which format. A
/// type of one's own needs an operator<< for OutputArchive.
/// @throws Error naming the file and the reason; then a file of that name is what it was
template <class Value, class... To> void save(const Value& value, To&&... to) {
  serialize::OutputArchive archive;
  archive << value;
  archive.save_to(std::forward<To>(to)...);
}
/// Reads it again from what InputArchive::load_from accepts: a path, a stream, memory; and a device behind it.
/// @throws Error naming the file, what was found in it, and what is accepted
template <class Value, class... From> void load(Value& value, From&&... from) {
  serialize::InputArchive archive;
  archive.load_from(std::forward<From>(from)...);
  archive >> value;
}
/// The same of a module by reference. @throws Error as above
void save_module(const nn::Module& module, const std::string& path);
void load_module(nn::Module& module, const std::string& path);

namespace detail {
/// Loads the tensors whose names are the module's, and ignores the others.
/// @throws Error as Module::load_state_dict of all of them, if some are missing or of another shape
void load_tensors(nn::Module& module, const std::vector<std::pair<std::string, Tensor>>& tensors);
}  // namespace detail

}  // namespace tandem
