// What lists, tuples and dicts hold. The reader of pickles fills them while others refer to them.
#pragma once
#include "tandem/autograd/ivalue.h"
#include "tandem/core/internal.h"

namespace tandem::detail {

/// Orders ints before strings. Strings of one handle are equal without a look at their characters.
struct KeyLess {
  bool operator()(const IValue& a, const IValue& b) const;
};

struct ValueContainer {
  enum class Kind { list, tuple, dict, ordered_dict, object };
  explicit ValueContainer(Kind k) : kind(k) {}
  static constexpr int kMaxDepth = 200;  // so that what walks through it by recursion needs little stack
  bool is_sequence() const { return kind == Kind::list || kind == Kind::tuple; }
  /// @throws Error when `value` lies too deep; it counts from now on as what lies in another
  void append(IValue value);
  /// @throws Error for a key that is neither a string nor an int, or as append
  void insert(IValue key, IValue value);
  const IValue* find(const IValue& key) const;

  static IValue make(Kind kind);
  /// Null unless the value is a container.
  static ValueContainer* of(const IValue& value);

  Kind kind;
  bool inside = false;  // whether another was given it
  int depth = 1;        // levels of containers, this one counted
  std::vector<IValue> elements;
  std::vector<ValueEntry> entries;

 private:
  void adopt(const IValue& value);
  std::map<IValue, size_t, KeyLess> index_;  // of entries
};

}  // namespace tandem::detail
