#include "tandem/nn/containers/any_module.h"

#include <cxxabi.h>

#include <cstdlib>

namespace tandem::detail {

std::string name_of(const std::type_info& type) {
  int status = 0;
  char* const text = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string out = status == 0 ? text : type.name();
  std::free(text);
  return out;
}

}  // namespace tandem::detail

namespace tandem::nn {
AnyModule AnyModule::of_copy(std::shared_ptr<Module> copy) const {
  AnyModule out = *this;
  out.module_ = std::move(copy);
  return out;
}
AnyModule AnyModule::clone(std::optional<Device> device) const {
  return module_ ? of_copy(module_->clone(device)) : AnyModule();
}
const std::type_info& AnyModule::type_info() const {
  TANDEM_CHECK(!is_empty(), "AnyModule: type_info of an AnyModule that holds no module");
  const Module& module = *module_;
  return typeid(module);
}

}  // namespace tandem::nn
