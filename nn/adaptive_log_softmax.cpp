// AdaptiveLogSoftmaxWithLoss: assigns classes to clusters and computes their log probabilities.
#include "tandem/nn/adaptive_log_softmax.h"

#include <algorithm>
#include <cmath>

#include "tandem/core/internal.h"

namespace tandem::nn {

template class Cloneable<AdaptiveLogSoftmaxWithLossImpl>;

void AdaptiveLogSoftmaxWithLossImpl::reset() {
  const std::vector<int64_t>& given = options.cutoffs();
  const bool ascend = std::adjacent_find(given.begin(), given.end(), std::greater_equal<>()) == given.end();
  TANDEM_CHECK(!given.empty(), "AdaptiveLogSoftmaxWithLoss: cutoffs should be a sequence of length larger than 0");
  TANDEM_CHECK(ascend && given.front() > 0 && given.back() < options.n_classes(),
               "AdaptiveLogSoftmaxWithLoss: cutoffs should be a sequence of unique, positive integers sorted in an "
               "increasing order, where each value is between 1 and n_classes-1; cutoffs are ",
               IntArrayRef(given), " and n_classes is ", options.n_classes());
  TANDEM_CHECK(options.in_features() > 0 && options.div_value() > 0, "AdaptiveLogSoftmaxWithLoss: in_features is ",
               options.in_features(), " and div_value ", options.div_value(), "; both must be positive");
  cutoffs = given;
  cutoffs.push_back(options.n_classes());
  shortlist_size = cutoffs.front();
  n_clusters = static_cast<int64_t>(given.size());
  head_size = shortlist_size + n_clusters;
  head = register_module("head", Linear(LinearOptions(options.in_features(), head_size).bias(options.head_bias())));
  tail = register_module("tail", ModuleList());
  for (int64_t i = 0; i < n_clusters; ++i) {
    const auto at = static_cast<size_t>(i);
    const auto width = static_cast<int64_t>(
        std::floor(static_cast<double>(options.in_features()) / std::pow(options.div_value(), i + 1)));
    TANDEM_CHECK(width > 0, "AdaptiveLogSoftmaxWithLoss: in_features is ", options.in_features(), " and div_value ",
                 options.div_value(), ", so the projection of cluster ", i,
                 " would have no features; lower div_value or pass fewer cutoffs");
    tail->push_back(Sequential(Linear(LinearOptions(options.in_features(), width).bias(false)),
                               Linear(LinearOptions(width, cutoffs[at + 1] - cutoffs[at]).bias(false))));
  }
}
void AdaptiveLogSoftmaxWithLossImpl::reset_parameters() {
  head->reset_parameters();
  for (size_t i = 0; i < tail->size(); ++i)
    for (const auto& part : tail->ptr(i)->children()) part->as<LinearImpl>()->reset_parameters();
}

ASMoutput AdaptiveLogSoftmaxWithLossImpl::forward(const Tensor& x, const Tensor& target) {
  if (x.dim() == 1 && target.dim() == 0) {
    const ASMoutput one = forward(x.unsqueeze(0), target.unsqueeze(0));
    return {one.output.squeeze(0), one.loss};
  }
  TANDEM_CHECK(target.dim() <= 1, name(), ": 0D or 1D target tensor expected, multi-target not supported; target is ",
               target.sizes());
  TANDEM_CHECK(x.dim() == 2 && target.dim() == 1 && target.size(0) == x.size(0), name(),
               ": Input and target should have the same size in the batch dimension. x is ", x.sizes(), " and target ",
               target.sizes());
  TANDEM_CHECK(x.size(1) == options.in_features() && target.dtype() == kInt64, name(), ": x is ", x.sizes(),
               " and target ", target.dtype(), target.sizes(), "; accepted: (N, ", options.in_features(),
               ") and int64 (N,), or both without N");
  if (target.numel() > 0) {
    const auto low = target.min().item<int64_t>(), high = target.max().item<int64_t>();
    TANDEM_CHECK(low >= 0 && high < options.n_classes(), name(), ": Target values should be in [0, ",
                 options.n_classes() - 1, "], but values in range [", low, ", ", high, "] were found.");
  }
  const Tensor first = tandem::log_softmax(head(x), 1);
  // For each target, the index of an output of `head`: the target's class, or, if the class is in a cluster, the output
  // for that cluster.
  Tensor entry = target.clamp_max(shortlist_size - 1), output;
  Tensor rest = zeros({x.size(0)}, first.options());
  for (int64_t i = 0; i < n_clusters; ++i) {
    const auto at = static_cast<size_t>(i);
    const Tensor inside = (target >= cutoffs[at]).logical_and(target < cutoffs[at + 1]);
    const Tensor rows = nonzero(inside).flatten();
    if (rows.numel() == 0) continue;
    entry = entry.masked_fill(inside, shortlist_size + i);
    const Tensor scores = call_module(tail->at<SequentialImpl>(at), x.index_select(0, rows));
    const Tensor own = (target.index_select(0, rows) - cutoffs[at]).unsqueeze(1);
    rest = rest.index_add(0, rows, tandem::log_softmax(scores, 1).gather(1, own).squeeze(1));
  }
  output = first.gather(1, entry.unsqueeze(1)).squeeze(1) + rest;
  return {output, -output.detach().mean().item<double>()};
}

Tensor AdaptiveLogSoftmaxWithLossImpl::log_prob(const Tensor& x) {
  const Tensor first = tandem::log_softmax(head(x), 1);
  std::vector<Tensor> parts{first.narrow(1, 0, shortlist_size)};
  for (int64_t i = 0; i < n_clusters; ++i)
    parts.push_back(tandem::log_softmax(call_module(tail->at<SequentialImpl>(static_cast<size_t>(i)), x), 1) +
                    first.narrow(1, shortlist_size + i, 1));
  return cat(parts, 1);
}
Tensor AdaptiveLogSoftmaxWithLossImpl::predict(const Tensor& x) { return log_prob(x).argmax(1); }

}  // namespace tandem::nn
