// Op table of the differential tests: products, layers, losses, factories, and calls that deal with gradients.
#include "tandem/tests/differential/op_table.h"

namespace tandem::differential {

// clang-format off
void add_layers(OpTable& table) {
  OP("matmul", (Tensor x, Tensor y), x.matmul(y))
  OP("mm", (Tensor x, Tensor y), x.mm(y))
  OP("bmm", (Tensor x, Tensor y), x.bmm(y))
  OP("mv", (Tensor x, Tensor y), x.mv(y))
  OP("dot", (Tensor x, Tensor y), x.dot(y))
  OP("addmm", (Tensor bias, Tensor x, Tensor y, double beta, double alpha), tandem::addmm(bias, x, y, beta, alpha))
  OP("linear", (Tensor x, Tensor weight, Tensor bias), tandem::linear(x, weight, bias))
  OP("scaled_dot_product_attention",
     (Tensor query, Tensor key, Tensor value, Tensor mask, double dropout_p, bool causal, double scale),
     tandem::scaled_dot_product_attention(query, key, value, mask, dropout_p, causal, scale))
  OP("conv2d", (Tensor x, Tensor weight, Tensor bias, Pair stride, Pair padding, Pair dilation, int64_t groups),
     tandem::conv2d(x, weight, bias, stride, padding, dilation, groups))
  OP("batch_norm", (Tensor x, Tensor weight, Tensor bias, Tensor mean, Tensor var, bool training, double momentum, double eps),
     tandem::batch_norm(x, weight, bias, mean, var, training, momentum, eps))
  OP("layer_norm", (Tensor x, Ints shape, Tensor weight, Tensor bias, double eps),
     tandem::layer_norm(x, shape, weight, bias, eps))
  OP("max_pool2d", (Tensor x, Pair kernel, Ints stride, Pair padding, Pair dilation, bool ceil_mode),
     tandem::max_pool2d(x, kernel, stride, padding, dilation, ceil_mode))
  OP("max_pool2d_with_indices", (Tensor x, Pair kernel, Ints stride, Pair padding, Pair dilation, bool ceil_mode),
     tandem::max_pool2d_with_indices(x, kernel, stride, padding, dilation, ceil_mode))
  OP("avg_pool2d", (Tensor x, Pair kernel, Ints stride, Pair padding, bool ceil_mode, bool count_include_pad),
     tandem::avg_pool2d(x, kernel, stride, padding, ceil_mode, count_include_pad))
  OP("adaptive_avg_pool2d", (Tensor x, Pair size), tandem::adaptive_avg_pool2d(x, size))
  OP("dropout", (Tensor x, double p, bool training), tandem::dropout(x, p, training))
  OP("dropout2d", (Tensor x, double p, bool training), tandem::dropout2d(x, p, training))
  // ---- losses
  OP("nll_loss", (Tensor x, Tensor target, Tensor weight, Reduction reduction, int64_t ignore_index),
     tandem::nll_loss(x, target, weight, reduction, ignore_index))
  OP("cross_entropy", (Tensor x, Tensor target, Tensor weight, Reduction reduction, int64_t ignore_index, double smoothing),
     tandem::cross_entropy(x, target, weight, reduction, ignore_index, smoothing))
  OP("mse_loss", (Tensor x, Tensor y, Reduction reduction), tandem::mse_loss(x, y, reduction))
  OP("l1_loss", (Tensor x, Tensor y, Reduction reduction), tandem::l1_loss(x, y, reduction))
  OP("smooth_l1_loss", (Tensor x, Tensor y, Reduction reduction, double beta),
     tandem::smooth_l1_loss(x, y, reduction, beta))
  OP("binary_cross_entropy", (Tensor x, Tensor y, Tensor weight, Reduction reduction),
     tandem::binary_cross_entropy(x, y, weight, reduction))
  OP("binary_cross_entropy_with_logits", (Tensor x, Tensor y, Tensor weight, Tensor pos_weight, Reduction reduction),
     tandem::binary_cross_entropy_with_logits(x, y, weight, pos_weight, reduction))
}

void add_factories(OpTable& table) {
  OP("zeros", (Ints sizes, DType dtype), tandem::zeros(sizes, dtype))
  OP("ones", (Ints sizes, DType dtype), tandem::ones(sizes, dtype))
  OP("full", (Ints sizes, Scalar value), tandem::full(sizes, value))
  OP("full/dtype", (Ints sizes, Scalar value, DType dtype), tandem::full(sizes, value, dtype))
  OP("zeros_like", (Tensor x), tandem::zeros_like(x))
  OP("ones_like", (Tensor x), tandem::ones_like(x))
  OP("full_like", (Tensor x, Scalar value), tandem::full_like(x, value))
  OP("empty_like", (Tensor x), tandem::empty_like(x))
  OP("eye", (int64_t n, int64_t m), tandem::eye(n, m))
  OP("arange", (Scalar start, Scalar end, Scalar step), tandem::arange(start, end, step))
  OP("arange/dtype", (Scalar start, Scalar end, Scalar step, DType dtype), tandem::arange(start, end, step, dtype))
  OP("linspace", (double start, double end, int64_t steps, DType dtype), tandem::linspace(start, end, steps, dtype))
  OP("rand", (Ints sizes, DType dtype), tandem::rand(sizes, dtype))
  OP("randn_like", (Tensor x), tandem::randn_like(x))
  OP("randint", (int64_t low, int64_t high, Ints sizes), tandem::randint(low, high, sizes))
  OP("randperm", (int64_t n), tandem::randperm(n))
}

void add_gradients(OpTable& table) {
  OP("backward", (Tensor x, Tensor gradient, MaybeBool retain_graph, bool create_graph, Tensors inputs),
     x.backward(gradient, retain_graph, create_graph, inputs))
  OP("grad", (Tensors x, Tensors inputs, Tensors gradients, MaybeBool retain_graph, bool create_graph, bool allow_unused),
     autograd::grad(x, inputs, gradients, retain_graph, create_graph, allow_unused))
  OP("requires_grad_", (Tensor x, bool wanted), x.requires_grad_(wanted))
  OP("retain_grad", (Tensor x), x.retain_grad())
}
// clang-format on

void add_elementwise_ops(OpTable& table);
void add_composed_ops(OpTable& table);
void add_matrices(OpTable& table);
void add_order(OpTable& table);
void add_spatial(OpTable& table);
void add_view_ops(OpTable& table);
void add_reductions(OpTable& table);

const OpTable& op_table() {
  static const OpTable table = [] {
    OpTable all;
    for (const auto add : {add_elementwise_ops, add_view_ops, add_reductions, add_layers, add_factories, add_gradients,
                           add_composed_ops, add_matrices, add_order, add_spatial})
      add(all);
    return all;
  }();
  return table;
}

DType dtype_named(const std::string& text) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (name(static_cast<DType>(i)) == text) return static_cast<DType>(i);
  throw Missing("no dtype is called " + text);
}
Scalar to_scalar(const Value& v) {
  if (v.kind == Value::Kind::boolean) return Scalar(v.integer != 0);
  return v.kind == Value::Kind::integer ? Scalar(v.integer) : Scalar(v.real);
}
indexing::TensorIndex to_index(const Value& v, const Lookup& find) {
  const auto bound = [&](size_t i) { return read<MaybeInt>(v.list[i], find); };
  switch (v.kind) {
    case Value::Kind::none: return indexing::None;
    case Value::Kind::integer: return v.integer;
    case Value::Kind::slice: return indexing::Slice(bound(0), bound(1), bound(2).value_or(1));
    case Value::Kind::text:
      if (v.is_tensor()) return find(v.text);
      return indexing::Ellipsis;
    default: throw Missing("no index");
  }
}

}  // namespace tandem::differential
