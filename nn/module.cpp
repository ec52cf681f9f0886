#include "tandem/nn/module.h"

#include <cxxabi.h>

#include <cstdlib>
#include <set>
#include <typeinfo>

#include "tandem/autograd/copy.h"
#include "tandem/autograd/factory.h"
#include "tandem/core/generator.h"

namespace tandem::nn {

/// Reaches into modules that are not its own.
class ModuleVisitor {
 public:
  /// All modules below `m`, itself first; a shared one once.
  static void walk(const Module& m, const std::string& prefix, std::set<const Module*>& seen,
                   const std::function<void(const std::string& prefix, const Module&)>& f) {
    if (!seen.insert(&m).second) return;
    f(prefix, m);
    for (const auto& child : m.children_)
      if (child.value_) walk(*child.value_, prefix + child.name + ".", seen, f);
  }
  static NamedParameters collect(const Module& root, bool recurse, NamedParameters Module::*member) {
    NamedParameters out;
    std::set<const Module*> seen;
    std::set<const TensorImpl*> listed;
    walk(root, "", seen, [&](const std::string& prefix, const Module& m) {
      if (!recurse && &m != &root) return;
      for (const auto& item : m.*member)
        if (item.value_.defined() && listed.insert(item.value_.impl()).second)
          out.insert(prefix + item.name, item.value_);
    });
    return out;
  }
  static NamedParameters named_parameters(const Module& m, bool recurse) {
    return collect(m, recurse, &Module::parameters_);
  }
  static NamedParameters named_buffers(const Module& m, bool recurse) { return collect(m, recurse, &Module::buffers_); }
};

NamedParameters Module::named_parameters(bool recurse) const { return ModuleVisitor::named_parameters(*this, recurse); }
NamedParameters Module::named_buffers(bool recurse) const { return ModuleVisitor::named_buffers(*this, recurse); }

OrderedDict<std::shared_ptr<Module>> Module::named_modules() const {
  OrderedDict<std::shared_ptr<Module>> out;
  std::set<const Module*> seen;
  ModuleVisitor::walk(*this, "", seen, [&](const std::string& prefix, const Module& m) {
    const auto self = const_cast<Module&>(m).weak_from_this().lock();
    if (self) out.insert(prefix.empty() ? "" : prefix.substr(0, prefix.size() - 1), self);
  });
  return out;
}
std::vector<std::shared_ptr<Module>> Module::modules(bool include_self) const {
  std::vector<std::shared_ptr<Module>> out;
  for (const auto& item : named_modules())
    if (include_self || item.value_.get() != this) out.push_back(item.value_);
  return out;
}
std::vector<std::shared_ptr<Module>> Module::children() const { return children_.values(); }

NamedParameters Module::state_dict() const {
  NamedParameters out = named_parameters();
  for (const auto& item : named_buffers()) out.insert(item.name, item.value_);
  return out;
}
void Module::load_state_dict(const NamedParameters& state) {
  NamedParameters mine = state_dict();
  for (const auto& item : mine) {
    const Tensor* given = state.find(item.name);
    TANDEM_CHECK(given, "load_state_dict: '", item.name, "' of ", item.value_.sizes(), " is missing");
    TANDEM_CHECK(given->sizes() == item.value_.sizes(), "load_state_dict: '", item.name, "' is ", given->sizes(),
                 "; the module's is ", item.value_.sizes());
  }
  for (const auto& item : state)
    TANDEM_CHECK(mine.contains(item.name), "load_state_dict: '", item.name, "' is not in this module");
  const NoGradGuard guard;
  for (auto& item : mine) item.value_.copy_(*state.find(item.name));
}

void Module::train(bool on) {
  training_ = on;
  for (const auto& child : children_) child.value_->train(on);
}
void Module::zero_grad(bool set_to_none) {
  for (const Tensor& p : parameters()) p.zero_grad(set_to_none);
}

namespace {
/// Gives a tensor other storage in place, so that every handle on it (an optimizer's, a parent's) sees the move.
void rebind(const Tensor& t, Device device, DType dtype) {
  const NoGradGuard guard;
  const auto move = [&](const Tensor& x) {
    const Tensor moved = x.detach().to(device, x.is_floating_point() ? dtype : x.dtype()).contiguous();
    TensorImpl& to = *x.impl();
    TensorImpl& from = *moved.impl();
    to.storage = from.storage, to.sizes = from.sizes, to.strides = from.strides;
    to.offset = from.offset, to.dtype = from.dtype, to.contiguous = from.contiguous;
  };
  move(t);
  if (t.grad().defined()) move(t.grad());
}
}  // namespace

void Module::to(Device device, DType dtype) {
  check_device_exists(device);
  for (const auto& item : state_dict()) rebind(item.value_, device, dtype);
}
void Module::to(Device device) {
  check_device_exists(device);
  for (const auto& item : state_dict()) rebind(item.value_, device, item.value_.dtype());
}
void Module::to(DType dtype) {
  TANDEM_CHECK(is_floating_point(dtype), "Module::to: dtype is ", dtype, "; accepted: floating point");
  for (const auto& item : state_dict()) rebind(item.value_, item.value_.device(), dtype);
}

void Module::apply(const std::function<void(Module&)>& f) {
  for (const auto& child : children_) child.value_->apply(f);
  f(*this);
}

std::shared_ptr<Module> Module::clone(std::optional<Device>) const {
  TANDEM_FAIL("clone: ", name(), " has no clone(); derive it from nn::Cloneable<", name(), "> and give it a reset()");
}
void Module::copy_state_from(const Module& other, std::optional<Device> device) {
  if (device) to(*device);
  const NoGradGuard guard;
  NamedParameters mine = state_dict();
  for (const auto& item : other.state_dict()) mine[item.name].copy_(item.value_);
  const NamedParameters theirs = other.named_parameters();
  for (const auto& item : theirs) mine[item.name].requires_grad_(item.value_.requires_grad());
  train(other.training_);
}

std::string Module::name() const {
  if (!name_.empty()) return name_;
  int status = 0;
  char* const text = abi::__cxa_demangle(typeid(*this).name(), nullptr, nullptr, &status);
  std::string out = status == 0 ? text : typeid(*this).name();
  std::free(text);
  out = out.substr(out.rfind(':') == std::string::npos ? 0 : out.rfind(':') + 1);
  return out.size() > 4 && out.ends_with("Impl") ? out.substr(0, out.size() - 4) : out;
}
void Module::pretty_print(std::ostream& out) const { out << name(); }

namespace {
void print_tree(std::ostream& out, const Module& m, const std::string& indent) {
  m.pretty_print(out);
  if (m.named_children().is_empty()) return;
  out << "(\n";
  for (const auto& child : m.named_children()) {
    out << indent << "  (" << child.name << "): ";
    print_tree(out, *child.value_, indent + "  ");
    out << "\n";
  }
  out << indent << ")";
}
}  // namespace
std::ostream& operator<<(std::ostream& out, const Module& module) {
  print_tree(out, module, "");
  return out;
}

void Module::check_new_name(const char* op, const std::string& name) const {
  TANDEM_CHECK(!name.empty() && name.find('.') == std::string::npos, op, ": '", name,
               "' is not a name; it must not be empty nor hold a dot");
  TANDEM_CHECK(!parameters_.contains(name) && !buffers_.contains(name) && !children_.contains(name), op, ": '", name,
               "' is registered already");
}
Tensor& Module::register_parameter(std::string name, Tensor tensor, bool requires_grad) {
  check_new_name("register_parameter", name);
  if (tensor.defined()) tensor.requires_grad_(requires_grad);
  parameters_.insert(name, tensor);
  return parameters_[name];
}
Tensor& Module::register_buffer(std::string name, Tensor tensor) {
  check_new_name("register_buffer", name);
  buffers_.insert(name, std::move(tensor));
  return buffers_[name];
}

}  // namespace tandem::nn
