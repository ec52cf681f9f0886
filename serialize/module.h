// save and load of modules, optimizers and lists of tensors, as safetensors.
#pragma once
#include "tandem/nn/module.h"
#include "tandem/optim/optimizer.h"
#include "tandem/serialize/safetensors.h"

namespace tandem {

/// A module's parameters and buffers under their names, as safetensors: PyTorch's load_state_dict takes what Python's
/// safetensors reads from it, and the other way round.
/// @throws Error naming the file and the reason; after a failed load the module is what it was
void save_module(const nn::Module& module, const std::string& path);
void load_module(nn::Module& module, const std::string& path);
template <class M> void save(const nn::ModuleHolder<M>& module, const std::string& path) { save_module(*module, path); }
template <class M> void load(nn::ModuleHolder<M>& module, const std::string& path) { load_module(*module, path); }
template <class M>
requires std::is_base_of_v<nn::Module, M>
void save(const std::shared_ptr<M>& module, const std::string& path) { save_module(*module, path); }
template <class M>
requires std::is_base_of_v<nn::Module, M>
void load(std::shared_ptr<M>& module, const std::string& path) { load_module(*module, path); }

/// An optimizer's state tensors (momenta, step counts), and the options of its groups as the file's metadata: a loaded
/// optimizer goes on with the saved learning rate, whatever it was made with. Of a file without metadata only the
/// state is loaded. @throws Error as above; after a failed load the optimizer is what it was
void save(const optim::Optimizer& optimizer, const std::string& path);
void load(optim::Optimizer& optimizer, const std::string& path);

/// Tensors in their order. @throws Error as above
void save(const std::vector<Tensor>& tensors, const std::string& path);
void load(std::vector<Tensor>& tensors, const std::string& path);

}  // namespace tandem
