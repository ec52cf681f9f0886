// Implements Embedding and EmbeddingBag: registration of the table, printing, and lookups.
#include "tandem/nn/embedding.h"

#include "tandem/core/print/print_style.h"
#include "tandem/nn/init.h"
#include "tandem/nn/module/print.h"
#include "tandem/ops/ops.h"

namespace tandem::detail {
void refuse_sparse_gradients(bool wanted) {
  TANDEM_CHECK_AS(NotImplementedError, !wanted,
                  "Embedding: sparse gradients are not part of Tandem; accepted: sparse(false)");
}
}  // namespace tandem::detail

namespace tandem::nn {
TANDEM_ARG_SETTER(EmbeddingBagOptions, EmbeddingBagMode, mode);
TANDEM_ARG_SETTER(EmbeddingBagFromPretrainedOptions, EmbeddingBagMode, mode);
template class Cloneable<EmbeddingImpl>;
template class Cloneable<EmbeddingBagImpl>;

namespace {
/// Registers the table of embeddings as the parameter "weight": options._weight if it is set, else a new table with
/// random values.
template <class M> void init_embedding_weight(const char* name, M& m) {
  auto& o = m.options;
  const int64_t rows = o.num_embeddings();
  o.padding_idx() = detail::wrap_padding_idx(name, o.padding_idx(), rows);
  const Shape sizes{rows, o.embedding_dim()};
  const Tensor& given = o._weight();
  TANDEM_CHECK(!given.defined() || given.sizes() == sizes, name,
               ": Shape of _weight does not match num_embeddings and embedding_dim; _weight is ",
               given.defined() ? given.sizes() : IntArrayRef(), ", accepted: ", IntArrayRef(sizes));
  m.weight = m.register_parameter("weight", given.defined() ? given : empty(sizes));
  if (!given.defined()) m.reset_parameters();
  o._weight(Tensor());  // so that a clone does not share the table through its options
}
template <class M> void reset_embedding_weight(M& m) {
  init::normal_(m.weight);
  if (m.options.padding_idx()) init::zeros_(core::select(m.weight, 0, *m.options.padding_idx()));
}
template <class O> void print_norm_options(std::ostream& out, const O& o) {
  if (o.max_norm()) out << ", max_norm=" << to_python_string(*o.max_norm());
  if (o.norm_type() != 2) out << ", norm_type=" << to_python_string(o.norm_type());
  if (o.scale_grad_by_freq()) out << ", scale_grad_by_freq=True";
}
template <class Given, class Wanted>
Wanted make_pretrained_options(const char* name, const Tensor& table, const Given& o) {
  TANDEM_CHECK(table.dim() == 2, name, "::from_pretrained: Embeddings parameter is expected to be 2-dimensional, got ",
               table.sizes());
  return Wanted(table.size(0), table.size(1))
      ._weight(table)
      .padding_idx(o.padding_idx())
      .max_norm(o.max_norm())
      .norm_type(o.norm_type())
      .scale_grad_by_freq(o.scale_grad_by_freq());
}
}  // namespace

void EmbeddingImpl::reset() { init_embedding_weight("Embedding", *this); }
void EmbeddingImpl::reset_parameters() { reset_embedding_weight(*this); }
void EmbeddingImpl::pretty_print(std::ostream& out) const {
  out << "Embedding(" << options.num_embeddings() << ", " << options.embedding_dim();
  if (options.padding_idx()) out << ", padding_idx=" << *options.padding_idx();
  print_norm_options(out, options);
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
  Embedding m(make_pretrained_options<EmbeddingFromPretrainedOptions, EmbeddingOptions>("Embedding", embeddings, o));
  m->weight.requires_grad_(!o.freeze());
  return m;
}

void EmbeddingBagImpl::reset() { init_embedding_weight("EmbeddingBag", *this); }
void EmbeddingBagImpl::reset_parameters() { reset_embedding_weight(*this); }
void EmbeddingBagImpl::pretty_print(std::ostream& out) const {
  out << "EmbeddingBag(" << options.num_embeddings() << ", " << options.embedding_dim();
  print_norm_options(out, options);
  const bool is_max = std::holds_alternative<MaxTag>(options.mode());
  const bool is_mean = !is_max && std::get<Reduction>(options.mode()) == Reduction::mean;
  if (!prints_as_libtorch) {
    out << ", mode='" << (is_max ? "max" : is_mean ? "mean" : "sum") << '\'';
  } else {  // LibTorch prints the options that differ from their defaults, among them include_last_offset
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
  auto options =
      make_pretrained_options<EmbeddingBagFromPretrainedOptions, EmbeddingBagOptions>("EmbeddingBag", embeddings, o);
  EmbeddingBag m(options.mode(o.mode()).include_last_offset(o.include_last_offset()));
  m->weight.requires_grad_(!o.freeze());
  return m;
}

}  // namespace tandem::nn
