// Gradients of products, decompositions and solutions, compared with formulas.
#include <torch/torch.h>

#include <iostream>

using torch::Tensor;

Tensor tidy(const Tensor& x) { return x.mul(1e6).round().div(1e6).add(0.0); }

int main() {
  const Tensor base = torch::tensor({{2.0, 0.5, -1.0}, {0.0, 3.0, 1.0}, {1.0, -0.5, 4.0}}, torch::kFloat64);
  const Tensor c = torch::arange(9, torch::kFloat64).reshape({3, 3}).sub(4);
  const auto gradient = [&](auto&& f) {
    Tensor a = base.clone().requires_grad_(true);
    return torch::autograd::grad({f(a)}, {a})[0].detach();
  };
  // d det = det * inv^T; the derivative of log det is inv^T
  const Tensor of_det = gradient([](const Tensor& a) { return torch::det(a); });
  std::cout << tidy(of_det) << "\n" << torch::allclose(of_det, torch::det(base) * base.inverse().t()) << "\n";
  const Tensor of_logarithm = gradient([](const Tensor& a) { return std::get<1>(torch::slogdet(a)); });
  std::cout << tidy(of_logarithm) << "\n" << torch::allclose(of_logarithm, base.inverse().t()) << "\n";
  const Tensor of_inverse = gradient([&](const Tensor& a) { return (a.inverse() * c).sum(); });
  const Tensor inverse = torch::linalg_inv(base);
  std::cout << tidy(of_inverse) << "\n" << torch::allclose(of_inverse, -inverse.t().mm(c).mm(inverse.t())) << "\n";
  std::cout << tidy(gradient([&](const Tensor& a) { return (torch::linalg_solve(a, c) * c).sum(); })) << "\n";
  std::cout << tidy(gradient([&](const Tensor& a) { return (torch::linalg_solve_triangular(a, c, true) * c).sum(); }))
            << "\n";
  std::cout << tidy(gradient([&](const Tensor& a) { return (torch::linalg_cholesky(a.mm(a.t())) * c).sum(); })) << "\n";
  std::cout << tidy(gradient([&](const Tensor& a) { return (torch::linalg_eigvalsh(a + a.t()) * c[0]).sum(); }))
            << "\n";
  std::cout << tidy(gradient([&](const Tensor& a) {
    return std::get<1>(torch::linalg_eigh(a + a.t())).pow(4).mul(c).sum();
  })) << "\n";
  std::cout << tidy(gradient([&](const Tensor& a) { return (torch::linalg_svdvals(a) * c[2]).sum(); })) << "\n";
  std::cout << tidy(gradient([&](const Tensor& a) {
    auto [u, s, vh] = torch::linalg_svd(a);
    return (u.pow(2) * c).sum() + (vh.pow(2) * c).sum() + s.sum();
  })) << "\n";
  std::cout << tidy(gradient([&](const Tensor& a) {
    auto [q, r] = torch::linalg_qr(a);
    return (q.abs() * c).sum() + (r.abs() * c).sum();
  })) << "\n";
  std::cout << tidy(gradient([&](const Tensor& a) {
    return (torch::linalg_pinv(a.narrow(1, 0, 2)) * c.narrow(0, 0, 2)).sum();
  })) << "\n";
  std::cout << tidy(gradient([&](const Tensor& a) { return (std::get<2>(torch::linalg_lu(a)) * c).sum(); })) << "\n";
  std::cout << tidy(gradient([&](const Tensor& a) { return (torch::matrix_exp(a / 4) * c).sum(); })) << "\n";
  std::cout << tidy(gradient([&](const Tensor& a) { return (torch::matrix_power(a, 3) * c).sum(); })) << "\n";
  std::cout << tidy(gradient([](const Tensor& a) { return torch::linalg_norm(a, "nuc"); })) << "\n";
  std::cout << tidy(gradient([](const Tensor& a) {
    return torch::linalg_norm(a, "fro") + torch::linalg_matrix_norm(a, 1);
  })) << "\n";
  std::cout << tidy(gradient([&](const Tensor& a) { return torch::einsum("ij,jk,ki->", {a, c, a}); })) << "\n";
  std::cout << tidy(gradient([&](const Tensor& a) { return torch::cdist(a, c).sum(); })) << "\n";
  std::cout << tidy(gradient([&](const Tensor& a) { return torch::kron(a, c.narrow(0, 0, 1)).pow(2).sum(); })) << "\n";
  std::cout << tidy(gradient([&](const Tensor& a) { return torch::cross(a, c, 1).pow(2).sum(); })) << "\n";
  std::cout << tidy(gradient([&](const Tensor& a) { return torch::addmm(a, a, c, 0.5, 2).pow(2).sum(); })) << "\n";
  std::cout << tidy(gradient([&](const Tensor& a) {
    return torch::baddbmm(a.unsqueeze(0), a.unsqueeze(0), c.unsqueeze(0)).sin().sum();
  })) << "\n";
  std::cout << tidy(gradient([&](const Tensor& a) { return torch::mv(a, a.diagonal()).dot(a.select(1, 0)); })) << "\n";
  return 0;
}
