#include "tandem/nn/containers.h"

#include "tandem/core/print_style.h"
#include "tandem/ops/copy.h"

namespace tandem::detail {
void throw_other_module(const char* container, const std::string& key, const nn::Module& module,
                        const std::type_info& asked) {
  TANDEM_FAIL(container, ": module ", key, " is a ", name_of(typeid(module)), "; asked for a ", name_of(asked));
}
}  // namespace tandem::detail

namespace tandem::nn {

void ModuleListImpl::insert(size_t i, std::shared_ptr<Module> module) {
  TANDEM_CHECK_AS(IndexError, i <= size(), "ModuleList: insert at ", i, "; accepted: 0 to ", size());
  TANDEM_CHECK(module, "ModuleList: insert at ", i,
               ": the module is an empty handle, made with nullptr and never assigned");
  modules_.insert(modules_.begin() + static_cast<std::ptrdiff_t>(i), std::move(module));
  for (size_t k = i; k + 1 < size(); ++k) replace_module(std::to_string(k), modules_[k]);
  register_module(std::to_string(size() - 1), modules_.back());
}

std::shared_ptr<Module> ModuleListImpl::clone(std::optional<Device> device) const {
  const auto copy = std::make_shared<ModuleListImpl>();
  for (const auto& m : modules_) copy->push_back(m->clone(device));
  copy->training_ = training_;
  return copy;
}
std::shared_ptr<Module> ModuleDictImpl::clone(std::optional<Device> device) const {
  const auto copy = std::make_shared<ModuleDictImpl>();
  for (const auto& item : children_) copy->register_module(item.key(), item.value()->clone(device));
  copy->training_ = training_;
  return copy;
}

namespace {
Tensor copy_of(const Tensor& parameter, std::optional<Device> device) {
  const Tensor copy = parameter.detach().clone().to(device.value_or(parameter.device()));
  return copy.requires_grad_(parameter.requires_grad());
}
/// One line for each, in the words of Python's PyTorch, or in LibTorch's.
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

std::shared_ptr<Module> ParameterListImpl::clone(std::optional<Device> device) const {
  const auto copy = std::make_shared<ParameterListImpl>();
  for (const auto& item : parameters_) copy->append(copy_of(item.value(), device));
  copy->training_ = training_;
  return copy;
}
std::shared_ptr<Module> ParameterDictImpl::clone(std::optional<Device> device) const {
  const auto copy = std::make_shared<ParameterDictImpl>();
  for (const auto& item : parameters_) copy->insert(item.key(), copy_of(item.value(), device));
  copy->training_ = training_;
  return copy;
}
void ParameterListImpl::pretty_print(std::ostream& out) const { print_parameters(out, name(), parameters_); }
void ParameterDictImpl::pretty_print(std::ostream& out) const { print_parameters(out, name(), parameters_); }

}  // namespace tandem::nn
