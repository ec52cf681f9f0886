// Tests linear algebra beyond the cases of tests/op_cases/linalg.cpp: matrices that are singular, empty, not finite or
// not contiguous; error messages; properties that hold for every factorization, whatever signs it chooses.
#include <cmath>

#include "tandem/kernels/lapack.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;
namespace L = tandem::linalg;

namespace {

bool without_lapack() {
  if (kernels::cpu::has_lapack()) return false;
  WARN("SKIPPED: a build without LAPACK");
  return true;
}
TensorOptions real64() { return kFloat64; }
bool close(const Tensor& a, const Tensor& b) { return a.allclose(b, 1e-10, 1e-12, /*equal_nan=*/true); }
Tensor identity(int64_t n) { return eye(n, real64()); }
/// Returns random numbers that are the same in each run.
Tensor numbers(IntArrayRef sizes, uint64_t seed = 1) {
  manual_seed(seed);
  return randn(sizes, real64());
}
constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("factors multiply to the matrix, and are of their kind", "[linalg]") {
  if (without_lapack()) return;
  for (const auto& sizes : std::vector<std::vector<int64_t>>{{2, 5, 3}, {2, 3, 5}, {4, 4}, {1, 1}, {1, 4}, {4, 1}}) {
    const Tensor a = numbers(sizes).mT().contiguous().mT();  // column-major
    const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
    const auto [P, Lo, U] = L::lu(a);
    CHECK(close(P.matmul(Lo).matmul(U), a));
    CHECK(close(P.mT().matmul(P), identity(m).expand_as(P)));
    CHECK((close(Lo.tril(), Lo) && close(U.triu(), U)));
    for (const char* mode : {"reduced", "complete"}) {
      const auto [Q, R] = L::qr(a, mode);
      CHECK(Q.size(-1) == (mode[0] == 'r' ? k : m));
      CHECK((close(Q.matmul(R), a) && close(R.triu(), R)));
      const Tensor gram = Q.mT().matmul(Q);
      CHECK(close(gram, identity(Q.size(-1)).expand_as(gram)));
    }
    const auto [reflectors, tau] = geqrf(a);
    CHECK(close(reflectors.triu().narrow(-2, 0, k), std::get<1>(L::qr(a, "r"))));
    for (const bool full : {false, true}) {
      const auto [u, s, vh] = L::svd(a, full);
      CHECK(close(u.narrow(-1, 0, k).matmul(s.diag_embed()).matmul(vh.narrow(-2, 0, k)), a));
      CHECK(u.size(-1) == (full ? m : k));
      CHECK(close(u.mT().matmul(u).diagonal(0, -2, -1).sum(-1), full_like(s.select(-1, 0), double(u.size(-1)))));
      CHECK(s.equal(std::get<0>(s.sort(-1, true))));
      CHECK(close(s, L::svdvals(a)));
    }
    const Tensor p = L::pinv(a);
    CHECK((close(a.matmul(p).matmul(a), a) && close(p.matmul(a).matmul(p), p)));
    CHECK((close(a.matmul(p).mT(), a.matmul(p)) && close(p.matmul(a).mT(), p.matmul(a))));
  }
}

TEST_CASE("factorizations read the triangle that they are told to", "[linalg]") {
  if (without_lapack()) return;
  const Tensor whole = numbers({3, 3}), a = whole.matmul(whole.t()) + identity(3);
  const Tensor lower = a.tril() + numbers({3, 3}, 2).triu(1), upper = a.triu() + numbers({3, 3}, 2).tril(-1);
  CHECK(close(L::cholesky(lower), L::cholesky(a)));
  CHECK(close(L::cholesky(upper, true), L::cholesky(a).t()));
  CHECK(close(std::get<0>(L::eigh(lower)), L::eigvalsh(a)));
  CHECK(close(std::get<0>(L::eigh(upper, "U")), L::eigvalsh(a, "U")));
  const auto [w, v] = L::eigh(upper, "u");
  CHECK(close(v.matmul(w.diag()).matmul(v.t()), a));
  const Tensor b = numbers({3, 2}, 3);
  CHECK(close(a.triu().matmul(L::solve_triangular(upper, b, true)), a.triu().matmul(L::solve_triangular(a, b, true))));
  CHECK(close(a.tril().matmul(L::solve_triangular(lower, b, false)), b));
  const Tensor ones_below = a.tril(-1) + identity(3);
  CHECK(close(L::solve_triangular(lower, b.t(), false, /*left=*/false, /*unitriangular=*/true).matmul(ones_below),
              b.t()));
  CHECK(close(cholesky_solve(b, L::cholesky(a)), L::solve(a, b)));
  CHECK(close(cholesky_inverse(L::cholesky(a, true), true), L::inv(a)));
}

TEST_CASE("reflectors give one product with and without a gradient", "[linalg]") {
  if (without_lapack()) return;
  const Tensor a = numbers({2, 4, 3});
  const auto [x, tau] = geqrf(a);
  const Tensor c = numbers({2, 4, 2}, 2), wide = numbers({2, 2, 4}, 3), tracked = x.clone().requires_grad_();
  CHECK(close(orgqr(x, tau), std::get<0>(L::qr(a))));
  CHECK(close(orgqr(x, tau), orgqr(tracked, tau)));
  for (const bool transpose : {false, true}) {
    CHECK(close(ormqr(x, tau, c, true, transpose), ormqr(tracked, tau, c, true, transpose)));
    CHECK(close(ormqr(x, tau, wide, false, transpose), ormqr(tracked, tau, wide, false, transpose)));
  }
  const Tensor q = std::get<0>(L::qr(a, "complete"));
  CHECK(close(ormqr(x, tau, c, true, true), q.mT().matmul(c)));
  CHECK_THROWS_WITH(ormqr(x, tau, wide), Contains("ormqr") && Contains("(2, 2, 4)"));
  const auto [y, t] = geqrf(a.clone().requires_grad_());
  CHECK_THROWS_WITH(y.sum().backward(), Contains("the derivative for 'geqrf' is not implemented"));
}

TEST_CASE("singular matrices give errors, or what PyTorch gives", "[linalg]") {
  if (without_lapack()) return;
  const Tensor zero = zeros({2, 2}, real64()), one = tensor({{1., 2.}, {2., 4.}}, real64());
  const Tensor batch = stack({identity(2), zero});
  CHECK_THROWS_AS(L::inv(batch), LinAlgError);
  CHECK_THROWS_WITH(L::inv(batch), Contains("linalg_inv") && Contains("(Batch element 1)") && Contains("singular"));
  CHECK_THROWS_WITH(L::solve(zero, ones({2}, real64())), Contains("linalg_solve") && Contains("singular"));
  CHECK_THROWS_AS(L::lu_factor(zero), LinAlgError);
  CHECK_NOTHROW(L::lu(zero));
  CHECK(std::get<1>(L::inv_ex(batch)).equal(tensor({0, 1}, kInt32)));
  CHECK_THROWS_WITH(L::cholesky(-identity(2)), Contains("linalg_cholesky") && Contains("not positive-definite"));
  CHECK(std::get<1>(L::cholesky_ex(-identity(2))).item<int>() == 1);
  CHECK(L::det(zero).item<double>() == 0);
  const auto [sign, value] = L::slogdet(stack({zero, -identity(2), tensor({{0., 1.}, {2., 0.}}, real64())}));
  CHECK(close(sign, tensor({0., 1., -1.}, real64())));
  CHECK(close(value, tensor({-kInf, 0., std::log(2.)}, real64())));
  CHECK(close(logdet(stack({zero, identity(2), one - 2})), tensor({-kInf, 0., kNan}, real64())));
  CHECK(L::solve_triangular(zero, ones({2, 1}, real64()), true)[1].item<double>() == kInf);
  for (const Scalar p : {Scalar(1), Scalar(-1), Scalar(kInf)}) CHECK(L::cond(zero, p).item<double>() == kInf);
  CHECK(std::isnan(L::cond(zero).item<double>()));
  CHECK(close(L::cond(stack({zero, identity(2)}), "fro"), tensor({kInf, 2.}, real64())));
  // The gradient of a determinant is the cofactor matrix, also for a singular matrix. Its derivatives exist there too.
  const Tensor x = one.clone().requires_grad_();
  const Tensor cofactors = tensor({{4., -2.}, {-2., 1.}}, real64());
  L::det(x).backward();
  CHECK(close(x.grad(), cofactors));
  const Tensor first = autograd::grad({L::det(x)}, {x}, {}, true, /*create_graph=*/true)[0];
  CHECK(close(first, cofactors));
  CHECK(close(autograd::grad({first.sum()}, {x})[0], tensor({{1., -1.}, {-1., 1.}}, real64())));
}

TEST_CASE("matrices without elements go through", "[linalg]") {
  if (without_lapack()) return;
  const Tensor none = zeros({0, 0}, real64()), rows = zeros({3, 0}, real64()), columns = zeros({2, 0, 3}, real64());
  CHECK(L::det(none).item<double>() == 1);
  CHECK(std::get<1>(L::slogdet(none)).item<double>() == 0);
  CHECK(L::inv(none).sizes() == IntArrayRef{0, 0});
  CHECK(L::solve(none, zeros({0, 2}, real64())).sizes() == IntArrayRef{0, 2});
  CHECK(L::cholesky(zeros({2, 0, 0}, real64())).sizes() == IntArrayRef{2, 0, 0});
  CHECK(std::get<0>(L::qr(rows, "complete")).equal(identity(3)));
  CHECK(std::get<0>(L::qr(rows)).sizes() == IntArrayRef{3, 0});
  const auto [u, s, vh] = L::svd(columns);
  CHECK((s.sizes() == IntArrayRef{2, 0} && vh.equal(identity(3).expand({2, 3, 3}))));
  CHECK(L::pinv(columns).sizes() == IntArrayRef{2, 3, 0});
  CHECK(L::matrix_rank(columns).equal(zeros({2}, kInt64)));
  CHECK(L::cond(zeros({2, 0, 0}, real64())).equal(zeros({2}, real64())));
  CHECK(std::get<0>(L::eigh(none)).numel() == 0);
  CHECK(L::matrix_exp(none).numel() == 0);
  CHECK(std::get<0>(L::lstsq(rows, ones({3, 2}, real64()))).sizes() == IntArrayRef{0, 2});
  CHECK(L::det(zeros({0, 3, 3}, real64())).sizes() == IntArrayRef{0});
}

TEST_CASE("what is not finite is refused or stays", "[linalg]") {
  if (without_lapack()) return;
  const Tensor bad = full({2, 2}, kNan, real64());
  CHECK_THROWS_WITH(L::svd(bad), Contains("linalg_svd") && Contains("contained non-finite values"));
  CHECK(L::det(bad).isnan().item<bool>());
  CHECK(L::matrix_exp(bad).isnan().all().item<bool>());
  CHECK(L::matrix_norm(bad).isnan().item<bool>());
}

TEST_CASE("least squares of every driver, of full rank and below", "[linalg]") {
  if (without_lapack()) return;
  const Tensor a = numbers({2, 5, 3}), b = numbers({2, 5, 2}, 2), best = L::pinv(a).matmul(b);
  for (const char* driver : {"gels", "gelsy", "gelsd", "gelss"}) {
    const auto [x, residuals, rank, values] = L::lstsq(a, b, {}, driver);
    CHECK(close(x, best));
    const bool by_values = driver[4] == 'd' || driver[4] == 's';
    if (std::string(driver) != "gelsy")
      CHECK(close(residuals, (a.matmul(best) - b).square().sum(-2)));
    else
      CHECK(residuals.numel() == 0);
    CHECK((std::string(driver) == "gels" ? rank.numel() == 0 : rank.equal(full({2}, 3, kInt64))));
    if (by_values && std::string(driver) != "gels") CHECK(close(values, L::svdvals(a)));
  }
  const Tensor thin = numbers({5, 2}).matmul(numbers({2, 3}, 2));
  CHECK(std::get<2>(L::lstsq(thin, b[0], 1e-10)).item<int64_t>() == 2);
  CHECK(close(std::get<0>(L::lstsq(thin, b[0], 1e-10, "gelsd")), L::pinv(thin, 1e-10).matmul(b[0])));
  CHECK(std::get<1>(L::lstsq(thin, b[0], 1e-10, "gelsd")).numel() == 0);
  CHECK(close(std::get<0>(L::lstsq(a[0], b[0].select(1, 0))), best[0].select(1, 0)));
  CHECK_THROWS_WITH(L::lstsq(a, b, {}, "qr"),
                    Contains("parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got qr"));
  // Thresholds for singular values: given as numbers, as tensors, or by default.
  const Tensor d = tensor({3., 1e-3, 0.}, real64()).diag();
  CHECK(L::matrix_rank(d).item<int64_t>() == 2);
  CHECK(L::matrix_rank(d, 0.01).item<int64_t>() == 1);
  CHECK(L::matrix_rank(stack({d, d}), tensor({0.01, 5.}, real64())).equal(tensor({1, 0})));
  CHECK(L::matrix_rank(d, std::optional<double>(), 1e-3).item<int64_t>() == 1);
  CHECK(L::matrix_rank(-d, std::optional<double>(), {}, true).item<int64_t>() == 2);
  CHECK(close(L::pinv(d), tensor({1. / 3, 1e3, 0.}, real64()).diag()));
  CHECK(close(L::pinv(d, 0.1), tensor({1. / 3, 0., 0.}, real64()).diag()));
}

TEST_CASE("the exponential of a matrix: rotations, nilpotent ones, large and small norms", "[linalg]") {
  const Tensor turn = tensor({{0., -1.}, {1., 0.}}, real64());
  for (const double angle : {1e-9, 0.3, 2., 50.}) {
    const double c = std::cos(angle), s = std::sin(angle);
    CHECK(L::matrix_exp(turn * angle).allclose(tensor({{c, -s}, {s, c}}, real64()), 1e-12, 1e-12));
  }
  CHECK(close(L::matrix_exp(tensor({{0., 7.}, {0., 0.}}, real64())), tensor({{1., 7.}, {0., 1.}}, real64())));
  CHECK(close(L::matrix_exp(tensor({-20., 5., 0.}, real64()).diag()),
              tensor({std::exp(-20.), std::exp(5.), 1.}, real64()).diag()));
  CHECK(L::matrix_exp(turn.to(kFloat32) * 2)
            .allclose(tensor({{std::cos(2.f), -std::sin(2.f)}, {std::sin(2.f), std::cos(2.f)}}), 1e-5, 1e-6));
}

TEST_CASE("linear algebra refuses what it does not take, and says what it takes", "[linalg]") {
  const Tensor a = identity(3);
  CHECK_THROWS_AS(L::eig(a), NotImplementedError);
  CHECK_THROWS_WITH(L::eigvals(a), Contains("complex"));
  CHECK_THROWS_WITH(L::inv(a.to(kFloat16)), Contains("linalg_inv") && Contains("float16") && Contains("float32"));
  CHECK_THROWS_WITH(L::det(ones({3, 3}, kInt64)), Contains("linalg_det") && Contains("int64"));
  CHECK_THROWS_WITH(L::inv(ones({2, 3}, real64())),
                    Contains("must be batches of square matrices, but they are 2 by 3 matrices"));
  CHECK_THROWS_WITH(L::svd(ones({3}, real64())), Contains("linalg_svd") && Contains("(3,)"));
  CHECK_THROWS_WITH(L::svd(a, true, "gesvd"), Contains("keyword argument `driver=` is only supported on CUDA inputs"));
  CHECK_THROWS_WITH(
      L::solve(a, ones({2, 1}, real64())),
      Contains("linalg_solve: Incompatible shapes of A and B for the equation AX = B (") && Contains("2x1)"));
  CHECK_THROWS_WITH(L::solve(a, ones({3}, real64()), false),
                    Contains("Incompatible shapes of A and B for the equation XA = B"));
  CHECK_THROWS_WITH(L::solve(a, ones({3}, kFloat32)), Contains("float32") && Contains("float64"));
  CHECK_THROWS_WITH(L::qr(a, "full"), Contains("unrecognized mode 'full'"));
  CHECK_THROWS_WITH(L::eigh(a, "X"), Contains("Expected UPLO argument to be 'L' or 'U', but got X"));
  CHECK_THROWS_WITH(L::lu(a, false), Contains("LU without pivoting is not implemented"));
  CHECK_THROWS_WITH(L::matrix_norm(a, 3), Contains("Order 3 not supported"));
  CHECK_THROWS_WITH(L::matrix_norm(a, "max"), Contains("Order max not supported"));
  CHECK_THROWS_WITH(L::norm(ones({2, 2, 2}), 2), Contains("the input must be 1D or 2D. Got 3D"));
  CHECK_THROWS_WITH(L::norm(a, "nuc", 1), Contains("The input tensor A must have at least 2 dimensions"));
  CHECK_THROWS_WITH(L::tensorinv(ones({2, 2, 3}, real64())), Contains("linalg_tensorinv"));
  CHECK_THROWS_WITH(L::vander(ones({3}), 1), Contains("N must be greater than 1"));
  CHECK(L::norm(a).item<double>() == Approx(std::sqrt(3.)));
  CHECK(L::norm(tensor({3, 4}), nullopt, nullopt, false, kFloat32).item<float>() == 5);
  CHECK(L::matrix_power(tensor({{1, 1}, {1, 0}}), 10).equal(tensor({{89, 55}, {55, 34}})));
  if (without_lapack()) return;
  const Tensor tall = ones({3, 2}, real64()).requires_grad_();
  CHECK_THROWS_WITH(std::get<1>(L::qr(tall, "complete")).sum().backward(),
                    Contains("not differentiable when mode='complete'"));
  CHECK_THROWS_WITH(std::get<1>(L::qr(tall, "r")).sum().backward(), Contains("not computed when mode='r'"));
}

TEST_CASE("the condition of no matrices is 0, of any dtype, and has no history", "[linalg]") {
  for (const DType dtype : {kFloat32, kFloat16, kInt32}) {
    const Tensor a = zeros({2, 0, 0}, dtype), b = zeros({0, 2, 3}, dtype);
    CHECK(linalg_cond(a).equal(zeros({2}, dtype)));
    CHECK(linalg_cond(b, 1).equal(zeros({0}, dtype)));
    CHECK(linalg_cond(a, "fro").equal(zeros({2}, dtype)));
  }
  CHECK_FALSE(linalg_cond(zeros({0, 3, 3}).requires_grad_()).requires_grad());
  CHECK_FALSE(linalg_cond(zeros({0, 3, 3}).requires_grad_(), "nuc").requires_grad());
}

TEST_CASE("a hook on a Frobenius norm sees the second backward's gradient too, as in PyTorch", "[linalg]") {
  const Tensor a = rand({2, 2}).requires_grad_(), y = linalg_matrix_norm(a, "fro", {-2, -1}, true);
  CHECK(y.sizes() == IntArrayRef{1, 1});
  int calls = 0;
  y.register_hook([&](const Tensor& grad) { return ++calls, grad; });
  const Tensor first = autograd::grad({y}, {a}, {ones({1, 1})}, true, true)[0];
  first.sum().backward();
  CHECK(calls == 2);
}

TEST_CASE("the gradient of the determinant of one element, and of none, is constant", "[linalg]") {
  if (without_lapack()) return;
  for (const Tensor& a : {full({2, 1, 1}, 3.0), zeros({0, 2, 2}), zeros({2, 0, 0})}) {
    const Tensor x = a.clone().requires_grad_();
    const Tensor dx = autograd::grad({linalg_det(x).sum()}, {x}, {}, true, true)[0];
    CHECK(dx.equal(ones_like(a)));
    CHECK_FALSE(dx.requires_grad());
  }
}
