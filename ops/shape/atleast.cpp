// Adding dimensions of size 1 up to a given number: atleast_1d, atleast_2d, atleast_3d.
#include "tandem/ops/shape/atleast.h"

#include "tandem/core/internal.h"

namespace tandem {

TANDEM_CAST_POLICY(none, atleast_1d, atleast_2d, atleast_3d);

Tensor atleast_1d(const Tensor& x) { return x.dim() == 0 ? x.reshape({1}) : x; }
Tensor atleast_2d(const Tensor& x) { return x.dim() == 0 ? x.reshape({1, 1}) : x.dim() == 1 ? x.unsqueeze(0) : x; }
Tensor atleast_3d(const Tensor& x) {
  return x.dim() == 0   ? x.reshape({1, 1, 1})
         : x.dim() == 1 ? x.unsqueeze(0).unsqueeze(-1)
         : x.dim() == 2 ? x.unsqueeze(-1)
                        : x;
}
#define TANDEM_DEFINE_ATLEAST_OF_LIST(name)                 \
  std::vector<Tensor> name(TensorList tensors) {            \
    std::vector<Tensor> out;                                \
    for (const Tensor& x : tensors) out.push_back(name(x)); \
    return out;                                             \
  }
TANDEM_DEFINE_ATLEAST_OF_LIST(atleast_1d)
TANDEM_DEFINE_ATLEAST_OF_LIST(atleast_2d)
TANDEM_DEFINE_ATLEAST_OF_LIST(atleast_3d)
#undef TANDEM_DEFINE_ATLEAST_OF_LIST

}  // namespace tandem
