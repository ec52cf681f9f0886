// Tests sizes, views and numbers at their limits: invalid values throw errors, and nothing overflows.
#include <cmath>
#include <limits>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;

namespace {
constexpr int64_t kHuge = std::numeric_limits<int64_t>::max(), k32 = int64_t(1) << 32;
}

TEST_CASE("a scalar has no size or stride to ask for, and nothing to cut", "[core][edge]") {
  const Tensor s = tensor(3.0);
  CHECK_THROWS_AS(s.size(0), IndexError);
  CHECK_THROWS_AS(s.size(-1), IndexError);
  CHECK_THROWS_AS(s.stride(0), IndexError);
  CHECK_THROWS_WITH(s.unbind(), Contains("unbind"));
  CHECK_THROWS_WITH(s.chunk(2), Contains("chunk"));
  CHECK_THROWS_WITH(s.split(1), Contains("split"));
}

TEST_CASE("data_ptr without a type is the first element's address", "[core]") {
  const Tensor x = arange(6.0).view({2, 3})[1];
  CHECK(x.data_ptr() == x.data_ptr<float>());
  CHECK(*static_cast<float*>(x.data_ptr()) == 3);
}

TEST_CASE("negative sizes are refused wherever sizes are given", "[core][edge]") {
  const Tensor x = ones({1, 3});
  CHECK_THROWS_WITH(x.expand({-5, 1, 3}), Contains("expand") && Contains("-5"));
  CHECK_THROWS_WITH(x.expand({-1, 1, 3}), Contains("expand") && Contains("-1"));
  CHECK(x.expand({2, -1, -1}).sizes() == IntArrayRef{2, 1, 3});
  CHECK_THROWS_WITH(x.repeat({-1, 2}), Contains("repeat") && Contains("-1"));
  CHECK_THROWS_WITH(zeros({2, -1}), Contains("-1"));
  CHECK_THROWS_WITH(x.view({-2, -3}), Contains("view"));
  CHECK_THROWS_WITH(x.as_strided({2}, {-1}), Contains("as_strided"));
  CHECK_THROWS_WITH(core::empty_strided({-2}, {1}, kFloat, kCPU), Contains("empty_strided"));
}

TEST_CASE("sizes whose product overflows are refused", "[core][edge]") {
  CHECK_THROWS_WITH(empty({k32, k32}), Contains("empty"));
  CHECK_THROWS_WITH(ones({1}).expand({k32, k32}), Contains("expand"));
  CHECK_THROWS_WITH(ones({4}).as_strided({k32, k32}, {0, 0}), Contains("as_strided"));
  CHECK_THROWS_WITH(ones({4}).as_strided({3}, {kHuge}), Contains("as_strided"));
  CHECK_THROWS_WITH(ones({4}).as_strided({2}, {1}, kHuge), Contains("as_strided"));
  CHECK_THROWS_WITH(ones({4}).as_strided({0}, {1}, -1), Contains("as_strided"));
  CHECK_THROWS_WITH(ones({0}).view({k32, k32}), Contains("view"));
  CHECK_THROWS_WITH(ones({3}).narrow(0, 1, kHuge), Contains("narrow"));
  CHECK_THROWS_AS(ones({3}).narrow(0, std::numeric_limits<int64_t>::min(), 1), IndexError);
  CHECK_THROWS_WITH(core::empty_strided({2, 2}, {kHuge, 1}, kFloat, kCPU), Contains("empty_strided"));
  CHECK(ones({5}).slice(0, 1, {}, kHuge).sizes() == IntArrayRef{1});
  CHECK(ones({5}).chunk(kHuge).size() == 5);
  CHECK(ones({5}).split(kHuge).size() == 1);
  CHECK_THROWS_WITH(arange(0, std::numeric_limits<double>::infinity()), Contains("arange"));
  CHECK_THROWS_WITH(arange(std::numeric_limits<int64_t>::min(), kHuge), Contains("arange"));
}

TEST_CASE("unflatten works on tensors without elements", "[core][edge]") {
  CHECK(ones({0, 4}).unflatten(1, {2, 2}).sizes() == IntArrayRef{0, 2, 2});
  CHECK(ones({0, 4}).unflatten(1, {2, -1}).sizes() == IntArrayRef{0, 2, 2});
  CHECK(ones({3, 6}).unflatten(-1, {2, 3}).sizes() == IntArrayRef{3, 2, 3});
  CHECK_THROWS_WITH(ones({3, 6}).unflatten(1, {4, 2}), Contains("unflatten"));
}

TEST_CASE("a number that a dtype cannot hold is refused", "[core][scalar]") {
  CHECK_THROWS_WITH(zeros({1}, kUInt8).fill_(300), Contains("300") && Contains("uint8"));
  CHECK_THROWS_WITH(zeros({1}, kInt64).fill_(1e300), Contains("int64"));
  CHECK_THROWS_WITH(full({1}, NAN, kInt32), Contains("int32"));
  CHECK_THROWS_WITH(tensor({300}, kUInt8), Contains("uint8"));
  CHECK_THROWS_WITH(tensor(3e9).item<int32_t>(), Contains("int32"));
  CHECK(zeros({1}, kUInt8).fill_(-1).item<int>() == 255);  // as in PyTorch, negative numbers wrap in unsigned types
  CHECK(zeros({1}, kInt64).fill_(1.5).item<int>() == 1);
  CHECK(zeros({1}, kBool).fill_(7).item<bool>());
  CHECK((tensor({1}, kUInt8) + 300).item<int>() == 45);  // as in PyTorch, the number wraps to the tensor's dtype
  CHECK_THROWS_WITH(zeros({1}).fill_(1e300), Contains("1e+300") && Contains("float32"));
  CHECK(std::isinf((zeros({1}) + 1e300).item<float>()));
  CHECK_THROWS_WITH(empty({3}, kUInt8).random_(0, 300), Contains("random_") && Contains("300"));
}

TEST_CASE("a flag may be given as 0 or 1, and another number in its place is an error", "[core][reduce]") {
  const Tensor x = arange(6, kFloat64).view({2, 3});
  CHECK(x.sum(0, 1).equal(x.sum(0, true)));
  CHECK(x.argmax(1, 0).equal(x.argmax(1, false)));
  CHECK(std::get<0>(x.sort(0, 1)).equal(std::get<0>(x.sort(0, true))));
  CHECK(x.var(0, 0).equal(x.var(0, false)));
  for (const auto& call :
       std::vector<std::function<void()>>{[&] { x.sum(0, 2); }, [&] { x.max(0, -1); }, [&] { amax(x, 0, 2); }})
    CHECK_THROWS_WITH(call(), Contains("the number") && Contains("keepdim") && Contains("true, false, 1 and 0") &&
                                  Contains("{0, 2}"));
}

TEST_CASE("a number where a reduction takes dimensions or a flag is a dimension", "[core][reduce]") {
  const Tensor x = arange(6, kFloat64).view({2, 3});
  const Tensor rows = tensor({1.0, 1.0}, kFloat64), columns = tensor({4.5, 4.5, 4.5}, kFloat64);  // expected variances
  CHECK(x.var(1).equal(rows));
  CHECK(x.var(-1).equal(rows));
  CHECK(x.var(0).equal(columns));
  CHECK(tandem::var(x, 1).equal(rows));
  CHECK(tandem::var(x, 0).equal(columns));
  CHECK(x.std(1).equal(rows));
  CHECK(x.std(0).equal(columns.sqrt()));
  CHECK(tandem::std(x, 0).equal(columns.sqrt()));
  CHECK(tandem::std(x, 1, true, true).equal(rows.view({2, 1})));
  CHECK(x.var(false).item<double>() == Approx(35.0 / 12));  // a bool argument is still `unbiased`
  CHECK(x.std(true).item<double>() == Approx(std::sqrt(3.5)));
}

TEST_CASE("linspace of integers cuts its ends and then what lies between, as PyTorch's", "[core][factory]") {
  CHECK(linspace(0, 10, 4, kInt64).equal(tensor({0, 3, 6, 10})));
  CHECK(linspace(10, 0, 4, kInt64).equal(tensor({10, 6, 3, 0})));
  CHECK(linspace(0.9, 9.9, 4, kInt32).equal(tensor({0, 3, 6, 9}, kInt32)));
  CHECK(linspace(-5.5, 5.5, 5, kInt8).equal(tensor({-5, -2, 0, 2, 5}, kInt8)));
  CHECK(linspace(-1, 1, 4, kInt16).equal(tensor({-1, 0, 0, 1}, kInt16)));
  CHECK(linspace(0, 255, 7, kUInt8).equal(tensor({0, 42, 85, 127, 170, 212, 255}, kUInt8)));
  CHECK(linspace(3.7, 9, 1, kInt64).equal(tensor({3})));
  CHECK(linspace(3, 9, 0, kInt64).equal(zeros({0}, kInt64)));
  CHECK_THROWS_WITH(linspace(0, 300, 3, kUInt8), Contains("300") && Contains("uint8"));
  CHECK_THROWS_WITH(linspace(0, 1, 3, kBool), Contains("linspace: not implemented for 'bool'"));
}

TEST_CASE("argmax and argmin of everything keep the dimensions where asked to", "[core][reduce]") {
  const Tensor x = tensor({{1.0, 5.0, 2.0}, {0.0, 3.0, 4.0}});
  CHECK(x.argmax(nullopt, true).equal(tensor({{1}})));
  CHECK(x.argmin(nullopt, true).equal(tensor({{3}})));
  CHECK(x.argmax().dim() == 0);
}

TEST_CASE("all and any of uint8 give uint8, the dtype that masks once had, as in PyTorch", "[core][reduce]") {
  const Tensor x = tensor({{3, 0}, {1, 2}}, kUInt8);
  CHECK(x.all(0).equal(tensor({1, 0}, kUInt8)));
  CHECK(x.any(1, true).equal(tensor({{1}, {1}}, kUInt8)));
  CHECK(x.all().dtype() == kUInt8);
  CHECK(x.to(kInt64).all().dtype() == kBool);
}

TEST_CASE("addmm leaves nothing of what a factor of 0 stands before, as BLAS does", "[core][matmul]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor clean = tensor({{1.0, 2.0}, {3.0, 4.0}}), holed = tensor({{1.0, nan}, {3.0, 4.0}});
  CHECK(addmm(clean, holed, clean, 1, 0).equal(clean));
  CHECK(addmm(holed, clean, clean, 0, 1).equal(clean.mm(clean)));
  const Tensor bias = clean.clone().requires_grad_();
  addmm(bias, clean, clean, 0, 1).sum().backward();
  CHECK(bias.grad().equal(zeros({2, 2})));
}

TEST_CASE("options without a device keep a tensor where it is", "[core][devices]") {
  set_cpu_device_count(2);
  const Device second("cpu:1");
  const Tensor x = ones({2}, second);
  CHECK(x.to(dtype(kFloat64)).device() == second);
  CHECK(x.to(TensorOptions(kInt64)).device() == second);
  CHECK(empty_like(x, kInt64).device() == second);
  CHECK(x.to(TensorOptions(kCPU)).device() == Device(kCPU));
  set_cpu_device_count(1);
}

TEST_CASE("a device index out of range is refused, and does not wrap", "[core][devices]") {
  CHECK_THROWS_WITH(Device(kCPU, 256), Contains("256"));
  CHECK_THROWS_WITH(Device(kCPU, -2), Contains("-2"));
  CHECK(Device(kCPU, -1) == Device("cpu"));  // LibTorch's way to write the current device
}
