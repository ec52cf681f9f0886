// Contents of lists, tuples and dicts. The pickle reader fills a container while other values refer to it.
#pragma once
#include "tandem/autograd/ivalue.h"
#include "tandem/core/internal.h"

namespace tandem::detail {

/// Orders ints before strings. Two handles on one string object compare equal at once, without reading its characters.
struct DictKeyLess {
  bool operator()(const IValue& a, const IValue& b) const;
};

struct ValueContainer {
  enum class Kind { list, tuple, dict, ordered_dict, object };
  explicit ValueContainer(Kind k) : kind(k) {}
  static constexpr int kMaxNestingDepth =
      200;  // maximum nesting of containers; limits the stack that recursive code needs
  bool is_sequence() const { return kind == Kind::list || kind == Kind::tuple; }
  /// Appends an element. @throws Error if containers are nested deeper than kMaxNestingDepth
  void append(IValue value);
  /// Sets the value of a key. @throws Error if the key is neither a string nor an int, or if containers are nested
  /// deeper than kMaxNestingDepth
  void insert(IValue key, IValue value);
  const IValue* find(const IValue& key) const;

  static IValue make_container(Kind kind);
  /// The container of a value; null if it is not a container.
  static ValueContainer* of(const IValue& value);

  Kind kind;
  bool has_parent = false;  // whether this container was added to another container
  int nesting_depth = 1;    // number of nested levels of containers, including this one
  std::vector<IValue> elements;
  std::vector<DictEntry> entries;

 private:
  void register_child(const IValue& value);
  std::map<IValue, size_t, DictKeyLess> key_index_;  // index in `entries` of each key
};

}  // namespace tandem::detail
