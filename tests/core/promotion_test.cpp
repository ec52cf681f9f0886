
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/json.h"

using namespace tandem;
using nlohmann::json;

namespace {

const Scalar& number_of(const std::string& kind) {
  static const Scalar numbers[] = {true, 2, 2.5};
  return numbers[kind == "bool" ? 0 : kind == "int" ? 1 : 2];
}
Tensor vector_of(const std::string& dtype) { return ones({2}, test::dtype_named(dtype)); }
Tensor scalar_of(const std::string& dtype) { return ones({}, test::dtype_named(dtype)); }

using Pairwise = std::function<DType(const std::string&, const std::string&)>;
const std::map<std::string, Pairwise> kTables = {
    {"tensor_tensor", [](auto& a, auto& b) { return result_type(vector_of(a), vector_of(b)); }},
    {"tensor_zero_dim", [](auto& a, auto& b) { return result_type(vector_of(a), scalar_of(b)); }},
    {"tensor_number", [](auto& a, auto& b) { return result_type(vector_of(a), number_of(b)); }},
    {"zero_dim_number", [](auto& a, auto& b) { return result_type(scalar_of(a), number_of(b)); }},
    {"tensor_divided", [](auto& a, auto& b) { return (vector_of(a) / vector_of(b)).dtype(); }},
    {"sum", [](auto& a, auto&) { return vector_of(a).sum(0).dtype(); }},
    {"prod", [](auto& a, auto&) { return vector_of(a).prod().dtype(); }},
    {"cumsum", [](auto& a, auto&) { return vector_of(a).cumsum(0).dtype(); }},
};

}  // namespace

TEST_CASE("mixed dtypes promote as in PyTorch", "[promotion]") {
  const json fixture = test::read_json("promotion.json");
  const auto dtypes = fixture["dtypes"].get<std::vector<std::string>>();
  const auto numbers = fixture["numbers"].get<std::vector<std::string>>();
  REQUIRE(dtypes.size() == kDTypeCount);
  REQUIRE(fixture["tables"].size() == kTables.size());
  for (const json& table : fixture["tables"]) {
    const std::string title = table["name"];
    for (const std::string& left : dtypes)
      for (size_t i = 0; i < table[left].size(); ++i) {
        const std::string right = table[left].size() == numbers.size() ? numbers[i] : dtypes[i];
        INFO(title << ": " << left << " with " << right);
        CHECK(name(kTables.at(title)(left, right)) == table[left][i].get<std::string>());
      }
  }
}

TEST_CASE("what an operation gives has the promoted dtype", "[promotion]") {
  for (int a = 0; a < kDTypeCount; ++a)
    for (int b = 0; b < kDTypeCount; ++b) {
      const Tensor x = ones({2}, static_cast<DType>(a)), y = ones({2}, static_cast<DType>(b));
      const DType expected = result_type(x, y);
      INFO(x.dtype() << " and " << y.dtype());
      CHECK((x + y).dtype() == expected);
      CHECK((x * y).dtype() == expected);
      CHECK((x + scalar_of(name(y.dtype()))).dtype() == result_type(x, scalar_of(name(y.dtype()))));
      CHECK((x < y).dtype() == kBool);
      CHECK(cat({x, y}).dtype() == expected);
    }
}

TEST_CASE("cat promotes with empty operands too", "[promotion]") {
  // The expected dtypes were computed by torch.cat([a, b]).
  const auto dtype = [](const Tensor& a, const Tensor& b) { return cat({a, b}).dtype(); };
  CHECK(dtype(ones({2}, kInt64), ones({0}, kFloat32)) == kFloat32);
  CHECK(dtype(ones({0}, kFloat32), ones({2}, kInt64)) == kFloat32);
  CHECK(dtype(ones({2}, kFloat32), ones({0}, kFloat64)) == kFloat64);
  CHECK(dtype(ones({2}, kFloat16), ones({0}, kBFloat16)) == kFloat32);
  CHECK(dtype(ones({0}, kBool), ones({2}, kUInt8)) == kUInt8);
  CHECK(dtype(ones({0, 2}, kFloat64), ones({1, 2}, kFloat32)) == kFloat64);
}

TEST_CASE("clamp promotes with bounds of no dimension and of no elements as PyTorch does", "[promotion]") {
  struct Row {
    Tensor x, low, high;
    DType expected;  // dtype of torch.clamp(x, low, high)
    std::vector<double> values;
  };
  const auto zero_dim = [](double value, DType dtype) { return full({}, value, dtype); };
  const Tensor integers = tensor({1, 5}, kInt64);
  const std::vector<Row> rows = {
      {integers, zero_dim(2.5, kFloat32), {}, kFloat32, {2.5, 5}},
      {integers, full({2}, 2.5, kFloat32), {}, kFloat32, {2.5, 5}},
      {integers, zero_dim(1, kBool), {}, kInt64, {1, 5}},
      {ones({2}), zero_dim(1, kFloat64), {}, kFloat32, {1, 1}},
      {ones({2}), ones({2}, kFloat64), {}, kFloat64, {1, 1}},
      {ones({2}, kFloat16), zero_dim(0.5, kFloat32), zero_dim(0.75, kFloat64), kFloat16, {0.75, 0.75}},
      {zero_dim(3, kInt64), ones({0}, kFloat64), {}, kFloat64, {}},
      {ones({0}, kInt32), zero_dim(2.5, kFloat32), {}, kFloat32, {}},
      {ones({0}, kInt32), zero_dim(2, kInt64), {}, kInt32, {}},
  };
  for (const Row& row : rows) {
    CAPTURE(&row - rows.data());
    const Tensor y = clamp(row.x, row.low, row.high);
    CHECK(y.dtype() == row.expected);
    CHECK(y.equal(tensor(row.values, kFloat64).to(row.expected)));
  }
}
