
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/json.h"

using namespace tandem;
using nlohmann::json;

namespace {

double number(const json& value) {
  if (value.is_string()) return std::stod(value.get<std::string>());  // nan, inf, -inf
  return value.is_boolean() ? value.get<bool>() : value.get<double>();
}
Tensor build(const json& row) {
  const auto shape = row["shape"].get<std::vector<int64_t>>();
  const auto options = TensorOptions(kFloat64);
  Tensor flat;
  if (row.contains("arange")) {
    flat = arange(row["arange"].get<int64_t>(), options) * row["scale"].get<double>();
  } else {
    std::vector<double> values;
    for (const json& v : row["values"]) values.push_back(number(v));
    flat = tensor(values, options);
  }
  return flat.to(test::dtype_named(row["dtype"]))
      .reshape(shape)
      .detach()
      .requires_grad_(row.value("requires_grad", false));
}

}  // namespace

TEST_CASE("tensors print as PyTorch prints them", "[print]") {
  const json fixture = test::read_json("printing.json");
  REQUIRE(fixture["cases"].size() > 60);
  for (const json& row : fixture["cases"]) {
    INFO(row["name"]);
    CHECK(build(row).str() == row["str"].get<std::string>());
  }
}

TEST_CASE("a NaN prints without its sign, in every notation", "[print]") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), negative = std::copysign(nan, -1.0);
  for (const DType dtype : {kFloat64, kFloat32, kFloat16, kBFloat16}) {
    CAPTURE(dtype);
    for (const auto& rest : {std::vector<double>{}, {1.0}, {0.5}, {1e-6, 1.0}}) {
      std::vector<double> one = {nan}, other = {negative};
      one.insert(one.end(), rest.begin(), rest.end()), other.insert(other.end(), rest.begin(), rest.end());
      CHECK(tensor(other, kFloat64).to(dtype).str() == tensor(one, kFloat64).to(dtype).str());
    }
    CHECK(tensor({negative}, kFloat64).to(dtype).select(0, 0).str().starts_with("tensor(nan"));
  }
}

// PyTorch 2.15 prints devices in this way. The fixtures, made on a CPU, have no other device; these are virtual.
TEST_CASE("a tensor on another device, with a history, or undefined says so", "[print]") {
  set_cpu_device_count(2);
  CHECK(ones({2}, Device("cpu:1")).str() == "tensor([1., 1.], device='cpu:1')");
  CHECK(zeros({0, 2}, TensorOptions(kInt64).device("cpu:1")).str() ==
        "tensor([], device='cpu:1', size=(0, 2), dtype=torch.int64)");
  set_cpu_device_count(1);
  const Tensor x = ones({2}, requires_grad());
  CHECK((x * 2).str() == "tensor([2., 2.], grad_fn=<mul>)");
  CHECK(Tensor().str() == "[ Tensor (undefined) ]");
}

TEST_CASE("views print the elements that they show", "[print]") {
  const Tensor x = arange(6).reshape({2, 3});
  std::ostringstream out;
  out << x.t().slice(0, 1);
  CHECK(out.str() == "tensor([[1, 4],\n        [2, 5]])");
  CHECK(tensor({1.5f}).expand({2}).str() == "tensor([1.5000, 1.5000])");
}

TEST_CASE("the default dtype goes without saying", "[print]") {
  set_default_dtype(kFloat64);
  const std::string as_double = ones({1}).str(), as_float = ones({1}, kFloat32).str();
  set_default_dtype(kFloat32);
  CHECK(as_double == "tensor([1.])");
  CHECK(as_float == "tensor([1.], dtype=torch.float32)");
}
