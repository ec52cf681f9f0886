// Convolutions by cuDNN if it is in the build, supports the case and is the faster choice (heuristic_algorithms() in
// cudnn.cpp), otherwise by Tandem's own kernels. These are matrix products by tiles (tiles.cuh describes what limits
// their speed). The matrix of image patches never exists in memory: a reader class computes the pixel for each matrix
// element when it is read. With G groups of C channels and O filters each, every group is a separate product:
//   forward          y (O, images * pixels of y)    = w (O, taps) times patches of x (taps, images * pixels of y)
//   backward_input   dx (C, images * pixels of x)   = w (C, filters * kernel positions) times patches of dy
//   backward_weight  dw (O, taps)                   = dy (O, images * pixels of y) times transposed patches of x
// where a tap is a combination of a channel and a position in the kernel. With a stride, most elements of
// backward_input's second matrix are zeros. backward_weight has a long k and few tiles, so k is split into parts
// (tiles.cuh) that are added in a fixed order.
//
// Images and weights are row-major or channels-last; readers and writers get their strides.
//
// If a group has few channels or filters (as in a depthwise convolution, which has one), tiles would be nearly empty.
// Other kernels are then used, in which each thread computes one result by itself and reads through the caches. These
// kernels also handle sizes that exceed 32-bit indices.
#include "tandem/kernels/convolution.h"

#include "tandem/kernels/cuda/cudnn.h"
#include "tandem/kernels/cuda/divider.cuh"
#include "tandem/kernels/cuda/native_convolution.h"
#include "tandem/kernels/cuda/tiles.cuh"
#include "tandem/kernels/visit_floating.h"

namespace tandem::kernels::cuda {
namespace {

/// Layout of the images of x or y. `group_channels` is the number of channels or filters of one group. I is the integer
/// type of indices within an image.
template <class I> struct ImageLayout {
  I group_channels, size[2];
  I channel_stride, pixel_row_stride, pixel_stride;  // strides of channels, rows and pixels, in elements
  DividerOf<std::make_unsigned_t<I>> width_divider;
  Divider pixel_divider;  // divides a pixel index, which counts over all images, by the number of pixels per image
  ImageLayout(const Tensor& images, int64_t group_channels, bool channels_last)
      : group_channels(static_cast<I>(group_channels)),
        size{static_cast<I>(images.size(2)), static_cast<I>(images.size(3))},
        channel_stride(static_cast<I>(channels_last ? 1 : images.size(2) * images.size(3))),
        pixel_row_stride(static_cast<I>(channels_last ? images.size(3) * images.size(1) : images.size(3))),
        pixel_stride(static_cast<I>(channels_last ? images.size(1) : 1)),
        width_divider(images.size(3)),
        pixel_divider(images.size(2) * images.size(3)) {}
  TANDEM_HD int64_t pixels() const { return int64_t(pixel_divider.divisor()); }
};
/// Sizes of a convolution.
template <class I> struct Sizes {
  using U = std::make_unsigned_t<I>;
  I images, groups, stride[2], padding[2], dilation[2];
  bool channels_last;
  ImageLayout<I> x, y;
  DividerOf<U> kernel_divider, kernel_width_divider, stride_divider[2];
  explicit Sizes(const ConvCall& call) : Sizes(call.x, call.w, call.y, call.shape) {}
  Sizes(const Tensor& x, const Tensor& w, const Tensor& y, const ConvShape& s)
      : images(static_cast<I>(x.size(0))),
        groups(static_cast<I>(s.groups)),
        channels_last(s.channels_last),
        x(x, w.size(1), s.channels_last),
        y(y, w.size(0) / s.groups, s.channels_last),
        kernel_divider(w.size(2) * w.size(3)),
        kernel_width_divider(w.size(3)) {
    for (int d = 0; d < 2; ++d) {
      stride[d] = static_cast<I>(s.stride[d]);
      padding[d] = static_cast<I>(s.padding[d]);
      dilation[d] = static_cast<I>(s.dilation[d]);
      stride_divider[d] = DividerOf<U>(s.stride[d]);
    }
  }
  TANDEM_HD int64_t kernel_positions() const { return int64_t(kernel_divider.divisor()); }
  TANDEM_HD int64_t taps() const { return x.group_channels * kernel_positions(); }
};

/// Position of the convolution kernel for one pixel of the result: the group's planes of the image that is read, and
/// the row and column of the pixel under the kernel's first element.
template <class T, class I> struct Pixel {
  const T* image;  // start of the group's planes in the image; null if the pixel does not exist
  I top, left;
};
/// A channel (or filter) and an element of the convolution kernel, as offsets from a Pixel.
template <class I> struct Tap { I plane, down, right; };

/// Elements of the matrix of patches: the pixels of x that contribute to each pixel of y. If kBackward: the pixels of
/// dy to which each pixel of x contributes.
template <class T, class I, bool kBackward> struct Patches {
  const T* data;
  Sizes<I> s;
  using U = std::make_unsigned_t<I>;
  __device__ const ImageLayout<I>& source_layout() const { return kBackward ? s.y : s.x; }
  __device__ const ImageLayout<I>& pixel_layout() const { return kBackward ? s.x : s.y; }
  __device__ void select(int64_t group) {
    data += group * source_layout().group_channels * int64_t(source_layout().channel_stride);
  }
  __device__ int64_t pixels() const { return s.images * pixel_layout().pixels(); }
  __device__ int64_t taps() const { return source_layout().group_channels * s.kernel_positions(); }
  __device__ I window_origin(I i, int d) const { return kBackward ? i + s.padding[d] : i * s.stride[d] - s.padding[d]; }
  __device__ Pixel<T, I> pixel(int64_t i) const {
    uint64_t within = uint64_t(i);
    const int64_t image = int64_t(pixel_layout().pixel_divider.div_mod(within));
    U column = U(within);
    const I row = I(pixel_layout().width_divider.div_mod(column));
    return {data + image * s.groups * source_layout().group_channels * source_layout().pixels(), window_origin(row, 0),
            window_origin(I(column), 1)};
  }
  __device__ Tap<I> tap(int64_t i) const {
    U kernel_position = U(i);
    const I plane = I(s.kernel_divider.div_mod(kernel_position)) * source_layout().channel_stride,
            row = I(s.kernel_width_divider.div_mod(kernel_position));
    return {plane, row * s.dilation[0], I(kernel_position) * s.dilation[1]};
  }
  __device__ OpMath<T> at(const Pixel<T, I>& p, const Tap<I>& t) const {
    using C = OpMath<T>;
    U row, column;
    if constexpr (kBackward) {
      U down = U(p.top - t.down), right = U(p.left - t.right);
      if (I(down) < 0 || I(right) < 0) return C(0);
      row = s.stride_divider[0].div_mod(down);
      column = s.stride_divider[1].div_mod(right);
      // because of the stride, no pixel of dy uses this element of the kernel
      if (down != 0 || right != 0) return C(0);
    } else {
      row = U(p.top + t.down);
      column = U(p.left + t.right);
    }
    const bool inside = row < U(source_layout().size[0]) && column < U(source_layout().size[1]);
    return inside ? C(p.image[t.plane + I(row) * source_layout().pixel_row_stride +
                              I(column) * source_layout().pixel_stride])
                  : C(0);
  }
};

/// Readers of the matrix of patches. In PixelColumns the columns of the matrix are pixels. TapColumns reads the
/// transposed matrix, whose columns are taps (channel and position in the kernel).
template <class T, class I, class Source> struct PixelColumns {
  Source source;
  using Line = Pixel<T, I>;
  __device__ void select(int64_t group) { source.select(group); }
  __device__ static constexpr bool is_contiguous_along_k() { return false; }
  __device__ Line line(int64_t i) const { return i < source.pixels() ? source.pixel(i) : Line{nullptr, 0, 0}; }
  __device__ Tap<I> depth(int64_t k) const { return source.tap(k); }
  __device__ OpMath<T> read(const Line& line, const Tap<I>& tap) const {
    return line.image ? source.at(line, tap) : OpMath<T>(0);
  }
};
template <class T, class I, class Source> struct TapColumns {
  Source source;
  using Line = Tap<I>;
  __device__ void select(int64_t group) { source.select(group); }
  __device__ static constexpr bool is_contiguous_along_k() { return true; }
  __device__ Line line(int64_t i) const { return i < source.taps() ? source.tap(i) : Line{-1, 0, 0}; }
  __device__ Pixel<T, I> depth(int64_t k) const { return source.pixel(k); }
  __device__ OpMath<T> read(const Line& line, const Pixel<T, I>& p) const {
    return line.plane >= 0 ? source.at(p, line) : OpMath<T>(0);
  }
};

/// Reader of rows of w or dy. A row consists of runs of elements: the stride within a run is `inner_stride`, and the
/// stride from one run to the next is `outer_stride`. k is the index of an element in the row.
template <class T> struct RowReader {
  const T* data;
  int64_t rows, group_stride, row_stride, outer_stride, inner_stride;
  Divider run_divider;
  using Line = const T*;
  __device__ void select(int64_t group) { data += group * group_stride; }
  __device__ static constexpr bool is_contiguous_along_k() { return true; }
  __device__ const T* line(int64_t i) const { return i < rows ? data + i * row_stride : nullptr; }
  __device__ int64_t depth(int64_t k) const {
    uint64_t within = uint64_t(k);
    const int64_t run = int64_t(run_divider.div_mod(within));
    return run * outer_stride + int64_t(within) * inner_stride;
  }
  __device__ OpMath<T> read(const T* line, int64_t depth) const { return line ? OpMath<T>(line[depth]) : OpMath<T>(0); }
};

/// Writer of a result matrix to images: its columns are the pixels of all images, its rows the channels of a group.
template <class T> struct ImageWriter {
  T* data;
  const T* bias;  // or null
  int64_t groups, rows, channel_stride, pixel_stride;
  Divider pixel_divider;
  __device__ void store(int64_t group, int64_t row, int64_t column, OpMath<T> value) const {
    uint64_t pixel = uint64_t(column);
    const int64_t image = int64_t(pixel_divider.div_mod(pixel)), channel = group * rows + row;
    data[image * groups * rows * int64_t(pixel_divider.divisor()) + channel * channel_stride +
         int64_t(pixel) * pixel_stride] = T(bias ? value + OpMath<T>(bias[channel]) : value);
  }
};

/// Writer of a result matrix to weights: its columns are the combinations of a channel and a position in the kernel.
template <class T> struct WeightWriter {
  T* data;
  int64_t rows, taps, channel_step, kernel_step;
  Divider kernel_position_divider;
  __device__ void store(int64_t group, int64_t row, int64_t column, OpMath<T> value) const {
    uint64_t kernel_position = uint64_t(column);
    const int64_t channel = int64_t(kernel_position_divider.div_mod(kernel_position));
    data[(group * rows + row) * taps + channel * channel_step + int64_t(kernel_position) * kernel_step] = T(value);
  }
};

/// Returns whether 32 bits suffice for indices within an image, and within the weights of one group.
bool fits_int32(const Tensor& x, const Tensor& w, const Tensor& y, const ConvShape& s) {
  constexpr int64_t kLimit = int64_t(1) << 31;
  bool small = x.size(0) < kLimit && w.numel() / std::max<int64_t>(s.groups, 1) < kLimit &&
               x.size(1) * x.size(2) * x.size(3) < kLimit && y.size(1) * y.size(2) * y.size(3) < kLimit;
  for (int d = 0; d < 2; ++d)
    small = small && x.size(d + 2) + 2 * s.padding[d] + s.stride[d] + w.size(d + 2) * s.dilation[d] < kLimit;
  return small;
}
/// Side of the largest tile. float64 has a single tile size, because it is used only to check results.
template <class T> constexpr int kWidestTile = sizeof(OpMath<T>) == 4 ? 64 : 32;

/// Calls visitor.template operator()<T>(sizes) with the element type T. The type of `sizes` determines the integer type
/// of indices within an image.
template <class Visitor> void visit_types(const ConvCall& call, Visitor&& visitor) {
  const auto& [pass, x, w, bias, y, shape] = call;
  visit_floating(pass_name(pass), x.dtype(), [&, small = fits_int32(x, w, y, shape)]<class T>() {
    small ? visitor.template operator()<T>(Sizes<int32_t>(call)) : visitor.template operator()<T>(Sizes<int64_t>(call));
  });
}

/// Computes images (y or dx) as the product of rows of w with a matrix of patches.
template <class T, class I, class B>
void compute_images(const char* name, const RowReader<T>& a, const B& b, const ImageWriter<T>& writer, const Tiling& t,
                    Device device) {
  if constexpr (sizeof(I) == 4)
    if (t.m > 2) return launch_tiles<OpMath<T>, kWidestTile<T>>(name, a, b, writer, t, device);
  launch_per_thread<OpMath<T>>(name, a, b, writer, t, device);
}

void compute_y(const ConvCall& call) {
  visit_types(call, [&]<class T, class I>(const Sizes<I>& s) {
    const int64_t taps = s.taps(), pixels = s.y.pixels(), kernel_positions = s.kernel_positions();
    RowReader<T> rows{call.w.data<T>(), s.y.group_channels, s.y.group_channels * taps, taps, 0, 1, Divider(taps)};
    if (s.channels_last) {
      rows.outer_stride = 1;
      rows.inner_stride = s.x.group_channels;
      rows.run_divider = Divider(kernel_positions);
    }
    const PixelColumns<T, I, Patches<T, I, false>> columns{{call.x.data<T>(), s}};
    const ImageWriter<T> writer{call.y.data<T>(),   call.bias.defined() ? call.bias.data<T>() : nullptr,
                                s.groups,           s.y.group_channels,
                                s.y.channel_stride, s.y.pixel_stride,
                                s.y.pixel_divider};
    compute_images<T, I>(pass_name(call.pass), rows, columns, writer,
                         choose_tiling(s.groups, s.y.group_channels, s.images * pixels, taps, kWidestTile<T>),
                         call.x.device());
  });
}

void compute_dx(const ConvCall& call) {
  visit_types(call, [&]<class T, class I>(const Sizes<I>& s) {
    const int64_t taps = s.taps(), kernel_positions = s.kernel_positions();
    RowReader<T> rows{
        call.w.data<T>(),         s.x.group_channels, s.y.group_channels * taps, kernel_positions, taps, 1,
        Divider(kernel_positions)};
    if (s.channels_last) {
      rows.row_stride = 1;
      rows.inner_stride = s.x.group_channels;
    }
    const PixelColumns<T, I, Patches<T, I, true>> columns{{call.y.data<T>(), s}};
    const ImageWriter<T> writer{call.x.data<T>(),   nullptr,          s.groups,         s.x.group_channels,
                                s.x.channel_stride, s.x.pixel_stride, s.x.pixel_divider};
    compute_images<T, I>(pass_name(call.pass), rows, columns, writer,
                         choose_tiling(s.groups, s.x.group_channels, s.images * s.x.pixels(),
                                       s.y.group_channels * kernel_positions, kWidestTile<T>),
                         call.x.device());
  });
}

void compute_dw(const ConvCall& call) {
  visit_types(call, [&]<class T, class I>(const Sizes<I>& s) {
    const int64_t taps = s.taps(), pixels = s.y.pixels(), image = s.y.group_channels * pixels;
    RowReader<T> rows{call.y.data<T>(), s.y.group_channels, image, pixels, s.groups * image, 1, Divider(pixels)};
    if (s.channels_last) {
      rows.group_stride = s.y.group_channels;
      rows.row_stride = 1;
      rows.inner_stride = s.y.pixel_stride;
    }
    const TapColumns<T, I, Patches<T, I, false>> columns{{call.x.data<T>(), s}};
    const int64_t kernel_positions = s.kernel_positions();
    WeightWriter<T> writer{call.w.data<T>(), s.y.group_channels, taps, kernel_positions, 1, Divider(kernel_positions)};
    if (s.channels_last) {
      writer.channel_step = 1;
      writer.kernel_step = s.x.group_channels;
    }
    const Tiling t = choose_tiling(s.groups, s.y.group_channels, taps, s.images * pixels, kWidestTile<T>);
    if constexpr (sizeof(I) == 4)  // the tiles of a depthwise convolution would be nearly empty
      if (s.y.group_channels * taps >= 32)
        return launch_tiles<OpMath<T>, kWidestTile<T>>(pass_name(call.pass), rows, columns, writer, t, call.x.device());
    launch_dots<OpMath<T>>(pass_name(call.pass), rows, columns, writer, t, call.x.device());
  });
}

constexpr Implementation<bool, ConvCall> kConvImplementations[] = {
    {"cuDNN", supports_every_problem, cudnn_convolution},
    {"own kernels", supports_every_problem, native_convolution},
};
}  // namespace

bool native_convolution(const ConvCall& call) {
  const bool forward = call.pass == ConvPass::forward, to_input = call.pass == ConvPass::backward_input;
  if ((forward ? call.y : to_input ? call.x : call.w).numel() > 0)
    (forward ? compute_y : to_input ? compute_dx : compute_dw)(call);
  return true;
}

std::span<const Implementation<bool, ConvCall>> conv_implementations() { return kConvImplementations; }

void conv2d(const Tensor& x, const Tensor& w, const Tensor& bias, const ConvShape& shape, Tensor& y) {
  run_first_supported<kConvImplementations>(ConvCall{ConvPass::forward, x, w, bias, y, shape});
}
void conv2d_backward_input(const Tensor& dy, const Tensor& w, const ConvShape& shape, Tensor& dx) {
  run_first_supported<kConvImplementations>(ConvCall{ConvPass::backward_input, dx, w, Tensor(), dy, shape});
}
void conv2d_backward_weight(const Tensor& dy, const Tensor& x, const ConvShape& shape, Tensor& dw) {
  run_first_supported<kConvImplementations>(ConvCall{ConvPass::backward_weight, x, dw, Tensor(), dy, shape});
}

}  // namespace tandem::kernels::cuda
