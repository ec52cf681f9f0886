// Implements detail::describe, which describes a batch by its first indices, for error messages.
#include "tandem/data/data_loader_base.h"

#include <sstream>

namespace tandem::data {

std::string detail::describe_request(ArrayRef<size_t> indices) {
  constexpr size_t kMaxShown = 4;
  std::ostringstream out;
  out << "the batch of examples ";
  for (size_t i = 0; i < indices.size() && i < kMaxShown; ++i) out << (i ? ", " : "") << indices[i];
  if (indices.size() > kMaxShown) out << ", ... (" << indices.size() << ")";
  return out.str();
}

}  // namespace tandem::data
