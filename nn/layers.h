// Modules with parameters or state.
#pragma once
#include "tandem/nn/functional.h"
#include "tandem/nn/module.h"

namespace tandem::nn {

/// y = x W^T + b; x (..., in_features) -> (..., out_features)
class LinearImpl : public Cloneable<LinearImpl> {
 public:
  LinearImpl(int64_t in_features, int64_t out_features) : LinearImpl(LinearOptions(in_features, out_features)) {}
  explicit LinearImpl(const LinearOptions& o) : options(o) { reset(); }
  void reset() override;
  /// Uniform within 1 / sqrt(in_features), as torch::nn::Linear.
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  Tensor forward(const Tensor& x) { return functional::linear(x, weight, bias); }
  LinearOptions options;
  Tensor weight;  // (out_features, in_features)
  Tensor bias;    // (out_features), undefined when options.bias() is false
};
TANDEM_LIBRARY_MODULE(Linear);

/// functional::bilinear with a weight (out_features, in1_features, in2_features).
class BilinearImpl : public Cloneable<BilinearImpl> {
 public:
  BilinearImpl(int64_t in1_features, int64_t in2_features, int64_t out_features)
      : BilinearImpl(BilinearOptions(in1_features, in2_features, out_features)) {}
  explicit BilinearImpl(const BilinearOptions& o) : options(o) { reset(); }
  void reset() override;
  /// Uniform within 1 / sqrt(in1_features).
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  /// (..., in1_features), (..., in2_features) -> (..., out_features)
  Tensor forward(const Tensor& x1, const Tensor& x2) { return functional::bilinear(x1, x2, weight, bias); }
  BilinearOptions options;
  Tensor weight;  // (out_features, in1_features, in2_features)
  Tensor bias;    // (out_features), undefined when options.bias() is false
};
TANDEM_LIBRARY_MODULE(Bilinear);

/// 2-d cross-correlation; x (N, C, H, W)
class Conv2dImpl : public Cloneable<Conv2dImpl> {
 public:
  /// Channels of input and output; one number is a square kernel.
  Conv2dImpl(int64_t in_channels, int64_t out_channels, detail::Pair kernel_size)
      : Conv2dImpl(Conv2dOptions(in_channels, out_channels, kernel_size)) {}
  explicit Conv2dImpl(const Conv2dOptions& o) : options(o) { reset(); }
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  /// (N, C, H, W) -> (N, O, OH, OW)
  Tensor forward(const Tensor& x);
  Conv2dOptions options;
  Tensor weight;  // (out_channels, in_channels / groups, KH, KW)
  Tensor bias;    // (out_channels), undefined when options.bias() is false
};
TANDEM_LIBRARY_MODULE(Conv2d);

/// 2-d transposed convolution, as conv_transpose2d; x (N, C, H, W)
class ConvTranspose2dImpl : public Cloneable<ConvTranspose2dImpl> {
 public:
  /// Channels of input and output.
  ConvTranspose2dImpl(int64_t in_channels, int64_t out_channels, detail::Pair kernel_size)
      : ConvTranspose2dImpl(ConvTranspose2dOptions(in_channels, out_channels, kernel_size)) {}
  explicit ConvTranspose2dImpl(const ConvTranspose2dOptions& o) : options(o) { reset(); }
  void reset() override;
  /// As Conv2d's: uniform within 1 / sqrt(fan in).
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  /// (N, C, H, W) -> (N, O, OH, OW)
  Tensor forward(const Tensor& x) {
    return tandem::conv_transpose2d(x, weight, bias, options.stride(), options.padding(), options.output_padding(),
                                    options.groups(), options.dilation());
  }
  ConvTranspose2dOptions options;
  Tensor weight;  // (in_channels, out_channels / groups, KH, KW)
  Tensor bias;    // (out_channels), undefined when options.bias() is false
};
TANDEM_LIBRARY_MODULE(ConvTranspose2d);

/// 3-d cross-correlation; x (N, C, D, H, W)
class Conv3dImpl : public Cloneable<Conv3dImpl> {
 public:
  /// Channels of input and output; one number is a cubic kernel.
  Conv3dImpl(int64_t in_channels, int64_t out_channels, detail::Triple kernel_size)
      : Conv3dImpl(Conv3dOptions(in_channels, out_channels, kernel_size)) {}
  explicit Conv3dImpl(const Conv3dOptions& o) : options(o) { reset(); }
  void reset() override;
  /// As Conv2d's: uniform within 1 / sqrt(fan in).
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  /// (N, C, D, H, W) -> (N, O, OD, OH, OW)
  Tensor forward(const Tensor& x);
  Conv3dOptions options;
  Tensor weight;  // (out_channels, in_channels / groups, KD, KH, KW)
  Tensor bias;    // (out_channels), undefined when options.bias() is false
};
TANDEM_LIBRARY_MODULE(Conv3d);

/// 3-d transposed convolution, as conv_transpose3d; x (N, C, D, H, W)
class ConvTranspose3dImpl : public Cloneable<ConvTranspose3dImpl> {
 public:
  /// Channels of input and output.
  ConvTranspose3dImpl(int64_t in_channels, int64_t out_channels, detail::Triple kernel_size)
      : ConvTranspose3dImpl(ConvTranspose3dOptions(in_channels, out_channels, kernel_size)) {}
  explicit ConvTranspose3dImpl(const ConvTranspose3dOptions& o) : options(o) { reset(); }
  void reset() override;
  /// As Conv2d's: uniform within 1 / sqrt(fan in).
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  /// (N, C, D, H, W) -> (N, O, OD, OH, OW)
  Tensor forward(const Tensor& x) {
    return tandem::conv_transpose3d(x, weight, bias, options.stride(), options.padding(), options.output_padding(),
                                    options.groups(), options.dilation());
  }
  ConvTranspose3dOptions options;
  Tensor weight;  // (in_channels, out_channels / groups, KD, KH, KW)
  Tensor bias;    // (out_channels), undefined when options.bias() is false
};
TANDEM_LIBRARY_MODULE(ConvTranspose3d);

/// 1-d cross-correlation; x (N, C, L)
class Conv1dImpl : public Cloneable<Conv1dImpl> {
 public:
  /// Channels of input and output.
  Conv1dImpl(int64_t in_channels, int64_t out_channels, int64_t kernel_size)
      : Conv1dImpl(Conv1dOptions(in_channels, out_channels, kernel_size)) {}
  explicit Conv1dImpl(const Conv1dOptions& o) : options(o) { reset(); }
  void reset() override;
  /// As Conv2d's: uniform within 1 / sqrt(fan in).
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  /// (N, C, L) -> (N, O, OL)
  Tensor forward(const Tensor& x);
  Conv1dOptions options;
  Tensor weight;  // (out_channels, in_channels / groups, K)
  Tensor bias;    // (out_channels), undefined when options.bias() is false
};
TANDEM_LIBRARY_MODULE(Conv1d);

/// 1-d transposed convolution, as conv_transpose1d; x (N, C, L)
class ConvTranspose1dImpl : public Cloneable<ConvTranspose1dImpl> {
 public:
  /// Channels of input and output.
  ConvTranspose1dImpl(int64_t in_channels, int64_t out_channels, int64_t kernel_size)
      : ConvTranspose1dImpl(ConvTranspose1dOptions(in_channels, out_channels, kernel_size)) {}
  explicit ConvTranspose1dImpl(const ConvTranspose1dOptions& o) : options(o) { reset(); }
  void reset() override;
  /// As Conv2d's: uniform within 1 / sqrt(fan in).
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  /// (N, C, L) -> (N, O, OL)
  Tensor forward(const Tensor& x) {
    return tandem::conv_transpose1d(x, weight, bias, options.stride(), options.padding(), options.output_padding(),
                                    options.groups(), options.dilation());
  }
  ConvTranspose1dOptions options;
  Tensor weight;  // (in_channels, out_channels / groups, K)
  Tensor bias;    // (out_channels), undefined when options.bias() is false
};
TANDEM_LIBRARY_MODULE(ConvTranspose1d);

/// Batch normalisation over (N, C) or (N, C, L), over (N, C, H, W), and over (N, C, D, H, W). The rank of x is checked.
class BatchNormImpl : public Cloneable<BatchNormImpl> {
 public:
  BatchNormImpl(const BatchNormOptions& o, int64_t min_dim, int64_t max_dim)
      : options(o), min_dim_(min_dim), max_dim_(max_dim) {
    reset();
  }
  void reset() override;
  /// Means of 0, variances of 1, no batch counted.
  void reset_running_stats();
  /// The initial values again.
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  Tensor forward(const Tensor& x);
  BatchNormOptions options;
  Tensor weight, bias;               // (num_features), undefined when not affine
  Tensor running_mean, running_var;  // (num_features), undefined when not tracked
  Tensor num_batches_tracked;        // int64 scalar

 protected:
  template <class M> std::shared_ptr<Module> clone_as(std::optional<Device> device) const {
    const auto copy = std::make_shared<M>(options);
    copy->copy_state_from(*this, device);
    return copy;
  }

 private:
  int64_t min_dim_, max_dim_;
};
extern template class Cloneable<BatchNormImpl>;
class BatchNorm1dImpl : public BatchNormImpl {
 public:
  explicit BatchNorm1dImpl(const BatchNormOptions& o) : BatchNormImpl(o, 2, 3) {}
  std::shared_ptr<Module> clone(std::optional<Device> device = {}) const override;
};
class BatchNorm2dImpl : public BatchNormImpl {
 public:
  explicit BatchNorm2dImpl(const BatchNormOptions& o) : BatchNormImpl(o, 4, 4) {}
  std::shared_ptr<Module> clone(std::optional<Device> device = {}) const override;
};
class BatchNorm3dImpl : public BatchNormImpl {
 public:
  explicit BatchNorm3dImpl(const BatchNormOptions& o) : BatchNormImpl(o, 5, 5) {}
  std::shared_ptr<Module> clone(std::optional<Device> device = {}) const override;
};
TANDEM_MODULE(BatchNorm1d);
TANDEM_MODULE(BatchNorm2d);
TANDEM_MODULE(BatchNorm3d);

/// Normalises the last dimensions
class LayerNormImpl : public Cloneable<LayerNormImpl> {
 public:
  explicit LayerNormImpl(const LayerNormOptions& o) : options(o) { reset(); }
  void reset() override;
  /// Ones and zeros.
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  Tensor forward(const Tensor& x) { return layer_norm(x, options.normalized_shape(), weight, bias, options.eps()); }
  LayerNormOptions options;
  Tensor weight, bias;
};
TANDEM_LIBRARY_MODULE(LayerNorm);

/// x where it is above 0, else weight x, with one weight for all or one for each channel (dimension 1), which is
/// trained (He et al. 2015, arXiv:1502.01852).
class PReLUImpl : public Cloneable<PReLUImpl> {
 public:
  explicit PReLUImpl(const PReLUOptions& o = {}) : options(o) { reset(); }
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  /// Of the sizes of x. @throws Error unless there is one weight, or as many as x has channels
  Tensor forward(const Tensor& x) { return x.prelu(weight); }
  PReLUOptions options;
  Tensor weight;
};
TANDEM_LIBRARY_MODULE(PReLU);

}  // namespace tandem::nn
