// Modules of distances: how they print.
#include "tandem/nn/distance.h"

#include "tandem/core/print_style.h"
#include "tandem/nn/module/print.h"

namespace tandem::nn {

// Of distances, Python prints no options and LibTorch does.
template class Cloneable<CosineSimilarityImpl>;
void CosineSimilarityImpl::reset() {}
void CosineSimilarityImpl::pretty_print(std::ostream& out) const {
  out << "CosineSimilarity(";
  if (prints_as_libtorch) out << "dim=" << options.dim() << ", eps=" << printed(options.eps());
  out << ")";
}
template class Cloneable<PairwiseDistanceImpl>;
void PairwiseDistanceImpl::reset() {}
void PairwiseDistanceImpl::pretty_print(std::ostream& out) const {
  out << "PairwiseDistance(";
  if (prints_as_libtorch)
    out << "p=" << printed(options.p()) << ", eps=" << printed(options.eps())
        << ", keepdim=" << printed(options.keepdim());
  out << ")";
}

}  // namespace tandem::nn
