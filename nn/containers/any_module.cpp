// Implements the cloning of an AnyModule, and access to the type of the module that it holds.
#include "tandem/nn/containers/any_module.h"

#include "tandem/core/internal.h"

namespace tandem::nn {
AnyModule AnyModule::copy_with_module(std::shared_ptr<Module> copy) const {
  AnyModule out = *this;
  out.module_ = std::move(copy);
  return out;
}
AnyModule AnyModule::clone(const std::optional<Device>& device) const {
  return module_ ? copy_with_module(module_->clone(device)) : AnyModule();
}
const std::type_info& AnyModule::type_info() const {
  check_not_empty("type_info");
  const Module& module = *module_;
  return typeid(module);
}

}  // namespace tandem::nn
