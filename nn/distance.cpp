// Implements the printing of distance modules.
#include "tandem/nn/distance.h"

#include "tandem/core/print/print_style.h"
#include "tandem/nn/module/print.h"

namespace tandem::nn {

// Format the options of a distance as LibTorch prints them. Return an empty string in Python's style, which prints no
// options.
namespace {
std::string format_cosine_similarity(const CosineSimilarityOptions& o) {
  return prints_as_libtorch ? "dim=" + std::to_string(o.dim()) + ", eps=" + to_python_string(o.eps()) : "";
}
std::string format_pairwise_distance(const PairwiseDistanceOptions& o) {
  return prints_as_libtorch ? "p=" + to_python_string(o.p()) + ", eps=" + to_python_string(o.eps()) +
                                  ", keepdim=" + to_python_string(o.keepdim())
                            : "";
}
}  // namespace
TANDEM_DEFINE_PRETTY_PRINT(CosineSimilarity, format_cosine_similarity(options))
TANDEM_DEFINE_PRETTY_PRINT(PairwiseDistance, format_pairwise_distance(options))

}  // namespace tandem::nn
