// Least squares: linalg_lstsq.
#include "tandem/ops/linalg/lstsq.h"

#include <algorithm>

#include "tandem/ops/linalg/host_lapack.h"
#include "tandem/ops/linalg/pinv.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, linalg_lstsq);

namespace {
kernels::LeastSquaresDriver parse_driver(std::optional<std::string_view> name) {
  using kernels::LeastSquaresDriver;
  if (!name || *name == "gelsy") return LeastSquaresDriver::gelsy;
  if (*name == "gels") return LeastSquaresDriver::gels;
  if (*name == "gelsd") return LeastSquaresDriver::gelsd;
  TANDEM_CHECK(*name == "gelss", "linalg_lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got ",
               *name);
  return LeastSquaresDriver::gelss;
}
}  // namespace
std::tuple<Tensor, Tensor, Tensor, Tensor> linalg_lstsq(const Tensor& a, const Tensor& b, std::optional<double> rcond,
                                                        std::optional<std::string_view> driver) {
  if (const Autocast cast{cast_policy::linalg_lstsq, a, b}) return linalg_lstsq(cast(a), cast(b), rcond, driver);
  static constexpr const char* kName = "linalg_lstsq";
  using kernels::LeastSquaresDriver;
  check_matrices(kName, a);
  check_product_operands(kName, a, b);
  const LeastSquaresDriver method = parse_driver(driver);
  const bool vectors = is_vector_rhs(a, b);
  const Tensor rhs = vectors ? b.unsqueeze(-1) : b;
  TANDEM_CHECK(rhs.dim() >= 2, kName, ": other must have at least 1 dimension, got ", b.sizes());
  TANDEM_CHECK(rhs.size(-2) == a.size(-2), kName, ": input.size(-2) should match other.size(-2), got ", a.sizes(),
               " and ", b.sizes());
  const auto [wide_a, wide_b] = broadcast_batch_dims(kName, a, rhs);
  const int64_t m = a.size(-2), n = a.size(-1), least = std::min(m, n), k = rhs.size(-1);
  const Shape leading = batch_sizes(wide_a);

  Tensor x, residuals, rank, values;
  bool has_residuals = m > n && method != LeastSquaresDriver::gelsy;
  {
    const NoGradGuard guard;
    Tensor columns = to_column_major(kName, wide_a), right = to_column_major(kName, wide_b);
    const int64_t batch = columns.size(0);
    Tensor both = zeros({batch, k, std::max(m, n)}, right.options());
    both.narrow(-1, 0, m).copy_(right);
    values = zeros({batch, least}, right.options());
    rank = zeros({batch}, right.options().dtype(kInt64));
    Tensor info = zeros({batch}, right.options().dtype(kInt32));
    const double bound = rcond.value_or(machine_epsilon(a.dtype()) * static_cast<double>(std::max(m, n)));
    if (least > 0 && batch > 0) {
      TANDEM_DISPATCH_HOST(columns.device(), least_squares, method, bound, columns, both, values, rank, info);
      check_lapack_info(
          kName, info,
          "The least squares solution could not be computed because the input matrix does not have full rank or "
          "its singular values did not converge (error code: ",
          ")");
    }
    x = core::narrow(from_column_major(both, leading, a.device()), static_cast<int64_t>(leading.size()), 0, n);
    const bool by_values = method == LeastSquaresDriver::gelsd || method == LeastSquaresDriver::gelss;
    if (m > n && by_values) {
      check_not_recorded(kName, "the host checks ranks to see whether there are residuals");
      has_residuals = rank.numel() == 0 || (rank == n).all().item<bool>();
    }
    rank = method == LeastSquaresDriver::gels ? empty({0}, a.options().dtype(kInt64))
                                              : copy_from_host(rank, leading, a.device());
    values = by_values ? copy_from_host(values, leading, a.device()) : empty({0}, a.options());
  }
  x = record_op(kName, x, {wide_a, wide_b}, {wide_a, wide_b},
                [](const BackwardContext& ctx, const Tensor& dx) -> Grads {
                  const Tensor a = ctx.saved(0), p = linalg_pinv(a);  // p is the pseudoinverse of a, so x = p b
                  Tensor da;
                  if (ctx.needs_grad(0)) da = pinv_backward(dx.matmul(ctx.saved(1).mT()), p, a);
                  return {da, p.mT().matmul(dx)};
                });
  residuals = has_residuals ? (wide_a.matmul(x) - wide_b).square().sum({-2}) : empty({0}, a.options());
  if (vectors) x = reshape_result(x, batch_sizes(x, 1));
  return {x, residuals, rank, values};
}

}  // namespace tandem
