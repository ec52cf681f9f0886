// Embedding and EmbeddingBag: rows of a table by index, and sums, means and maxima of bags of rows.
#include "tandem/nn/embedding.h"

#include <limits>

#include "tandem/autograd/record.h"
#include "tandem/core/loop/run_loop.h"
#include "tandem/nn/init.h"
#include "tandem/nn/module/print.h"
#include "tandem/ops/ops.h"

namespace tandem::nn {
TANDEM_ARG_SETTER(EmbeddingBagOptions, EmbeddingBagMode, mode);
TANDEM_ARG_SETTER(EmbeddingBagFromPretrainedOptions, EmbeddingBagMode, mode);
namespace functional {
namespace {
/// Returns padding_idx counted from the front, or nullopt if there is none. @throws Error unless it is a row
std::optional<int64_t> padding_row(const char* name, std::optional<int64_t> padding_idx, int64_t rows) {
  TANDEM_CHECK(!padding_idx || (*padding_idx >= -rows && *padding_idx < rows), name, ": padding_idx is ",
               padding_idx.value_or(0), "; accepted: ", -rows, " to ", rows - 1);
  return padding_idx && *padding_idx < 0 ? *padding_idx + rows : padding_idx;
}

void renorm(Tensor weight, const Tensor& index, double max_norm, double norm_type) {
  embedding_renorm_(weight, index, max_norm, norm_type);
}

/// `rows`, whose gradient is divided by how often each was looked up.
Tensor with_gradient_by_frequency(const Tensor& rows, const Tensor& index, int64_t count) {
  const Tensor at = index.reshape({-1}), one = ones(at.sizes(), rows.options());
  const Tensor times =
      zeros({count}, rows.options()).index_add(0, at, one).index_select(0, at).view(index.sizes()).unsqueeze(-1);
  return record("embedding", core::alias(rows), {rows}, {times},
                [](const Context& ctx, const Tensor& dy) -> Grads { return {dy / ctx.saved(0)}; });
}

std::vector<int64_t> on_host(const Tensor& t) {
  check_not_recorded("embedding_bag", "the offsets tell where the bags are");
  const Tensor flat = t.to(kCPU, kInt64).contiguous();
  return {flat.data<int64_t>(), flat.data<int64_t>() + flat.numel()};
}
/// Where each bag begins, and where the last one ends.
std::vector<int64_t> bounds_of(const Tensor& index, const EmbeddingBagFuncOptions& o) {
  constexpr const char* kOp = "embedding_bag";
  const Tensor& offsets = o.offsets();
  std::vector<int64_t> bounds;
  if (index.dim() == 2) {
    TANDEM_CHECK(!offsets.defined(), kOp, ": index is ", index.sizes(), ", whose rows are the bags, and there are ",
                 offsets.sizes(), " offsets; accepted: none");
    for (int64_t i = 0; i <= index.size(0); ++i) bounds.push_back(i * index.size(1));
    return bounds;
  }
  TANDEM_CHECK(index.dim() == 1 && offsets.defined() && offsets.dim() == 1, kOp, ": index is ", index.sizes(),
               offsets.defined() ? " and offsets have another number of dimensions" : " and there are no offsets",
               "; accepted: index (B, N), or index (n) and offsets (B)");
  bounds = on_host(offsets);
  TANDEM_CHECK(!o.include_last_offset() || !bounds.empty(), kOp,
               ": offsets are empty; with include_last_offset one is needed");
  if (!o.include_last_offset()) bounds.push_back(index.size(0));
  TANDEM_CHECK(bounds.front() == 0 && bounds.back() == index.size(0), kOp, ": offsets begin with ", bounds.front(),
               " and end with ", bounds.back(), "; they must begin with 0 and, with include_last_offset, end with ",
               index.size(0));
  for (size_t i = 1; i < bounds.size(); ++i)
    TANDEM_CHECK(bounds[i - 1] <= bounds[i], kOp, ": offset ", bounds[i - 1], " comes before ", bounds[i],
                 "; accepted: 0 to ", index.size(0), ", not falling");
  return bounds;
}
Tensor index_of(const std::vector<int64_t>& numbers, Device device) {
  Tensor t = empty({static_cast<int64_t>(numbers.size())}, kInt64);
  std::copy(numbers.begin(), numbers.end(), t.data<int64_t>());
  return t.to(device);
}
/// The largest of each bag's rows, those of padding left out, as the maximum over bags that are filled up to one size
/// with a row of -inf.
Tensor largest(const Tensor& rows, const Tensor& padded, const std::vector<int64_t>& bounds) {
  const auto bags = static_cast<int64_t>(bounds.size()) - 1;
  int64_t most = 1;
  for (size_t b = 0; b + 1 < bounds.size(); ++b) most = std::max(most, bounds[b + 1] - bounds[b]);
  std::vector<int64_t> places;
  for (size_t b = 0; b + 1 < bounds.size(); ++b)
    for (int64_t i = 0; i < most; ++i) places.push_back(bounds[b] + i < bounds[b + 1] ? bounds[b] + i : rows.size(0));
  constexpr double kLeast = -std::numeric_limits<double>::infinity();
  const Tensor kept = padded.defined() ? rows.masked_fill(padded, kLeast) : rows;
  const Tensor all = cat({kept, full({1, rows.size(1)}, kLeast, rows.options())});
  const Tensor out =
      std::get<0>(all.index_select(0, index_of(places, rows.device())).unflatten(0, {bags, most}).max(1));
  return out.masked_fill(out == kLeast, 0);
}

}  // namespace

Tensor embedding(const Tensor& index, const Tensor& weight, const EmbeddingFuncOptions& o) {
  if (o.max_norm()) renorm(weight, index, *o.max_norm(), o.norm_type());
  const Tensor rows = tandem::embedding(weight, index, padding_row("embedding", o.padding_idx(), weight.size(0)));
  return o.scale_grad_by_freq() ? with_gradient_by_frequency(rows, index, weight.size(0)) : rows;
}

Tensor embedding_bag(const Tensor& index, const Tensor& weight, const EmbeddingBagFuncOptions& o) {
  constexpr const char* kOp = "embedding_bag";
  const bool is_max = std::holds_alternative<MaxTag>(o.mode());
  const Reduction reduction = is_max ? Reduction::none : std::get<Reduction>(o.mode());
  TANDEM_CHECK(is_max || reduction != Reduction::none, kOp, ": mode is kNone; accepted: kSum, kMean and kMax");
  TANDEM_CHECK(!is_max || !o.scale_grad_by_freq(), kOp,
               ": scale_grad_by_freq with mode kMax; accepted: kSum and kMean");
  const Tensor& factors = o.per_sample_weights();
  TANDEM_CHECK(!factors.defined() || (!is_max && reduction == Reduction::sum && factors.sizes() == index.sizes()), kOp,
               ": per_sample_weights are ", factors.defined() ? factors.sizes() : IntArrayRef(), " for index of ",
               index.sizes(), "; accepted: index's sizes, and mode kSum");
  const std::vector<int64_t> bounds = bounds_of(index, o);
  const auto bags = static_cast<int64_t>(bounds.size()) - 1;
  const Tensor flat = index.reshape({-1});
  Tensor rows = embedding(flat, weight,
                          EmbeddingFuncOptions()
                              .max_norm(o.max_norm())
                              .norm_type(o.norm_type())
                              .padding_idx(o.padding_idx())
                              .scale_grad_by_freq(o.scale_grad_by_freq()));
  Tensor padded;  // (n, 1)
  if (const auto padding = padding_row(kOp, o.padding_idx(), weight.size(0))) padded = (flat == *padding).unsqueeze(1);
  if (is_max) return largest(rows, padded, bounds);
  if (factors.defined()) rows = rows * factors.reshape({-1, 1}).to(rows.dtype());
  if (padded.defined()) rows = rows.masked_fill(padded, 0);
  std::vector<int64_t> bag;
  for (size_t b = 0; b + 1 < bounds.size(); ++b)
    bag.resize(static_cast<size_t>(bounds[b + 1]), static_cast<int64_t>(b));
  const Tensor at = index_of(bag, rows.device());
  const Tensor sum = zeros({bags, rows.size(1)}, rows.options()).index_add(0, at, rows);
  if (reduction == Reduction::sum) return sum;
  const Tensor counted =
      padded.defined() ? padded.logical_not().to(rows.dtype()) : ones({flat.size(0), 1}, rows.options());
  return sum / zeros({bags, 1}, rows.options()).index_add(0, at, counted).clamp_min(1);
}

}  // namespace functional

template class Cloneable<EmbeddingImpl>;
template class Cloneable<EmbeddingBagImpl>;

namespace {
/// The table, registered: the one that was given, or a new one with initial values.
template <class M> void make_table(const char* name, M& m) {
  auto& o = m.options;
  const int64_t rows = o.num_embeddings();
  o.padding_idx() = functional::padding_row(name, o.padding_idx(), rows);
  const Shape sizes{rows, o.embedding_dim()};
  const Tensor& given = o._weight();
  TANDEM_CHECK(!given.defined() || given.sizes() == sizes, name, ": _weight is ",
               given.defined() ? given.sizes() : IntArrayRef(), "; accepted: ", IntArrayRef(sizes));
  m.weight = m.register_parameter("weight", given.defined() ? given : empty(sizes));
  if (!given.defined()) m.reset_parameters();
  o._weight(Tensor());  // a copy of the module has a table of its own
}
template <class M> void reset_table(M& m) {
  init::normal_(m.weight);
  if (m.options.padding_idx()) init::zeros_(core::select(m.weight, 0, *m.options.padding_idx()));
}
template <class O> void print_norms(std::ostream& out, const O& o) {
  if (o.max_norm()) out << ", max_norm=" << printed(*o.max_norm());
  if (o.norm_type() != 2) out << ", norm_type=" << printed(o.norm_type());
  if (o.scale_grad_by_freq()) out << ", scale_grad_by_freq=True";
}
template <class Given, class Wanted> Wanted table_options(const char* name, const Tensor& table, const Given& o) {
  TANDEM_CHECK(table.dim() == 2, name, "::from_pretrained: embeddings are ", table.sizes(),
               "; accepted: (num_embeddings, embedding_dim)");
  return Wanted(table.size(0), table.size(1))
      ._weight(table)
      .padding_idx(o.padding_idx())
      .max_norm(o.max_norm())
      .norm_type(o.norm_type())
      .scale_grad_by_freq(o.scale_grad_by_freq());
}
}  // namespace

void EmbeddingImpl::reset() { make_table("Embedding", *this); }
void EmbeddingImpl::reset_parameters() { reset_table(*this); }
void EmbeddingImpl::pretty_print(std::ostream& out) const {
  out << "Embedding(" << options.num_embeddings() << ", " << options.embedding_dim();
  if (options.padding_idx()) out << ", padding_idx=" << *options.padding_idx();
  print_norms(out, options);
  out << ")";
}
Tensor EmbeddingImpl::forward(const Tensor& index) {
  return functional::embedding(index, weight,
                               functional::EmbeddingFuncOptions()
                                   .padding_idx(options.padding_idx())
                                   .max_norm(options.max_norm())
                                   .norm_type(options.norm_type())
                                   .scale_grad_by_freq(options.scale_grad_by_freq()));
}
Embedding Embedding::from_pretrained(const Tensor& embeddings, const EmbeddingFromPretrainedOptions& o) {
  Embedding m(table_options<EmbeddingFromPretrainedOptions, EmbeddingOptions>("Embedding", embeddings, o));
  m->weight.requires_grad_(!o.freeze());
  return m;
}

void EmbeddingBagImpl::reset() { make_table("EmbeddingBag", *this); }
void EmbeddingBagImpl::reset_parameters() { reset_table(*this); }
void EmbeddingBagImpl::pretty_print(std::ostream& out) const {
  out << "EmbeddingBag(" << options.num_embeddings() << ", " << options.embedding_dim();
  print_norms(out, options);
  const bool is_max = std::holds_alternative<MaxTag>(options.mode());
  const bool is_mean = !is_max && std::get<Reduction>(options.mode()) == Reduction::mean;
  if (!prints_as_libtorch) {
    out << ", mode='" << (is_max ? "max" : is_mean ? "mean" : "sum") << '\'';
  } else {  // LibTorch leaves out what is as it is by default, and has one option more
    if (!is_mean) out << ", mode=" << (is_max ? "kMax" : "kSum");
    if (options.include_last_offset()) out << ", include_last_offset=True";
  }
  if (options.padding_idx()) out << ", padding_idx=" << *options.padding_idx();
  out << ")";
}
Tensor EmbeddingBagImpl::forward(const Tensor& index, const Tensor& offsets, const Tensor& per_sample_weights) {
  return functional::embedding_bag(index, weight,
                                   functional::EmbeddingBagFuncOptions()
                                       .offsets(offsets)
                                       .per_sample_weights(per_sample_weights)
                                       .mode(options.mode())
                                       .include_last_offset(options.include_last_offset())
                                       .padding_idx(options.padding_idx())
                                       .max_norm(options.max_norm())
                                       .norm_type(options.norm_type())
                                       .scale_grad_by_freq(options.scale_grad_by_freq()));
}
EmbeddingBag EmbeddingBag::from_pretrained(const Tensor& embeddings, const EmbeddingBagFromPretrainedOptions& o) {
  auto options = table_options<EmbeddingBagFromPretrainedOptions, EmbeddingBagOptions>("EmbeddingBag", embeddings, o);
  EmbeddingBag m(options.mode(o.mode()).include_last_offset(o.include_last_offset()));
  m->weight.requires_grad_(!o.freeze());
  return m;
}

}  // namespace tandem::nn
