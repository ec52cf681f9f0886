// IValue: a value of one of several types, under one roof: what a custom Function keeps for its backward, and what
// files hold.
#pragma once
#include <concepts>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {
namespace detail {
struct ValueContainer;
struct ValueEntry;
}  // namespace detail

/// None, a bool, an int, a float, a string, a tensor, a device, a dtype, or a list, tuple or dict of such: the part of
/// LibTorch's IValue that needs no TorchScript. Copies are cheap. A list or dict is changed through one handle only:
/// the others, made before, keep what they had. So none contains itself.
class IValue {
 public:
  /// None. The others hold what they are made of; a vector becomes a list, a map of strings a dict.
  /// @throws Error for containers within more than 200 others, and what `insert` refuses
  IValue() = default;
  template <std::same_as<bool> B> IValue(B value) : value_(value) {}
  template <std::integral I>
  requires(!std::same_as<I, bool>) IValue(I value) : value_(static_cast<int64_t>(value)) {}
  template <std::floating_point F> IValue(F value) : value_(static_cast<double>(value)) {}
  IValue(const char* value) : IValue(std::string(value)) {}
  IValue(std::string value) : value_(std::make_shared<const std::string>(std::move(value))) {}
  IValue(Tensor value) : value_(std::move(value)) {}
  IValue(Device value) : value_(value) {}
  IValue(DType value) : value_(value) {}
  template <class T> IValue(const std::vector<T>& values) : IValue(list({values.begin(), values.end()})) {}
  template <class T> IValue(const std::map<std::string, T>& values) : IValue(dict()) {
    for (const auto& [key, value] : values) insert(key, value);
  }
  /// A list, a tuple, an empty dict, and an empty OrderedDict.
  static IValue list(std::vector<IValue> elements);
  static IValue tuple(std::vector<IValue> elements);
  static IValue dict();
  static IValue ordered_dict();

  /// Whether it holds this. isGenericDict() is true of OrderedDicts too, and of the objects in LibTorch's archives.
  bool isNone() const { return value_.index() == 0; }
  bool isBool() const { return std::holds_alternative<bool>(value_); }
  bool isInt() const { return std::holds_alternative<int64_t>(value_); }
  bool isDouble() const { return std::holds_alternative<double>(value_); }
  bool isString() const { return std::holds_alternative<Text>(value_); }
  bool isTensor() const { return std::holds_alternative<Tensor>(value_); }
  bool isDevice() const { return std::holds_alternative<Device>(value_); }
  bool isDType() const { return std::holds_alternative<DType>(value_); }
  bool isList() const;
  bool isTuple() const;
  bool isGenericDict() const;
  bool isOrderedDict() const;
  /// "a Tensor", "an int", "a dict": for messages.
  std::string tagKind() const;

  /// What it holds; toScalar() a number or a bool. Numbers do not convert into one another.
  /// @throws Error naming what it holds instead
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
  const std::vector<IValue>& toListRef() const { return elements(); }
  /// The same, all of one kind. @throws Error naming one that is not
  std::vector<int64_t> toIntVector() const;
  std::vector<double> toDoubleVector() const;
  std::vector<Tensor> toTensorVector() const;

  using Entry = detail::ValueEntry;
  /// The keys and values of a dict in the order in which they came. @throws Error for anything else
  const std::vector<Entry>& entries() const;
  /// The value of a key of a dict, or null. @throws Error when this is no dict
  const IValue* find(const IValue& key) const;
  /// The same. @throws Error when there is none, naming those that there are
  const IValue& at(const IValue& key) const;
  /// Gives a dict a value, in the place of one that this key had. @throws Error when this is no dict, for keys that are
  /// neither strings nor ints, and when containers lie in more than 200 others
  void insert(IValue key, IValue value);
  /// Adds an element to a list. @throws Error when this is none, and for depth as above
  void push_back(IValue value);

 private:
  using Text = std::shared_ptr<const std::string>;
  using Container = std::shared_ptr<detail::ValueContainer>;
  friend struct detail::ValueContainer;
  explicit IValue(Container container) : value_(std::move(container)) {}
  detail::ValueContainer& own(const char* what);
  std::variant<std::monostate, bool, int64_t, double, Text, Tensor, Device, DType, Container> value_;
};

namespace detail {
struct ValueEntry {
  const IValue& key() const { return first; }
  const IValue& value() const { return second; }
  IValue first, second;
};
}  // namespace detail

}  // namespace tandem
