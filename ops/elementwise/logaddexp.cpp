// Logarithms of sums of powers: logaddexp, logaddexp2.
#include "tandem/ops/elementwise/logaddexp.h"

#include <numbers>

#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, logaddexp, logaddexp2);

namespace {
/// Returns log(base^a + base^b); `scale` is the natural logarithm of the base.
Tensor logaddexp_with_base(const char* op, const Tensor& a, const Tensor& b, double scale) {
  const AutocastOffGuard uncast;
  const Operands o = promote_real_operands(op, a, b);
  Tensor y;
  {
    const NoGradGuard guard;
    const Tensor larger = o.a.maximum(o.b);
    y = larger + ((o.a - o.b).abs() * -scale).exp().log1p() / scale;
    y = tandem::where((o.a == o.b) & o.a.isinf(), larger, y);
  }
  return record_op(op, y, {o.a, o.b}, {o.a, o.b}, [scale](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    const Tensor a = ctx.saved(0), b = ctx.saved(1);
    return {ctx.needs_grad(0) ? dy * ((a - b) * scale).sigmoid() : Tensor(),
            ctx.needs_grad(1) ? dy * ((b - a) * scale).sigmoid() : Tensor()};
  });
}
}  // namespace
Tensor Tensor::logaddexp(const Tensor& other) const { return logaddexp_with_base("logaddexp", *this, other, 1); }
Tensor Tensor::logaddexp2(const Tensor& other) const {
  return logaddexp_with_base("logaddexp2", *this, other, std::numbers::ln2);
}
Tensor& logaddexp_out(Tensor& out, const Tensor& a, const Tensor& b) {
  return assign_out("logaddexp_out", out, {a, b}, [&] { return a.logaddexp(b); });
}
Tensor& logaddexp2_out(Tensor& out, const Tensor& a, const Tensor& b) {
  return assign_out("logaddexp2_out", out, {a, b}, [&] { return a.logaddexp2(b); });
}

}  // namespace tandem
