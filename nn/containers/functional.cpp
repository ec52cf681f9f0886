// Functional: a function of a tensor as a module.
#include "tandem/nn/containers/functional.h"

#include "tandem/core/internal.h"

namespace tandem::nn {

template class Cloneable<FunctionalImpl>;
void FunctionalImpl::reset() {}

}  // namespace tandem::nn
