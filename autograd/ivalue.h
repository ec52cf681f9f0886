// IValue: a value of one of several types. Custom Functions keep such values for backward, and files contain them.
#pragma once
#include <concepts>
#include <map>
#include <utility>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {
namespace detail {
struct ValueContainer;
struct DictEntry;
}  // namespace detail
template <class Key, class Value> class Dict;

/// None, a bool, int, float, string, tensor, device or dtype, or a list, tuple or dict of such values: the part of
/// LibTorch's IValue that needs no TorchScript. Copies are cheap. A change of a list or dict affects only the handle
/// that it is made through; other handles keep the old contents. So no container can contain itself.
class IValue {
 public:
  /// Makes None. The other constructors store their argument; a vector becomes a list, a map with string keys a dict.
  /// @throws Error if containers are nested more than 200 deep, and for the reasons for which insert() throws
  IValue() = default;
  template <std::same_as<bool> B> IValue(B value) : tag_(Tag::boolean), integer_(value) {}
  template <std::integral I>
  requires(!std::same_as<I, bool>) IValue(I value) : tag_(Tag::integer), integer_(static_cast<int64_t>(value)) {}
  template <std::floating_point F> IValue(F value) : tag_(Tag::real), double_(static_cast<double>(value)) {}
  IValue(const char* value) : IValue(std::string(value)) {}
  IValue(std::string value);
  IValue(Tensor value) : tag_(Tag::tensor), tensor_(std::move(value)) {}
  IValue(Device value) : tag_(Tag::device), device_(value) {}
  IValue(DType value) : tag_(Tag::dtype), dtype_(value) {}
  template <class T> IValue(const std::vector<T>& values) : IValue(list({values.begin(), values.end()})) {}
  template <class T> IValue(const std::map<std::string, T>& values) : IValue(dict()) {
    for (const auto& [key, value] : values) insert(key, value);
  }
  /// A list of these values.
  static IValue list(std::vector<IValue> elements);
  /// A tuple of these values.
  static IValue tuple(std::vector<IValue> elements);
  /// An empty dict, as in Python; insert() fills it.
  static IValue dict();
  /// An empty OrderedDict (Python's collections): the type of a state dict.
  static IValue ordered_dict();

  /// Whether the value has this type. isGenericDict() is also true for OrderedDicts, and for objects in LibTorch's
  /// archives.
  bool isNone() const { return tag_ == Tag::none; }
  bool isBool() const { return tag_ == Tag::boolean; }
  bool isInt() const { return tag_ == Tag::integer; }
  bool isDouble() const { return tag_ == Tag::real; }
  bool isString() const { return tag_ == Tag::string; }
  bool isTensor() const { return tag_ == Tag::tensor; }
  bool isDevice() const { return tag_ == Tag::device; }
  bool isDType() const { return tag_ == Tag::dtype; }
  bool isList() const;
  bool isTuple() const;
  bool isGenericDict() const;
  bool isOrderedDict() const;
  /// Type in words, for messages: "a Tensor", "an int", "a dict".
  std::string tagKind() const;

  /// Returns the value. toScalar() accepts numbers and bools. Numbers are not converted to another type.
  /// @throws Error that names the type of the value, if the value has another type
  bool toBool() const;
  int64_t toInt() const;
  double toDouble() const;
  Scalar toScalar() const;
  const std::string& toStringRef() const;
  const Tensor& toTensor() const;
  Device toDevice() const;
  DType toDType() const;
  /// The elements of a list or a tuple. @throws Error for anything else
  const std::vector<IValue>& elements() const;
  /// elements() by LibTorch's name.
  const std::vector<IValue>& toListRef() const { return elements(); }
  /// elements() as ints. @throws Error if an element is not an int
  std::vector<int64_t> toIntVector() const;
  /// elements() as floats. @throws Error if an element is not a float
  std::vector<double> toDoubleVector() const;
  /// elements() as tensors. @throws Error if an element is not a tensor
  std::vector<Tensor> toTensorVector() const;

  /// The dict by LibTorch's class. @throws Error for anything else
  Dict<IValue, IValue> toGenericDict() const;

  using Entry = detail::DictEntry;
  /// Keys and values of a dict, in insertion order. @throws Error for anything else
  const std::vector<Entry>& entries() const;
  /// The value of a key in a dict, or null. @throws Error if this is not a dict
  const IValue* find(const IValue& key) const;
  /// The value of a key in a dict. @throws Error that lists the first keys of the dict, if the key does not exist, and
  /// Error if this is not a dict
  const IValue& at(const IValue& key) const;
  /// Sets the value of a key in a dict. @throws Error if this is not a dict, if the key is neither a string nor an int,
  /// or if containers are nested more than 200 deep
  void insert(IValue key, IValue value);
  /// Appends an element to a list. @throws Error if this is not a list, or if containers are nested more than 200 deep
  void push_back(IValue value);

 private:
  enum class Tag : uint8_t { none, boolean, integer, real, string, tensor, device, dtype, container };
  friend struct detail::ValueContainer;
  explicit IValue(std::shared_ptr<detail::ValueContainer> container);
  detail::ValueContainer& mutable_container(const char* what);
  // Not a std::variant, because each program would have to compile its templates.
  Tag tag_ = Tag::none;
  int64_t integer_ = 0;  // also holds a bool
  double double_ = 0;
  Device device_;
  DType dtype_{};
  Tensor tensor_;
  std::shared_ptr<const std::string> string_;
  std::shared_ptr<detail::ValueContainer> container_;
};

namespace detail {
struct DictEntry {
  const IValue& key() const { return first; }
  const IValue& value() const { return second; }
  IValue first, second;
};
}  // namespace detail

/// LibTorch's dict of values, such as a state dict that pickle_load() has read. A change of a copy does not change the
/// original.
template <> class Dict<IValue, IValue> {
 public:
  using key_type = IValue;
  using mapped_type = IValue;
  using iterator = std::vector<IValue::Entry>::const_iterator;
  Dict() : value_(IValue::dict()) {}
  /// @throws Error if the value is not a dict
  explicit Dict(IValue value) : value_(std::move(value)) { value_.entries(); }
  operator IValue() const { return value_; }
  size_t size() const { return value_.entries().size(); }
  bool empty() const { return size() == 0; }
  /// Entries with key() and value(), in insertion order.
  iterator begin() const { return value_.entries().begin(); }
  iterator end() const { return value_.entries().end(); }
  bool contains(const IValue& key) const { return value_.find(key) != nullptr; }
  /// Returns the value of a key. @throws Error if there is no such key
  const IValue& at(const IValue& key) const { return value_.at(key); }
  /// Returns the position of a key's entry, or end().
  iterator find(const IValue& key) const {
    const IValue* const value = value_.find(key);
    iterator at = begin();
    while (at != end() && &at->second != value) ++at;
    return at;
  }
  /// Sets the value of a key. @throws Error if the key is neither a string nor an int
  void insert_or_assign(IValue key, IValue value) { value_.insert(std::move(key), std::move(value)); }
  /// insert_or_assign() unless the key exists. Returns whether it was inserted.
  bool insert(IValue key, IValue value) {
    if (contains(key)) return false;
    insert_or_assign(std::move(key), std::move(value));
    return true;
  }

 private:
  IValue value_;
};
inline Dict<IValue, IValue> IValue::toGenericDict() const { return Dict<IValue, IValue>(*this); }
namespace impl {
using GenericDict = Dict<IValue, IValue>;
}  // namespace impl

}  // namespace tandem
