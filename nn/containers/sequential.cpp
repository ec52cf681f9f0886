// Implements changes of a Sequential's contents, and the cloning of a Sequential.
#include "tandem/nn/containers/sequential.h"

#include "tandem/nn/module/cloning.h"

namespace tandem::detail {
void throw_wrong_module_type(const char* container, const std::string& key, const nn::Module& module,
                             const std::type_info& asked) {
  TANDEM_FAIL(container, ": Unable to cast module[", key, "] to ", demangled_name(asked), "; the module is a ",
              demangled_name(typeid(module)));
}
}  // namespace tandem::detail

namespace tandem::nn {

SequentialImpl::SequentialImpl(std::initializer_list<NamedAnyModule> modules) {
  for (const NamedAnyModule& m : modules) push_back(m.name(), m.module());
}
SequentialImpl::SequentialImpl(OrderedDict<std::string, AnyModule>&& modules) {
  for (auto& item : modules) push_back(item.key(), std::move(item.value()));
}
void SequentialImpl::push_back(AnyModule module) { push_back(std::to_string(size()), std::move(module)); }
void SequentialImpl::push_back(std::string name, AnyModule module) {
  register_module(std::move(name), module.ptr());
  modules_.push_back(std::move(module));
}
std::shared_ptr<Module> SequentialImpl::shallow_copy() const { return std::make_shared<SequentialImpl>(); }
void SequentialImpl::copy_contents_from(const Module& original, detail::CloneContext& clone_context) {
  const auto& from = static_cast<const SequentialImpl&>(original);
  children_ = clone_context.copy_children(from.children_);
  modules_.clear();
  for (const AnyModule& m : from.modules_) modules_.push_back(m.copy_with_module(clone_context.copy_module(*m.ptr())));
}
const AnyModule& SequentialImpl::module_at(size_t i) const {
  TANDEM_CHECK_AS(IndexError, i < size(), "Sequential: Index out of range: index is ", i, ", but there are ", size(),
                  " modules");
  return modules_[i];
}
Sequential::Sequential(std::initializer_list<NamedAnyModule> modules)
    : ModuleHolder(std::make_shared<SequentialImpl>(modules)) {}

}  // namespace tandem::nn
