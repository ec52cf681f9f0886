// Products added in place: addmm_, addmv_, addr_, baddbmm_, addbmm_.
#include "tandem/ops/inplace.h"

namespace tandem {
using namespace detail;

#define TANDEM_DEFINE_ADDMM_INPLACE(name)                                                                          \
  Tensor& Tensor::name##_(const Tensor& a, const Tensor& b, double beta, double alpha) const {                     \
    return formula_inplace(#name "_", self(), {a, b}, [&](const Tensor& x) { return x.name(a, b, beta, alpha); }); \
  }
TANDEM_DEFINE_ADDMM_INPLACE(addmm)
TANDEM_DEFINE_ADDMM_INPLACE(addmv)
TANDEM_DEFINE_ADDMM_INPLACE(addr)
TANDEM_DEFINE_ADDMM_INPLACE(baddbmm)
TANDEM_DEFINE_ADDMM_INPLACE(addbmm)
#undef TANDEM_DEFINE_ADDMM_INPLACE

}  // namespace tandem
