// Computes norms of gradients over blocks of 4,096 elements, and scales gradients to a maximum norm.
#include "tandem/nn/utils/clip_grad.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tandem/core/dispatch.h"
#include "tandem/core/loop/run_loop.h"
#include "tandem/core/trace/op_span.h"
#include "tandem/kernels/optim.h"
#include "tandem/kernels/reduce.h"
#include "tandem/ops/ops.h"

namespace tandem::nn::utils {

namespace {

/// Indices of the tensors that one kernel launch handles, grouped by device and dtype.
using Groups = std::map<std::pair<Device, DType>, std::vector<size_t>>;

/// Returns t's elements as a 1-d tensor: in memory order, or in index order if t has gaps in memory.
Tensor flatten_dense(const Tensor& t) {
  return core::is_non_overlapping_and_dense(*t.impl()) ? t.as_strided({t.numel()}, {1}) : t.reshape({-1});
}
int64_t num_blocks(const Tensor& t) { return (t.numel() + kNormBlock - 1) / kNormBlock; }

/// Reduces each block by kernels::reduce_blocks, in one call for all tensors of a device and dtype. Returns one result
/// per block: all in one vector if the tensors share a device and dtype, else one vector per tensor.
std::vector<Tensor> compute_block_norms(const std::vector<Tensor>& tensors, double p) {
  Groups groups;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const DType dtype = tensors[i].dtype();
    TANDEM_CHECK_AS(NotImplementedError, is_floating_point(dtype),
                    "norm: Expected a floating point or complex tensor as input. Got ", dtype);
    groups[{tensors[i].device(), dtype}].push_back(i);
  }
  std::vector<Tensor> parts(tensors.size());
  for (const auto& group : groups) {
    const Device device = group.first.first;
    std::vector<Tensor> together;
    int64_t count = 0, at = 0;
    for (const size_t i : group.second) {
      together.push_back(core::is_non_overlapping_and_dense(*tensors[i].impl()) ? tensors[i] : tensors[i].contiguous());
      count += num_blocks(tensors[i]);
    }
    Tensor numbers = empty({count}, TensorOptions(kFloat64).device(device));
    TANDEM_DISPATCH(device, reduce_blocks, together, p, kNormBlock, numbers);
    if (groups.size() == 1) return {numbers};
    for (const size_t i : group.second) {
      parts[i] = numbers.narrow(0, at, num_blocks(tensors[i]));
      at += num_blocks(tensors[i]);
    }
  }
  return parts;
}
/// Applies f to a matrix whose rows are the full blocks of t, and to its last, shorter block. f returns one number per
/// row.
template <class F> Tensor reduce_by_blocks(const Tensor& t, const F& f) {
  const Tensor x = flatten_dense(is_reduced_floating_point(t.dtype()) ? t.to(kFloat32) : t);
  const int64_t rows = x.numel() / kNormBlock, rest = x.numel() - rows * kNormBlock;
  std::vector<Tensor> numbers;
  if (rows > 0) numbers.push_back(f(x.narrow(0, 0, rows * kNormBlock).view({rows, kNormBlock})));
  if (rest > 0) numbers.push_back(f(x.narrow(0, rows * kNormBlock, rest).view({1, rest})));
  return (numbers.empty() ? empty({0}, x.options()) : numbers.size() == 1 ? numbers[0] : cat(numbers)).to(kFloat64);
}
/// Concatenates the results of this rank's blocks on `device`. If `gather` is given, returns the results of all ranks'
/// blocks.
Tensor gather_block_norms(std::vector<Tensor> parts, Device device, const GatherBlocks& gather) {
  for (Tensor& part : parts) part = part.to(device);
  const Tensor mine = parts.empty() ? empty({0}, kFloat64) : parts.size() == 1 ? parts[0] : cat(parts);
  return gather ? gather(mine) : mine;
}
/// Returns the joint norm, or its square if p is 2: a float64 number on the first tensor's device. The result of a
/// block must depend on that block's elements alone. Elementwise roots and powers violate this, because they may round
/// the last elements of a vector differently. So roots and powers are computed inside a reduction kernel, or on the
/// final sum.
Tensor compute_total_norm(const std::vector<Tensor>& tensors, double p, const GatherBlocks& gather) {
  const Device device = tensors.empty() ? Device(kCPU) : tensors[0].device();
  if (p == 0) {  // number of tensors with a nonzero element, as in PyTorch
    TANDEM_CHECK(!gather, "norm_type 0 is not supported for sharded gradients; accepted: every other norm_type");
    std::vector<Tensor> norms = {zeros({}, TensorOptions(kFloat64).device(device))};
    for (const Tensor& t : tensors) norms.push_back(t.norm(0).to(device, kFloat64));
    return stack(norms).norm(0);
  }
  if (p == 1 || p == 2 || std::isinf(p)) {
    const Tensor numbers = gather_block_norms(compute_block_norms(tensors, p), device, gather);
    return numbers.numel() == 0 || !std::isinf(p) ? numbers.sum() : p > 0 ? numbers.amax() : numbers.amin();
  }
  Tensor scale = compute_total_norm(tensors, p > 0 ? HUGE_VAL : -HUGE_VAL, gather);
  scale = where(scale.isfinite() & (scale != 0), scale, Scalar(1));
  std::vector<Tensor> powers;
  powers.reserve(tensors.size());
  for (const Tensor& t : tensors)
    powers.push_back(reduce_by_blocks(t, [&](const Tensor& rows) {
      Tensor sums = empty({rows.size(0)}, TensorOptions(kFloat64).device(rows.device()));
      const Tensor scales = scale.to(rows.device(), rows.dtype()).expand(sums.sizes()).contiguous();
      TANDEM_DISPATCH(rows.device(), sum_of_powers, rows.unsqueeze(2), scales, p, sums);
      return sums;
    }));
  return gather_block_norms(std::move(powers), device, gather).sum().pow(1 / p) * scale;
}

}  // namespace

double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type,
                       bool error_if_nonfinite, const GatherBlocks& gather) {
  check_not_recorded("clip_grad_norm_", "the host reads the norm; use get_total_norm and clip_grads_with_norm_");
  const OpSpan span("clip_grad_norm_");
  const NoGradGuard guard;
  std::vector<Tensor> gradients;
  for (const Tensor& p : parameters) {
    const Tensor& g = p.grad();
    if (!g.defined() || std::any_of(gradients.begin(), gradients.end(), [&](auto& other) { return g.is_same(other); }))
      continue;
    gradients.push_back(g);
  }
  const double joint = compute_total_norm(gradients, norm_type, gather).item<double>();
  const double total = norm_type == 2 ? std::sqrt(joint) : joint;
  TANDEM_CHECK(!error_if_nonfinite || std::isfinite(total), "clip_grad_norm_: The total norm of order ", norm_type,
               " for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this error and "
               "scale the gradients with the non-finite norm anyway, set `error_if_nonfinite=false`. The norm is ",
               total);
  const double scale = max_norm / (total + 1e-6);
  if (scale >= 1) return total;
  std::map<std::pair<Device, DType>, std::vector<Tensor>> fused;
  for (Tensor& g : gradients)
    if ((g.dtype() == kFloat32 || g.dtype() == kFloat64) && core::is_non_overlapping_and_dense(*g.impl()))
      fused[{g.device(), g.dtype()}].push_back(g);
    else
      g.mul_(scale);
  for (auto& entry : fused) {
    const Device device = entry.first.first;
    TANDEM_DISPATCH(device, scale_all, scale, entry.second);
    for (const Tensor& g : entry.second) g.bump_version();
  }
  return total;
}
Tensor get_total_norm(const std::vector<Tensor>& tensors, double norm_type, bool error_if_nonfinite,
                      const GatherBlocks& gather) {
  const OpSpan span("get_total_norm");
  const NoGradGuard guard;
  const Tensor joint = compute_total_norm(tensors, norm_type, gather), total = norm_type == 2 ? joint.sqrt() : joint;
  TANDEM_CHECK(!error_if_nonfinite || std::isfinite(total.item<double>()), "get_total_norm: The total norm of order ",
               norm_type,
               " for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this error and "
               "scale the gradients with the non-finite norm anyway, set `error_if_nonfinite=false`. The norm is ",
               total.item<double>());
  return tensors.empty() ? total.to(get_default_dtype()) : total.to(tensors[0].device(), tensors[0].dtype());
}
void clip_grads_with_norm_(const std::vector<Tensor>& parameters, double max_norm, const Tensor& total_norm) {
  const NoGradGuard guard;
  TANDEM_CHECK(total_norm.dim() == 0, "clip_grads_with_norm_: total_norm is ", total_norm.sizes(),
               "; accepted: a scalar tensor, as get_total_norm returns");
  const Tensor scale = (max_norm / (total_norm + 1e-6)).clamp_max(1);
  for (const Tensor& p : parameters)
    if (p.grad().defined()) p.mutable_grad().mul_(scale.to(p.device(), p.grad().dtype()));
}
void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value) {
  const NoGradGuard guard;
  for (const Tensor& p : parameters)
    if (p.grad().defined()) p.mutable_grad().clamp_(-clip_value, clip_value);
}

}  // namespace tandem::nn::utils
