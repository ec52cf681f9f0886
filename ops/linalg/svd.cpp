// Singular values and their vectors: linalg_svd, linalg_svdvals, svd.
#include "tandem/ops/linalg/svd.h"

#include <algorithm>

#include "tandem/ops/linalg/host_lapack.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, linalg_svd, linalg_svdvals, svd);

namespace {

Tensor scale_columns(const Tensor& x, const Tensor& by) { return x * by.unsqueeze(-2); }
Tensor scale_rows(const Tensor& x, const Tensor& by) { return x * by.unsqueeze(-1); }

/// Returns the gradient of a (Townsend 2016, "Differentiating the singular value decomposition"). U has k columns, and
/// Vh has k rows. dU, dS and dVh may be undefined.
Tensor svd_backward(const Tensor& U, const Tensor& S, const Tensor& Vh, const Tensor& dU, const Tensor& dS,
                    const Tensor& dVh) {
  const int64_t m = U.size(-2), n = Vh.size(-1), k = S.size(-1);
  Tensor inner, further;
  if (dS.defined()) inner = dS.diag_embed();
  const auto add = [](Tensor& to, const Tensor& x) { to = to.defined() ? to + x : x; };
  const Tensor apart = pairwise_differences(S * S);
  const auto skew = [](const Tensor& x) { return x - x.mT(); };
  if (dU.defined()) {
    add(inner, scale_columns(skew(U.mT().matmul(dU)) / apart, S));
    if (m > k) {
      const Tensor outside = dU - U.matmul(U.mT().matmul(dU));
      further = scale_columns(outside, S.reciprocal()).matmul(Vh);
    }
  }
  if (dVh.defined()) {
    add(inner, scale_rows(skew(Vh.matmul(dVh.mT())) / apart, S));
    if (n > k) {
      const Tensor outside = dVh - dVh.matmul(Vh.mT()).matmul(Vh);
      add(further, U.matmul(scale_rows(outside, S.reciprocal())));
    }
  }
  Tensor da;
  if (inner.defined()) da = U.matmul(inner).matmul(Vh);
  if (further.defined()) add(da, further);
  return da;
}

void check_driver_not_given(const char* op, const std::optional<std::string_view>& driver) {
  TANDEM_CHECK(!driver, op,
               ": keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend, which this "
               "library does not use; got ",
               *driver);
}
struct SvdFactors {
  Tensor u, s, vt;
};
SvdFactors compute_svd(const char* op, const Tensor& a, bool full, bool vectors) {
  Tensor columns = to_column_major(op, a);
  const int64_t batch = columns.size(0), n = columns.size(1), m = columns.size(2), k = std::min(m, n);
  const auto make = [&](IntArrayRef sizes) { return core::empty(sizes, a.dtype(), columns.device()); };
  Tensor s = make({batch, k}), u, vt, info = core::empty({batch}, kInt32, columns.device());
  if (vectors) {
    u = make({batch, full ? m : k, m});
    vt = make({batch, n, full ? n : k});
  }
  // if there are no singular values, the singular vectors are identity matrices, and LAPACK is not needed
  if (k == 0) {
    const NoGradGuard guard;
    if (vectors && u.numel() > 0) u.copy_(eye(m, u.options()).expand(u.sizes()));
    if (vectors && vt.numel() > 0) vt.copy_(eye(n, vt.options()).expand(vt.sizes()));
  } else {
    TANDEM_DISPATCH_HOST(columns.device(), svd, columns, u, s, vt, info);
    check_lapack_info(op, info,
                      "The algorithm failed to converge because the input matrix contained non-finite values or is "
                      "ill-conditioned (error code: ",
                      ")");
  }
  const IntArrayRef leading = batch_sizes(a);
  return {vectors ? from_column_major(u, leading, a.device()) : Tensor(), copy_from_host(s, leading, a.device()),
          vectors ? from_column_major(vt, leading, a.device()) : Tensor()};
}

}  // namespace

ThreeTensors linalg_svd(const Tensor& a, bool full_matrices, std::optional<std::string_view> driver) {
  if (const Autocast cast{cast_policy::linalg_svd, a}) return linalg_svd(cast(a), full_matrices, driver);
  static constexpr const char* kName = "linalg_svd";
  check_matrices(kName, a);
  check_driver_not_given(kName, driver);
  const SvdFactors f = compute_svd(kName, a, full_matrices, true);
  return record_op(
      kName, std::tuple(f.u, f.s, f.vt), {a}, {f.u, f.s, f.vt},
      [](const BackwardContext& ctx, const Grads& dy) -> Grads {
        const Tensor S = ctx.saved(1);
        const int64_t k = S.size(-1);
        const auto cut = [&](const Tensor& x, int64_t dim) {
          return !x.defined() || x.size(dim) == k ? x : x.narrow(dim, 0, k);
        };
        return {svd_backward(cut(ctx.saved(0), -1), S, cut(ctx.saved(2), -2), cut(dy[0], -1), dy[1], cut(dy[2], -2))};
      });
}
Tensor linalg_svdvals(const Tensor& a, std::optional<std::string_view> driver) {
  if (const Autocast cast{cast_policy::linalg_svdvals, a}) return linalg_svdvals(cast(a), driver);
  static constexpr const char* kName = "linalg_svdvals";
  check_matrices(kName, a);
  check_driver_not_given(kName, driver);
  if (autograd::any_requires_grad({a})) return std::get<1>(linalg_svd(a, /*full_matrices=*/false));
  return compute_svd(kName, a, false, false).s;
}
ThreeTensors svd(const Tensor& a, bool some, bool compute_uv) {
  if (const Autocast cast{cast_policy::svd, a}) return svd(cast(a), some, compute_uv);
  check_matrices("svd", a);
  if (compute_uv) {
    const auto [U, S, Vh] = linalg_svd(a, /*full_matrices=*/!some);
    return {U, S, transpose_result(Vh)};
  }
  const int64_t m = a.size(-2), n = a.size(-1);
  return {zeros(append_sizes(batch_sizes(a), {m, m}), a.options()), linalg_svdvals(a),
          zeros(append_sizes(batch_sizes(a), {n, n}), a.options())};
}
ThreeTensors Tensor::svd(bool some, bool compute_uv) const { return tandem::svd(*this, some, compute_uv); }

}  // namespace tandem
