// save and load of tensors, modules and optimizers, like torch::save and torch::load.
#pragma once
#include "tandem/nn/module.h"
#include "tandem/optim/optimizer.h"
#include "tandem/serialize/archive.h"

namespace tandem {

/// Writes a module's parameters and buffers under their names, like Python's state_dict(). Reads files of Python's
/// state_dict(), LibTorch's archives and safetensors. Values are copied into the module's existing tensors.
/// @throws Error that names the file and the reason; after a failed load the module is as it was
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

/// Writes an optimizer's state tensors (momenta, step counts) and the options of its groups, like Python's
/// state_dict(). After loading, the optimizer uses the saved learning rate, whatever it was constructed with.
/// Safetensors without options only restore the state. @throws Error as above; after a failed load the optimizer is as
/// it was
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const optim::Optimizer& optimizer);
serialize::InputArchive& operator>>(serialize::InputArchive& archive, optim::Optimizer& optimizer);

/// Writes any value in place of the archive's dict. Reads any value, or a map of tensors.
/// @throws Error if the file holds something else
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const IValue& value);
serialize::InputArchive& operator>>(serialize::InputArchive& archive, IValue& value);
serialize::InputArchive& operator>>(serialize::InputArchive& archive, NamedTensors& tensors);

/// Writes a tensor, a vector or map of tensors, a module, an optimizer or an IValue to a path, a stream, or through a
/// function that takes bytes, as OutputArchive::save_to does. See Note [Files of archives] for the format. Types of
/// your own need an operator<< for OutputArchive.
/// @throws Error that names the file and the reason; an existing file of that name then stays as it was
template <class Value, class... To> void save(const Value& value, To&&... to) {
  serialize::OutputArchive archive;
  archive << value;
  archive.save_to(std::forward<To>(to)...);
}
/// Reads a value from anything that InputArchive::load_from accepts: a path, a stream or memory, optionally followed by
/// a device.
/// @throws Error that names the file, what was found in it, and what is accepted
template <class Value, class... From> void load(Value& value, From&&... from) {
  serialize::InputArchive archive;
  archive.load_from(std::forward<From>(from)...);
  archive >> value;
}
/// As save and load, for a module by reference. @throws Error as above
void save_module(const nn::Module& module, const std::string& path);
void load_module(nn::Module& module, const std::string& path);

namespace detail {
/// Loads the tensors whose names are in the module, and ignores the others.
/// @throws Error as Module::load_state_dict of all tensors if some are missing or have another shape
void load_tensors(nn::Module& module, const std::vector<std::pair<std::string, Tensor>>& tensors);
}  // namespace detail

}  // namespace tandem
