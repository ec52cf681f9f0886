// Tests visiting all tensors in a value, for every type that can contain tensors.
#include "tandem/core/tensor_tree.h"

#include <string>

#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/factory/zeros_ones_full.h"
#include "tandem/tests/catch.h"

using namespace tandem;

namespace {

/// Creates a tensor with a number, which shows the order of a visit: "1 2 3".
Tensor numbered(int64_t n) { return full({}, n, kInt64); }
template <class T> std::string visited(T& value) {
  std::string out;
  detail::visit_tensors(value, [&](const Tensor& t) {
    out += (out.empty() ? "" : " ") + (t.defined() ? std::to_string(t.item<int64_t>()) : "none");
  });
  return out;
}
/// Visits a value, a const reference to it and a changed copy. Returns the tensors found, which must be equal.
template <class T> std::string found(T value) {
  const std::string out = visited(value);
  CHECK(visited(std::as_const(value)) == out);
  CHECK(detail::collect_tree_tensors(value).size() ==
        static_cast<size_t>(out.empty() ? 0 : std::count(out.begin(), out.end(), ' ') + 1));
  const T same = detail::replace_tensors(value, detail::collect_tree_tensors(value));
  CHECK(visited(same) == out);
  detail::visit_tensors(std::as_const(value), []<class Each>(Each&) { STATIC_REQUIRE(std::is_const_v<Each>); });
  detail::visit_tensors(value, [](Tensor& t) { t = numbered(7); });
  for (const Tensor& each : detail::collect_tree_tensors(value)) CHECK(each.item<int64_t>() == 7);
  return out;
}

struct Output {
  Tensor logits;
  std::vector<Tensor> hidden;
  int64_t steps;
  auto tensor_parts() { return std::tie(hidden, logits); }
};
struct Opaque {
  Tensor hidden;
};
/// A key type without operator<.
struct Key {
  int id;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  size_t operator()(const Key& key) const { return static_cast<size_t>(key.id); }
};
/// A user-defined container without tensor_parts().
template <class T> struct Ring { std::array<T, 2> items; };

}  // namespace

template <class T> struct tandem::TensorTree<Ring<T>> : TensorTree<std::array<T, 2>> {
  template <class Value, class F> static void visit(Value& ring, const F& f) {
    TensorTree<std::array<T, 2>>::visit(ring.items, f);
  }
};

TEST_CASE("a visit finds the tensors of every kind of value, in order", "[core][tensor_tree]") {
  const Tensor a = numbered(1), b = numbered(2), c = numbered(3), none;
  CHECK(found(a) == "1");
  CHECK(found(none) == "none");
  CHECK(found(std::vector{b, none, a}) == "2 none 1");
  CHECK(found(std::vector<Tensor>()).empty());
  CHECK(found(std::array{c, a}) == "3 1");
  CHECK(found(std::optional(a)) == "1");
  CHECK(found(std::optional<Tensor>()).empty());
  CHECK(found(std::pair(b, a)) == "2 1");
  CHECK(found(std::pair(4, a)) == "1");
  CHECK(found(std::tuple(c, 5, std::string("text"), a, b)) == "3 1 2");
  CHECK(found(std::map<std::string, Tensor>{{"b", a}, {"a", b}}) == "2 1");
  CHECK(found(Output{a, {b, c}, 4}) == "2 3 1");
  CHECK(found(Ring<Tensor>{{b, c}}) == "2 3");
  for (const size_t buckets : {1, 97}) {
    std::unordered_map<std::string, Tensor> hashed(buckets);
    for (int64_t i = 9; i > 0; --i) hashed[std::to_string(i)] = numbered(i);
    CHECK(found(hashed) == "1 2 3 4 5 6 7 8 9");
  }
  CHECK(found(std::unordered_map<Key, Tensor, KeyHash>{{Key{1}, c}}) == "3");
}

TEST_CASE("a visit goes down into values that hold values", "[core][tensor_tree]") {
  const Tensor a = numbered(1), b = numbered(2), c = numbered(3);
  CHECK(found(std::vector{std::pair(a, std::optional(b)), std::pair(c, std::optional<Tensor>())}) == "1 2 3");
  CHECK(found(std::tuple(std::vector{std::array{a, b}}, std::tuple(std::tuple(c)), 1.5)) == "1 2 3");
  CHECK(found(std::map<int, std::vector<Output>>{{2, {Output{a, {b}, 0}}}, {1, {Output{c, {}, 0}}}}) == "3 2 1");
  CHECK(found(std::optional(std::map<int, std::unordered_map<int, Tensor>>{{1, {{1, a}}}, {2, {{5, c}, {4, b}}}})) ==
        "1 2 3");
  CHECK(found(std::pair(Ring<std::vector<Tensor>>{{std::vector{a}, {b, c}}}, std::vector<bool>{true})) == "1 2 3");
}

TEST_CASE("values that hold no tensors are passed over", "[core][tensor_tree]") {
  CHECK(found(5).empty());
  CHECK(found(std::string("text")).empty());
  CHECK(found(std::vector<bool>{true, false}).empty());
  CHECK(found(Opaque{numbered(1)}).empty());
  CHECK(found(std::unordered_map<Key, int, KeyHash>{{Key{1}, 2}}).empty());
  Tensor a = numbered(1), b = numbered(2);
  auto tied = std::tie(b, a);
  CHECK(visited(tied) == "2 1");
}

TEST_CASE("a visitor may see the keys of maps, each before its value", "[core][tensor_tree]") {
  struct Keys {
    std::string& out;
    void operator()(const Tensor& t) const { out += std::to_string(t.item<int64_t>()) + " "; }
    void operator()(const detail::MapKey<std::string>& at) const { out += at.key + ":"; }
  };
  std::string out;
  const std::map<std::string, std::unordered_map<std::string, Tensor>> maps = {
      {"x", {{"b", numbered(2)}, {"a", numbered(1)}}}, {"w", {}}};
  detail::visit_tensors(maps, Keys{out});
  CHECK(out == "w:x:a:1 b:2 ");
}

TEST_CASE("types say whether they hold tensors, are known, and are made of tensors alone", "[core][tensor_tree]") {
  using Map = std::map<std::string, Tensor>;
  STATIC_REQUIRE(TensorTree<Tensor>::kHasTensors);
  STATIC_REQUIRE(TensorTree<std::tuple<int, std::vector<Tensor>>>::kHasTensors);
  STATIC_REQUIRE(TensorTree<std::unordered_map<Key, Tensor, KeyHash>>::kHasTensors);
  STATIC_REQUIRE(TensorTree<std::tuple<const Tensor&>>::kHasTensors);
  STATIC_REQUIRE(TensorTree<Output>::kHasTensors);
  STATIC_REQUIRE_FALSE(TensorTree<int>::kHasTensors);
  STATIC_REQUIRE_FALSE(TensorTree<Opaque>::kHasTensors);
  STATIC_REQUIRE_FALSE(TensorTree<std::map<std::string, std::optional<int>>>::kHasTensors);

  STATIC_REQUIRE(TensorTree<double>::kIsKnownType);
  STATIC_REQUIRE(TensorTree<std::pair<Tensor, std::optional<int>>>::kIsKnownType);
  STATIC_REQUIRE(TensorTree<Map>::kIsKnownType);
  STATIC_REQUIRE(TensorTree<std::array<Output, 2>>::kIsKnownType);
  STATIC_REQUIRE_FALSE(TensorTree<Opaque>::kIsKnownType);
  STATIC_REQUIRE_FALSE(TensorTree<std::pair<Tensor, Opaque>>::kIsKnownType);
  STATIC_REQUIRE_FALSE(TensorTree<std::vector<std::string>>::kIsKnownType);

  STATIC_REQUIRE(TensorTree<std::pair<Map, std::vector<Tensor>>>::kHasOnlyTensors);
  STATIC_REQUIRE(TensorTree<std::array<Tensor, 2>>::kHasOnlyTensors);
  STATIC_REQUIRE(TensorTree<std::tuple<Output>>::kHasOnlyTensors);
  STATIC_REQUIRE_FALSE(TensorTree<std::tuple<Tensor, int>>::kHasOnlyTensors);
  STATIC_REQUIRE_FALSE(TensorTree<std::optional<Tensor>>::kHasOnlyTensors);
}
