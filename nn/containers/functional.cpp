// Functional: a module that wraps a function of a tensor.
#include "tandem/nn/containers/functional.h"

#include "tandem/core/internal.h"

namespace tandem::nn {

template class Cloneable<FunctionalImpl>;
void FunctionalImpl::reset() {}

}  // namespace tandem::nn
