// Implements tensor_to_png, which encodes an image tensor as a PNG file, and check_no_nan.
#include "tandem/data/images/tensor_to_png.h"

#include "tandem/core/internal.h"
#include "tandem/data/images/png.h"
#include "tandem/ops/ops.h"

namespace tandem::data {

std::string tensor_to_png(const std::string& op, const Tensor& image) {
  const Tensor pixels = image.to(kCPU).permute({1, 2, 0}).contiguous();
  return encode_png(op, pixels.data<uint8_t>(), pixels.size(0), pixels.size(1), pixels.size(2));
}
void check_no_nan(const std::string& what, const Tensor& image) {
  const auto count = image.isnan().sum().item<int64_t>();
  TANDEM_CHECK(count == 0, what, " has ", count, " NaN among ", image.numel(), " values; accepted: none");
}

}  // namespace tandem::data
