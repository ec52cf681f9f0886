// Tests ops at shapes that are split over several threads, ops at every instruction-set level, and ops without a
// fixture.
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tandem/autograd/ops.h"
#include "tandem/core/threads/cpu_info.h"
#include "tandem/kernels/lapack.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/op_cases/families.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using namespace tandem::test;

namespace {

std::vector<Tensor> make_inputs(const std::vector<InputSpec>& specs, DType real) {
  std::vector<Tensor> inputs;
  for (size_t k = 0; k < specs.size(); ++k) inputs.push_back(make_input(specs[k], k, real));
  return inputs;
}

/// Returns a line with a hash for each call that gives integers or a mask, and for random numbers. None of these may
/// depend on the instruction-set level.
std::string digests() {
  std::ostringstream out;
  const NoGradGuard guard;
  const auto add = [&](const std::string& name, In outputs) {
    uint64_t bits = digest(zeros({0}));
    bool any = false;
    for (const Tensor& y : outputs)
      if (!y.is_floating_point()) bits = digest(y, bits), any = true;
    if (any) out << name << ' ' << bits << '\n';
  };
  for (const DType real : {kFloat32, kFloat64}) {
    for (const Family& family : families())
      for (const OpCase& row : family.cases)
        if (family.name != std::string("backward") &&
            (family.name != std::string("linalg") || kernels::cpu::has_lapack()))
          add(row.name, row.run(make_inputs(fixture(row.name).inputs, real)));
    for (const LargeCase& row : large_cases()) add(row.op.name, row.op.run(make_inputs(row.inputs, real)));
    manual_seed(11);
    const TensorOptions options(real);
    const Tensor uniform = rand({100003}, options), scaled = empty({1003}, options).uniform_(-0.1, 0.7);
    out << "uniform " << digest(uniform) << ' ' << digest(scaled) << '\n';
    add("dropout's mask", {dropout(ones({100003}, options), 0.3) > 0});
    add("dropout2d's mask", {dropout2d(ones({67, 31, 3}, options), 0.3) > 0});
  }
  return out.str();
}

}  // namespace

TEST_CASE("large shapes: 1, 2 and 3 threads give the same bits", "[ops][large]") {
  for (const LargeCase& row : large_cases()) {
    INFO(row.op.name);
    CHECK_NOTHROW(check_threads(row.op, make_inputs(row.inputs, kFloat32)));
  }
}

TEST_CASE("digests of integers, masks and uniforms, into the file that TANDEM_OP_DIGESTS names", "[.digests]") {
  const char* path = std::getenv("TANDEM_OP_DIGESTS");
  REQUIRE(path);
  std::ofstream(path) << digests();
}
TEST_CASE("integers, masks and uniforms have the same bits on every instruction-set level", "[ops][isa]") {
  const TemporaryFolder folder;
  std::string program(4096, '\0');
  program.resize(static_cast<size_t>(std::max<ssize_t>(readlink("/proc/self/exe", program.data(), program.size()), 0)));
  const std::string want = digests();
  CHECK(std::count(want.begin(), want.end(), '\n') > 100);
  for (const CpuIsa isa : compiled_isas()) {
    INFO(isa_name(isa));
    if (!cpu_supports(isa)) {
      WARN("SKIPPED " << isa_name(isa) << ": this processor lacks it");
      continue;
    }
    const std::string file = folder / isa_name(isa);
    // A process selects the instruction-set level once, so each level needs its own process.
    REQUIRE(std::system(("TANDEM_CPU_ISA=" + std::string(isa_name(isa)) + " TANDEM_OP_DIGESTS='" + file + "' '" +
                         program + "' '[.digests]' >/dev/null")
                            .c_str()) == 0);
    std::ifstream in(file);
    CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == want);
  }
}

TEST_CASE("dropout scales what it keeps, and its gradient is the same mask", "[ops][others]") {
  manual_seed(3);
  const Tensor x = rand({40, 50}, kFloat64).add_(1).requires_grad_();
  const Tensor y = dropout(x, 0.25), kept = y != 0;
  CHECK(y.detach().allclose(where(kept, x.detach() / 0.75, 0.0), 1e-15));
  y.sum().backward();
  CHECK(x.grad().allclose(kept.to(kFloat64) / 0.75, 1e-15));
  // 2000 draws with probability 0.75 have a standard deviation of 19.4. The tolerance is five standard deviations.
  CHECK(std::abs(kept.to(kFloat64).sum().item<double>() - 1500) < 97);
  CHECK(dropout(x, 0.5, /*training=*/false).is_same(x));
  CHECK(dropout(x, 1.0).detach().abs().max().item<double>() == 0);
}
TEST_CASE("dropout2d keeps or zeroes whole channels", "[ops][others]") {
  manual_seed(3);
  const Tensor x = ones({30, 20, 4, 5}, kFloat64).requires_grad_();
  const Tensor y = dropout2d(x, 0.5), first = y.detach().slice(2, 0, 1).slice(3, 0, 1);
  CHECK(y.detach().equal(first.expand(x.sizes())));
  CHECK(((first == 0) | (first == 2)).all().item<bool>());
  y.sum().backward();
  CHECK(x.grad().equal(y.detach()));
}
TEST_CASE("as_strided_backward sums what the view holds more than once", "[ops][others]") {
  // Three overlapping rows of three elements over five elements: element i lies in min(i, 2, 4 - i) + 1 rows.
  const Tensor dy = ones({3, 3}, kFloat64);
  const Tensor base = zeros({5}, kFloat64);
  const ViewGeometry rows(base, base.as_strided({3, 3}, {1, 1})), spread(base, base.as_strided({1, 3}, {9, 2}));
  CHECK(as_strided_backward(dy, rows).equal(tensor({1.0, 2.0, 3.0, 2.0, 1.0}, kFloat64)));
  CHECK(as_strided_backward(dy.slice(0, 0, 1), spread).equal(tensor({1.0, 0.0, 1.0, 0.0, 1.0}, kFloat64)));
  const auto f = [&](In in) -> std::vector<Tensor> { return {as_strided_backward(in[0], rows)}; };
  const std::vector<Tensor> x = {rand({3, 3}, kFloat64).requires_grad_()};
  CHECK(autograd::gradcheck(f, x));
  CHECK(autograd::gradgradcheck(f, x));
}
TEST_CASE("nonzero gives positions in row-major order", "[ops][others]") {
  CHECK(nonzero(tensor({{0, 3}, {1, 0}, {0, 0}, {2, 2}})).equal(tensor({{0, 1}, {1, 0}, {3, 0}, {3, 1}})));
  CHECK(nonzero(zeros({0, 2})).sizes() == IntArrayRef({0, 2}));
}
TEST_CASE("several index tensors broadcast, and go in front when they are apart", "[ops][others]") {
  const Tensor x = arange(60).view({3, 4, 5}), i = tensor({0, 2}), j = tensor({{1}, {-1}});
  using indexing::Slice;
  // Index tensors separated by a slice: their shape (2, 2) comes first. Element [a][b][c] is x[i[b]][c][j[a]].
  const Tensor apart = x.index({i, Slice(), j});
  REQUIRE(apart.sizes() == IntArrayRef({2, 2, 4}));
  for (int64_t a = 0; a < 2; ++a)
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t c = 0; c < 4; ++c) CHECK(apart[a][b][c].item<int64_t>() == 20 * (b ? 2 : 0) + 5 * c + (a ? 4 : 1));
  CHECK(x.index({Slice(), i, i}).equal(stack({x.select(1, 0).select(1, 0), x.select(1, 2).select(1, 2)}, 1)));
  Tensor y = zeros({3, 4, 5}, kInt64);
  y.index_put_({i, Slice(), j}, apart);
  CHECK(y.index({i, Slice(), j}).equal(apart));
  CHECK(y.sum().item<int64_t>() == apart.sum().item<int64_t>());
  CHECK_THROWS_WITH(x.index({i, tensor({0, 4})}), Contains("index: index 4 is out of bounds for dimension 1"));
  CHECK_THROWS_WITH(x.index({i, tensor({0, 1, 2})}), Contains("indexing tensors could not be broadcast together"));
}
