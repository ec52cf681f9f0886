// Implements IValue and ValueContainer: lists, tuples and dicts, key lookup, and conversion to C++ types.
#include "tandem/autograd/ivalue.h"

#include <algorithm>

#include "tandem/autograd/value_container.h"

namespace tandem {

bool DictKeyLess::operator()(const IValue& a, const IValue& b) const {
  if (a.isInt() != b.isInt()) return a.isInt();
  if (a.isInt()) return a.toInt() < b.toInt();
  return &a.toStringRef() != &b.toStringRef() && a.toStringRef() < b.toStringRef();
}

IValue ValueContainer::make_container(Kind kind) { return IValue(std::make_shared<ValueContainer>(kind)); }
ValueContainer* ValueContainer::of(const IValue& value) { return value.container_.get(); }
void ValueContainer::register_child(const IValue& value) {
  ValueContainer* const inner = of(value);
  if (!inner) return;
  TANDEM_CHECK(inner->nesting_depth < kMaxNestingDepth, "IValue: lists, tuples and dicts are nested deeper than ",
               kMaxNestingDepth, " levels");
  inner->has_parent = true;
  nesting_depth = std::max(nesting_depth, inner->nesting_depth + 1);
}
void ValueContainer::append(IValue value) {
  register_child(value);
  elements.push_back(std::move(value));
}
void ValueContainer::insert(IValue key, IValue value) {
  TANDEM_CHECK(key.isString() || key.isInt(), "IValue: a dict key is ", key.tagKind(), "; accepted: strings and ints");
  register_child(value);
  const auto [at, is_new] = key_index_.emplace(key, entries.size());
  if (is_new)
    entries.push_back({std::move(key), std::move(value)});
  else
    entries[at->second].second = std::move(value);
}
const IValue* ValueContainer::find(const IValue& key) const {
  if (!key.isString() && !key.isInt()) return nullptr;
  const auto at = key_index_.find(key);
  return at == key_index_.end() ? nullptr : &entries[at->second].second;
}

namespace {

using Kind = ValueContainer::Kind;

IValue make_sequence(Kind kind, std::vector<IValue> elements) {
  IValue out = ValueContainer::make_container(kind);
  ValueContainer& container = *ValueContainer::of(out);
  container.elements.reserve(elements.size());
  for (IValue& element : elements) container.append(std::move(element));
  return out;
}
bool has_kind(const IValue& value, Kind kind) {
  const ValueContainer* const container = ValueContainer::of(value);
  return container && container->kind == kind;
}
const ValueContainer& get_dict(const IValue& value) {
  TANDEM_CHECK(value.isGenericDict(), "IValue: this is ", value.tagKind(), "; accepted: a dict");
  return *ValueContainer::of(value);
}

}  // namespace

IValue::IValue(std::string value) : tag_(Tag::string), string_(std::make_shared<const std::string>(std::move(value))) {}
IValue::IValue(std::shared_ptr<detail::ValueContainer> container)
    : tag_(Tag::container), container_(std::move(container)) {}
IValue IValue::list(std::vector<IValue> elements) { return make_sequence(Kind::list, std::move(elements)); }
IValue IValue::tuple(std::vector<IValue> elements) { return make_sequence(Kind::tuple, std::move(elements)); }
IValue IValue::dict() { return ValueContainer::make_container(Kind::dict); }
IValue IValue::ordered_dict() { return ValueContainer::make_container(Kind::ordered_dict); }

bool IValue::isList() const { return has_kind(*this, Kind::list); }
bool IValue::isTuple() const { return has_kind(*this, Kind::tuple); }
bool IValue::isOrderedDict() const { return has_kind(*this, Kind::ordered_dict); }
bool IValue::isGenericDict() const {
  const ValueContainer* const container = ValueContainer::of(*this);
  return container && !container->is_sequence();
}
std::string IValue::tagKind() const {
  if (const ValueContainer* const container = ValueContainer::of(*this)) {
    constexpr const char* names[] = {"a list", "a tuple", "a dict", "an OrderedDict", "an object"};
    return names[static_cast<int>(container->kind)];
  }
  constexpr const char* names[] = {"None",     "a bool",   "an int",   "a float",
                                   "a string", "a Tensor", "a device", "a dtype"};
  return names[static_cast<int>(tag_)];
}

bool IValue::toBool() const {
  TANDEM_CHECK(isBool(), "IValue: this is ", tagKind(), "; accepted: a bool");
  return integer_ != 0;
}
int64_t IValue::toInt() const {
  TANDEM_CHECK(isInt(), "IValue: this is ", tagKind(), "; accepted: an int");
  return integer_;
}
double IValue::toDouble() const {
  TANDEM_CHECK(isDouble(), "IValue: this is ", tagKind(), "; accepted: a float");
  return double_;
}
Scalar IValue::toScalar() const {
  TANDEM_CHECK(isBool() || isInt() || isDouble(), "IValue: this is ", tagKind(), "; accepted: a number");
  return isBool() ? Scalar(toBool()) : isInt() ? Scalar(toInt()) : Scalar(toDouble());
}
const std::string& IValue::toStringRef() const {
  TANDEM_CHECK(isString(), "IValue: this is ", tagKind(), "; accepted: a string");
  return *string_;
}
const Tensor& IValue::toTensor() const {
  TANDEM_CHECK(isTensor(), "IValue: this is ", tagKind(), "; accepted: a Tensor");
  return tensor_;
}
Device IValue::toDevice() const {
  TANDEM_CHECK(isDevice(), "IValue: this is ", tagKind(), "; accepted: a device");
  return device_;
}
DType IValue::toDType() const {
  TANDEM_CHECK(isDType(), "IValue: this is ", tagKind(), "; accepted: a dtype");
  return dtype_;
}
const std::vector<IValue>& IValue::elements() const {
  TANDEM_CHECK(isList() || isTuple(), "IValue: this is ", tagKind(), "; accepted: a list or a tuple");
  return ValueContainer::of(*this)->elements;
}
std::vector<int64_t> IValue::toIntVector() const {
  std::vector<int64_t> out;
  for (const IValue& element : elements()) out.push_back(element.toInt());
  return out;
}
std::vector<double> IValue::toDoubleVector() const {
  std::vector<double> out;
  for (const IValue& element : elements()) out.push_back(element.toDouble());
  return out;
}
std::vector<Tensor> IValue::toTensorVector() const {
  std::vector<Tensor> out;
  for (const IValue& element : elements()) out.push_back(element.toTensor());
  return out;
}
const std::vector<IValue::Entry>& IValue::entries() const { return get_dict(*this).entries; }
const IValue* IValue::find(const IValue& key) const { return get_dict(*this).find(key); }
const IValue& IValue::at(const IValue& key) const {
  if (const IValue* const found = find(key)) return *found;
  std::string known;
  for (size_t i = 0; i < entries().size() && i < 8; ++i) {
    const IValue& name = entries()[i].key();
    known += (i ? ", " : "") + (name.isInt() ? std::to_string(name.toInt()) : "'" + name.toStringRef() + "'");
  }
  TANDEM_FAIL("IValue: this dict has no key ",
              key.isInt() ? std::to_string(key.toInt()) : "'" + key.toStringRef() + "'", " among its ",
              entries().size(), " keys", known.empty() ? "" : ": ", known, entries().size() > 8 ? ", ..." : "");
}

/// Returns the container so that the caller can change it. If other handles share it, copies it first.
ValueContainer& IValue::mutable_container(const char* what) {
  TANDEM_CHECK(container_, "IValue: this is ", tagKind(), "; accepted: ", what);
  if (container_.use_count() > 1) container_ = std::make_shared<ValueContainer>(*container_);
  return *container_;
}
void IValue::insert(IValue key, IValue value) {
  TANDEM_CHECK(isGenericDict(), "IValue: insert into ", tagKind(), "; accepted: a dict");
  mutable_container("a dict").insert(std::move(key), std::move(value));
}
void IValue::push_back(IValue value) {
  TANDEM_CHECK(isList(), "IValue: push_back to ", tagKind(), "; accepted: a list");
  mutable_container("a list").append(std::move(value));
}

}  // namespace tandem
