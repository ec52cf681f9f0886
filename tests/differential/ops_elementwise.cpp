// Op table of the differential tests: elementwise operations, their in-place variants, and conversions.
#include "tandem/ops/backward.h"
#include "tandem/tests/differential/op_table.h"

namespace tandem::differential {

// clang-format off
#define PREDICATE(name, ...)      \
  OP(#name, (Tensor x), x.name()) \
  OP(#name "/free", (Tensor x), tandem::name(x))
#define UNARY(name, ...)              \
  PREDICATE(name)                     \
  OP(#name "_", (Tensor x), x.name##_()) \
  OP(#name "/out", (Tensor x, Tensor out), tandem::name##_out(out, x))
#define BINARY(name, ...)                                     \
  OP(#name, (Tensor x, Tensor y), x.name(y))                  \
  OP(#name "/scalar", (Tensor x, Scalar y), x.name(y))        \
  OP(#name "/free", (Tensor x, Tensor y), tandem::name(x, y)) \
  OP(#name "_", (Tensor x, Tensor y), x.name##_(y))           \
  OP(#name "_/scalar", (Tensor x, Scalar y), x.name##_(y))    \
  OP(#name "/out", (Tensor x, Tensor y, Tensor out), tandem::name##_out(out, x, y))
#define OPERATOR(name, symbol)                         \
  OP(name, (Tensor x, Tensor y), x symbol y)           \
  OP(name "/scalar", (Tensor x, Scalar y), x symbol y)

void add_elementwise_ops(OpTable& table) {
  TANDEM_ALL_UNARY_OPS(UNARY)
  TANDEM_PREDICATE_OPS(PREDICATE)
  TANDEM_ALL_BINARY_OPS(BINARY)
  // Removes variants that PyTorch does not have.
  for (const std::string name : {"logical_and", "logical_or", "logical_xor", "maximum", "minimum", "atan2", "fmax", "fmin",
                                 "nextafter", "igamma", "igammac", "gcd", "lcm"})
    table.erase(name + "/scalar"), table.erase(name + "_/scalar");
  for (const char* name : {"maximum_", "minimum_", "fmax_", "fmin_", "softsign_", "softsign/out"}) table.erase(name);
  OPERATOR("operator+", +) OPERATOR("operator-", -) OPERATOR("operator*", *) OPERATOR("operator/", /)
  OPERATOR("operator%", %) OPERATOR("operator==", ==) OPERATOR("operator<", <)
  OP("operator+/left", (Scalar x, Tensor y), x + y)
  OP("operator-/left", (Scalar x, Tensor y), x - y)
  OP("operator*/left", (Scalar x, Tensor y), x * y)
  OP("operator//left", (Scalar x, Tensor y), x / y)
  OP("operator-/unary", (Tensor x), -x)
  OP("add", (Tensor x, Tensor y, Scalar alpha), x.add(y, alpha))
  OP("add/scalar", (Tensor x, Scalar y, Scalar alpha), x.add(y, alpha))
  OP("add/free", (Tensor x, Tensor y), tandem::add(x, y))
  OP("sub", (Tensor x, Tensor y, Scalar alpha), x.sub(y, alpha))
  OP("sub/scalar", (Tensor x, Scalar y, Scalar alpha), x.sub(y, alpha))
  OP("sub/free", (Tensor x, Tensor y), tandem::sub(x, y))
  OP("clamp", (Tensor x, MaybeScalar low, MaybeScalar high), x.clamp(low, high))
  OP("clamp/free", (Tensor x, MaybeScalar low, MaybeScalar high), tandem::clamp(x, low, high))
  OP("clamp/tensors", (Tensor x, Tensor low, Tensor high), x.clamp(low, high))
  OP("clamp_min", (Tensor x, Scalar low), x.clamp_min(low))
  OP("clamp_max", (Tensor x, Scalar high), x.clamp_max(high))
  OP("where", (Tensor condition, Tensor x, Tensor y), tandem::where(condition, x, y))
  OP("where/method", (Tensor condition, Tensor x, Tensor y), x.where(condition, y))
  OP("where/scalar_left", (Tensor condition, Scalar x, Tensor y), tandem::where(condition, x, y))
  OP("where/scalar_right", (Tensor condition, Tensor x, Scalar y), tandem::where(condition, x, y))
  OP("masked_fill", (Tensor x, Tensor mask, Scalar value), x.masked_fill(mask, value))
  OP("leaky_relu", (Tensor x, double slope), tandem::leaky_relu(x, slope))
  OP("elu", (Tensor x, double alpha), tandem::elu(x, alpha))
  OP("softplus", (Tensor x, double beta, double threshold), tandem::softplus(x, beta, threshold))
  OP("leaky_relu_backward", (Tensor dy, Tensor x, double slope), tandem::leaky_relu_backward(dy, x, slope))
  OP("elu_backward", (Tensor dy, Tensor x, double alpha), tandem::elu_backward(dy, x, alpha))
  OP("silu_backward", (Tensor dy, Tensor x), tandem::silu_backward(dy, x))
  OP("gelu_backward", (Tensor dy, Tensor x), tandem::gelu_backward(dy, x))
  OP("softplus_backward", (Tensor dy, Tensor x, double beta, double threshold),
     tandem::softplus_backward(dy, x, beta, threshold))
  OP("relu_backward", (Tensor dy, Tensor y), tandem::relu_backward(dy, y))
  OP("sigmoid_backward", (Tensor dy, Tensor y), tandem::sigmoid_backward(dy, y))
  OP("tanh_backward", (Tensor dy, Tensor y), tandem::tanh_backward(dy, y))
  // ---- in place
  OP("add/out", (Tensor x, Tensor y, Tensor out), tandem::add_out(out, x, y))
  OP("sub/out", (Tensor x, Tensor y, Tensor out), tandem::sub_out(out, x, y))
  OP("add_", (Tensor x, Tensor y, Scalar alpha), x.add_(y, alpha))
  OP("add_/scalar", (Tensor x, Scalar y, Scalar alpha), x.add_(y, alpha))
  OP("sub_", (Tensor x, Tensor y, Scalar alpha), x.sub_(y, alpha))
  OP("sub_/scalar", (Tensor x, Scalar y, Scalar alpha), x.sub_(y, alpha))
  OP("operator+=", (Tensor x, Tensor y), x += y)
  OP("operator*=", (Tensor x, Tensor y), x *= y)
  OP("copy_", (Tensor x, Tensor y), x.copy_(y))
  OP("fill_", (Tensor x, Scalar value), x.fill_(value))
  OP("fill_/tensor", (Tensor x, Tensor value), x.fill_(value))
  OP("zero_", (Tensor x), x.zero_())
  OP("clamp_", (Tensor x, MaybeScalar low, MaybeScalar high), x.clamp_(low, high))
  OP("masked_fill_", (Tensor x, Tensor mask, Scalar value), x.masked_fill_(mask, value))
  OP("uniform_", (Tensor x, double low, double high), x.uniform_(low, high))
  OP("normal_", (Tensor x, double mean, double std), x.normal_(mean, std))
  OP("bernoulli_", (Tensor x, double p), x.bernoulli_(p))
  OP("random_", (Tensor x, int64_t low, int64_t high), x.random_(low, high))
  // ---- copies and conversions
  OP("contiguous", (Tensor x), x.contiguous())
  OP("clone", (Tensor x), x.clone())
  OP("clone/free", (Tensor x), tandem::clone(x))
  OP("to", (Tensor x, DType dtype), x.to(dtype))
  OP("toType", (Tensor x, DType dtype), x.toType(dtype))
  OP("type_as", (Tensor x, Tensor y), x.type_as(y))
  OP("result_type", (Tensor x, Tensor y), tandem::result_type(x, y))
  OP("result_type/scalar", (Tensor x, Scalar y), tandem::result_type(x, y))
  OP("item", (Tensor x), x.item())
  OP("equal", (Tensor x, Tensor y), x.equal(y))
  OP("allclose", (Tensor x, Tensor y, double rtol, double atol, bool equal_nan), x.allclose(y, rtol, atol, equal_nan))
}
// clang-format on

}  // namespace tandem::differential
