// save and load for tensors, modules and optimizers, like torch::save and torch::load.
#pragma once
#include "tandem/nn/module.h"
#include "tandem/optim/optimizer.h"
#include "tandem/serialize/archive.h"

namespace tandem {

/// Save and load a module. Saving writes the parameters and buffers under their names, like Python's state_dict().
/// Loading accepts a saved Python state_dict(), LibTorch's archives and safetensors, and copies the values into the
/// module's existing tensors.
/// @throws Error that names the file and the reason; a failed load does not change the module
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

/// Save and load an optimizer: its state tensors (momenta, step counts) and the options of its parameter groups, like
/// Python's state_dict(). After loading, the optimizer uses the saved learning rate instead of the learning rate with
/// which it was constructed. A safetensors file without options restores the state tensors only.
/// @throws Error that names the file and the reason; a failed load does not change the optimizer
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const optim::Optimizer& optimizer);
serialize::InputArchive& operator>>(serialize::InputArchive& archive, optim::Optimizer& optimizer);

/// Write any value as the only content of the archive, and read any value, or a map of tensors.
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
/// Save and load a module that is given by reference instead of by shared_ptr. @throws Error as save() and load() do
void save_module(const nn::Module& module, const std::string& path);
void load_module(nn::Module& module, const std::string& path);

namespace detail {
/// Loads the tensors whose names the module has, and ignores the other tensors.
/// @throws Error like Module::load_state_dict if tensors are missing or have another shape
void load_tensors(nn::Module& module, const std::vector<std::pair<std::string, Tensor>>& tensors);
}  // namespace detail

}  // namespace tandem
