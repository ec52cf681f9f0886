// Implements Module: registers, lists, loads, moves, prints and copies parameters, buffers and children.
#include "tandem/nn/module.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>
#include <typeinfo>

#include "tandem/core/generator.h"
#include "tandem/core/print/print_style.h"
#include "tandem/nn/module/cloning.h"
#include "tandem/nn/module/print_libtorch.h"

namespace tandem {
TANDEM_INSTANTIATE_ORDERED_DICT(Tensor, )
TANDEM_INSTANTIATE_ORDERED_DICT(std::shared_ptr<nn::Module>, )
}  // namespace tandem
namespace tandem::detail {
void throw_empty_handle() {
  TANDEM_FAIL(
      "Accessing empty ModuleHolder: it was constructed from nullptr and never assigned; assign a module to it");
}
std::shared_ptr<nn::Module> make_shared_module(nn::Module* module) { return std::shared_ptr<nn::Module>(module); }
}  // namespace tandem::detail

namespace tandem::nn {

Module::Module() = default;
Module::Module(std::string name) : name_(std::move(name)) {}
Module::Module(const Module& other) = default;
Module& Module::operator=(const Module& other) = default;
Module::~Module() = default;

/// Gives access to protected members of any module.
class ModuleVisitor {
 public:
  using Visit = std::function<void(const std::string& prefix, const Module&)>;
  /// Calls `f` on `m` and all its descendants. If `seen` is not null, each module is visited only once.
  static void visit_submodules(const Module& m, const std::string& prefix, std::set<const Module*>* seen,
                               const Visit& f) {
    if (seen && !seen->insert(&m).second) return;
    f(prefix, m);
    for (const auto& child : m.children_) visit_submodules(*child.value(), prefix + child.key() + ".", seen, f);
  }
  /// Lists tensors by name, module by module. If `once`, a shared tensor is listed under its first name only.
  static NamedParameters collect_tensors(const Module& root, bool recurse, bool once,
                                         std::initializer_list<NamedParameters Module::*> members) {
    NamedParameters out;
    std::set<const Module*> seen;
    std::set<const TensorImpl*> listed;
    visit_submodules(root, "", once ? &seen : nullptr, [&](const std::string& prefix, const Module& m) {
      if (!recurse && &m != &root) return;
      for (const NamedParameters Module::*const member : members)
        for (const auto& item : m.*member)
          if (item->defined() && (listed.insert(item->impl()).second || !once))
            out.insert(prefix + item.key(), item.value());
    });
    return out;
  }
  static NamedParameters parameters(const Module& m, bool recurse) {
    return collect_tensors(m, recurse, true, {&Module::parameters_});
  }
  static NamedParameters buffers(const Module& m, bool recurse) {
    return collect_tensors(m, recurse, true, {&Module::buffers_});
  }
  static NamedParameters state_tensors(const Module& m) {
    return collect_tensors(m, true, false, {&Module::parameters_, &Module::buffers_});
  }
};

NamedParameters Module::named_parameters(bool recurse) const { return ModuleVisitor::parameters(*this, recurse); }
NamedParameters Module::named_buffers(bool recurse) const { return ModuleVisitor::buffers(*this, recurse); }

OrderedDict<std::string, std::shared_ptr<Module>> Module::named_modules(const std::string& name_prefix,
                                                                        bool include_self) const {
  OrderedDict<std::string, std::shared_ptr<Module>> out;
  const auto list = [&](const std::string& name, const Module& m) {
    const auto self = const_cast<Module&>(m).weak_from_this().lock();
    if (self && (include_self || &m != this)) out.insert(name, self);
  };
  apply(ConstNamedModuleApplyFunction(list), name_prefix);
  return out;
}
std::vector<std::shared_ptr<Module>> Module::modules(bool include_self) const {
  std::vector<std::shared_ptr<Module>> out;
  for (const auto& item : named_modules())
    if (include_self || item.value().get() != this) out.push_back(item.value());
  return out;
}
std::vector<std::shared_ptr<Module>> Module::children() const { return children_.values(); }

NamedParameters Module::state_dict() const { return ModuleVisitor::state_tensors(*this); }
std::vector<Tensor> Module::parameters(bool recurse) const { return named_parameters(recurse).values(); }
std::vector<Tensor> Module::buffers(bool recurse) const { return named_buffers(recurse).values(); }
namespace {

/// Collects names for a message, which shows the first kMaxNamesShown names and the number of the others.
class NameSummary {
 public:
  explicit NameSummary(const char* title) : title_(title) {}
  void add_name(const std::string& text) {
    if (num_names_++ < kMaxNamesShown) names_text_ += (names_text_.empty() ? "" : ", ") + text;
  }
  bool empty() const { return num_names_ == 0; }
  std::string str() const {
    if (num_names_ == 0) return {};
    const std::string more = num_names_ > kMaxNamesShown ? ", ... (" + std::to_string(num_names_) + ")" : "";
    return std::string("; ") + title_ + ": " + names_text_ + more;
  }

 private:
  static constexpr size_t kMaxNamesShown = 8;
  const char* title_;
  std::string names_text_;
  size_t num_names_ = 0;
};
std::string format_name_and_sizes(const std::string& name, IntArrayRef sizes) {
  std::ostringstream out;
  out << "'" << name << "' of " << sizes;
  return out.str();
}
/// Returns a prefix, such as "module.", whose removal turns the names in `state` into the names in `own_state`; "" if
/// there is no such prefix.
std::string find_extra_prefix(const NamedParameters& state, const NamedParameters& own_state) {
  if (state.is_empty()) return {};
  const std::string& first = state.front().key();
  for (size_t dot = first.find('.'); dot != std::string::npos; dot = first.find('.', dot + 1)) {
    const std::string prefix = first.substr(0, dot + 1);
    const auto is_mine = [&](const auto& item) {
      return item.key().starts_with(prefix) && own_state.contains(item.key().substr(prefix.size()));
    };
    if (std::all_of(state.begin(), state.end(), is_mine)) return prefix;
  }
  return {};
}

}  // namespace

void Module::load_state_dict(const NamedParameters& state) {
  NamedParameters own_state = state_dict();
  std::set<const TensorImpl*> given;
  for (const auto& item : own_state)
    if (state.contains(item.key())) given.insert(item->impl());
  NameSummary missing("missing"), unexpected("unexpected"), other_shape("size mismatch");
  for (const auto& item : own_state) {
    if (!given.contains(item->impl())) missing.add_name(format_name_and_sizes(item.key(), item->sizes()));
    const Tensor* const from = state.find(item.key());
    if (!from || from->sizes() == item->sizes()) continue;
    std::ostringstream both;
    both << format_name_and_sizes(item.key(), from->sizes()) << ", but the module's is " << item->sizes();
    other_shape.add_name(both.str());
  }
  for (const auto& item : state)
    if (!own_state.contains(item.key())) unexpected.add_name("'" + item.key() + "'");
  if (!missing.empty() || !unexpected.empty() || !other_shape.empty()) {
    const std::string prefix = find_extra_prefix(state, own_state);
    TANDEM_FAIL("load_state_dict: Error(s) in loading state_dict for ", name(), missing.str(), unexpected.str(),
                other_shape.str(),
                prefix.empty() ? "" : "; every key begins with '" + prefix + "': remove that prefix");
  }
  const NoGradGuard guard;
  for (const auto& item : state) own_state[item.key()].copy_(item.value());
}

void Module::train(bool on) {
  training_ = on;
  for (const auto& child : children_) child.value()->train(on);
}
void Module::zero_grad(bool set_to_none) {
  for (const Tensor& p : parameters()) p.zero_grad(set_to_none);
}

void Module::to(Device device, DType dtype, bool non_blocking) {
  check_device_exists(device);
  for (const auto& item : state_dict()) replace_storage(*item, device, dtype, MemoryFormat::Preserve, non_blocking);
}
void Module::to(Device device, bool non_blocking) {
  check_device_exists(device);
  for (const auto& item : state_dict())
    replace_storage(*item, device, item->dtype(), MemoryFormat::Preserve, non_blocking);
}
void Module::to(DType dtype, bool non_blocking) {
  TANDEM_CHECK(is_floating_point(dtype),
               "Module::to only accepts floating point dtypes, but got desired dtype=", dtype);
  for (const auto& item : state_dict())
    replace_storage(*item, item->device(), dtype, MemoryFormat::Preserve, non_blocking);
}

void Module::to(MemoryFormat format) {
  TANDEM_CHECK(format == MemoryFormat::Contiguous || format == MemoryFormat::ChannelsLast,
               "Module::to: unsupported memory format ", format, "; accepted: Contiguous and ChannelsLast");
  for (const auto& item : state_dict())
    if (item->dim() == 4) replace_storage(*item, item->device(), item->dtype(), format);
}

void Module::apply(const ConstNamedModuleApplyFunction& function, const std::string& name_prefix) const {
  std::set<const Module*> seen;
  ModuleVisitor::visit_submodules(*this, name_prefix.empty() ? "" : name_prefix + ".", &seen,
                                  [&](const std::string& prefix, const Module& m) {
                                    function(prefix.substr(0, prefix.size() - !prefix.empty()), m);
                                  });
}
void Module::apply(const ConstModuleApplyFunction& function) const {
  apply(ConstNamedModuleApplyFunction([&](const std::string&, const Module& m) { function(m); }));
}
void Module::apply(const NamedModuleApplyFunction& function, const std::string& name_prefix) {
  std::as_const(*this).apply(ConstNamedModuleApplyFunction([&](const std::string& name, const Module& m) {
                               function(name, const_cast<Module&>(m));
                             }),
                             name_prefix);
}
void Module::apply(const ModuleApplyFunction& function) {
  apply(NamedModuleApplyFunction([&](const std::string&, Module& m) { function(m); }));
}
void Module::apply(const NamedModulePointerApplyFunction& function, const std::string& name_prefix) const {
  apply(ConstNamedModuleApplyFunction([&](const std::string& name, const Module& m) {
          const auto self = const_cast<Module&>(m).weak_from_this().lock();
          TANDEM_CHECK(self, "Module::apply: ", m.name(), " is not stored in a shared_ptr. Use std::make_shared<",
                       m.name(), "> or a module holder");
          function(name, self);
        }),
        name_prefix);
}
void Module::apply(const ModulePointerApplyFunction& function) const {
  apply(NamedModulePointerApplyFunction([&](const std::string&, const std::shared_ptr<Module>& m) { function(m); }));
}

namespace {
std::string demangled_class_name(const Module& m) {
  int status = 0;
  char* const text = abi::__cxa_demangle(typeid(m).name(), nullptr, nullptr, &status);
  std::string out = status == 0 ? text : typeid(m).name();
  std::free(text);
  return out;
}
bool is_library_module(const Module& m) { return demangled_class_name(m).rfind("tandem::nn::", 0) == 0; }
}  // namespace
std::string Module::name() const {
  if (!name_.empty()) return name_;
  std::string out = demangled_class_name(*this);
  if (prints_as_libtorch) return is_library_module(*this) ? out.replace(0, 6, "torch") : out;
  size_t begin = 0;  // start of the class name, after the last "::" outside template arguments
  int depth = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    depth += (out[i] == '<' || out[i] == '(') - (out[i] == '>' || out[i] == ')');
    if (out[i] == ':' && depth == 0) begin = i + 1;
  }
  out = out.substr(begin);
  return out.size() > 4 && out.ends_with("Impl") ? out.substr(0, out.size() - 4) : out;
}
void Module::pretty_print(std::ostream& out) const {
  out << name() << (children_.is_empty() && !prints_as_libtorch ? "()" : "");
}

namespace {
void print_tree(std::ostream& out, const Module& m, const std::string& indent) {
  if (prints_as_libtorch && is_library_module(m)) {
    std::ostringstream own;
    m.pretty_print(own);
    out << to_libtorch_format(own.str());
  } else {
    m.pretty_print(out);
  }
  if (m.named_children().is_empty()) return;
  out << "(\n";
  for (const auto& child : m.named_children()) {
    out << indent << "  (" << child.key() << "): ";
    print_tree(out, *child.value(), indent + "  ");
    out << "\n";
  }
  out << indent << ")";
}
}  // namespace
std::ostream& operator<<(std::ostream& out, const Module& module) {
  print_tree(out, module, "");
  return out;
}

void Module::check_new_name(const char* op, const char* kind, const std::string& name) const {
  TANDEM_CHECK(!name.empty(), op, ": ", kind, " name must not be empty");
  TANDEM_CHECK(name.find('.') == std::string::npos, op, ": ", kind, " name must not contain a dot (got '", name, "')");
  TANDEM_CHECK(!parameters_.contains(name) && !buffers_.contains(name) && !children_.contains(name), op, ": ", kind,
               " '", name, "' already defined");
}
void Module::add_child(std::string name, std::shared_ptr<Module> module) {
  check_new_name("register_module", "Submodule", name);
  TANDEM_CHECK(module, "register_module: '", name, "' is an empty ModuleHolder (constructed from nullptr)");
  Module& child = *children_.insert(std::move(name), std::move(module));
  detail::CloneContext::on_child_registered(*this, children_.back().key(), child);
}
void Module::set_child(const std::string& name, std::shared_ptr<Module> module) {
  TANDEM_CHECK(module, "replace_module: '", name, "' is an empty ModuleHolder (constructed from nullptr)");
  children_[name] = std::move(module);
  detail::CloneContext::on_child_registered(*this, name, *children_[name]);
}
void Module::unregister_module(const std::string& name) { children_.erase(name); }
Tensor& Module::register_parameter(std::string name, Tensor tensor, bool requires_grad) {
  check_new_name("register_parameter", "Parameter", name);
  if (tensor.defined()) tensor.requires_grad_(requires_grad);
  return parameters_.insert(std::move(name), std::move(tensor));
}
Tensor& Module::register_buffer(std::string name, Tensor tensor) {
  check_new_name("register_buffer", "Buffer", name);
  return buffers_.insert(std::move(name), std::move(tensor));
}

std::shared_ptr<Module> Module::clone(const std::optional<Device>&) const {
  TANDEM_FAIL("clone() has not been implemented for ", name(), ". Subclass nn::Cloneable<", name(),
              "> instead of nn::Module to inherit the ability to clone, and define reset()");
}
std::shared_ptr<Module> Module::deep_copy(std::optional<Device> device) const {
  // reset() draws initial values, which clone() overwrites. A scratch generator keeps the caller's generator unchanged.
  Generator scratch;
  const GeneratorGuard guard(scratch);
  detail::CloneContext clone_context(device);
  std::shared_ptr<Module> copy = clone_context.copy_module(*this);
  clone_context.finish_clones();
  return copy;
}
std::shared_ptr<Module> Module::shallow_copy() const { return nullptr; }
void Module::register_members() {}
bool Module::copy_members_from(const Module&) { return false; }
bool Module::copy_options_from(const Module&) { return false; }
void Module::copy_contents_from(const Module&, detail::CloneContext&) {}

}  // namespace tandem::nn
