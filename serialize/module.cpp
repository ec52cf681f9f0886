// Implements nn::Module::save and load, save_module and load_module, for all file formats.
#include "tandem/serialize/module.h"

#include "tandem/autograd/value_container.h"
#include "tandem/serialize/file.h"
#include "tandem/serialize/optimizer_state.h"

namespace tandem {
namespace {

/// Appends the tensors of a dict and of nested dicts to `out`. The depth of the recursion is limited, because values
/// are nested less deeply than ValueContainer::kMaxNestingDepth.
void flatten(const IValue& value, const std::string& prefix, bool skip_others, uint64_t& bytes,
             std::vector<std::pair<std::string, Tensor>>& out) {
  // Maximum bytes of all names, because a small file may refer to the same dict many times
  constexpr uint64_t kMaxBytes = uint64_t{1} << 26;
  const bool skip = skip_others || ValueContainer::of(value)->kind == ValueContainer::Kind::object;
  for (const IValue::Entry& entry : value.entries()) {
    const std::string name =
        prefix + (entry.key().isInt() ? std::to_string(entry.key().toInt()) : entry.key().toStringRef());
    bytes += name.size() + 64;
    TANDEM_CHECK(bytes <= kMaxBytes, "the names of the tensors in nested dicts take more than ", kMaxBytes,
                 " bytes, which is the most that is accepted");
    if (entry.value().isTensor())
      out.emplace_back(name, entry.value().toTensor());
    else if (entry.value().isGenericDict())
      flatten(entry.value(), name + ".", skip_others, bytes, out);
    else
      TANDEM_CHECK(skip || entry.value().isNone(), "'", name, "' is ", entry.value().tagKind(),
                   "; accepted: tensors, and dicts of tensors");
  }
}

}  // namespace

std::vector<std::pair<std::string, Tensor>> detail::flatten_tensors(const IValue& value, bool skip_others) {
  TANDEM_CHECK(value.isGenericDict(), "the file holds ", value.tagKind(), "; accepted: a dict of tensors");
  std::vector<std::pair<std::string, Tensor>> out;
  uint64_t bytes = 0;
  flatten(value, "", skip_others, bytes, out);
  return out;
}

void detail::save_archive_as_safetensors(const IValue& value, const std::string& path) {
  if (is_optimizer_value(value)) return save_optimizer_as_safetensors(value, path);
  if (value.isTensor()) return save_safetensors({{"tensor", value.toTensor()}}, path);
  if (value.isList() || value.isTuple()) {
    std::vector<std::pair<std::string, Tensor>> named;
    for (const IValue& element : value.elements()) {
      TANDEM_CHECK(element.isTensor(), "save: the list for ", path, " has ", element.tagKind(),
                   ", but safetensors hold only tensors; another file extension selects PyTorch's format");
      named.emplace_back(std::to_string(named.size()), element.toTensor());
    }
    return save_safetensors(named, path);
  }
  with_error_context("save: " + path, [&] { save_safetensors(flatten_tensors(value), path); });
}

void nn::Module::save(serialize::OutputArchive& archive) const {
  for (const auto& item : state_dict()) archive.write(item.key(), item.value(), /*is_buffer=*/true);
}
void nn::Module::load(serialize::InputArchive& archive) {
  with_error_context("load: " + archive.name(),
                     [&] { load_tensors(*this, flatten_tensors(archive.value(), /*skip_others=*/true)); });
}
void detail::load_tensors(nn::Module& module, const std::vector<std::pair<std::string, Tensor>>& tensors) {
  const nn::NamedParameters mine = module.state_dict();
  nn::NamedParameters state, all;
  for (const auto& [name, tensor] : tensors) {
    if (mine.contains(name)) state.insert(name, tensor);
    if (!all.contains(name)) all.insert(name, tensor);
  }
  try {
    module.load_state_dict(state);
  } catch (const Error&) {
    // throws again; this message also lists the names that the module lacks
    if (all.size() > state.size()) module.load_state_dict(all);
    throw;
  }
}

serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const std::shared_ptr<nn::Module>& module) {
  TANDEM_CHECK(module, "save: the pointer to the module is null; accepted: a pointer to a module");
  module->save(archive);
  return archive;
}
serialize::InputArchive& operator>>(serialize::InputArchive& archive, const std::shared_ptr<nn::Module>& module) {
  TANDEM_CHECK(module, "load: the pointer to the module is null; accepted: a pointer to a module");
  module->load(archive);
  return archive;
}
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const optim::Optimizer& optimizer) {
  optimizer.save(archive);
  return archive;
}
serialize::InputArchive& operator>>(serialize::InputArchive& archive, optim::Optimizer& optimizer) {
  optimizer.load(archive);
  return archive;
}
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const IValue& value) {
  archive.set_value(value);
  return archive;
}
serialize::InputArchive& operator>>(serialize::InputArchive& archive, IValue& value) {
  value = archive.value();
  return archive;
}
serialize::InputArchive& operator>>(serialize::InputArchive& archive, NamedTensors& tensors) {
  const auto found = with_error_context("load: " + archive.name(), [&] { return flatten_tensors(archive.value()); });
  NamedTensors out;
  for (const auto& [name, tensor] : found)
    TANDEM_CHECK(out.emplace(name, tensor).second, "load: ", archive.name(), " has two tensors named '", name,
                 "'; each name must occur once");
  tensors = std::move(out);
  return archive;
}

void save_module(const nn::Module& module, const std::string& path) {
  serialize::OutputArchive archive;
  module.save(archive);
  archive.save_to(path);
}
void load_module(nn::Module& module, const std::string& path) {
  serialize::InputArchive archive;
  archive.load_from(path);
  module.load(archive);
}

}  // namespace tandem
