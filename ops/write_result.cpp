// Copies a result into the tensor that the caller gave: write_result, which out versions of operations call.
#include "tandem/ops/write_result.h"

#include "tandem/ops/out.h"

namespace tandem::detail {

Tensor& write_result(const char* op, Tensor& out, const Tensor& y) {
  return assign_out(op, out, y, [&] { return y; });
}
void write_results(const char* op, TensorList out, const std::vector<Tensor>& parts) {
  TANDEM_CHECK(out.size() == parts.size(), op, ": got ", out.size(), " output tensors for ", parts.size(),
               " results; pass one for each");
  for (size_t i = 0; i < parts.size(); ++i) {
    Tensor each = out[i];  // another handle on the tensor out[i], because write_result takes a non-const handle
    write_result(op, each, parts[i]);
  }
}

}  // namespace tandem::detail
