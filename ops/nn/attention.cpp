// Attention: scaled_dot_product_attention, block by block or by other operations.
#include "tandem/ops/nn/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tandem/kernels/attention.h"
#include "tandem/ops/define_op.h"
#include "tandem/ops/fusion.h"
#include "tandem/ops/nn/dropout.h"
#include "tandem/ops/products/matmul.h"

namespace tandem {
namespace {
constexpr double kNowhere = -std::numeric_limits<double>::infinity();

void check_attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  const char* const op = "scaled_dot_product_attention";
  check_operands(op, q, k);
  check_operands(op, q, v);
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
void check_mask(const Tensor& mask, const Tensor& query, IntArrayRef scores) {
  TANDEM_CHECK(mask.dtype() == kBool || mask.dtype() == query.dtype(), "scaled_dot_product_attention: attn_mask is ",
               mask.dtype(), " and query ", query.dtype(), "; accepted: bool and the query's");
  TANDEM_CHECK(broadcast_shapes("scaled_dot_product_attention", mask.sizes(), scores) == scores,
               "scaled_dot_product_attention: attn_mask is ", mask.sizes(), "; it must broadcast to ", scores);
}
IntArrayRef leading(const Tensor& x) { return x.sizes().slice(0, x.sizes().size() - 2); }
/// What one call asks for. The key has as many heads as the query.
struct AttentionCall {
  Tensor query, key, value, mask;
  double dropout_p;
  bool is_causal;
  double scale;
};
/// By other operations, of half types in float32; the scale is shared between query and key: all as in PyTorch.
Tensor composed(const AttentionCall& call) {
  const Tensor &query = call.query, &key = call.key, &value = call.value, &mask = call.mask;
  if (is_half(query.dtype())) {
    const Tensor wide = mask.defined() && mask.dtype() != kBool ? mask.to(kFloat32) : mask;
    return composed({query.to(kFloat32), key.to(kFloat32), value.to(kFloat32), wide, call.dropout_p, call.is_causal,
                     call.scale})
        .to(query.dtype());
  }
  const char* const of_keys = "scaled_dot_product_attention: the leading dimensions of query and key";
  const char* const of_values = "scaled_dot_product_attention: the leading dimensions of query, key and value";
  broadcast_shapes(of_values, broadcast_shapes(of_keys, leading(query), leading(key)), leading(value));
  const double root = std::sqrt(std::abs(call.scale));
  Tensor scores = matmul(query * (call.scale < 0 ? -root : root), (key * root).transpose(-2, -1));
  // What is hidden gets -infinity added, not in place of its score: a NaN stays one.
  const auto added = [&](const Tensor& hidden) {
    return zeros(hidden.sizes(), query.options()).masked_fill(hidden, kNowhere);
  };
  Tensor nowhere;  // (..., L, 1): whether a query may look at no key; its scores are left as they are, its result is 0
  if (call.is_causal) {
    const TensorOptions options = TensorOptions(kBool).device(query.device());
    scores = scores + added(ones({query.size(-2), key.size(-2)}, options).triu(1));
  } else if (mask.defined()) {
    check_mask(mask, query, scores.sizes());
    const Tensor hidden = mask.dtype() == kBool ? mask.logical_not() : mask.detach().eq(kNowhere);
    nowhere = hidden.dim() == 0 ? hidden : hidden.all(-1, /*keepdim=*/true);
    scores = scores +
             (mask.dtype() == kBool ? added(hidden.logical_and(nowhere.logical_not())) : mask.masked_fill(nowhere, 0));
  }
  const Tensor out = matmul(dropout(scores.softmax(-1), call.dropout_p, true), value);
  return nowhere.defined() ? out.masked_fill(nowhere, 0) : out;
}

bool expands_to(IntArrayRef from, IntArrayRef to) {
  if (from.size() > to.size()) return false;
  for (size_t i = 1; i <= from.size(); ++i)
    if (from[from.size() - i] != to[to.size() - i] && from[from.size() - i] != 1) return false;
  return true;
}
/// Whether by_blocks() does it: of four dimensions, as in PyTorch, since it saves other tensors for backward, which
/// then must not be changed in place. What the composition would refuse is left to that.
bool goes_by_blocks(const AttentionCall& call) {
  const Tensor &query = call.query, &key = call.key, &value = call.value, &mask = call.mask;
  return detail::fusing.load(std::memory_order_relaxed) && call.dropout_p == 0 && query.dim() == 4 && key.dim() == 4 &&
         value.dim() == 4 && (query.dtype() == kFloat32 || query.dtype() == kFloat64) && query.numel() > 0 &&
         key.numel() > 0 && value.numel() > 0 && expands_to(leading(key), leading(query)) &&
         expands_to(leading(value), leading(query)) && !(mask.defined() && autograd::any_wants_grad({mask})) &&
         kernels::attention_serves(query, key, value);
}
/// x with these leading dimensions, as the kernels take it.
Tensor rows_of(const Tensor& x, IntArrayRef lead) {
  Shape sizes = lead;
  sizes.push_back(x.size(-2));
  sizes.push_back(x.size(-1));
  const Tensor all = x.sizes() == sizes ? x : x.expand(sizes);
  return kernels::attention_takes(all) ? all : all.contiguous();
}
/// (..., columns), whose other dimensions lie in the order of x's: what heads were made of by a transposition, they
/// become again without a copy.
Tensor empty_rows(const Tensor& x, int64_t columns) {
  Shape sizes = x.sizes(), strides = x.strides();
  sizes.back() = columns;
  std::vector<size_t> order(sizes.size() - 1);
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return strides[a] < strides[b]; });
  strides.back() = 1;
  int64_t next = columns;
  for (const size_t d : order) {
    strides[d] = next;
    next *= sizes[d];
  }
  return core::empty_dense(sizes, strides, x.dtype(), x.device());
}
/// Block by block, in memory that grows with L, not with L S.
Tensor by_blocks(const AttentionCall& call) {
  const IntArrayRef lead = leading(call.query);
  const Tensor q = rows_of(call.query, lead), k = rows_of(call.key, lead), v = rows_of(call.value, lead);
  const Tensor mask = call.mask;
  const bool causal = call.is_causal;
  const double scale = call.scale;
  Shape scores = lead, rows = lead;
  rows.push_back(q.size(-2));
  scores.push_back(q.size(-2));
  scores.push_back(k.size(-2));
  if (mask.defined()) check_mask(mask, call.query, scores);
  const auto expanded = [scores](const Tensor& m) { return m.defined() ? core::expand(m, scores) : m; };
  Tensor out = empty_rows(q, v.size(-1)), lse = core::empty(rows, q.dtype(), q.device());
  TANDEM_DISPATCH(q.device(), attention, q, k, v, expanded(mask), causal, scale, out, lse);
  const auto backward = [=](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor q = ctx.saved(0), k = ctx.saved(1), v = ctx.saved(2), mask = ctx.saved(3), out = ctx.saved(4),
                 lse = ctx.saved(5);
    if (is_grad_enabled()) {  // second derivatives: the other operations anew
      const auto compose = [&](const std::vector<Tensor>& in) {
        return composed({in[0], in[1], in[2], mask, /*dropout_p=*/0, causal, scale});
      };
      return detail::recorded_gradients(compose, {q, k, v}, dy);
    }
    const Tensor dout = kernels::attention_takes(dy) ? dy : dy.contiguous();
    Tensor dq = empty_rows(q, q.size(-1)), dk = empty_rows(k, k.size(-1)), dv = empty_rows(v, v.size(-1));
    TANDEM_DISPATCH(q.device(), attention_backward, dout, q, k, v, expanded(mask), out, lse, causal, scale, dq, dk, dv);
    return {dq, dk, dv};
  };
  return record("scaled_dot_product_attention", out, {q, k, v}, {q, k, v, mask, out, lse}, backward);
}

bool always(const AttentionCall&) { return true; }
/// The ways to compute it, of which the first is taken that serves the call.
constexpr struct {
  bool (*serves)(const AttentionCall& call);
  Tensor (*run)(const AttentionCall& call);
} kAttentionWays[] = {{goes_by_blocks, by_blocks}, {always, composed}};
}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& given_key, const Tensor& given_value,
                                    const Tensor& mask, double dropout_p, Flag is_causal, std::optional<double> scale,
                                    Flag enable_gqa) {
  check_attention(query, given_key, given_value);
  const Tensor key = enable_gqa ? heads_repeated(given_key, query) : given_key,
               value = enable_gqa ? heads_repeated(given_value, query) : given_value;
  const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
  TANDEM_CHECK(!is_causal || !mask.defined(),
               "scaled_dot_product_attention: attn_mask and is_causal; accepted: one of them");
  const AttentionCall call{query, key, value, mask, dropout_p, is_causal, factor};
  for (const auto& way : kAttentionWays)
    if (way.serves(call)) return way.run(call);
  TANDEM_FAIL("scaled_dot_product_attention: no implementation serves the call");
}

}  // namespace tandem
