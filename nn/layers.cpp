#include "tandem/nn/layers.h"

#include <cmath>

#include "tandem/nn/init.h"
#include "tandem/nn/print.h"
#include "tandem/ops/factory.h"

namespace tandem::nn {
namespace {

/// PyTorch's default of Linear and Conv2d: kaiming uniform with a = sqrt(5), which is 1 / sqrt(fan in) for both.
void reset_weight_and_bias(const Tensor& weight, const Tensor& bias) {
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined()) return;
  const auto in = std::get<0>(init::calculate_fan_in_and_fan_out(weight));
  const double bound = in > 0 ? 1 / std::sqrt(static_cast<double>(in)) : 0;
  init::uniform_(bias, -bound, bound);
}

}  // namespace

template class Cloneable<LinearImpl>;
template class Cloneable<BilinearImpl>;
template class Cloneable<Conv2dImpl>;
template class Cloneable<ConvTranspose2dImpl>;
template class Cloneable<Conv3dImpl>;
template class Cloneable<ConvTranspose3dImpl>;
template class Cloneable<Conv1dImpl>;
template class Cloneable<ConvTranspose1dImpl>;
template class Cloneable<BatchNormImpl>;
template class Cloneable<LayerNormImpl>;
template class Cloneable<PReLUImpl>;

void LinearImpl::reset() {
  TANDEM_CHECK(options.in_features() > 0 && options.out_features() > 0, "Linear: in_features ", options.in_features(),
               " and out_features ", options.out_features(), " must be positive");
  weight = register_parameter("weight", empty({options.out_features(), options.in_features()}));
  if (options.bias()) bias = register_parameter("bias", empty({options.out_features()}));
  reset_parameters();
}
void LinearImpl::reset_parameters() { reset_weight_and_bias(weight, bias); }
void LinearImpl::pretty_print(std::ostream& out) const {
  out << "Linear(in_features=" << options.in_features() << ", out_features=" << options.out_features()
      << ", bias=" << printed(options.bias()) << ")";
}

Tensor functional::bilinear(const Tensor& x1, const Tensor& x2, const Tensor& weight, const Tensor& bias) {
  const auto rest = [](const Tensor& x) { return x.sizes().slice(0, x.sizes().size() - 1); };
  TANDEM_CHECK(weight.dim() == 3 && x1.dim() > 0 && x2.dim() > 0 && rest(x1) == rest(x2) &&
                   x1.size(-1) == weight.size(1) && x2.size(-1) == weight.size(2),
               "bilinear: x1 is ", x1.sizes(), ", x2 ", x2.sizes(), " and weight ", weight.sizes(),
               "; accepted: (..., I), (..., J) and (O, I, J)");
  TANDEM_CHECK(!bias.defined() || bias.sizes() == IntArrayRef(weight.size(0)), "bilinear: bias is ",
               bias.defined() ? bias.sizes() : IntArrayRef(), "; accepted: (", weight.size(0), ",)");
  const int64_t outputs = weight.size(0), rows = numel_of(rest(x1));
  // For each row the matrix weight[o] x1, which x2 multiplies.
  const Tensor left = matmul(x1.reshape({rows, weight.size(1)}), weight.transpose(0, 1).flatten(1));
  const Tensor y = left.view({rows, outputs, weight.size(2)}).bmm(x2.reshape({rows, weight.size(2), 1}));
  Shape sizes = rest(x1);
  sizes.push_back(outputs);
  return (bias.defined() ? y.squeeze(-1) + bias : y.squeeze(-1)).reshape(sizes);
}
void BilinearImpl::reset() {
  const BilinearOptions& o = options;
  TANDEM_CHECK(o.in1_features() > 0 && o.in2_features() > 0 && o.out_features() > 0, "Bilinear: in1_features is ",
               o.in1_features(), ", in2_features ", o.in2_features(), " and out_features ", o.out_features(),
               "; all must be positive");
  weight = register_parameter("weight", empty({o.out_features(), o.in1_features(), o.in2_features()}));
  if (o.bias()) bias = register_parameter("bias", empty({o.out_features()}));
  reset_parameters();
}
void BilinearImpl::reset_parameters() {
  const double bound = 1 / std::sqrt(static_cast<double>(options.in1_features()));
  init::uniform_(weight, -bound, bound);
  if (bias.defined()) init::uniform_(bias, -bound, bound);
}
void BilinearImpl::pretty_print(std::ostream& out) const {
  out << "Bilinear(in1_features=" << options.in1_features() << ", in2_features=" << options.in2_features()
      << ", out_features=" << options.out_features() << ", bias=" << printed(options.bias()) << ")";
}

namespace {
Shape kernel_sizes(Pair p) { return {p[0], p[1]}; }
Shape kernel_sizes(const Triple& t) { return IntArrayRef(t); }
Shape kernel_sizes(int64_t n) { return {n}; }

/// As Python prints it. @throws Error for a mode that no convolution has
const char* padding_mode_name(PaddingMode mode) {
  switch (mode) {
    case PaddingMode::zeros: return "zeros";
    case PaddingMode::reflect: return "reflect";
    case PaddingMode::replicate: return "replicate";
    case PaddingMode::circular: return "circular";
    default: TANDEM_CHECK(false, "padding_mode is none of kZeros, kReflect, kReplicate and kCircular");
  }
  return "";
}
/// The parameters of convolution `m`; `transposed`: weight is (in, out / groups, ...).
template <class M> void make_parameters(const char* name, M& m, bool transposed) {
  const auto& o = m.options;
  const Shape kernel = kernel_sizes(o.kernel_size());
  for (const int64_t size : kernel)
    TANDEM_CHECK(size > 0, name, ": kernel_size is ", IntArrayRef(kernel), "; it must be positive");
  TANDEM_CHECK(o.groups() > 0 && o.in_channels() % o.groups() == 0 && o.out_channels() % o.groups() == 0, name, ": ",
               o.in_channels(), " and ", o.out_channels(), " channels must be multiples of ", o.groups(), " groups");
  if constexpr (requires { o.padding_mode(); }) padding_mode_name(o.padding_mode());
  Shape sizes = transposed ? Shape{o.in_channels(), o.out_channels() / o.groups()}
                           : Shape{o.out_channels(), o.in_channels() / o.groups()};
  for (const int64_t size : kernel) sizes.push_back(size);
  m.weight = m.register_parameter("weight", empty(sizes));
  if (o.bias()) m.bias = m.register_parameter("bias", empty({o.out_channels()}));
  m.reset_parameters();
}
/// As PyTorch prints it.
template <class O> void print_convolution(std::ostream& out, const char* name, const O& o) {
  using Size = std::decay_t<decltype(o.stride())>;
  out << name << "(" << o.in_channels() << ", " << o.out_channels() << ", kernel_size=" << tuple(o.kernel_size())
      << ", stride=" << tuple(o.stride());
  if (o.padding() != Size(0)) out << ", padding=" << tuple(o.padding());
  if (o.dilation() != Size(1)) out << ", dilation=" << tuple(o.dilation());
  if constexpr (requires { o.output_padding(); })
    if (o.output_padding() != Size(0)) out << ", output_padding=" << tuple(o.output_padding());
  if (o.groups() != 1) out << ", groups=" << o.groups();
  if (!o.bias()) out << ", bias=False";
  if constexpr (requires { o.padding_mode(); })
    if (o.padding_mode() != PaddingMode::zeros) out << ", padding_mode=" << padding_mode_name(o.padding_mode());
  out << ")";
}
}  // namespace

Tensor Conv2dImpl::forward(const Tensor& x) {
  const Pair p = options.padding();
  const bool zeros = options.padding_mode() == PaddingMode::zeros;
  return tandem::conv2d(zeros ? x : pad(x, {p[1], p[1], p[0], p[0]}, options.padding_mode()), weight, bias,
                        options.stride(), zeros ? p : Pair(0), options.dilation(), options.groups());
}
Tensor Conv3dImpl::forward(const Tensor& x) {
  const Triple p = options.padding();
  const bool zeros = options.padding_mode() == PaddingMode::zeros;
  return tandem::conv3d(zeros ? x : pad(x, {p[2], p[2], p[1], p[1], p[0], p[0]}, options.padding_mode()), weight, bias,
                        options.stride(), zeros ? p : Triple(0), options.dilation(), options.groups());
}
Tensor Conv1dImpl::forward(const Tensor& x) {
  const int64_t p = options.padding();
  const bool zeros = options.padding_mode() == PaddingMode::zeros;
  return tandem::conv1d(zeros ? x : pad(x, {p, p}, options.padding_mode()), weight, bias, options.stride(),
                        zeros ? p : 0, options.dilation(), options.groups());
}
void Conv2dImpl::reset() { make_parameters("Conv2d", *this, false); }
void Conv2dImpl::reset_parameters() { reset_weight_and_bias(weight, bias); }
void Conv2dImpl::pretty_print(std::ostream& out) const { print_convolution(out, "Conv2d", options); }
void ConvTranspose2dImpl::reset() { make_parameters("ConvTranspose2d", *this, true); }
void ConvTranspose2dImpl::reset_parameters() { reset_weight_and_bias(weight, bias); }
void ConvTranspose2dImpl::pretty_print(std::ostream& out) const { print_convolution(out, "ConvTranspose2d", options); }
void Conv3dImpl::reset() { make_parameters("Conv3d", *this, false); }
void Conv3dImpl::reset_parameters() { reset_weight_and_bias(weight, bias); }
void Conv3dImpl::pretty_print(std::ostream& out) const { print_convolution(out, "Conv3d", options); }
void ConvTranspose3dImpl::reset() { make_parameters("ConvTranspose3d", *this, true); }
void ConvTranspose3dImpl::reset_parameters() { reset_weight_and_bias(weight, bias); }
void ConvTranspose3dImpl::pretty_print(std::ostream& out) const { print_convolution(out, "ConvTranspose3d", options); }
void Conv1dImpl::reset() { make_parameters("Conv1d", *this, false); }
void Conv1dImpl::reset_parameters() { reset_weight_and_bias(weight, bias); }
void Conv1dImpl::pretty_print(std::ostream& out) const { print_convolution(out, "Conv1d", options); }
void ConvTranspose1dImpl::reset() { make_parameters("ConvTranspose1d", *this, true); }
void ConvTranspose1dImpl::reset_parameters() { reset_weight_and_bias(weight, bias); }
void ConvTranspose1dImpl::pretty_print(std::ostream& out) const { print_convolution(out, "ConvTranspose1d", options); }

void BatchNormImpl::reset() {
  const int64_t n = options.num_features();
  TANDEM_CHECK(n > 0, "BatchNorm: num_features is ", n, "; it must be positive");
  if (options.affine()) {
    weight = register_parameter("weight", ones({n}));
    bias = register_parameter("bias", zeros({n}));
  }
  if (options.track_running_stats()) {
    running_mean = register_buffer("running_mean", zeros({n}));
    running_var = register_buffer("running_var", ones({n}));
    num_batches_tracked = register_buffer("num_batches_tracked", zeros({}, kInt64));
  }
}
void BatchNormImpl::reset_running_stats() {
  if (!running_mean.defined()) return;
  running_mean.zero_();
  running_var.fill_(1);
  num_batches_tracked.zero_();
}
void BatchNormImpl::reset_parameters() {
  reset_running_stats();
  if (!weight.defined()) return;
  init::ones_(weight);
  init::zeros_(bias);
}
Tensor BatchNormImpl::forward(const Tensor& x) {
  TANDEM_CHECK(x.dim() >= min_dim_ && x.dim() <= max_dim_, name(), ": x is ", x.sizes(), "; it must have ", min_dim_,
               min_dim_ == max_dim_ ? "" : " or 3", " dimensions");
  double momentum = options.momentum().value_or(0);
  if (is_training() && num_batches_tracked.defined()) {
    num_batches_tracked.add_(1);
    if (!options.momentum()) momentum = 1 / num_batches_tracked.item<double>();  // the mean of all batches
  }
  return batch_norm(x, weight, bias, running_mean, running_var, is_training() || !running_mean.defined(), momentum,
                    options.eps());
}
void BatchNormImpl::pretty_print(std::ostream& out) const {
  out << name() << "(" << options.num_features() << ", eps=" << printed(options.eps())
      << ", momentum=" << (options.momentum() ? printed(*options.momentum()) : "None")
      << ", affine=" << printed(options.affine()) << ", bias=" << printed(options.affine())
      << ", track_running_stats=" << printed(options.track_running_stats()) << ")";
}
std::shared_ptr<Module> BatchNorm1dImpl::clone(std::optional<Device> device) const {
  return clone_as<BatchNorm1dImpl>(device);
}
std::shared_ptr<Module> BatchNorm2dImpl::clone(std::optional<Device> device) const {
  return clone_as<BatchNorm2dImpl>(device);
}
std::shared_ptr<Module> BatchNorm3dImpl::clone(std::optional<Device> device) const {
  return clone_as<BatchNorm3dImpl>(device);
}

void LayerNormImpl::reset() {
  if (!options.elementwise_affine()) return;
  weight = register_parameter("weight", ones(options.normalized_shape()));
  bias = register_parameter("bias", zeros(options.normalized_shape()));
}
void LayerNormImpl::reset_parameters() {
  if (!weight.defined()) return;
  init::ones_(weight);
  init::zeros_(bias);
}
void LayerNormImpl::pretty_print(std::ostream& out) const {
  out << "LayerNorm(" << IntArrayRef(options.normalized_shape()) << ", eps=" << printed(options.eps())
      << ", elementwise_affine=" << printed(options.elementwise_affine())
      << ", bias=" << printed(options.elementwise_affine()) << ")";
}

void PReLUImpl::reset() {
  TANDEM_CHECK(options.num_parameters() > 0, "PReLU: num_parameters is ", options.num_parameters(),
               "; accepted: 1, or the number of channels");
  weight = register_parameter("weight", full({options.num_parameters()}, options.init(), get_default_dtype()));
}
void PReLUImpl::pretty_print(std::ostream& out) const {
  out << "PReLU(num_parameters=" << options.num_parameters() << ")";
}

}  // namespace tandem::nn
