// Matrix products and convolutions: cut into pieces by shape, each piece a product in one thread.
#include "tandem/kernels/matmul.h"

#include <cstring>
#include <vector>

#include "tandem/core/thread_pool.h"
#include "tandem/kernels/cpu/gemm.h"

namespace tandem::kernels::cpu {
namespace {

template <class Visitor> void visit_real(const char* op, DType dtype, Visitor&& visitor) {
  if (dtype == kFloat32) return visitor.template operator()<float>();
  TANDEM_CHECK_AS(NotImplementedError, dtype == kFloat64, op, ": does not exist for ", dtype,
                  "; accepted: float32, float64");
  visitor.template operator()<double>();
}

/// How many pieces a product is cut into: by its size alone, so that the calls are the same whoever runs them.
int64_t pieces_of(int64_t m, int64_t n, int64_t k) {
  const double work = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const int64_t wanted = work < 1e6 ? 1 : work < 64e6 ? 2 : work < 1e9 ? 4 : 16;
  return std::min(wanted, std::max<int64_t>(std::max(m, n) / 32, 1));
}

struct Im2col {
  int64_t channels, height, width, kernel[2], out[2];
  const ConvShape& s;
  int64_t rows() const { return channels * kernel[0] * kernel[1]; }
  int64_t columns() const { return out[0] * out[1]; }

  /// Calls f(row, column range start, input offset, count-wise) for each output row that lies inside the image.
  template <class T> void gather(const T* x, T* columns_out) const {
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t kh = 0; kh < kernel[0]; ++kh)
        for (int64_t kw = 0; kw < kernel[1]; ++kw)
          for (int64_t oh = 0; oh < out[0]; ++oh, columns_out += out[1]) {
            const int64_t h = oh * s.stride[0] - s.padding[0] + kh * s.dilation[0];
            if (h < 0 || h >= height) {
              std::memset(columns_out, 0, static_cast<size_t>(out[1]) * sizeof(T));
              continue;
            }
            const T* const row = x + (c * height + h) * width;
            const int64_t shift = kw * s.dilation[1] - s.padding[1];
            for (int64_t ow = 0; ow < out[1]; ++ow) {
              const int64_t w = ow * s.stride[1] + shift;
              columns_out[ow] = w >= 0 && w < width ? row[w] : T(0);
            }
          }
  }
  template <class T> void scatter_add(const T* columns_in, T* x) const {
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t kh = 0; kh < kernel[0]; ++kh)
        for (int64_t kw = 0; kw < kernel[1]; ++kw)
          for (int64_t oh = 0; oh < out[0]; ++oh, columns_in += out[1]) {
            const int64_t h = oh * s.stride[0] - s.padding[0] + kh * s.dilation[0];
            if (h < 0 || h >= height) continue;
            T* const row = x + (c * height + h) * width;
            const int64_t shift = kw * s.dilation[1] - s.padding[1];
            for (int64_t ow = 0; ow < out[1]; ++ow) {
              const int64_t w = ow * s.stride[1] + shift;
              if (w >= 0 && w < width) row[w] += columns_in[ow];
            }
          }
  }
};

Im2col im2col_of(const Tensor& x, const Tensor& w, const Tensor& y, const ConvShape& s) {
  return {w.size(1), x.size(2), x.size(3), {w.size(2), w.size(3)}, {y.size(2), y.size(3)}, s};
}
/// Images of one piece: enough pieces for 64 cores, and not less than 1 image.
int64_t images_per_piece(int64_t images) { return (images + 63) / 64; }

}  // namespace

void matmul(const Tensor& a, const Tensor& b, bool accumulate, Tensor& c) {
  const int64_t batch = c.size(0), m = c.size(1), n = c.size(2), k = a.size(2);
  const bool ta = a.stride(2) != 1 && k > 1 && m > 0, tb = b.stride(2) != 1 && n > 1;
  const int64_t pieces = pieces_of(m, n, k);
  const bool by_rows = m >= n;
  const int64_t longer = by_rows ? m : n, step = std::max<int64_t>(((longer + pieces - 1) / pieces + 15) / 16 * 16, 1);
  const int64_t cuts = (longer + step - 1) / step;
  if (c.numel() == 0) return;
  visit_real("matmul", c.dtype(), [&]<class T>() {
    parallel_for(batch * cuts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t i = unit / cuts, first = unit % cuts * step, count = std::min(step, longer - first);
        Gemm g{ta,
               tb,
               accumulate,
               by_rows ? count : m,
               by_rows ? n : count,
               k,
               ta ? a.stride(2) : a.stride(1),
               tb ? b.stride(2) : b.stride(1),
               n};
        if (!ta && m == 1) g.lda = std::max(k, int64_t(1));
        if (!tb && k == 1) g.ldb = std::max(n, int64_t(1));
        const T* from_a = a.data<T>() + i * a.stride(0) + (by_rows ? first * a.stride(1) : 0);
        const T* from_b = b.data<T>() + i * b.stride(0) + (by_rows ? 0 : first * b.stride(2));
        T* const to = c.data<T>() + (i * m + (by_rows ? first : 0)) * n + (by_rows ? 0 : first);
        gemm(g, from_a, from_b, to);
      }
    });
  });
}

void conv2d(const Tensor& x, const Tensor& w, const ConvShape& s, Tensor& y) {
  const Im2col patch = im2col_of(x, w, y, s);
  const int64_t images = x.size(0), out_channels = w.size(0) / s.groups;
  visit_real("conv2d", x.dtype(), [&]<class T>() {
    parallel_for(images, images_per_piece(images), [&](int64_t begin, int64_t end) {
      std::vector<T> columns(static_cast<size_t>(patch.rows() * patch.columns()));
      for (int64_t i = begin; i < end; ++i)
        for (int64_t g = 0; g < s.groups; ++g) {
          patch.gather(x.data<T>() + (i * s.groups + g) * patch.channels * patch.height * patch.width, columns.data());
          gemm({false, false, false, out_channels, patch.columns(), patch.rows(), patch.rows(), patch.columns(),
                patch.columns()},
               w.data<T>() + g * out_channels * patch.rows(), columns.data(),
               y.data<T>() + (i * s.groups + g) * out_channels * patch.columns());
        }
    });
  });
}

void conv2d_backward_input(const Tensor& dy, const Tensor& w, const ConvShape& s, Tensor& dx) {
  const Im2col patch = im2col_of(dx, w, dy, s);
  const int64_t images = dx.size(0), out_channels = w.size(0) / s.groups;
  visit_real("conv2d_backward_input", dx.dtype(), [&]<class T>() {
    parallel_for(images, images_per_piece(images), [&](int64_t begin, int64_t end) {
      std::vector<T> columns(static_cast<size_t>(patch.rows() * patch.columns()));
      const int64_t plane = patch.channels * patch.height * patch.width;
      for (int64_t i = begin; i < end; ++i)
        for (int64_t g = 0; g < s.groups; ++g) {
          gemm({true, false, false, patch.rows(), patch.columns(), out_channels, patch.rows(), patch.columns(),
                patch.columns()},
               w.data<T>() + g * out_channels * patch.rows(),
               dy.data<T>() + (i * s.groups + g) * out_channels * patch.columns(), columns.data());
          T* const to = dx.data<T>() + (i * s.groups + g) * plane;
          std::memset(to, 0, static_cast<size_t>(plane) * sizeof(T));
          patch.scatter_add(columns.data(), to);
        }
    });
  });
}

void conv2d_backward_weight(const Tensor& dy, const Tensor& x, const ConvShape& s, Tensor& dw) {
  const Im2col patch = im2col_of(x, dw, dy, s);
  const int64_t images = x.size(0), out_channels = dw.size(0) / s.groups;
  // Each group of images adds up its own copy; the copies are added in order. Sixteen keep memory small.
  const int64_t per_piece = (images + 15) / 16, pieces = per_piece ? (images + per_piece - 1) / per_piece : 0;
  visit_real("conv2d_backward_weight", x.dtype(), [&]<class T>() {
    const size_t size = static_cast<size_t>(dw.numel());
    const Tensor partial = core::empty({std::max<int64_t>(pieces, 1), dw.numel()}, dw.dtype(), dw.device());
    if (pieces == 0) std::memset(partial.data<T>(), 0, size * sizeof(T));
    parallel_for(images, std::max<int64_t>(per_piece, 1), [&](int64_t begin, int64_t end) {
      std::vector<T> columns(static_cast<size_t>(patch.rows() * patch.columns()));
      T* const mine = partial.data<T>() + begin / per_piece * dw.numel();
      for (int64_t i = begin; i < end; ++i)
        for (int64_t g = 0; g < s.groups; ++g) {
          patch.gather(x.data<T>() + (i * s.groups + g) * patch.channels * patch.height * patch.width, columns.data());
          gemm({false, true, i > begin, out_channels, patch.rows(), patch.columns(), patch.columns(), patch.columns(),
                patch.rows()},
               dy.data<T>() + (i * s.groups + g) * out_channels * patch.columns(), columns.data(),
               mine + g * out_channels * patch.rows());
        }
    });
    T* const to = dw.data<T>();
    std::memcpy(to, partial.data<T>(), size * sizeof(T));
    for (int64_t p = 1; p < pieces; ++p) {
      const T* const from = partial.data<T>() + p * dw.numel();
      for (size_t i = 0; i < size; ++i) to[i] += from[i];
    }
  });
}

}  // namespace tandem::kernels::cpu
