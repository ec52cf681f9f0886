// Tests elementwise kernels on CUDA against the CPU's: every dtype, layout and vector width, sizes that leave a
// remainder,
// and in-place calls.
#include "tandem/kernels/elementwise.h"

#include "tandem/kernels/cuda/divider.cuh"
#include "tandem/kernels/cuda/planner.h"
#include "tandem/kernels/fill.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/kernels/cuda_rows.h"

using namespace tandem;
using namespace tandem::test;

namespace {

/// Results of y = op(inputs...) on the GPU (`got`) and on the CPU (`want`), with shape `sizes`.
struct Results {
  Tensor got, want;
};
template <class Cpu, class Cuda, class... Inputs>
Results both(IntArrayRef sizes, DType dtype, Cpu on_cpu, Cuda on_gpu, const Inputs&... inputs) {
  Results y{core::empty(sizes, dtype, kGpu), core::empty(sizes, dtype, kCPU)};
  on_cpu(inputs..., y.want);
  on_gpu(inputs.to(kGpu)..., y.got);
  return y;
}
double tolerance(DType dtype) {
  return dtype == kFloat64 ? 1e-13 : dtype == kFloat32 ? 2e-6 : dtype == kFloat16 ? 1e-3 : 8e-3;
}

/// Memory layouts of a matrix: contiguous, with a storage offset, with gaps between rows, or transposed.
enum class Spacing { plain, shifted, gaps, turned };
Tensor laid_out(const Tensor& x, Spacing spacing) {
  const int64_t rows = x.size(0), columns = x.size(1);
  Tensor y;
  switch (spacing) {
    case Spacing::plain: y = core::empty({rows, columns}, x.dtype(), x.device()); break;
    case Spacing::shifted:
      y = core::as_strided(core::empty({rows * columns + 1}, x.dtype(), x.device()), {rows, columns}, {columns, 1}, 1);
      break;
    case Spacing::gaps:
      y = core::as_strided(core::empty({rows * columns * 2 + 8}, x.dtype(), x.device()), {rows, columns},
                           {columns + 3, 1}, 4);
      break;
    case Spacing::turned: y = core::transpose(core::empty({columns, rows}, x.dtype(), x.device()), 0, 1); break;
  }
  y.copy_(x);
  return y;
}
/// Every dtype with two numbers of elements: with a partial vector, and with vectors of the plain kernels, all full.
const std::vector<std::pair<DType, int64_t>> kDTypesAndLengths = [] {
  std::vector<std::pair<DType, int64_t>> all;
  for (const DType dtype : kAllDTypes)
    for (const int64_t n : {67, 72}) all.emplace_back(dtype, n);
  return all;
}();
constexpr Spacing kLayouts[] = {Spacing::plain, Spacing::shifted, Spacing::gaps, Spacing::turned};

}  // namespace

TEST_CASE("unary kernels on CUDA do what the CPU's do, for every dtype", "[cuda][elementwise]") {
  TANDEM_NEEDS_GPU();
  struct Row {
    const char* name;
    void (*cpu)(const Tensor&, Tensor&);
    void (*cuda)(const Tensor&, Tensor&);
  };
#define X(op, ...) {#op, kernels::cpu::op, kernels::cuda::op},
  const Row rows[] = {TANDEM_PARAMETERLESS_UNARY_KERNELS(X)};
#undef X
  for (const Row& row : rows)
    for (const auto& [dtype, n] : kDTypesAndLengths) {
      CAPTURE(row.name, dtype, n);
      const std::string name = row.name;
      const bool made = name.rfind("is", 0) == 0 || name == "logical_not";
      const Tensor x = is_floating_point(dtype) ? reals({1, n}, dtype, 5) : few_values({1, n}, dtype);
      Results y{core::empty({1, n}, made ? kBool : dtype, kGpu), core::empty({1, n}, made ? kBool : dtype, kCPU)};
      std::string refused;
      try {
        row.cpu(x, y.want);
      } catch (const NotImplementedError& error) {
        refused = error.what();
      }
      if (!refused.empty()) {
        CHECK_THROWS_AS(row.cuda(x.to(kGpu), y.got), NotImplementedError);
        continue;
      }
      row.cuda(x.to(kGpu), y.got);
      CHECK(count_differences(y.got, y.want, made ? 0 : tolerance(dtype),
                              is_reduced_floating_point(dtype) ? 1e-6 : 1e-12) == 0);
    }
}

TEST_CASE("binary kernels on CUDA do what the CPU's do, for every dtype", "[cuda][elementwise]") {
  TANDEM_NEEDS_GPU();
  struct Row {
    const char* name;
    void (*cpu)(const Tensor&, const Tensor&, Tensor&);
    void (*cuda)(const Tensor&, const Tensor&, Tensor&);
  };
#define X(op, ...) {#op, kernels::cpu::op, kernels::cuda::op},
  const Row rows[] = {TANDEM_PARAMETERLESS_BINARY_KERNELS(X)};
#undef X
  for (const Row& row : rows)
    for (const auto& [dtype, n] : kDTypesAndLengths) {
      CAPTURE(row.name, dtype, n);
      const std::string name = row.name;
      const bool made = name.size() == 2 || name.rfind("logical", 0) == 0;
      const bool real = is_floating_point(dtype);
      const Tensor a = real ? reals({1, n}, dtype, 5) : few_values({1, n}, dtype);
      const Tensor b = real ? reals({1, n}, dtype, 6) : few_values({n, 1}, dtype).reshape({1, n});
      Results y{core::empty({1, n}, made ? kBool : dtype, kGpu), core::empty({1, n}, made ? kBool : dtype, kCPU)};
      bool refused = false;
      try {
        row.cpu(a, b, y.want);
      } catch (const NotImplementedError&) {
        refused = true;
      }
      if (refused) {
        CHECK_THROWS_AS(row.cuda(a.to(kGpu), b.to(kGpu), y.got), NotImplementedError);
        continue;
      }
      row.cuda(a.to(kGpu), b.to(kGpu), y.got);
      CHECK(count_differences(y.got, y.want, made ? 0 : tolerance(dtype),
                              is_reduced_floating_point(dtype) ? 1e-3 : 1e-6) == 0);
    }
}

TEST_CASE("elementwise kernels on CUDA take every length, alignment and layout", "[cuda][elementwise]") {
  TANDEM_NEEDS_GPU();
  for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16, kInt64, kInt32, kInt8, kUInt8})
    for (const int64_t columns : {1, 2, 3, 4, 7, 8, 31, 32, 33, 127, 1025})
      for (const Spacing spacing : kLayouts) {
        CAPTURE(dtype, columns, static_cast<int>(spacing));
        const Tensor a = few_values({3, columns}, dtype), b = few_values({3, columns}, dtype);
        Tensor want = core::empty(a.sizes(), dtype, kCPU);
        kernels::cpu::add(a, b, 2, want);
        Tensor x = laid_out(a.to(kGpu), spacing), y = laid_out(b.to(kGpu), Spacing::plain);
        kernels::cuda::add(x, y, 2, y);  // in place
        CHECK(count_differences(y, want) == 0);
        Tensor z = laid_out(a.to(kGpu), spacing);
        kernels::cuda::add(x, b.to(kGpu), 2, z);
        CHECK(count_differences(z.contiguous(), want) == 0);
      }
}

TEST_CASE("elementwise kernels on CUDA broadcast, also a number that lies on the CPU", "[cuda][elementwise]") {
  TANDEM_NEEDS_GPU();
  for (const DType dtype : {kFloat32, kFloat64, kBFloat16, kInt32, kInt8})
    for (const int64_t columns : {5, 8, 40}) {
      CAPTURE(dtype, columns);
      const Tensor x = few_values({2, 3, columns}, dtype), row = few_values({columns}, dtype),
                   column = few_values({3, 1}, dtype), one = few_values({1}, dtype);
      const Tensor number = core::scalar(3, dtype, kCPU);
      for (const Tensor& other : {row, column, one}) {
        const auto y = both(x.sizes(), dtype, kernels::cpu::mul, kernels::cuda::mul, x, other);
        CHECK(count_differences(y.got, y.want) == 0);
      }
      Tensor got = core::empty(x.sizes(), dtype, kGpu), want = core::empty(x.sizes(), dtype, kCPU);
      kernels::cpu::mul(x, number, want);
      kernels::cuda::mul(x.to(kGpu), number, got);
      CHECK(count_differences(got, want) == 0);
      kernels::cuda::mul(number, x.to(kGpu), got);
      CHECK(count_differences(got, want) == 0);
      const Tensor mask = few_values({3, columns}, kBool);
      kernels::cpu::where(mask, x, number, want);
      kernels::cuda::where(mask.to(kGpu), x.to(kGpu), number, got);
      CHECK(count_differences(got, want) == 0);
    }
  Tensor y = core::empty({4}, kFloat32, kGpu);
  const Tensor two = few_values({2, 2}, kFloat32);
  CHECK_THROWS_WITH(kernels::cuda::mul(y, two, y), Contains("mul") && Contains("cpu"));
}

TEST_CASE("where on CUDA selects elements of every size, of tensors and numbers, aligned or not",
          "[cuda][elementwise]") {
  TANDEM_NEEDS_GPU();
  for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16, kInt64, kUInt8, kBool})
    for (const int64_t n : {5, 8, 12, 2056})  // 2056 elements take several blocks, the last one not full
      for (const Spacing spacing : {Spacing::plain, Spacing::shifted}) {
        CAPTURE(dtype, n, static_cast<int>(spacing));
        const Tensor mask = few_values({1, n}, kBool), one = core::scalar(1, dtype, kCPU);
        const Tensor x = few_values({1, n}, dtype), y = reals({1, n}, kFloat32, 9).to(dtype);
        Tensor want = core::empty(x.sizes(), dtype, kCPU);
        for (const auto& [a, b] : {std::pair(x, y), std::pair(x, one), std::pair(one, y), std::pair(one, one)}) {
          kernels::cpu::where(mask, a, b, want);
          const auto on_gpu = [&](const Tensor& t) { return t.numel() == 1 ? t : laid_out(t.to(kGpu), spacing); };
          Tensor got = core::empty(x.sizes(), dtype, kGpu);
          kernels::cuda::where(laid_out(mask.to(kGpu), spacing), on_gpu(a), on_gpu(b), got);
          CHECK(count_differences(got, want) == 0);
        }
      }
}

TEST_CASE("contiguous and aligned operands get a plain plan on CUDA, with vectors of 16 bytes", "[cuda][elementwise]") {
  TANDEM_NEEDS_GPU();
  const auto vectors = [](const Tensor& y, const Tensor& a, const Tensor& b) {
    return static_cast<int>(kernels::cuda::plain_vectors(kernels::cuda::plan_elements("add", y, {a, b})));
  };
  const auto tensor = [](DType dtype, IntArrayRef sizes = {2, 40}) { return core::empty(sizes, dtype, kGpu); };
  const Tensor x = tensor(kBFloat16), number = core::scalar(3, kBFloat16, kCPU);
  CHECK(vectors(x, x, x) == 1);  // per thread, which computes 8 elements
  CHECK(vectors(x, x, number) == 1);
  CHECK(vectors(tensor(kFloat32), tensor(kFloat32), tensor(kFloat32)) == 2);
  CHECK(vectors(tensor(kBool), tensor(kFloat32), tensor(kFloat32)) == 2);
  CHECK(vectors(tensor(kBool), tensor(kBool), tensor(kBool)) == 1);
  CHECK(vectors(tensor(kInt64), tensor(kInt64), tensor(kInt64)) == 4);
  CHECK(vectors(x, x, tensor(kBFloat16, {40})) == 0);                             // broadcasts along a dimension
  CHECK(vectors(x, x, tensor(kBFloat16, {1})) == 0);                              // a number on the GPU
  CHECK(vectors(x, x, laid_out(x, Spacing::shifted)) == 0);                       // not aligned to 16 bytes
  CHECK(vectors(tensor(kBFloat16, {36}), tensor(kBFloat16, {36}), number) == 0);  // a vector would be partial
  CHECK(vectors(tensor(kFloat32, {36}), tensor(kFloat32, {36}), tensor(kFloat32, {36})) == 2);
}

TEST_CASE("copies on CUDA convert every dtype into every other", "[cuda][elementwise]") {
  TANDEM_NEEDS_GPU();
  for (const DType from : kAllDTypes)
    for (const DType to : kAllDTypes)
      for (const int64_t n : {6, 35, 36, 1026}) {  // 72 and 2052 elements fill all vectors of the plain kernels
        CAPTURE(from, to, n);
        const Tensor x = few_values({2, n}, from);
        Tensor want = core::empty(x.sizes(), to, kCPU), got = core::empty(x.sizes(), to, kGpu);
        // casting negative numbers to uint8 is not portable
        if (to == kUInt8 && from != kUInt8 && from != kBool && is_floating_point(from)) continue;
        kernels::cpu::copy(x, want);
        kernels::cuda::copy(x.to(kGpu), got);
        CHECK(count_differences(got, want) == 0);
        Tensor turned = core::transpose(core::empty({n, 2}, to, kGpu), 0, 1);
        kernels::cuda::copy(x.to(kGpu), turned);
        CHECK(count_differences(turned.contiguous(), want) == 0);
      }
}

TEST_CASE("permuted copies on CUDA move every element to its place", "[cuda][elementwise]") {
  TANDEM_NEEDS_GPU();
  const std::vector<std::vector<int64_t>> shapes = {{33, 65, 1}, {3, 40, 50}, {2, 32, 32}, {5, 7, 100}, {70, 1, 31}};
  const std::vector<std::vector<int64_t>> orders = {{0, 2, 1}, {1, 0, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}};
  for (const DType dtype : {kFloat32, kFloat64, kFloat16, kInt8})
    for (const auto& shape : shapes)
      for (const auto& order : orders) {
        if (dtype != kFloat32 && order[0] != 0) continue;
        CAPTURE(dtype, shape, order);
        const Tensor x = core::permute(few_values(shape, dtype), order);
        Tensor want = core::empty(x.sizes(), dtype, kCPU), got = core::empty(x.sizes(), dtype, kGpu);
        kernels::cpu::copy(x, want);
        kernels::cuda::copy(core::permute(few_values(shape, dtype).to(kGpu), order), got);
        CHECK(count_differences(got, want) == 0);
      }
}

TEST_CASE("fills and sequences on CUDA are the CPU's", "[cuda][elementwise]") {
  TANDEM_NEEDS_GPU();
  for (const DType dtype : kAllDTypes)
    for (const int64_t n : {1, 5, 64, 1023}) {
      CAPTURE(dtype, n);
      Tensor want = core::empty({2, n}, dtype, kCPU), got = core::empty({2, n}, dtype, kGpu);
      kernels::cpu::fill(3, want);
      kernels::cuda::fill(3, got);
      CHECK(count_differences(got, want) == 0);
      if (dtype == kBool) continue;
      Tensor ordered = core::empty({n}, dtype, kCPU), on_gpu = core::empty({n}, dtype, kGpu);
      kernels::cpu::arange(3, 2, ordered);
      kernels::cuda::arange(3, 2, on_gpu);
      CHECK(count_differences(on_gpu, ordered) == 0);
    }
  Tensor none = core::empty({0, 3}, kFloat32, kGpu);
  CHECK_NOTHROW(kernels::cuda::fill(1, none));
  CHECK_NOTHROW(kernels::cuda::exp(none, none));
  CHECK_NOTHROW(kernels::cuda::copy(none, none));
}

TEST_CASE("dividing by a multiplication divides, next to every multiple and at the ends", "[cuda][elementwise]") {
  const auto check = [](auto divider, auto n) {
    auto left = n;
    const auto quotient = divider.div_mod(left);
    return quotient == n / divider.divisor() && left == n % divider.divisor();
  };
  const auto each = [&]<class U>(U largest) {
    std::vector<U> divisors = {1, 2, 3, 5, 7, 10, 641, U(largest - 1), largest};
    for (U power = 4; power < largest / 2; power *= 2)
      for (const U d : {U(power - 1), power, U(power + 1)}) divisors.push_back(d);
    int64_t wrong = 0;
    for (const U d : divisors)
      for (const U times : {U(0), U(1), U(2), U(1000), U(largest / d / 2), U(largest / d)}) {
        if (times > largest / d) continue;
        const kernels::cuda::DividerOf<U> divider(static_cast<int64_t>(d));
        for (const U n : {U(times * d), U(times * d + 1), U(times * d - 1), largest})
          wrong += n <= largest && !check(divider, n);
      }
    CHECK(wrong == 0);
  };
  each(uint32_t(INT32_MAX));
  each(uint64_t(INT64_MAX));
}
