// Pooling: functions with options, and modules. ops/nn/max_pool.h and ops/nn/avg_pool.h describe the computations.
#pragma once
#include "tandem/nn/module/simple_module.h"
#include "tandem/nn/options/pooling.h"
#include "tandem/ops/nn/avg_pool.h"
#include "tandem/ops/nn/expanding_array.h"
#include "tandem/ops/nn/lp_pool.h"
#include "tandem/ops/nn/max_pool.h"

namespace tandem::nn::functional {

/// Defines two functions that call tandem's max pool with the values of options. `name` returns the largest element of
/// each window, `name`_with_indices returns (values, indices).
#define TANDEM_MAX_POOL_FUNCTIONS(name, Options)                                                                \
  inline Tensor name(const Tensor& x, const Options& o) {                                                       \
    return tandem::name(x, o.kernel_size(), IntArrayRef(o.stride()), o.padding(), o.dilation(), o.ceil_mode()); \
  }                                                                                                             \
  inline std::tuple<Tensor, Tensor> name##_with_indices(const Tensor& x, const Options& o) {                    \
    return tandem::name##_with_indices(x, o.kernel_size(), IntArrayRef(o.stride()), o.padding(), o.dilation(),  \
                                       o.ceil_mode());                                                          \
  }
TANDEM_MAX_POOL_FUNCTIONS(max_pool1d, MaxPool1dOptions)
TANDEM_MAX_POOL_FUNCTIONS(max_pool2d, MaxPool2dOptions)
TANDEM_MAX_POOL_FUNCTIONS(max_pool3d, MaxPool3dOptions)
#undef TANDEM_MAX_POOL_FUNCTIONS
/// Averages over windows of x (N, C, L) or (C, L). Same as tandem::avg_pool1d, with options as arguments.
inline Tensor avg_pool1d(const Tensor& x, const AvgPool1dOptions& o) {
  return tandem::avg_pool1d(x, o.kernel_size(), IntArrayRef(o.stride()), o.padding(), o.ceil_mode(),
                            o.count_include_pad());
}
/// Same as tandem::avg_pool2d, with options as arguments.
inline Tensor avg_pool2d(const Tensor& x, const AvgPool2dOptions& o) {
  return tandem::avg_pool2d(x, o.kernel_size(), IntArrayRef(o.stride()), o.padding(), o.ceil_mode(),
                            o.count_include_pad(), o.divisor_override());
}
/// Same as tandem::avg_pool3d, with options as arguments.
inline Tensor avg_pool3d(const Tensor& x, const AvgPool3dOptions& o) {
  return tandem::avg_pool3d(x, o.kernel_size(), IntArrayRef(o.stride()), o.padding(), o.ceil_mode(),
                            o.count_include_pad(), o.divisor_override());
}
/// Averages over output_size windows of x (N, C, L) or (C, L). Same as tandem::adaptive_avg_pool1d, with an option as
/// argument.
inline Tensor adaptive_avg_pool1d(const Tensor& x, const AdaptiveAvgPool1dOptions& o) {
  return tandem::adaptive_avg_pool1d(x, o.output_size());
}
/// Same as tandem::adaptive_avg_pool2d, with options as arguments. An output size of nullopt means x's size.
inline Tensor adaptive_avg_pool2d(const Tensor& x, const AdaptiveAvgPool2dOptions& o) {
  return tandem::adaptive_avg_pool2d(x, o.output_size().resolve_sizes("adaptive_avg_pool2d", x));
}
/// Same as tandem::adaptive_avg_pool3d, with options as arguments. An output size of nullopt means x's size.
inline Tensor adaptive_avg_pool3d(const Tensor& x, const AdaptiveAvgPool3dOptions& o) {
  return tandem::adaptive_avg_pool3d(x, o.output_size().resolve_sizes("adaptive_avg_pool3d", x));
}
/// Return (values, indices) of the largest element in each of output_size windows; in 2-d and 3-d, an output size of
/// nullopt is x's size. Indices are numbered as in the max pools.
inline std::tuple<Tensor, Tensor> adaptive_max_pool1d_with_indices(const Tensor& x, const AdaptiveMaxPool1dOptions& o) {
  return tandem::adaptive_max_pool1d(x, o.output_size());
}
inline std::tuple<Tensor, Tensor> adaptive_max_pool2d_with_indices(const Tensor& x, const AdaptiveMaxPool2dOptions& o) {
  return tandem::adaptive_max_pool2d(x, o.output_size().resolve_sizes("adaptive_max_pool2d", x));
}
inline std::tuple<Tensor, Tensor> adaptive_max_pool3d_with_indices(const Tensor& x, const AdaptiveMaxPool3dOptions& o) {
  return tandem::adaptive_max_pool3d(x, o.output_size().resolve_sizes("adaptive_max_pool3d", x));
}
/// Return the values of adaptive_max_pool1d_with_indices (or 2d, 3d) without the indices.
inline Tensor adaptive_max_pool1d(const Tensor& x, const AdaptiveMaxPool1dOptions& o) {
  return std::get<0>(adaptive_max_pool1d_with_indices(x, o));
}
inline Tensor adaptive_max_pool2d(const Tensor& x, const AdaptiveMaxPool2dOptions& o) {
  return std::get<0>(adaptive_max_pool2d_with_indices(x, o));
}
inline Tensor adaptive_max_pool3d(const Tensor& x, const AdaptiveMaxPool3dOptions& o) {
  return std::get<0>(adaptive_max_pool3d_with_indices(x, o));
}
/// Inverts a max pool with these options: puts the elements of x at `indices`, and zeros elsewhere. The output has the
/// sizes (n - 1) * stride - 2 * padding + kernel_size, or output_size. @throws Error if output_size differs from these
/// sizes by a stride or more
inline Tensor max_unpool1d(const Tensor& x, const Tensor& indices, const MaxUnpool1dFuncOptions& o) {
  return tandem::max_unpool2d(x.unsqueeze(-2), indices.unsqueeze(-2),
                              {1, detail::unpool_output_size("max_unpool1d", x, o.kernel_size(), o.stride(),
                                                             o.padding(), o.output_size())[0]})
      .squeeze(-2);
}
inline Tensor max_unpool2d(const Tensor& x, const Tensor& indices, const MaxUnpool2dFuncOptions& o) {
  return tandem::max_unpool2d(
      x, indices,
      detail::unpool_output_size("max_unpool2d", x, o.kernel_size(), o.stride(), o.padding(), o.output_size()));
}
inline Tensor max_unpool3d(const Tensor& x, const Tensor& indices, const MaxUnpool3dFuncOptions& o) {
  return tandem::max_unpool3d(
      x, indices,
      detail::unpool_output_size("max_unpool3d", x, o.kernel_size(), o.stride(), o.padding(), o.output_size()),
      o.stride(), o.padding());
}
/// (sum of x^norm_type)^(1 / norm_type) over each window. If the sum is 0, the gradient is not finite.
inline Tensor lp_pool1d(const Tensor& x, const LPPool1dOptions& o) {
  return detail::lp_pool1d(x, o.norm_type(), o.kernel_size(), o.stride(), o.ceil_mode());
}
inline Tensor lp_pool2d(const Tensor& x, const LPPool2dOptions& o) {
  return detail::lp_pool2d(x, o.norm_type(), o.kernel_size(), o.stride(), o.ceil_mode());
}
inline Tensor lp_pool3d(const Tensor& x, const LPPool3dOptions& o) {
  return detail::lp_pool3d(x, o.norm_type(), o.kernel_size(), o.stride(), o.ceil_mode());
}

using FractionalMaxPool2dFuncOptions = FractionalMaxPool2dOptions;
using FractionalMaxPool3dFuncOptions = FractionalMaxPool3dOptions;
/// Return (values, indices), as tandem::fractional_max_pool2d and 3d do.
/// @throws Error unless exactly one of output_size and output_ratio is set, and ratios are between 0 and 1
inline std::tuple<Tensor, Tensor> fractional_max_pool2d_with_indices(const Tensor& x,
                                                                     const FractionalMaxPool2dOptions& o) {
  return detail::fractional_max_pool2d_with_indices(x, o.kernel_size(), o.output_size(), detail::get_output_ratios(o),
                                                    o._random_samples());
}
inline std::tuple<Tensor, Tensor> fractional_max_pool3d_with_indices(const Tensor& x,
                                                                     const FractionalMaxPool3dOptions& o) {
  return detail::fractional_max_pool3d_with_indices(x, o.kernel_size(), o.output_size(), detail::get_output_ratios(o),
                                                    o._random_samples());
}
/// Return the values of fractional_max_pool2d_with_indices (or 3d) without the indices.
inline Tensor fractional_max_pool2d(const Tensor& x, const FractionalMaxPool2dOptions& o) {
  return std::get<0>(fractional_max_pool2d_with_indices(x, o));
}
inline Tensor fractional_max_pool3d(const Tensor& x, const FractionalMaxPool3dOptions& o) {
  return std::get<0>(fractional_max_pool3d_with_indices(x, o));
}

}  // namespace tandem::nn::functional

namespace tandem::nn {

#define TANDEM_POOL_MODULE(Name, function)                                       \
  class Name##Impl : public Cloneable<Name##Impl> {                              \
   public:                                                                       \
    explicit Name##Impl(const Name##Options& o) : options(o) {}                  \
    void reset() override;                                                       \
    void pretty_print(std::ostream& out) const override;                         \
    Tensor forward(const Tensor& x) { return functional::function(x, options); } \
    std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& x) {           \
      return functional::function##_with_indices(x, options);                    \
    }                                                                            \
    Name##Options options;                                                       \
  };                                                                             \
  TANDEM_LIBRARY_MODULE(Name)
TANDEM_POOL_MODULE(MaxPool1d, max_pool1d);
TANDEM_POOL_MODULE(MaxPool2d, max_pool2d);
TANDEM_POOL_MODULE(MaxPool3d, max_pool3d);
TANDEM_POOL_MODULE(AdaptiveMaxPool1d, adaptive_max_pool1d);
TANDEM_POOL_MODULE(AdaptiveMaxPool2d, adaptive_max_pool2d);
TANDEM_POOL_MODULE(AdaptiveMaxPool3d, adaptive_max_pool3d);
#undef TANDEM_POOL_MODULE
TANDEM_OPTION_MODULE(AvgPool1d, AvgPool1dOptions, , functional::avg_pool1d(x, options));
TANDEM_OPTION_MODULE(AvgPool2d, AvgPool2dOptions, , functional::avg_pool2d(x, options));
TANDEM_OPTION_MODULE(AvgPool3d, AvgPool3dOptions, , functional::avg_pool3d(x, options));
TANDEM_OPTION_MODULE(AdaptiveAvgPool1d, AdaptiveAvgPool1dOptions, , functional::adaptive_avg_pool1d(x, options));
TANDEM_OPTION_MODULE(AdaptiveAvgPool2d, AdaptiveAvgPool2dOptions, , functional::adaptive_avg_pool2d(x, options));
TANDEM_OPTION_MODULE(AdaptiveAvgPool3d, AdaptiveAvgPool3dOptions, , functional::adaptive_avg_pool3d(x, options));

#define TANDEM_UNPOOL_MODULE(Name, function)                                                                    \
  class Name##Impl : public Cloneable<Name##Impl> {                                                             \
   public:                                                                                                      \
    explicit Name##Impl(const Name##Options& o) : options(o) {}                                                 \
    void reset() override;                                                                                      \
    void pretty_print(std::ostream& out) const override;                                                        \
    Tensor forward(const Tensor& x, const Tensor& indices,                                                      \
                   const std::optional<std::vector<int64_t>>& output_size = {}) {                               \
      return functional::function(x, indices, functional::Name##FuncOptions(options).output_size(output_size)); \
    }                                                                                                           \
    Name##Options options;                                                                                      \
  };                                                                                                            \
  TANDEM_LIBRARY_MODULE(Name)
TANDEM_UNPOOL_MODULE(MaxUnpool1d, max_unpool1d);
TANDEM_UNPOOL_MODULE(MaxUnpool2d, max_unpool2d);
TANDEM_UNPOOL_MODULE(MaxUnpool3d, max_unpool3d);
#undef TANDEM_UNPOOL_MODULE

TANDEM_TWO_OPTION_MODULE(LPPool1d, double, int64_t, functional::lp_pool1d(x, options));
TANDEM_TWO_OPTION_MODULE(LPPool2d, double, detail::Pair, functional::lp_pool2d(x, options));
TANDEM_TWO_OPTION_MODULE(LPPool3d, double, detail::Triple, functional::lp_pool3d(x, options));

/// Max pooling over windows at random places: functional::fractional_max_pool2d of x (N, C, H, W) or (C, H, W).
class FractionalMaxPool2dImpl : public Cloneable<FractionalMaxPool2dImpl> {
 public:
  explicit FractionalMaxPool2dImpl(const FractionalMaxPool2dOptions& o) : options(o) { reset(); }
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  /// Returns the largest element of each window.
  Tensor forward(const Tensor& x) { return std::get<0>(forward_with_indices(x)); }
  /// Returns (values, indices), with indices as max_unpool2d accepts them.
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& x);
  FractionalMaxPool2dOptions options;
  Tensor _random_samples;  // numbers in [0, 1) that place the windows; undefined unless set in the options
};
TANDEM_LIBRARY_MODULE(FractionalMaxPool2d);
/// Max pooling over windows at random places: functional::fractional_max_pool3d of x (N, C, D, H, W) or (C, D, H, W).
class FractionalMaxPool3dImpl : public Cloneable<FractionalMaxPool3dImpl> {
 public:
  explicit FractionalMaxPool3dImpl(const FractionalMaxPool3dOptions& o) : options(o) { reset(); }
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  /// Returns the largest element of each window.
  Tensor forward(const Tensor& x) { return std::get<0>(forward_with_indices(x)); }
  /// Returns (values, indices), with indices as max_unpool3d accepts them.
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& x);
  FractionalMaxPool3dOptions options;
  Tensor _random_samples;  // numbers in [0, 1) that place the windows; undefined unless set in the options
};
TANDEM_LIBRARY_MODULE(FractionalMaxPool3d);

}  // namespace tandem::nn
