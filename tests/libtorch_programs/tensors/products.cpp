// Products of vectors, matrices and batches.
#include <torch/torch.h>

#include <iostream>

int main() {
  const torch::Tensor a = torch::arange(6, torch::kFloat64).reshape({2, 3}),
                      b = torch::arange(12, torch::kFloat64).reshape({3, 4}).sub(4);
  const torch::Tensor v = torch::tensor({1.0, -2.0, 0.5}, torch::kFloat64),
                      w = torch::tensor({2.0, 1.0, 4.0}, torch::kFloat64);
  std::cout << a.mm(b) << "\n"
            << torch::matmul(a, b) << "\n"
            << a.mv(v) << "\n"
            << v.dot(w) << "\n"
            << torch::outer(v, w) << "\n";
  std::cout << torch::matmul(v, w) << "\n"
            << torch::matmul(v, b) << "\n"
            << torch::matmul(a, v) << "\n"
            << torch::inner(a, v) << "\n"
            << torch::ger(v, w) << "\n";
  const torch::Tensor batch = torch::arange(12, torch::kFloat64).reshape({2, 2, 3});
  std::cout << batch.bmm(batch.transpose(1, 2)) << "\n"
            << torch::matmul(batch, b).sizes() << torch::matmul(batch.unsqueeze(1), b).sizes() << "\n";
  std::cout << torch::addmm(torch::ones({2, 4}, torch::kFloat64), a, b, /*beta=*/2, /*alpha=*/0.5) << "\n";
  std::cout << torch::addmv(torch::ones({2}, torch::kFloat64), a, v) << "\n"
            << torch::addr(torch::zeros({3, 3}, torch::kFloat64), v, w, 1, 2) << "\n";
  std::cout << torch::baddbmm(torch::ones({1}, torch::kFloat64), batch, batch.mT()) << "\n"
            << torch::addbmm(torch::zeros({2, 2}, torch::kFloat64), batch, batch.mT()) << "\n";
  std::cout << torch::chain_matmul({a, b, b.t()}) << "\n"
            << torch::linalg_multi_dot({a, b, torch::ones({4}, torch::kFloat64)}) << "\n";
  std::cout << torch::cross(v, w) << "\n"
            << torch::linalg_cross(a, a.flip(1)) << "\n"
            << torch::tensordot(a, b, {1}, {0}) << "\n";
  std::cout << torch::tensordot(batch, a, {1, 2}, {0, 1}) << "\n" << torch::vdot(v, w) << "\n";
  // einsum
  std::cout << torch::einsum("ij,jk->ik", {a, b}) << "\n"
            << torch::einsum("ij->ji", {a}) << "\n"
            << torch::einsum("ij->", {a}) << "\n";
  std::cout << torch::einsum("ij,j", {a, v}) << "\n"
            << torch::einsum("i,j->ij", {v, w}) << "\n"
            << torch::einsum("bij,bkj->bik", {batch, batch}) << "\n";
  std::cout << torch::einsum("ii->i", {batch.narrow(2, 0, 2)[0]}) << "\n"
            << torch::einsum("ii", {torch::eye(3)}) << "\n";
  std::cout << torch::einsum("...ij,jk->...ik", {batch, b}).sizes() << torch::einsum("b...->...", {batch}) << "\n";
  std::cout << torch::einsum("bi,ij,bj->b", {a, torch::eye(3, torch::kFloat64), a}) << "\n";
  const torch::Tensor i = torch::arange(4).reshape({2, 2});
  std::cout << i.matmul(i) << "\n" << i.mm(i.t()) << "\n" << torch::einsum("ij,ij->i", {i, i}) << "\n";
  std::cout << torch::matrix_power(i, 3) << "\n"
            << torch::bilinear(a, a, torch::ones({2, 3, 3}, torch::kFloat64)) << "\n";
  std::cout << torch::mm(torch::zeros({2, 0}), torch::zeros({0, 2})) << "\n"
            << torch::dot(torch::zeros({0}), torch::zeros({0})) << "\n";
  try {
    a.mm(a);
    std::cout << "no error\n";
  } catch (const c10::Error&) {
    std::cout << "sizes do not fit\n";
  }
  try {
    a.matmul(b.to(torch::kFloat32));
    std::cout << "no error\n";
  } catch (const c10::Error&) {
    std::cout << "dtypes do not fit\n";
  }
  return 0;
}
