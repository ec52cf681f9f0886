// Implements the printing of distance modules.
#include "tandem/nn/distance.h"

#include "tandem/core/print/print_style.h"
#include "tandem/nn/module/print.h"

namespace tandem::nn {

// Format the options of a distance as LibTorch prints them. Return an empty string in Python's style, which prints no
// options.
namespace {
std::string cosine_text(const CosineSimilarityOptions& o) {
  return prints_as_libtorch ? "dim=" + std::to_string(o.dim()) + ", eps=" + printed(o.eps()) : "";
}
std::string distance_text(const PairwiseDistanceOptions& o) {
  return prints_as_libtorch ? "p=" + printed(o.p()) + ", eps=" + printed(o.eps()) + ", keepdim=" + printed(o.keepdim())
                            : "";
}
}  // namespace
TANDEM_MODULE_TEXT(CosineSimilarity, cosine_text(options))
TANDEM_MODULE_TEXT(PairwiseDistance, distance_text(options))

}  // namespace tandem::nn
