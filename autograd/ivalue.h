// IValue: a value of one of several types, under one roof: what a custom Function keeps for its backward, and what
// files hold.
#pragma once
#include <concepts>
#include <map>
#include <utility>

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
  template <std::same_as<bool> B> IValue(B value) : tag_(Tag::boolean), integer_(value) {}
  template <std::integral I>
  requires(!std::same_as<I, bool>) IValue(I value) : tag_(Tag::integer), integer_(static_cast<int64_t>(value)) {}
  template <std::floating_point F> IValue(F value) : tag_(Tag::real), real_(static_cast<double>(value)) {}
  IValue(const char* value) : IValue(std::string(value)) {}
  IValue(std::string value);
  IValue(Tensor value) : tag_(Tag::tensor), tensor_(std::move(value)) {}
  IValue(Device value) : tag_(Tag::device), device_(value) {}
  IValue(DType value) : tag_(Tag::dtype), dtype_(value) {}
  template <class T> IValue(const std::vector<T>& values) : IValue(list({values.begin(), values.end()})) {}
  template <class T> IValue(const std::map<std::string, T>& values) : IValue(dict()) {
    for (const auto& [key, value] : values) insert(key, value);
  }
  /// A list, a tuple, an empty dict, and an empty OrderedDict.
  static IValue list(std::vector<IValue> elements);
  /// A tuple of these values.
  static IValue tuple(std::vector<IValue> elements);
  /// An empty dict, as Python's; insert() fills it.
  static IValue dict();
  /// An empty OrderedDict of Python's collections: what a state dict is.
  static IValue ordered_dict();

  /// Whether it holds this. isGenericDict() is true of OrderedDicts too, and of the objects in LibTorch's archives.
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
  /// elements() by LibTorch's name.
  const std::vector<IValue>& toListRef() const { return elements(); }
  /// The same, all of one kind. @throws Error naming one that is not
  std::vector<int64_t> toIntVector() const;
  /// A list of floats as numbers. @throws Error naming one that is none
  std::vector<double> toDoubleVector() const;
  /// A list of tensors. @throws Error naming one that is none
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
  enum class Tag : uint8_t { none, boolean, integer, real, string, tensor, device, dtype, container };
  friend struct detail::ValueContainer;
  explicit IValue(std::shared_ptr<detail::ValueContainer> container);
  detail::ValueContainer& own(const char* what);
  // Not a std::variant: what its templates cost to compile, every program would pay.
  Tag tag_ = Tag::none;
  int64_t integer_ = 0;  // or a bool
  double real_ = 0;
  Device device_;
  DType dtype_{};
  Tensor tensor_;
  std::shared_ptr<const std::string> string_;
  std::shared_ptr<detail::ValueContainer> container_;
};

namespace detail {
struct ValueEntry {
  const IValue& key() const { return first; }
  const IValue& value() const { return second; }
  IValue first, second;
};
}  // namespace detail

}  // namespace tandem
