// Implements AnyTree: rows, moves between devices, and the error for a batch of another type.
#include "tandem/train/any_tree.h"

#include "tandem/core/internal.h"
#include "tandem/nn/containers/any_value.h"

namespace tandem::train {

int64_t detail::AnyTree::rows() const {
  int64_t rows = -1;
  const_cast<AnyTree*>(this)->visit([&rows](const Tensor& t) {
    if (rows < 0 && t.defined() && t.dim() > 0) rows = t.size(0);
  });
  return rows < 0 ? 1 : rows;
}

void detail::AnyTree::move_to(Device device) {
  visit([device](Tensor& t) {
    if (t.defined() && t.device() != device) t = t.to(device, /*non_blocking=*/true);
  });
}

void detail::AnyTree::throw_wrong_type(const std::type_info& wanted) const {
  TANDEM_FAIL("Trainer: the data source makes batches of type ", demangled_name(value_.type()),
              ", but the module takes batches of type ", demangled_name(wanted),
              "; accepted: a data source whose batches have the module's type");
}

}  // namespace tandem::train
