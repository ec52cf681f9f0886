// Op table of the differential tests: convolutions and pooling in one to three dimensions, norms, resampling, recurrent
// cells, and more losses.
#include "tandem/tests/differential/op_table.h"

namespace tandem::differential {
namespace {

using std::string;

}  // namespace

// clang-format off
void add_spatial(OpTable& table) {
  OP("conv1d", (Tensor x, Tensor weight, Tensor bias, int64_t stride, int64_t padding, int64_t dilation, int64_t groups),
     tandem::conv1d(x, weight, bias, stride, padding, dilation, groups))
  OP("conv3d", (Tensor x, Tensor weight, Tensor bias, int64_t stride, int64_t padding, int64_t dilation, int64_t groups),
     tandem::conv3d(x, weight, bias, stride, padding, dilation, groups))
  OP("conv_transpose1d", (Tensor x, Tensor weight, Tensor bias, int64_t stride, int64_t padding, int64_t output_padding, int64_t groups, int64_t dilation),
     tandem::conv_transpose1d(x, weight, bias, stride, padding, output_padding, groups, dilation))
  OP("conv_transpose2d", (Tensor x, Tensor weight, Tensor bias, int64_t stride, int64_t padding, int64_t output_padding, int64_t groups, int64_t dilation),
     tandem::conv_transpose2d(x, weight, bias, stride, padding, output_padding, groups, dilation))
  OP("conv_transpose3d", (Tensor x, Tensor weight, Tensor bias, int64_t stride, int64_t padding, int64_t output_padding, int64_t groups, int64_t dilation),
     tandem::conv_transpose3d(x, weight, bias, stride, padding, output_padding, groups, dilation))
  // ---- pools
  OP("max_pool1d", (Tensor x, int64_t kernel, int64_t stride, int64_t padding, bool ceil_mode), tandem::max_pool1d(x, kernel, stride, padding, 1, ceil_mode))
  OP("max_pool3d", (Tensor x, int64_t kernel, int64_t stride, int64_t padding, bool ceil_mode), tandem::max_pool3d(x, kernel, stride, padding, 1, ceil_mode))
  OP("avg_pool1d", (Tensor x, int64_t kernel, int64_t stride, int64_t padding, bool ceil_mode), tandem::avg_pool1d(x, kernel, stride, padding, ceil_mode))
  OP("avg_pool3d", (Tensor x, int64_t kernel, int64_t stride, int64_t padding, bool ceil_mode), tandem::avg_pool3d(x, kernel, stride, padding, ceil_mode))
  OP("adaptive_avg_pool1d", (Tensor x, int64_t size), tandem::adaptive_avg_pool1d(x, size))
  OP("adaptive_avg_pool3d", (Tensor x, int64_t size), tandem::adaptive_avg_pool3d(x, size))
  OP("adaptive_max_pool1d", (Tensor x, int64_t size), tandem::adaptive_max_pool1d(x, size))
  OP("adaptive_max_pool2d", (Tensor x, int64_t size), tandem::adaptive_max_pool2d(x, size))
  OP("adaptive_max_pool3d", (Tensor x, int64_t size), tandem::adaptive_max_pool3d(x, size))
  // ---- norms
  OP("group_norm", (Tensor x, int64_t groups, Tensor weight, Tensor bias), tandem::group_norm(x, groups, weight, bias))
  OP("instance_norm", (Tensor x, Tensor weight, Tensor bias), tandem::instance_norm(x, weight, bias, {}, {}, true, 0.1, 1e-5))
  OP("rms_norm", (Tensor x, Ints shape, Tensor weight), tandem::rms_norm(x, shape, weight))
  OP("normalize", (Tensor x, double p, int64_t dim), nn::functional::normalize(x, nn::functional::NormalizeFuncOptions().p(p).dim(dim)))
  // ---- resampling
  OP("upsample_nearest2d", (Tensor x, Ints size), tandem::upsample_nearest2d(x, size))
  OP("upsample_bilinear2d", (Tensor x, Ints size, bool align_corners), tandem::upsample_bilinear2d(x, size, align_corners))
  OP("upsample_bicubic2d", (Tensor x, Ints size, bool align_corners), tandem::upsample_bicubic2d(x, size, align_corners))
  OP("grid_sampler", (Tensor x, Tensor grid, int64_t mode, int64_t padding, bool align_corners), tandem::grid_sampler(x, grid, mode, padding, align_corners))
  OP("affine_grid", (Tensor theta, Ints size, bool align_corners), tandem::affine_grid_generator(theta, size, align_corners))
  OP("pad", (Tensor x, Ints pads, string mode), tandem::pad(x, pads, mode))
  OP("pixel_shuffle", (Tensor x, int64_t factor), tandem::pixel_shuffle(x, factor))
  OP("im2col", (Tensor x, Pair kernel, Pair dilation, Pair padding, Pair stride), tandem::im2col(x, kernel, dilation, padding, stride))
  // ---- recurrent cells
  OP("rnn_tanh_cell", (Tensor x, Tensor h, Tensor w_ih, Tensor w_hh, Tensor b_ih, Tensor b_hh), tandem::rnn_tanh_cell(x, h, w_ih, w_hh, b_ih, b_hh))
  OP("rnn_relu_cell", (Tensor x, Tensor h, Tensor w_ih, Tensor w_hh, Tensor b_ih, Tensor b_hh), tandem::rnn_relu_cell(x, h, w_ih, w_hh, b_ih, b_hh))
  OP("gru_cell", (Tensor x, Tensor h, Tensor w_ih, Tensor w_hh, Tensor b_ih, Tensor b_hh), tandem::gru_cell(x, h, w_ih, w_hh, b_ih, b_hh))
  OP("lstm_cell", (Tensor x, Tensor h, Tensor c, Tensor w_ih, Tensor w_hh, Tensor b_ih, Tensor b_hh), tandem::lstm_cell(x, {h, c}, w_ih, w_hh, b_ih, b_hh))
  // ---- losses
  OP("huber_loss", (Tensor x, Tensor y, Reduction reduction, double delta), tandem::huber_loss(x, y, reduction, delta))
  OP("kl_div", (Tensor x, Tensor y, Reduction reduction, bool log_target), tandem::kl_div(x, y, reduction, log_target))
  OP("poisson_nll_loss", (Tensor x, Tensor y, bool log_input, bool full, Reduction reduction), tandem::poisson_nll_loss(x, y, log_input, full, 1e-8, reduction))
  OP("gaussian_nll_loss", (Tensor x, Tensor y, Tensor var, bool full, Reduction reduction), tandem::gaussian_nll_loss(x, y, var, full, 1e-6, reduction))
  OP("soft_margin_loss", (Tensor x, Tensor y, Reduction reduction), tandem::soft_margin_loss(x, y, reduction))
  OP("hinge_embedding_loss", (Tensor x, Tensor y, double margin, Reduction reduction), tandem::hinge_embedding_loss(x, y, margin, reduction))
  OP("margin_ranking_loss", (Tensor x, Tensor y, Tensor z, double margin, Reduction reduction), tandem::margin_ranking_loss(x, y, z, margin, reduction))
  OP("cosine_embedding_loss", (Tensor x, Tensor y, Tensor z, double margin, Reduction reduction), tandem::cosine_embedding_loss(x, y, z, margin, reduction))
  OP("triplet_margin_loss", (Tensor x, Tensor y, Tensor z, double margin, double p, bool swap, Reduction reduction),
     tandem::triplet_margin_loss(x, y, z, margin, p, 1e-6, swap, reduction))
  OP("multi_margin_loss", (Tensor x, Tensor target, int64_t p, double margin, Reduction reduction), tandem::multi_margin_loss(x, target, p, margin, {}, reduction))
}
// clang-format on

}  // namespace tandem::differential
