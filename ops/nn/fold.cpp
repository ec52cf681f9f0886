// Windows of a convolution as columns, and the transposed operation: im2col and col2im.
#include "tandem/ops/nn/fold.h"

#include "tandem/ops/define_op.h"
#include "tandem/ops/nn/pad.h"

namespace tandem {

TANDEM_CAST_POLICY(none, col2im, im2col);

namespace {
/// All windows along one dimension: element k of window o is at position o stride + k dilation of the padded input.
struct SlidingWindows {
  int64_t kernel_size, num_windows, padded_size;
  Tensor positions;  // positions in the padded input of all window elements (kernel_size * num_windows)
  SlidingWindows(const char* op, int64_t size, int64_t kernel_size, int64_t dilation, int64_t padding, int64_t stride,
                 Device device)
      : kernel_size(kernel_size), padded_size(size + 2 * padding) {
    TANDEM_CHECK(kernel_size > 0, op, ": kernel size should be greater than zero, but got ", kernel_size);
    TANDEM_CHECK(dilation > 0, op, ": dilation should be greater than zero, but got ", dilation);
    TANDEM_CHECK(padding >= 0, op, ": padding should be non-negative, but got ", padding);
    TANDEM_CHECK(stride > 0, op, ": stride should be greater than zero, but got ", stride);
    const int64_t range = padded_size - dilation * (kernel_size - 1) - 1;
    TANDEM_CHECK(range >= 0, op, ": kernel_size ", kernel_size, " with dilation ", dilation, " spans ",
                 dilation * (kernel_size - 1) + 1, " elements, which is larger than the padded size ", padded_size);
    num_windows = range / stride + 1;
    std::vector<int64_t> from;
    for (int64_t k = 0; k < kernel_size; ++k)
      for (int64_t o = 0; o < num_windows; ++o) from.push_back(o * stride + k * dilation);
    positions = tensor(from, TensorOptions(kInt64).device(device));
  }
};
}  // namespace

Tensor im2col(const Tensor& x, Pair k, Pair d, Pair p, Pair s) {
  TANDEM_CHECK(x.dim() == 3 || x.dim() == 4,
               "im2col: Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions "
               "for input, but got: ",
               x.sizes());
  if (x.dim() == 3) {
    const Tensor y = im2col(x.unsqueeze(0), k, d, p, s);
    return reshape_result(y, y.sizes().slice(1, 2));
  }
  const SlidingWindows h("im2col", x.size(2), k[0], d[0], p[0], s[0], x.device());
  const SlidingWindows w("im2col", x.size(3), k[1], d[1], p[1], s[1], x.device());
  const Tensor padded_x = p == Pair(0) ? x : constant_pad_nd(x, {p[1], p[1], p[0], p[0]});
  const Tensor parts = padded_x.index_select(2, h.positions).index_select(3, w.positions);
  return parts.reshape({x.size(0), x.size(1), h.kernel_size, h.num_windows, w.kernel_size, w.num_windows})
      .permute({0, 1, 2, 4, 3, 5})
      .reshape({x.size(0), x.size(1) * h.kernel_size * w.kernel_size, h.num_windows * w.num_windows})
      .contiguous();
}
Tensor col2im(const Tensor& x, Pair size, Pair k, Pair d, Pair p, Pair s) {
  TANDEM_CHECK(x.dim() == 2 || x.dim() == 3,
               "col2im: Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero "
               "dimensions for input, but got: ",
               x.sizes());
  if (x.dim() == 2) {
    const Tensor y = col2im(x.unsqueeze(0), size, k, d, p, s);
    return reshape_result(y, y.sizes().slice(1, 3));
  }
  const SlidingWindows h("col2im", size[0], k[0], d[0], p[0], s[0], x.device());
  const SlidingWindows w("col2im", size[1], k[1], d[1], p[1], s[1], x.device());
  TANDEM_CHECK(x.size(1) % (h.kernel_size * w.kernel_size) == 0,
               "col2im: Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
               "input.size(1)=",
               x.size(1), " and kernel_size=", IntArrayRef(k));
  TANDEM_CHECK(x.size(2) == h.num_windows * w.num_windows, "col2im: Given output_size=", IntArrayRef(size),
               ", kernel_size=", IntArrayRef(k), ", dilation=", IntArrayRef(d), ", padding=", IntArrayRef(p),
               ", stride=", IntArrayRef(s),
               ", expected size of input's dimension 2 to match the calculated number of sliding blocks ",
               h.num_windows, " * ", w.num_windows, " = ", h.num_windows * w.num_windows,
               ", but got input.size(2)=", x.size(2));
  const int64_t n = x.size(0), c = x.size(1) / (h.kernel_size * w.kernel_size);
  const Tensor parts = x.reshape({n, c, h.kernel_size, w.kernel_size, h.num_windows, w.num_windows})
                           .permute({0, 1, 2, 4, 3, 5})
                           .reshape({n, c, h.kernel_size * h.num_windows, w.kernel_size * w.num_windows});
  const Tensor rows = zeros({n, c, parts.size(2), w.padded_size}, x.options()).index_add(3, w.positions, parts);
  const Tensor y = zeros({n, c, h.padded_size, w.padded_size}, x.options()).index_add(2, h.positions, rows);
  return p == Pair(0) ? y : constant_pad_nd(y, {-p[1], -p[1], -p[0], -p[0]});
}

}  // namespace tandem
