#include "tandem/parallel/wrapper_module.h"

#include <algorithm>

#include "tandem/core/internal.h"
#include "tandem/serialize/archive.h"

namespace tandem::nn::parallel::detail {

bool WrapperModule::has_prefix(const std::string& name) const {
  return name.starts_with("module.") && !wrapped().state_dict().contains(name);
}
void WrapperModule::load_state_dict(const NamedParameters& state) {
  // Module's own names are those with the prefix.
  if (!state.is_empty() && has_prefix(state.front().key())) return Module::load_state_dict(state);
  wrapped().load_state_dict(state);
}
void WrapperModule::save(serialize::OutputArchive& archive) const { wrapped().save(archive); }
void WrapperModule::load(serialize::InputArchive& archive) {
  const auto tensors = tandem::detail::flat_tensors(archive.value(), /*skip_others=*/true);
  const bool prefixed = std::any_of(tensors.begin(), tensors.end(), [&](const auto& t) { return has_prefix(t.first); });
  if (prefixed) return Module::load(archive);
  wrapped().load(archive);
}

}  // namespace tandem::nn::parallel::detail
