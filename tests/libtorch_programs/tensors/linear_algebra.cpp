// Norms, factorizations and solutions. Prints absolute values of results whose sign is not unique.
#include <torch/torch.h>

#include <cmath>
#include <iostream>

int main() {
  const torch::Tensor a = torch::tensor({{4.0, 1.0, -2.0}, {1.0, 3.0, 0.5}, {-2.0, 0.5, 5.0}}, torch::kFloat64);
  const torch::Tensor b = torch::tensor({1.25, 2.5, -3.0}, torch::kFloat64);
  const torch::Tensor tall = torch::tensor({{1.0, 2.0}, {3.0, 4.5}, {5.0, 6.0}, {7.0, 8.25}}, torch::kFloat64);
  const auto tidy = [](const torch::Tensor& x) { return x.mul(1e6).round().div(1e6).add(0.0); };
  std::cout << tidy(torch::linalg_norm(a)) << "\n"
            << tidy(torch::linalg_norm(a, 1)) << "\n"
            << tidy(torch::linalg_norm(a, "nuc")) << "\n";
  std::cout << tidy(torch::linalg_norm(a, 2)) << "\n"
            << tidy(torch::linalg_vector_norm(a, 3)) << "\n"
            << tidy(torch::linalg_vector_norm(a, INFINITY, 1)) << "\n";
  std::cout << tidy(torch::linalg_matrix_norm(a, "fro")) << "\n"
            << tidy(torch::linalg_matrix_norm(a, -2)) << "\n"
            << tidy(torch::linalg_cond(a)) << "\n";
  std::cout << tidy(torch::linalg_det(a)) << "\n"
            << tidy(torch::det(a.narrow(0, 0, 2).narrow(1, 0, 2))) << "\n"
            << tidy(torch::logdet(a)) << "\n";
  const auto [sign, logarithm] = torch::linalg_slogdet(-a);
  std::cout << sign << "\n" << tidy(logarithm) << "\n" << torch::linalg_matrix_rank(tall) << "\n";
  std::cout << tidy(torch::linalg_inv(a)) << "\n"
            << tidy(torch::inverse(a).matmul(a)) << "\n"
            << tidy(torch::linalg_pinv(tall)) << "\n";
  std::cout << tidy(torch::linalg_solve(a, b)) << "\n"
            << tidy(torch::linalg_solve(a, torch::stack({b, 2 * b}, 1))) << "\n";
  std::cout << tidy(std::get<0>(torch::linalg_lstsq(tall, torch::arange(4, torch::kFloat64).unsqueeze(1)))) << "\n";
  const torch::Tensor lower = torch::linalg_cholesky(a);
  std::cout << tidy(lower) << "\n"
            << tidy(torch::cholesky_solve(b.unsqueeze(1), lower)) << "\n"
            << tidy(torch::linalg_cholesky(a, /*upper=*/true)) << "\n";
  std::cout << tidy(torch::linalg_solve_triangular(lower, b.unsqueeze(1), /*upper=*/false)) << "\n";
  const auto [q, r] = torch::linalg_qr(tall);
  std::cout << tidy(q.abs()) << "\n"
            << tidy(r.abs()) << "\n"
            << tidy(q.matmul(r)) << "\n"
            << std::get<0>(torch::linalg_qr(tall, "complete")).sizes() << "\n";
  const auto [values, vectors] = torch::linalg_eigh(a);
  std::cout << tidy(values) << "\n" << tidy(vectors.abs()) << "\n" << tidy(torch::linalg_eigvalsh(a)) << "\n";
  const auto [u, s, vh] = torch::linalg_svd(tall, /*full_matrices=*/false);
  std::cout << tidy(s) << "\n"
            << tidy(u.matmul(torch::diag(s)).matmul(vh)) << "\n"
            << tidy(torch::linalg_svdvals(a)) << "\n"
            << u.sizes() << vh.sizes() << "\n";
  const auto [p, l, up] = torch::linalg_lu(a);
  std::cout << p << "\n" << tidy(l) << "\n" << tidy(up) << "\n";
  const auto [lu, pivots] = torch::linalg_lu_factor(a);
  std::cout << tidy(lu) << "\n" << pivots << "\n" << tidy(torch::linalg_lu_solve(lu, pivots, b.unsqueeze(1))) << "\n";
  std::cout << tidy(torch::linalg_matrix_power(a, 3)) << "\n"
            << tidy(torch::linalg_matrix_power(a, -1)) << "\n"
            << tidy(torch::linalg_matrix_power(a, 0)) << "\n";
  std::cout << tidy(torch::linalg_matrix_exp(a / 4)) << "\n"
            << tidy(torch::linalg_vecdot(a, a)) << "\n"
            << tidy(torch::linalg_vander(b)) << "\n";
  std::cout << tidy(torch::linalg_inv(torch::stack({a, 2 * a}))) << "\n"
            << torch::linalg_det(torch::zeros({0, 2, 2})).sizes() << "\n";
  try {
    torch::linalg_inv(torch::zeros({2, 2}));
    std::cout << "no error\n";
  } catch (const c10::LinAlgError&) {
    std::cout << "singular\n";
  }
  try {
    torch::linalg_cholesky(-a);
    std::cout << "no error\n";
  } catch (const c10::LinAlgError&) {
    std::cout << "not positive definite\n";
  }
  return 0;
}
