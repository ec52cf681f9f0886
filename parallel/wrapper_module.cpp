// Implements WrapperModule: saves and loads the wrapped module's state under the names that the wrapped module uses.
#include "tandem/parallel/wrapper_module.h"

#include "tandem/serialize/file.h"
#include "tandem/serialize/module.h"

namespace tandem::nn::parallel::detail {
namespace {

/// Prefix of all names in the state of PyTorch's wrappers.
constexpr std::string_view kModulePrefix = "module.";

/// Returns whether `name` begins with "module." because PyTorch's wrapper added it. Otherwise the module itself has a
/// child "module".
bool is_prefixed(const std::string& name, const NamedParameters& mine) {
  return name.starts_with(kModulePrefix) && !mine.contains(name);
}

}  // namespace

void WrapperModule::load_state_dict(const NamedParameters& state) {
  if (state.is_empty() || !is_prefixed(state.front().key(), state_dict()))
    return wrapped_module().load_state_dict(state);
  NamedParameters unprefixed;
  for (const auto& item : state) {
    const bool prefixed = item.key().starts_with(kModulePrefix);
    unprefixed.insert(prefixed ? item.key().substr(kModulePrefix.size()) : item.key(), item.value());
  }
  wrapped_module().load_state_dict(unprefixed);
}

void WrapperModule::save(serialize::OutputArchive& archive) const { wrapped_module().save(archive); }

void WrapperModule::load(serialize::InputArchive& archive) {
  const NamedParameters mine = state_dict();
  auto tensors = flatten_tensors(archive.value(), /*skip_others=*/true);
  bool is_wrappers = false;
  for (auto& [name, tensor] : tensors) {
    if (!is_prefixed(name, mine)) continue;
    name.erase(0, kModulePrefix.size());
    is_wrappers = is_wrappers || mine.contains(name);
  }
  if (!is_wrappers) return wrapped_module().load(archive);
  with_error_context("load: " + archive.name(), [&] { load_tensors(wrapped_module(), tensors); });
}

}  // namespace tandem::nn::parallel::detail
