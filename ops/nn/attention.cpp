// Attention: scaled_dot_product_attention, block by block or composed of other operations, and
// multi_head_attention_forward, which adds projections, masks and the split into heads.
#include "tandem/ops/nn/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tandem/core/trace/op_span.h"
#include "tandem/kernels/attention.h"
#include "tandem/kernels/fill.h"
#include "tandem/kernels/implementation.h"
#include "tandem/ops/define_op.h"
#include "tandem/ops/elementwise/compare.h"
#include "tandem/ops/fusion.h"
#include "tandem/ops/index/masked_fill.h"
#include "tandem/ops/nn/dropout.h"
#include "tandem/ops/nn/linear.h"
#include "tandem/ops/products/matmul.h"
#include "tandem/ops/random/reserve_random_numbers.h"
#include "tandem/ops/shape/cat.h"

namespace tandem {

TANDEM_CAST_POLICY(lower, scaled_dot_product_attention);

namespace {
constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

void check_attention_inputs(const Tensor& q, const Tensor& k, const Tensor& v) {
  const char* const op = "scaled_dot_product_attention";
  check_product_operands(op, q, k);
  check_product_operands(op, q, v);
  TANDEM_CHECK(q.is_floating_point(), op, ": query is ", q.dtype(), "; accepted: floating point");
  TANDEM_CHECK(q.dim() >= 2 && k.dim() >= 2 && v.dim() >= 2, op,
               ": Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: ", q.dim(),
               " key.dim: ", k.dim(), " and value.dim: ", v.dim(), " instead.");
  TANDEM_CHECK(q.size(-1) == k.size(-1) && k.size(-2) == v.size(-2), op, ": query is ", q.sizes(), ", key ", k.sizes(),
               " and value ", v.sizes(), "; accepted: (..., L, E), (..., S, E) and (..., S, V)");
}
/// Repeats each head of x, which serves several heads of query, so that x has as many heads as query (grouped-query
/// attention).
Tensor repeat_kv_heads(const Tensor& x, const Tensor& query) {
  TANDEM_CHECK(query.dim() >= 3 && x.dim() >= 3 && x.size(-3) > 0 && query.size(-3) % x.size(-3) == 0,
               "scaled_dot_product_attention: Number of heads in key and value must divide the number of heads in "
               "query, but with enable_gqa query is ",
               query.sizes(), " and key or value is ", x.sizes(), "; dimension -3 is the heads");
  return x.repeat_interleave(query.size(-3) / x.size(-3), -3);
}
/// Checks the dtype and device of a mask that is defined. The accepted dtypes are PyTorch's. Returns the mask, widened
/// if query is float64.
Tensor check_mask(const Tensor& mask, const Tensor& query) {
  const char* const op = "scaled_dot_product_attention";
  TANDEM_CHECK(mask.device() == query.device(), op,
               ": Expected all tensors to be on the same device, but attn_mask is on ", mask.device(), " and query on ",
               query.device());
  TANDEM_CHECK(mask.dtype() == kBool || mask.dtype() == kFloat32 || mask.dtype() == query.dtype(), op,
               ": Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: ",
               mask.dtype(), " and  query.dtype: ", query.dtype(), " instead.");
  return query.dtype() == kFloat64 && mask.dtype() == kFloat32 ? mask.to(kFloat64) : mask;
}
void check_mask_sizes(const Tensor& mask, IntArrayRef scores) {
  TANDEM_CHECK(broadcast_shapes("scaled_dot_product_attention", mask.sizes(), scores) == scores,
               "scaled_dot_product_attention: attn_mask is ", mask.sizes(), "; it must broadcast to ", scores);
}
IntArrayRef batch_sizes(const Tensor& x) { return x.sizes().slice(0, x.sizes().size() - 2); }
/// Arguments of one call of attention, after key and value were given as many heads as query.
struct AttentionArgs {
  Tensor query, key, value, mask;
  double dropout_p;
  bool is_causal;
  double scale;
  Tensor random = {};  // random state from which dropout draws; if undefined, dropout draws from the generator
};
/// Applies dropout to attention weights. If `random` is defined, its mask is the mask that the kernels draw from it.
Tensor drop_weights(const Tensor& weights, double dropout_p, const Tensor& random) {
  if (!random.defined()) return dropout(weights, dropout_p, true);
  Tensor kept = core::empty(weights.sizes(), kBool, weights.device());
  TANDEM_DISPATCH(weights.device(), bernoulli, 1 - dropout_p, random, 0, kept);
  return where(kept, weights * (1 / (1 - dropout_p)), Scalar(0));
}
/// Composes attention of other operations. As in PyTorch, half types are computed in float32, and query and key are
/// each scaled by the square root of the scale.
Tensor math_attention(const AttentionArgs& call) {
  const Tensor &query = call.query, &key = call.key, &value = call.value, &mask = call.mask;
  if (is_reduced_floating_point(query.dtype())) {
    const Tensor wide = mask.defined() && mask.dtype() != kBool ? mask.to(kFloat32) : mask;
    return math_attention({query.to(kFloat32), key.to(kFloat32), value.to(kFloat32), wide, call.dropout_p,
                           call.is_causal, call.scale, call.random})
        .to(query.dtype());
  }
  const char* const of_keys = "scaled_dot_product_attention: the leading dimensions of query and key";
  const char* const of_values = "scaled_dot_product_attention: the leading dimensions of query, key and value";
  broadcast_shapes(of_values, broadcast_shapes(of_keys, batch_sizes(query), batch_sizes(key)), batch_sizes(value));
  const double root = std::sqrt(std::abs(call.scale));
  Tensor scores = matmul(query * (call.scale < 0 ? -root : root), (key * root).transpose(-2, -1));
  // -infinity is added to the scores of hidden keys, rather than replacing them, so that a NaN stays NaN.
  const auto added = [&](const Tensor& hidden) {
    return zeros(hidden.sizes(), query.options()).masked_fill(hidden, kMinusInfinity);
  };
  // Mask (..., L, 1) of the queries that may attend to no key. Their scores stay unmasked, and their results become 0.
  Tensor fully_masked;
  if (call.is_causal) {
    const TensorOptions options = TensorOptions(kBool).device(query.device());
    scores = scores + added(ones({query.size(-2), key.size(-2)}, options).triu(1));
  } else if (mask.defined()) {
    check_mask_sizes(mask, scores.sizes());
    const Tensor hidden = mask.dtype() == kBool ? mask.logical_not() : mask.detach().eq(kMinusInfinity);
    fully_masked = hidden.dim() == 0 ? hidden : hidden.all(-1, /*keepdim=*/true);
    scores = scores + (mask.dtype() == kBool ? added(hidden.logical_and(fully_masked.logical_not()))
                                             : mask.masked_fill(fully_masked, 0));
  }
  const Tensor out = matmul(drop_weights(scores.softmax(-1), call.dropout_p, call.random), value);
  return fully_masked.defined() ? out.masked_fill(fully_masked, 0) : out;
}

bool is_expandable_to(IntArrayRef from, IntArrayRef to) {
  if (from.size() > to.size()) return false;
  for (size_t i = 1; i <= from.size(); ++i)
    if (from[from.size() - i] != to[to.size() - i] && from[from.size() - i] != 1) return false;
  return true;
}
/// Returns whether flash_attention() can compute the call. Operands must have four dimensions. This is PyTorch's rule.
/// It decides which tensors are saved for backward, and so which tensors a program must not change in place. Invalid
/// arguments are left to math_attention(), which reports them.
bool can_use_flash_attention(const AttentionArgs& call) {
  const Tensor &query = call.query, &key = call.key, &value = call.value, &mask = call.mask;
  return detail::layer_fusion_enabled.load(std::memory_order_relaxed) && call.dropout_p >= 0 && call.dropout_p < 1 &&
         query.dim() == 4 && key.dim() == 4 && value.dim() == 4 && query.numel() > 0 && key.numel() > 0 &&
         value.numel() > 0 && is_expandable_to(batch_sizes(key), batch_sizes(query)) &&
         is_expandable_to(batch_sizes(value), batch_sizes(query)) &&
         !(mask.defined() && autograd::any_requires_grad({mask})) && kernels::supports_attention(query, key, value);
}
/// Expands x to the leading dimensions `lead`, in a layout that kernels take.
Tensor expand_batch(const Tensor& x, IntArrayRef lead) {
  Shape sizes = lead;
  sizes.push_back(x.size(-2));
  sizes.push_back(x.size(-1));
  const Tensor all = x.sizes() == sizes ? x : x.expand(sizes);
  return kernels::has_attention_strides(all) ? all : all.contiguous();
}
/// Allocates a tensor (..., columns). The dimensions before the last lie in memory in the same order as in x, so heads
/// that a transpose has separated can be joined again without a copy.
Tensor empty_with_layout_of(const Tensor& x, int64_t columns) {
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
/// Computes attention block by block, in memory proportional to L rather than L S.
Tensor flash_attention(const AttentionArgs& call) {
  const IntArrayRef lead = batch_sizes(call.query);
  const Tensor q = expand_batch(call.query, lead), k = expand_batch(call.key, lead), v = expand_batch(call.value, lead);
  const Tensor mask = call.mask;
  const bool causal = call.is_causal;
  const double scale = call.scale, dropout_p = call.dropout_p;
  Shape scores = lead, rows = lead;
  rows.push_back(q.size(-2));
  scores.push_back(q.size(-2));
  scores.push_back(k.size(-2));
  if (mask.defined()) check_mask_sizes(mask, scores);
  const auto expanded = [scores](const Tensor& m) { return m.defined() ? core::expand(m, scores) : m; };
  const Tensor random = dropout_p > 0 ? detail::reserve_random_state(q.device(), numel_of(scores)) : Tensor();
  Tensor out = empty_with_layout_of(q, v.size(-1)),
         lse = core::empty(rows, is_reduced_floating_point(q.dtype()) ? kFloat32 : q.dtype(), q.device());
  TANDEM_DISPATCH(q.device(), attention, q, k, v, expanded(mask), causal, scale, dropout_p, random, out, lse);
  const auto backward = [=](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    const Tensor q = ctx.saved(0), k = ctx.saved(1), v = ctx.saved(2), mask = ctx.saved(3), out = ctx.saved(4),
                 lse = ctx.saved(5), random = ctx.saved(6);
    // second derivatives are required: recomputes the gradients with differentiable operations
    if (is_grad_enabled()) {
      const auto compose = [&](const std::vector<Tensor>& in) {
        return math_attention({in[0], in[1], in[2], mask, dropout_p, causal, scale, random});
      };
      return detail::compute_composed_gradients(compose, {q, k, v}, dy);
    }
    const Tensor dout = kernels::has_attention_strides(dy) ? dy : dy.contiguous();
    Tensor dq = empty_with_layout_of(q, q.size(-1)), dk = empty_with_layout_of(k, k.size(-1)),
           dv = empty_with_layout_of(v, v.size(-1));
    TANDEM_DISPATCH(q.device(), attention_backward, dout, q, k, v, expanded(mask), out, lse, causal, scale, dropout_p,
                    random, dq, dk, dv);
    return {dq, dk, dv};
  };
  return record_op("scaled_dot_product_attention", out, {q, k, v}, {q, k, v, mask, out, lse, random}, backward);
}

constexpr kernels::Implementation<Tensor, AttentionArgs> kAttentionImplementations[] = {
    {"by blocks", can_use_flash_attention, flash_attention},
    {"composed of other operations", kernels::supports_every_problem, math_attention},
};
}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& given_key, const Tensor& given_value,
                                    const Tensor& mask, double dropout_p, Flag is_causal, std::optional<double> scale,
                                    Flag enable_gqa) {
  if (const Autocast cast{cast_policy::scaled_dot_product_attention, query, given_key, given_value, mask})
    return scaled_dot_product_attention(cast(query), cast(given_key), cast(given_value), cast(mask), dropout_p,
                                        is_causal, scale, enable_gqa);
  check_attention_inputs(query, given_key, given_value);
  const OpSpan span("scaled_dot_product_attention");
  const Tensor key = enable_gqa ? repeat_kv_heads(given_key, query) : given_key,
               value = enable_gqa ? repeat_kv_heads(given_value, query) : given_value;
  const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
  TANDEM_CHECK(!is_causal || !mask.defined(),
               "scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
  return kernels::run_first_supported<kAttentionImplementations>(
      AttentionArgs{query, key, value, mask.defined() ? check_mask(mask, query) : mask, dropout_p, is_causal, factor});
}

}  // namespace tandem

namespace tandem::nn::functional {
namespace {
constexpr const char* kOpName = "multi_head_attention_forward";

/// Checks the sizes of query (L, N, E), key (S, N, ...) and value (S, N, ...), and which options are given.
void check_inputs(const Tensor& query, const Tensor& key, const Tensor& value,
                  const MultiheadAttentionForwardFuncOptions& o) {
  TANDEM_CHECK(query.size(2) == o.embed_dim_to_check(), kOpName, ": query is ", query.sizes(),
               "; its last dimension must be embed_dim, ", o.embed_dim_to_check());
  TANDEM_CHECK(o.num_heads() > 0 && query.size(2) % o.num_heads() == 0, kOpName,
               ": embed_dim must be divisible by num_heads, but embed_dim is ", query.size(2), " and num_heads is ",
               o.num_heads());
  TANDEM_CHECK(key.size(0) == value.size(0) && key.size(1) == value.size(1) && key.size(1) == query.size(1), kOpName,
               ": query is ", query.sizes(), ", key ", key.sizes(), " and value ", value.sizes(),
               "; accepted: (L, N, E), (S, N, kdim) and (S, N, vdim)");
  TANDEM_CHECK(o.use_separate_proj_weight()
                   ? o.q_proj_weight().defined() && o.k_proj_weight().defined() && o.v_proj_weight().defined()
                   : o.in_proj_weight().defined(),
               kOpName,
               o.use_separate_proj_weight()
                   ? ": with use_separate_proj_weight, q_proj_weight, k_proj_weight and v_proj_weight must be defined"
                   : ": in_proj_weight must be defined, or use_separate_proj_weight set");
  TANDEM_CHECK(o.bias_k().defined() == o.bias_v().defined(), kOpName, ": bias_", o.bias_k().defined() ? 'k' : 'v',
               " is given alone; accepted: both bias_k and bias_v, or none");
  TANDEM_CHECK(!o.bias_k().defined() || (!o.static_k().defined() && !o.static_v().defined()), kOpName,
               ": bias cannot be added to static ", o.static_k().defined() ? "key" : "value",
               ". Give either bias_k and bias_v, or static_k and static_v");
}
/// Returns the projected query, key and value, each (rows, N, E).
std::array<Tensor, 3> project_inputs(const Tensor& query, const Tensor& key, const Tensor& value,
                                     const MultiheadAttentionForwardFuncOptions& o) {
  const int64_t features = query.size(2);
  const std::vector<Tensor> bias = o.in_proj_bias().defined() ? o.in_proj_bias().chunk(3) : std::vector<Tensor>(3);
  if (o.use_separate_proj_weight())
    return {linear(query, o.q_proj_weight(), bias[0]), linear(key, o.k_proj_weight(), bias[1]),
            linear(value, o.v_proj_weight(), bias[2])};
  // Computes several projections of one input as one matrix product. contiguous() then makes each projection
  // contiguous.
  const auto parts = [&](const Tensor& x, const Tensor& weight, const Tensor& added, int64_t count) {
    const Tensor y = linear(x, weight, added);
    return y.unflatten(-1, {count, features}).permute({2, 0, 1, 3}).contiguous().unbind(0);
  };
  if (query.is_same(key) && key.is_same(value)) {
    const std::vector<Tensor> all = parts(query, o.in_proj_weight(), o.in_proj_bias(), 3);
    return {all[0], all[1], all[2]};
  }
  const std::vector<Tensor> weight = o.in_proj_weight().chunk(3);
  if (!key.is_same(value))
    return {linear(query, weight[0], bias[0]), linear(key, weight[1], bias[1]), linear(value, weight[2], bias[2])};
  const Tensor shared_bias = o.in_proj_bias().defined() ? o.in_proj_bias().narrow(0, features, 2 * features) : Tensor();
  const std::vector<Tensor> both = parts(key, o.in_proj_weight().narrow(0, features, 2 * features), shared_bias, 2);
  return {linear(query, weight[0], bias[0]), both[0], both[1]};
}
/// Converts a mask to numbers that are added to the scores: a bool mask becomes -inf where it is true, and 0 elsewhere.
Tensor to_additive_mask(const char* name, const Tensor& mask, const Tensor& like) {
  if (!mask.defined()) return mask;
  TANDEM_CHECK(mask.dtype() == kBool || mask.is_floating_point(), kOpName, ": only bool and floating types of ", name,
               " are supported, got ", mask.dtype());
  if (mask.dtype() != kBool) return mask.to(like.dtype());
  return zeros(mask.sizes(), like.options()).masked_fill(mask, -std::numeric_limits<double>::infinity());
}
/// Appends `more` to x along dim, if x is defined.
Tensor append_if_defined(const Tensor& x, const Tensor& more, int64_t dim) {
  return x.defined() ? cat({x, more}, dim) : x;
}
/// Appends a column of zeros to a mask, for a key that every query may attend to.
Tensor append_mask_column(const Tensor& mask) {
  return mask.defined() ? cat({mask, zeros_like(mask.narrow(-1, 0, 1))}, -1) : mask;
}
}  // namespace

MultiheadAttentionForwardFuncOptions::MultiheadAttentionForwardFuncOptions(
    int64_t embed_dim_to_check, int64_t num_heads, Tensor in_proj_weight, Tensor in_proj_bias, Tensor bias_k,
    Tensor bias_v, bool add_zero_attn, double dropout_p, Tensor out_proj_weight, Tensor out_proj_bias)
    : embed_dim_to_check_(embed_dim_to_check),
      num_heads_(num_heads),
      in_proj_weight_(std::move(in_proj_weight)),
      in_proj_bias_(std::move(in_proj_bias)),
      bias_k_(std::move(bias_k)),
      bias_v_(std::move(bias_v)),
      add_zero_attn_(add_zero_attn),
      dropout_p_(dropout_p),
      out_proj_weight_(std::move(out_proj_weight)),
      out_proj_bias_(std::move(out_proj_bias)) {}

std::tuple<Tensor, Tensor> multi_head_attention_forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                                        const MultiheadAttentionForwardFuncOptions& o) {
  const bool batched = query.dim() == 3;
  TANDEM_CHECK((batched || query.dim() == 2) && key.dim() == query.dim() && value.dim() == query.dim(), kOpName,
               ": query is ", query.sizes(), ", key ", key.sizes(), " and value ", value.sizes(),
               "; all must have three dimensions, or, without a batch, two");
  if (!batched) {
    auto whole = o;
    if (o.key_padding_mask().defined()) whole.key_padding_mask(o.key_padding_mask().unsqueeze(0));
    const Tensor q = query.unsqueeze(1), k = key.is_same(query) ? q : key.unsqueeze(1),
                 v = value.is_same(key) ? k : value.unsqueeze(1);
    const auto [output, weights] = multi_head_attention_forward(q, k, v, whole);
    return {output.squeeze(1), weights.defined() ? weights.squeeze(0) : weights};
  }
  check_inputs(query, key, value, o);
  const int64_t length = query.size(0), batch = query.size(1), features = query.size(2), heads = o.num_heads(),
                rows = batch * heads, head = features / heads, keys = key.size(0);
  Tensor mask = to_additive_mask("attn_mask", o.attn_mask(), query),
         padding = to_additive_mask("key_padding_mask", o.key_padding_mask(), query);
  const Shape shared{length, keys}, own{rows, length, keys}, padded{batch, keys};
  TANDEM_CHECK(!mask.defined() || mask.sizes() == shared || mask.sizes() == own, kOpName, ": The size of the ",
               o.attn_mask().dim(), "D attn_mask is not correct. It is ", o.attn_mask().sizes(),
               "; accepted: ", IntArrayRef(shared), " and ", IntArrayRef(own));
  TANDEM_CHECK(!padding.defined() || padding.sizes() == padded, kOpName, ": key_padding_mask is ",
               o.key_padding_mask().sizes(), "; accepted: ", IntArrayRef(padded));

  auto [q, k, v] = project_inputs(query, key, value, o);
  if (o.bias_k().defined()) {
    k = append_if_defined(k, o.bias_k().expand({1, batch, features}), 0);
    v = append_if_defined(v, o.bias_v().expand({1, batch, features}), 0);
    mask = append_mask_column(mask), padding = append_mask_column(padding);
  }
  const auto split_heads = [&](const Tensor& x) { return x.view({x.size(0), rows, head}).transpose(0, 1); };
  const auto given_or = [&](const char* name, const Tensor& fixed, const Tensor& x) {
    TANDEM_CHECK(!fixed.defined() || (fixed.dim() == 3 && fixed.size(0) == rows && fixed.size(2) == head), kOpName,
                 ": ", name, " is ", fixed.sizes(), "; accepted: (", rows, ", S, ", head, ")");
    return fixed.defined() ? fixed : split_heads(x);
  };
  q = split_heads(q), k = given_or("static_k", o.static_k(), k), v = given_or("static_v", o.static_v(), v);
  if (o.add_zero_attn()) {
    const Tensor none = zeros({rows, 1, head}, k.options());
    k = append_if_defined(k, none, 1), v = append_if_defined(v, none, 1);
    mask = append_mask_column(mask), padding = append_mask_column(padding);
  }
  if (padding.defined()) {
    const int64_t all = padding.size(1);
    const Tensor each = padding.view({batch, 1, 1, all}).expand({batch, heads, 1, all}).reshape({rows, 1, all});
    mask = mask.defined() ? mask + each : each;
  }
  const double dropout_p = o.training() ? o.dropout_p() : 0;
  Tensor output, weights;
  if (o.need_weights()) {
    const Tensor scores = (q * (1 / std::sqrt(static_cast<double>(head)))).bmm(k.transpose(1, 2));
    weights = tandem::dropout((mask.defined() ? scores + mask : scores).softmax(-1), dropout_p, true);
    output = weights.bmm(v);
    weights = weights.unflatten(0, {batch, heads});
    if (o.average_attn_weights()) weights = weights.mean(1);
  } else {
    // A batch dimension is added, because attention is computed block by block only for operands of four dimensions.
    const auto one = [](const Tensor& x) { return x.unsqueeze(0); };
    output = tandem::scaled_dot_product_attention(one(q), one(k), one(v), mask, dropout_p).squeeze(0);
    // A query that may attend to no key gets NaN, as from softmax, rather than 0.
    if (mask.defined()) {
      const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
      const Tensor fully_masked = mask.detach().eq(-inf).all(-1, /*keepdim=*/true);
      output = output * ones(fully_masked.sizes(), output.options()).masked_fill(fully_masked, nan);
    }
  }
  output = linear(output.transpose(0, 1).reshape({length, batch, features}), o.out_proj_weight(), o.out_proj_bias());
  return {output, weights};
}

}  // namespace tandem::nn::functional
