// Tests first and second derivatives of linear algebra at special matrices: symmetric, singular, with equal
// eigenvalues,
// tall and wide, batched. Expected values come from PyTorch, or from formulas where PyTorch has no value.
#include <functional>
#include <map>

#include "tandem/kernels/lapack.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/formula.h"
#include "tandem/tests/json.h"

using namespace tandem;

namespace {

using Function = Tensor (*)(const Tensor&);
/// Functions by name; the names are those in make_linalg_fixtures.py.
const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> all = {
      {"det", [](const Tensor& a) { return linalg_det(a); }},
      {"slogdet", [](const Tensor& a) { return std::get<1>(linalg_slogdet(a)); }},
      {"logdet", [](const Tensor& a) { return logdet(a); }},
      {"inv", [](const Tensor& a) { return linalg_inv(a); }},
      {"pinv", [](const Tensor& a) { return linalg_pinv(a); }},
      {"pinv_hermitian",
       [](const Tensor& a) { return linalg_pinv(a, std::optional<double>(), std::optional<double>(), true); }},
      {"eigvalsh", [](const Tensor& a) { return linalg_eigvalsh(a); }},
      {"eigh_values", [](const Tensor& a) { return std::get<0>(linalg_eigh(a)); }},
      {"eigh_vectors", [](const Tensor& a) { return std::get<1>(linalg_eigh(a)).square(); }},
      {"svdvals", [](const Tensor& a) { return linalg_svdvals(a); }},
      {"svd_values", [](const Tensor& a) { return std::get<1>(linalg_svd(a, false)); }},
      {"svd_left", [](const Tensor& a) { return std::get<0>(linalg_svd(a, false)).square(); }},
      {"svd_right", [](const Tensor& a) { return std::get<2>(linalg_svd(a, false)).square(); }},
      {"qr_q", [](const Tensor& a) { return std::get<0>(linalg_qr(a)).square(); }},
      {"qr_r", [](const Tensor& a) { return std::get<1>(linalg_qr(a)).square(); }},
      {"cholesky", [](const Tensor& a) { return linalg_cholesky(a); }},
      {"cholesky_upper", [](const Tensor& a) { return linalg_cholesky(a, true); }},
      {"cholesky_inverse", [](const Tensor& a) { return cholesky_inverse(linalg_cholesky(a)); }},
      {"solve", [](const Tensor& a) { return linalg_solve(a, ones_like(a)); }},
      {"solve_right", [](const Tensor& a) { return linalg_solve(a, ones_like(a), false); }},
      {"solve_triangular", [](const Tensor& a) { return linalg_solve_triangular(a, ones_like(a), true); }},
      {"lstsq", [](const Tensor& a) { return std::get<0>(linalg_lstsq(a, ones_like(a), {}, "gelsd")); }},
      {"lu_lower", [](const Tensor& a) { return std::get<1>(linalg_lu(a)); }},
      {"lu_upper", [](const Tensor& a) { return std::get<2>(linalg_lu(a)); }},
      {"lu_solve",
       [](const Tensor& a) {
         const auto [lu, pivots] = linalg_lu_factor(a);
         return linalg_lu_solve(lu, pivots, ones_like(a));
       }},
      {"matrix_exp", [](const Tensor& a) { return linalg_matrix_exp(a); }},
      {"matrix_power_3", [](const Tensor& a) { return linalg_matrix_power(a, 3); }},
      {"matrix_power_minus_2", [](const Tensor& a) { return linalg_matrix_power(a, -2); }},
      {"nuclear_norm", [](const Tensor& a) { return linalg_matrix_norm(a, "nuc"); }},
      {"norm_2", [](const Tensor& a) { return linalg_matrix_norm(a, 2); }},
      {"norm_minus_2", [](const Tensor& a) { return linalg_matrix_norm(a, -2); }},
      {"frobenius_norm", [](const Tensor& a) { return linalg_matrix_norm(a, "fro"); }},
      {"norm_1", [](const Tensor& a) { return linalg_matrix_norm(a, 1); }},
      {"cond", [](const Tensor& a) { return linalg_cond(a); }},
  };
  return all;
}
Tensor weighted(const Tensor& y, uint32_t salt) {
  std::vector<double> numbers(static_cast<size_t>(y.numel()));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = test::value(static_cast<int64_t>(i), salt);
  return (y * tensor(numbers, kFloat64).view(y.sizes())).sum();
}
/// Returns the gradient of the weighted sum of f's outputs at `matrix`, and the gradient of the weighted sum of that
/// gradient (zeros if the gradient is constant).
std::pair<Tensor, Tensor> derivatives(Function f, const Tensor& matrix) {
  const Tensor a = matrix.clone().requires_grad_();
  const Tensor first = autograd::grad({weighted(f(a), 101)}, {a}, {}, true, /*create_graph=*/true)[0];
  Tensor second;
  if (first.requires_grad())
    second = autograd::grad({weighted(first, 102)}, {a}, {}, {}, false, /*allow_unused=*/true)[0];
  return {first.detach(), second.defined() ? second : zeros_like(matrix)};
}
bool skipped_without_lapack() {
  if (kernels::cpu::has_lapack()) return false;
  WARN("SKIPPED: a build without LAPACK");
  return true;
}

}  // namespace

TEST_CASE("derivatives of linear algebra at special matrices are PyTorch's", "[linalg][gradients]") {
  if (skipped_without_lapack()) return;
  const auto fixtures = test::read_json("linalg.json");
  for (const auto& row : fixtures.at("cases")) {
    const auto op = row.at("op").get<std::string>();
    INFO(op << " of " << row.at("name").get<std::string>());
    const auto read = [&](const char* name) {
      return tensor(row.at(name).get<std::vector<double>>(), kFloat64)
          .view(row.at("shape").get<std::vector<int64_t>>());
    };
    const auto [first, second] = derivatives(functions().at(op), read("matrix"));
    // Tolerance 1e-6: PyTorch's formulas divide by differences of singular values, which are as small as 1e-3 here.
    CHECK(first.allclose(read("first"), 1e-6, 1e-8));
    CHECK(second.allclose(read("second"), 1e-6, 1e-7));
  }
}

TEST_CASE("gradients of functions of symmetric matrices are symmetric", "[linalg][gradients]") {
  if (skipped_without_lapack()) return;
  const Tensor a = tensor({{2., 1.}, {1., 3.}}, kFloat64).requires_grad_();
  std::get<1>(linalg_eigh(a))[0].abs().sum().backward();
  // Expected values: gradient of torch.linalg.eigh(a)[1][0].abs().sum().
  CHECK(a.grad().allclose(tensor({{0.064983939247, 0.032491969623}, {0.032491969623, -0.064983939247}}, kFloat64),
                          1e-10));
  for (const char* op : {"eigvalsh", "eigh_values", "eigh_vectors", "cholesky", "cholesky_upper", "pinv_hermitian"}) {
    CAPTURE(op);
    const Tensor matrix = tensor({{2., 1., 0.5}, {1., 3., -1.}, {0.5, -1., 1.}}, kFloat64);
    const Tensor first = derivatives(functions().at(op), matrix).first;
    if (op != std::string("pinv_hermitian")) CHECK(first.allclose(first.mT(), 1e-12, 1e-12));
  }
}

TEST_CASE("second derivatives of determinants are those of the polynomial, whatever the rank", "[linalg][gradients]") {
  if (skipped_without_lapack()) return;
  // Computes the determinant of a 3 x 3 matrix as the sum of its six products.
  const Function by_products = [](const Tensor& a) {
    const auto at = [&](int64_t i, int64_t j) { return a.select(-2, i).select(-1, j); };
    Tensor total;
    for (int64_t i = 0; i < 3; ++i) {
      const int64_t j = (i + 1) % 3, k = (i + 2) % 3;
      const Tensor part = at(0, i) * (at(1, j) * at(2, k) - at(1, k) * at(2, j));
      total = total.defined() ? total + part : part;
    }
    return total;
  };
  const std::vector<std::vector<double>> matrices = {
      {1, 2, 3, 2, 4, 6, -1, -2, -3},     // rank 1
      {0, 0, 0, 0, 0, 0, 0, 0, 0},        // rank 0
      {1, 0, 0, 0, 1, 0, 0, 0, 0},        // equal singular values, and a singular value 0
      {1, 2, 3, 4, 5, 6, 7, 8, 9},        // singular, but its LU factors give the determinant 6.7e-16
      {1, 2, 3, 2, 4, 1, 3, 6, 4},        // rank 2
      {1e5, 0, 0, 0, 1e-5, 0, 0, 0, 1},   // regular
      {2, 1, -1, 0.5, 3, 1, 1, -2, 1.5},  // regular
  };
  std::vector<Tensor> all;
  for (const auto& numbers : matrices) all.push_back(tensor(numbers, kFloat64).view({3, 3}));
  all.push_back(stack(all));
  for (const Tensor& matrix : all) {
    CAPTURE(matrix);
    const auto [first, second] = derivatives(functions().at("det"), matrix);
    const auto [wanted_first, wanted_second] = derivatives(by_products, matrix);
    const double size = matrix.abs().max().item<double>() + 1;
    CHECK(first.allclose(wanted_first, 1e-10, 1e-12 * size * size));
    CHECK(second.allclose(wanted_second, 1e-10, 1e-12 * size));
  }
}
