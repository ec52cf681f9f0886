// Tensor::sum_to_size: broadcasting undone by a sum.
#include "tandem/autograd/ops.h"

namespace tandem {

Tensor Tensor::sum_to_size(IntArrayRef wanted) const {
  bool fits = static_cast<int64_t>(wanted.size()) <= dim();
  for (size_t k = 1; fits && k <= wanted.size(); ++k)
    fits = wanted[wanted.size() - k] == 1 || wanted[wanted.size() - k] == sizes()[sizes().size() - k];
  TANDEM_CHECK(fits, "sum_to_size: ", wanted, " does not broadcast to ", sizes());
  return tandem::sum_to_size(*this, wanted);
}

}  // namespace tandem
