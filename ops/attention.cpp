#include "tandem/ops/attention.h"

#include <cmath>
#include <limits>

#include "tandem/ops/argument.h"
#include "tandem/ops/arrange.h"
#include "tandem/ops/dropout.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/factory.h"
#include "tandem/ops/matmul.h"
#include "tandem/ops/operands.h"

namespace tandem {
namespace {
constexpr double kNowhere = -std::numeric_limits<double>::infinity();

void check_attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  const char* const op = "scaled_dot_product_attention";
  check_operands(op, q, k), check_operands(op, q, v);
  TANDEM_CHECK(q.is_floating_point(), op, ": query is ", q.dtype(), "; accepted: floating point");
  TANDEM_CHECK(q.dim() >= 2 && k.dim() >= 2 && v.dim() >= 2 && q.size(-1) == k.size(-1) && k.size(-2) == v.size(-2), op,
               ": query is ", q.sizes(), ", key ", k.sizes(), " and value ", v.sizes(),
               "; accepted: (..., L, E), (..., S, E) and (..., S, V)");
}
/// x with each head as often as there are heads of the query for it.
Tensor heads_repeated(const Tensor& x, const Tensor& query) {
  TANDEM_CHECK(query.dim() >= 3 && x.dim() >= 3 && x.size(-3) > 0 && query.size(-3) % x.size(-3) == 0,
               "scaled_dot_product_attention: with enable_gqa query is ", query.sizes(), " beside ", x.sizes(),
               "; the query's heads, dimension -3, must be a multiple");
  return x.repeat_interleave(query.size(-3) / x.size(-3), -3);
}
}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& given_key, const Tensor& given_value,
                                    const Tensor& mask, double dropout_p, Flag is_causal, std::optional<double> scale,
                                    Flag enable_gqa) {
  check_attention(query, given_key, given_value);
  const Tensor key = enable_gqa ? heads_repeated(given_key, query) : given_key,
               value = enable_gqa ? heads_repeated(given_value, query) : given_value;
  const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
  Tensor scores = matmul(query * factor, key.transpose(-2, -1));
  Tensor nowhere;  // (..., L, 1): whether a query may look at no key; its scores are left as they are, its result is 0
  if (is_causal) {
    TANDEM_CHECK(!mask.defined(), "scaled_dot_product_attention: attn_mask and is_causal; accepted: one of them");
    const Tensor later = ones({query.size(-2), key.size(-2)}, TensorOptions(kBool).device(query.device())).triu(1);
    scores = scores.masked_fill(later, kNowhere);
  } else if (mask.defined()) {
    TANDEM_CHECK(mask.dtype() == kBool || mask.dtype() == query.dtype(), "scaled_dot_product_attention: attn_mask is ",
                 mask.dtype(), " and query ", query.dtype(), "; accepted: bool and the query's");
    TANDEM_CHECK(broadcast_shapes("scaled_dot_product_attention", mask.sizes(), scores.sizes()) == scores.sizes(),
                 "scaled_dot_product_attention: attn_mask is ", mask.sizes(), "; it must broadcast to ",
                 scores.sizes());
    const Tensor hidden = mask.dtype() == kBool ? mask.logical_not() : mask.detach().eq(kNowhere);
    nowhere = hidden.dim() == 0 ? hidden : hidden.all(-1, /*keepdim=*/true);
    scores = mask.dtype() == kBool ? scores.masked_fill(hidden.logical_and(nowhere.logical_not()), kNowhere)
                                   : scores + mask.masked_fill(nowhere, 0);
  }
  const Tensor out = matmul(dropout(scores.softmax(-1), dropout_p, true), value);
  return nowhere.defined() ? out.masked_fill(nowhere, 0) : out;
}

}  // namespace tandem
