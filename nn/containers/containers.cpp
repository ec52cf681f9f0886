// Implements ModuleList, ModuleDict, ParameterList and ParameterDict: changes of contents, cloning, and printing.
#include "tandem/nn/containers/containers.h"

#include "tandem/core/print/print_style.h"
#include "tandem/nn/module/cloning.h"

namespace tandem::nn {

void ModuleListImpl::insert(size_t i, std::shared_ptr<Module> module) {
  TANDEM_CHECK_AS(IndexError, i <= size(), "ModuleList: Index out of range: insert at ", i, ", but there are ", size(),
                  " modules");
  TANDEM_CHECK(module, "ModuleList: insert at ", i, ": the module is an empty ModuleHolder (constructed from nullptr)");
  modules_.insert(modules_.begin() + static_cast<std::ptrdiff_t>(i), std::move(module));
  for (size_t k = i; k + 1 < size(); ++k) replace_module(std::to_string(k), modules_[k]);
  register_module(std::to_string(size() - 1), modules_.back());
}

std::shared_ptr<Module> ModuleListImpl::ptr(size_t i) const {
  TANDEM_CHECK_AS(IndexError, i < size(), "ModuleList: Index out of range: index is ", i, ", but there are ", size(),
                  " modules");
  return modules_[i];
}
ModuleDictImpl::ModuleDictImpl(const Named& modules) { update(modules); }
ModuleDictImpl::ModuleDictImpl(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules) {
  update(modules);
}
void ModuleDictImpl::update(const Named& modules) {
  for (const auto& item : modules) set_item(item.key(), item.value());
}
void ModuleDictImpl::update(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules) {
  for (const auto& [name, module] : modules) set_item(name, module);
}
void ModuleDictImpl::update(const ModuleDictImpl& modules) { update(modules.children_); }
void ModuleDictImpl::clear() { children_.clear(); }
bool ModuleDictImpl::contains(const std::string& name) const { return children_.contains(name); }
std::shared_ptr<Module> ModuleDictImpl::ptr(const std::string& name) const { return children_[name]; }
void ModuleDictImpl::set_item(const std::string& name, const std::shared_ptr<Module>& module) {
  if (contains(name))
    replace_module(name, module);
  else
    register_module(name, module);
}
void ParameterListImpl::append(const Tensor& parameter) {
  register_parameter(std::to_string(size()), parameter, parameter.requires_grad());
}
ParameterDictImpl::ParameterDictImpl(const NamedParameters& parameters) {
  for (const auto& item : parameters) insert(item.key(), item.value());
}
Tensor& ParameterDictImpl::insert(const std::string& name, const Tensor& parameter) {
  return register_parameter(name, parameter, parameter.requires_grad());
}
void ParameterDictImpl::update(const NamedParameters& parameters) {
  for (const auto& item : parameters) parameters_[item.key()] = item.value();
}
void ParameterDictImpl::update(const ParameterDictImpl& parameters) { update(parameters.parameters_); }
void ParameterDictImpl::clear() { parameters_.clear(); }
bool ParameterDictImpl::contains(const std::string& name) const { return parameters_.contains(name); }

Tensor& ParameterListImpl::at(size_t i) { return parameters_[i].value(); }
Tensor& ParameterDictImpl::get(const std::string& name) { return parameters_[name]; }
const Tensor& ParameterDictImpl::get(const std::string& name) const { return parameters_[name]; }

std::shared_ptr<Module> ModuleListImpl::shallow_copy() const { return std::make_shared<ModuleListImpl>(); }
void ModuleListImpl::copy_contents_from(const Module& original, detail::CloneContext& clone_context) {
  const auto& from = static_cast<const ModuleListImpl&>(original);
  children_ = clone_context.copy_children(from.children_);
  modules_.clear();
  for (const auto& m : from.modules_) modules_.push_back(clone_context.copy_module(*m));
}
std::shared_ptr<Module> ModuleDictImpl::shallow_copy() const { return std::make_shared<ModuleDictImpl>(); }
void ModuleDictImpl::copy_contents_from(const Module& original, detail::CloneContext& clone_context) {
  children_ = clone_context.copy_children(static_cast<const ModuleDictImpl&>(original).children_);
}

namespace {
/// Returns a tensor for each name in `original`: the tensor of this name in `mine` if its sizes match, else a copy of
/// the original's tensor. Does not yet copy values into the tensors of `mine`.
NamedParameters match_parameters_by_name(const NamedParameters& original, const NamedParameters& mine) {
  NamedParameters out;
  for (const auto& item : original) {
    const Tensor* const known = mine.find(item.key());
    const bool fits = known && known->defined() && item->defined() && known->sizes() == item->sizes();
    out.insert(item.key(), fits ? *known : item->defined() ? item->detach().clone() : Tensor());
  }
  return out;
}
/// Prints one line per parameter, in the format of Python's PyTorch or of LibTorch.
void print_parameters(std::ostream& out, const std::string& name, const NamedParameters& parameters) {
  out << name << '(';
  if (tandem::detail::prints_as_libtorch) {
    out << '\n';
    for (const auto& item : parameters)
      out << '(' << item.key() << "): Parameter containing: [" << item->dtype() << " of size " << item->sizes()
          << "]\n";
    out << ')';
    return;
  }
  for (const auto& item : parameters) {
    out << "\n    (" << item.key() << "): Parameter containing: [torch." << item->dtype() << " of size ";
    for (int64_t d = 0; d < item->dim(); ++d) out << (d ? "x" : "") << item->size(d);
    out << ']';
  }
  out << (parameters.is_empty() ? ")" : "\n)");
}
}  // namespace

std::shared_ptr<Module> ParameterListImpl::shallow_copy() const { return std::make_shared<ParameterListImpl>(); }
void ParameterListImpl::copy_contents_from(const Module& original, detail::CloneContext&) {
  parameters_ = match_parameters_by_name(static_cast<const ParameterListImpl&>(original).parameters_, parameters_);
}
std::shared_ptr<Module> ParameterDictImpl::shallow_copy() const { return std::make_shared<ParameterDictImpl>(); }
void ParameterDictImpl::copy_contents_from(const Module& original, detail::CloneContext&) {
  parameters_ = match_parameters_by_name(static_cast<const ParameterDictImpl&>(original).parameters_, parameters_);
}
void ParameterListImpl::pretty_print(std::ostream& out) const { print_parameters(out, name(), parameters_); }
void ParameterDictImpl::pretty_print(std::ostream& out) const { print_parameters(out, name(), parameters_); }

}  // namespace tandem::nn
