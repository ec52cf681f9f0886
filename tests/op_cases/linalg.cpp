// Op cases of linear algebra. LAPACK chooses the signs of vectors, so results with vectors are compared by absolute
// values.
#include "tandem/ops/linalg/linalg.h"
#include "tandem/ops/elementwise/fill.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/elementwise/unary.h"
#include "tandem/ops/factory/arange.h"
#include "tandem/ops/factory/eye.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/factory/zeros_ones_full.h"
#include "tandem/ops/linalg/vander.h"
#include "tandem/ops/products/matmul.h"
#include "tandem/ops/shape/diagonal.h"
#include "tandem/ops/shape/transpose.h"
#include "tandem/tests/op_cases/families.h"

namespace tandem::test {

static constexpr const char* kSquare = "asks for square matrices";
static constexpr const char* kFits = "asks for sizes that fit";
static constexpr const char* kExtremes = "an extreme of no elements";
// Factorizations throw for half types, as PyTorch's do.
static constexpr Notes kBatched{.refuses_half = true};
static constexpr Notes kOne{.no_empty = kSquare, .refuses_half = true};
static constexpr Notes kGaps{.no_storage = "x lies among what the solver needs, as in PyTorch", .refuses_half = true};
static constexpr Notes kOfSizes{.no_empty = kFits, .refuses_half = true};

/// Moves the eigenvalues away from 0, so that the matrix is not singular.
static Tensor good(const Tensor& a) { return a + 2 * eye(a.size(-1), a.options()); }
/// Makes the singular values distinct.
static Tensor spread(const Tensor& a) {
  return a * 0.5 + eye(a.size(-2), a.size(-1), a.options()) * (arange(a.size(-1), a.options()) * 2 + 2);
}
static Tensor symmetric(const Tensor& a) { return spread(a) + spread(a).mT(); }
static Tensor positive_definite(const Tensor& a) { return a.matmul(a.mT()) + eye(a.size(-1), a.options()); }
static Outputs absolute(std::vector<Tensor> list) {
  for (Tensor& x : list) x = x.abs();
  return list;
}
static Outputs listed_in(const std::tuple<Tensor, Tensor, Tensor>& t) {
  return std::vector<Tensor>{std::get<0>(t), std::get<1>(t), std::get<2>(t)};
}
static Outputs qr_sizes(const Tensor& a, const char* mode = "reduced") {
  const auto [q, r] = linalg_qr(a, mode);
  return absolute({q, r});
}
static Outputs svd_sizes(const Tensor& a, bool full = false) {
  const auto [u, s, vh] = linalg_svd(a, full);
  const int64_t k = s.size(-1);
  return std::vector<Tensor>{u.narrow(-1, 0, k).abs(), s, vh.narrow(-2, 0, k).abs()};
}
static Outputs solved(const std::tuple<Tensor, Tensor, Tensor, Tensor>& t, int count) {
  const std::vector<Tensor> all{std::get<0>(t), std::get<1>(t), std::get<2>(t), std::get<3>(t)};
  return std::vector<Tensor>(all.begin(), all.begin() + count);
}
/// Returns 3 times the identity matrix of size 6, reshaped to `sizes`, with the dtype and device of `like`.
static Tensor six(IntArrayRef sizes, const Tensor& like) { return eye(6, like.options()).view(sizes) * 3; }

static constexpr OpCase kLinalgCases[] = {
    {"linalg_lu", [](In in) { return listed_in(linalg_lu(in[0])); }, kOne},
    {"linalg_lu/tall", [](In in) { return listed_in(linalg_lu(in[0])); }, kBatched},
    {"linalg_lu/wide", [](In in) { return listed_in(linalg_lu(in[0])); }, kBatched},
    {"linalg_lu_factor", [](In in) { return linalg_lu_factor(in[0]); }, kBatched},
    {"linalg_lu_factor_ex", [](In in) { return listed_in(linalg_lu_factor_ex(in[0])); }, kBatched},
    {"lu_unpack",
     [](In in) {
       const auto [lu, pivots] = linalg_lu_factor(in[0]);
       return listed_in(lu_unpack(lu, pivots));
     },
     kBatched},
    {"linalg_lu_solve",
     [](In in) {
       const auto [lu, pivots] = linalg_lu_factor(good(in[0]));
       return linalg_lu_solve(lu, pivots, in[1]);
     },
     kBatched},
    {"linalg_lu_solve/right",
     [](In in) {
       const auto [lu, pivots] = linalg_lu_factor(good(in[0]));
       return linalg_lu_solve(lu, pivots, in[1], false);
     },
     kBatched},
    {"linalg_lu_solve/adjoint",
     [](In in) {
       const auto [lu, pivots] = linalg_lu_factor(good(in[0]));
       return linalg_lu_solve(lu, pivots, in[1], true, true);
     },
     kBatched},
    {"lu_solve",
     [](In in) {
       const auto [lu, pivots] = linalg_lu_factor(good(in[0]));
       return in[1].lu_solve(lu, pivots);
     },
     kBatched},
    {"linalg_solve", [](In in) { return linalg_solve(good(in[0]), in[1]); }, kBatched},
    {"linalg_solve/vector", [](In in) { return linalg_solve(good(in[0]), in[1]); }, kOne},
    {"linalg_solve/vectors", [](In in) { return linalg_solve(good(in[0]), in[1]); }, kOfSizes},
    {"linalg_solve/right", [](In in) { return linalg_solve(good(in[0]), in[1], false); }, kOfSizes},
    {"linalg_solve/broadcast", [](In in) { return linalg_solve(good(in[0]), in[1]); }, kBatched},
    {"linalg_solve_ex", [](In in) { return linalg_solve_ex(good(in[0]), in[1]); }, kBatched},
    {"linalg_inv", [](In in) { return linalg_inv(good(in[0])); }, kBatched},
    {"linalg_inv_ex", [](In in) { return linalg_inv_ex(good(in[0])); }, kOne},
    {"inverse", [](In in) { return good(in[0]).inverse(); }, kOne},
    {"linalg_det", [](In in) { return linalg_det(in[0]); }, kBatched},
    {"det", [](In in) { return in[0].det(); }, kOne},
    {"det/singular",
     [](In in) { return in[0].narrow(1, 0, 3).matmul(in[0].narrow(0, 0, 3)).det(); },
     {.no_gradgradcheck = "divides by a determinant that is zero but for rounding",
      .no_empty = kSquare,
      .refuses_half = true}},
    {"linalg_slogdet", [](In in) { return linalg_slogdet(in[0]); }, kBatched},
    {"slogdet", [](In in) { return in[0].slogdet(); }, kOne},
    {"logdet", [](In in) { return positive_definite(in[0]).logdet(); }, kBatched},
    // ---- triangular and positive-definite matrices
    {"linalg_solve_triangular", [](In in) { return linalg_solve_triangular(good(in[0]), in[1], true); }, kBatched},
    {"linalg_solve_triangular/lower", [](In in) { return linalg_solve_triangular(good(in[0]), in[1], false); }, kOne},
    {"linalg_solve_triangular/right", [](In in) { return linalg_solve_triangular(good(in[0]), in[1], true, false); },
     kBatched},
    {"linalg_solve_triangular/ones", [](In in) { return linalg_solve_triangular(in[0], in[1], false, false, true); },
     kBatched},
    {"triangular_solve", [](In in) { return in[0].triangular_solve(good(in[1])); }, kBatched},
    {"triangular_solve/transpose", [](In in) { return in[0].triangular_solve(good(in[1]), false, true, true); },
     kBatched},
    {"linalg_cholesky", [](In in) { return linalg_cholesky(positive_definite(in[0])); }, kBatched},
    {"linalg_cholesky/upper", [](In in) { return linalg_cholesky(positive_definite(in[0]), true); }, kOne},
    {"linalg_cholesky_ex", [](In in) { return linalg_cholesky_ex(positive_definite(in[0])); }, kBatched},
    {"cholesky_solve", [](In in) { return in[0].cholesky_solve(good(in[1]).tril()); }, kBatched},
    {"cholesky_solve/upper", [](In in) { return in[0].cholesky_solve(good(in[1]).triu(), true); }, kBatched},
    {"cholesky_inverse", [](In in) { return good(in[0]).tril().cholesky_inverse(); }, kBatched},
    {"cholesky_inverse/upper", [](In in) { return good(in[0]).triu().cholesky_inverse(true); }, kOne},
    // ---- orthogonal factors
    {"linalg_qr", [](In in) { return qr_sizes(in[0]); }, kBatched},
    {"linalg_qr/square", [](In in) { return qr_sizes(in[0]); }, kOne},
    {"linalg_qr/wide", [](In in) { return qr_sizes(in[0]); }, kBatched},
    {"linalg_qr/complete", [](In in) { return qr_sizes(in[0], "complete"); }, kBatched},
    {"linalg_qr/r", [](In in) { return std::get<1>(linalg_qr(in[0].detach(), "r")).abs(); }, kBatched},
    {"linalg_qr/complete_tall", [](In in) { return qr_sizes(in[0].detach(), "complete"); }, kBatched},
    {"geqrf",
     [](In in) {
       const auto [a, tau] = in[0].detach().geqrf();
       return absolute({a, tau});
     },
     kBatched},
    {"linalg_householder_product", [](In in) { return linalg_householder_product(in[0], in[1]); }, kOfSizes},
    {"orgqr", [](In in) { return in[0].orgqr(in[1]); }, kOfSizes},
    {"ormqr", [](In in) { return in[0].ormqr(in[1], in[2]); }, kOfSizes},
    {"ormqr/transpose", [](In in) { return in[0].ormqr(in[1], in[2], true, true); }, kOfSizes},
    {"ormqr/right", [](In in) { return in[0].ormqr(in[1], in[2], false); }, kOfSizes},
    {"linalg_svd", [](In in) { return svd_sizes(spread(in[0])); }, kBatched},
    {"linalg_svd/wide", [](In in) { return svd_sizes(spread(in[0])); }, kBatched},
    {"linalg_svd/full", [](In in) { return svd_sizes(spread(in[0]), true); }, kBatched},
    {"linalg_svdvals", [](In in) { return linalg_svdvals(spread(in[0])); }, kBatched},
    {"svd",
     [](In in) {
       const auto [u, s, v] = spread(in[0]).svd();
       return absolute({u, s, v});
     },
     kBatched},
    {"svd/values", [](In in) { return listed_in(spread(in[0]).svd(true, false)); }, kBatched},
    {"linalg_eigh",
     [](In in) {
       const auto [w, v] = linalg_eigh(symmetric(in[0]));
       return absolute({w, v});
     },
     kBatched},
    {"linalg_eigh/upper",
     [](In in) {
       const auto [w, v] = linalg_eigh(symmetric(in[0]), "U");
       return absolute({w, v});
     },
     kOne},
    {"linalg_eigvalsh", [](In in) { return linalg_eigvalsh(symmetric(in[0])); }, kBatched},
    {"linalg_lstsq", [](In in) { return solved(linalg_lstsq(in[0], in[1]), 2); }, kGaps},
    {"linalg_lstsq/wide", [](In in) { return solved(linalg_lstsq(in[0], in[1]), 1); }, kBatched},
    {"linalg_lstsq/gels", [](In in) { return solved(linalg_lstsq(in[0], in[1], {}, "gels"), 2); }, kGaps},
    {"linalg_lstsq/gelsd", [](In in) { return solved(linalg_lstsq(in[0], in[1], {}, "gelsd"), 4); }, kGaps},
    {"linalg_lstsq/gelss", [](In in) { return solved(linalg_lstsq(in[0], in[1], {}, "gelss"), 4); }, kOne},
    {"linalg_pinv", [](In in) { return linalg_pinv(in[0]); }, kBatched},
    {"linalg_pinv/wide", [](In in) { return linalg_pinv(in[0]); }, kBatched},
    {"linalg_pinv/hermitian", [](In in) { return linalg_pinv(symmetric(in[0]), std::optional<double>(), {}, true); },
     kBatched},
    {"linalg_pinv/deficient", [](In in) { return linalg_pinv(in[0].matmul(in[1]), 1e-4); }, kOfSizes},
    {"pinverse", [](In in) { return in[0].pinverse(); }, kOfSizes},
    {"linalg_matrix_rank", [](In in) { return linalg_matrix_rank(in[0]); }, kBatched},
    {"linalg_matrix_rank/deficient",
     [](In in) { return linalg_matrix_rank(in[0].matmul(in[1]), std::optional<double>(), 1e-4); }, kOfSizes},
    // ---- functions
    {"linalg_matrix_power", [](In in) { return linalg_matrix_power(in[0], 5); }},
    {"linalg_matrix_power/negative", [](In in) { return linalg_matrix_power(good(in[0]), -3); }, kBatched},
    {"matrix_power", [](In in) { return in[0].matrix_power(2); }, {.no_empty = kSquare}},
    {"matrix_power/zero", [](In in) { return in[0].matrix_power(0); }},
    {"matrix_power/one", [](In in) { return in[0].matrix_power(1); }},
    {"linalg_matrix_exp", [](In in) { return linalg_matrix_exp(in[0]); }, kBatched},
    {"matrix_exp", [](In in) { return (in[0] * 3).matrix_exp(); }, kOne},
    {"matrix_exp/batch",
     [](In in) {
       return (in[0] * tensor({0.01, 6.}, in[0].options()).view({2, 1, 1})).matrix_exp();
     },
     kOfSizes},
    {"linalg_tensorinv",
     [](In in) {
       return linalg_tensorinv(in[0] + six({2, 3, 6}, in[0]), 2);
     },
     kOfSizes},
    {"linalg_tensorsolve",
     [](In in) {
       return linalg_tensorsolve(in[0] + six({2, 3, 6}, in[0]), in[1]);
     },
     kOfSizes},
    {"linalg_tensorsolve/dims",
     [](In in) {
       return linalg_tensorsolve(in[0] + six({6, 2, 3}, in[0]), in[1], 0);
     },
     kOfSizes},
    {"linalg_vander", [](In in) { return linalg_vander(in[0]); }, {.integers = true}},
    {"linalg_vander/N", [](In in) { return linalg_vander(in[0], 5); }},
    {"linalg_vecdot", [](In in) { return linalg_vecdot(in[0], in[1]); }},
    {"linalg_vecdot/dim", [](In in) { return linalg_vecdot(in[0], in[1], 0); }},
    {"linalg_cross", [](In in) { return linalg_cross(in[0], in[1]); }},
    {"linalg_diagonal", [](In in) { return linalg_diagonal(in[0], 1); }, {.integers = true, .view = true}},
    {"linalg_matmul", [](In in) { return linalg_matmul(in[0], in[1]); }, {.integers = true}},
    // ---- norms
    {"linalg_vector_norm", [](In in) { return linalg_vector_norm(in[0]); }},
    {"linalg_vector_norm/p3",
     [](In in) {
       return linalg_vector_norm(in[0], 3, {0, 2}, true);
     }},
    {"linalg_vector_norm/inf", [](In in) { return linalg_vector_norm(in[0], INFINITY, -1); }},
    {"linalg_matrix_norm", [](In in) { return linalg_matrix_norm(in[0]); }},
    {"linalg_matrix_norm/nuc",
     [](In in) {
       return linalg_matrix_norm(in[0], "nuc", {0, 2}, true);
     },
     kBatched},
    {"linalg_matrix_norm/1", [](In in) { return linalg_matrix_norm(in[0], 1); }},
    {"linalg_matrix_norm/-1",
     [](In in) {
       return linalg_matrix_norm(in[0], -1, {2, 1}, true);
     }},
    {"linalg_matrix_norm/2", [](In in) { return linalg_matrix_norm(in[0], 2); }, kBatched},
    {"linalg_matrix_norm/-2",
     [](In in) {
       return linalg_matrix_norm(in[0], -2, {2, 0});
     },
     {.no_empty = kExtremes, .refuses_half = true}},
    {"linalg_matrix_norm/inf", [](In in) { return linalg_matrix_norm(in[0], INFINITY); }},
    {"linalg_norm", [](In in) { return linalg_norm(in[0]); }},
    {"linalg_norm/fro", [](In in) { return linalg_norm(in[0], "fro"); }},
    {"linalg_norm/vectors", [](In in) { return linalg_norm(in[0], 1, 1); }},
    {"linalg_norm/matrix", [](In in) { return linalg_norm(in[0], 1); }},
    {"linalg_cond", [](In in) { return linalg_cond(in[0]); }, kBatched},
    {"linalg_cond/-2", [](In in) { return linalg_cond(in[0], -2); }, kBatched},
    {"linalg_cond/fro", [](In in) { return linalg_cond(good(in[0]), "fro"); }, kBatched},
    {"linalg_cond/1", [](In in) { return linalg_cond(good(in[0]), 1); }, kBatched},
    {"nuclear_norm", [](In in) { return nuclear_norm(in[0]); }, kBatched},
    {"frobenius_norm",
     [](In in) {
       return frobenius_norm(in[0], {-2, -1});
     }},
};
extern const Family kLinalg = {"linalg", kLinalgCases};

}  // namespace tandem::test
