// Padding: options, functional::pad, and modules. ops/nn/pad.h describes the computation.
#pragma once
#include <array>

#include "tandem/core/option.h"
#include "tandem/nn/module/simple_module.h"
#include "tandem/ops/nn/pad.h"

namespace tandem {
/// LibTorch's names for the modes.
constexpr PaddingMode kZeros = PaddingMode::zeros, kConstant = PaddingMode::constant, kReflect = PaddingMode::reflect,
                      kReplicate = PaddingMode::replicate, kCircular = PaddingMode::circular,
                      kBorder = PaddingMode::border, kReflection = PaddingMode::reflection;
}  // namespace tandem

namespace tandem::nn {

/// Padding of N / 2 dimensions as (before, after) pairs, last dimension first; one number stands for all.
template <size_t N> struct Pads : std::array<int64_t, N> {
  Pads(int64_t all) { this->fill(all); }
  Pads(IntArrayRef list) {
    TANDEM_CHECK(list.size() == 1 || list.size() == N, "Expected ", N, " values, but instead got ", list.size(), ": ",
                 list, "; padding is one number for all sides or one per side");
    for (size_t k = 0; k < N; ++k) (*this)[k] = list[list.size() == 1 ? 0 : k];
  }
  Pads(std::initializer_list<int64_t> list) : Pads(IntArrayRef(list.begin(), list.size())) {}
  Pads(const std::vector<int64_t>& list) : Pads(IntArrayRef(list)) {}
};
/// Options of the ReflectionPad, ReplicationPad and ZeroPad modules.
template <size_t N> struct PadOptions {
  PadOptions(Pads<N> padding) : padding_(padding) {}
  PadOptions(int64_t padding) : padding_(padding) {}
  TANDEM_ARG(Pads<N>, padding);  // padding (before, after) of each dimension, last dimension first
};
/// LibTorch's names for PadOptions. D, the number of padded dimensions, is 1 to 3.
template <size_t D> using ReflectionPadOptions = PadOptions<2 * D>;
template <size_t D> using ReplicationPadOptions = PadOptions<2 * D>;
template <size_t D> using ZeroPadOptions = PadOptions<2 * D>;
using ReflectionPad1dOptions = PadOptions<2>;
using ReflectionPad2dOptions = PadOptions<4>;
using ReflectionPad3dOptions = PadOptions<6>;
using ReplicationPad1dOptions = PadOptions<2>;
using ReplicationPad2dOptions = PadOptions<4>;
using ReplicationPad3dOptions = PadOptions<6>;
using ZeroPad1dOptions = PadOptions<2>;
using ZeroPad2dOptions = PadOptions<4>;
using ZeroPad3dOptions = PadOptions<6>;
template <size_t N> struct ConstantPadOptions {
  ConstantPadOptions(Pads<N> padding, double value) : padding_(padding), value_(value) {}
  TANDEM_ARG(Pads<N>, padding);  // padding (before, after) of each dimension, last dimension first
  TANDEM_ARG(double, value);     // value of the added elements
};
using ConstantPad1dOptions = ConstantPadOptions<2>;
using ConstantPad2dOptions = ConstantPadOptions<4>;
using ConstantPad3dOptions = ConstantPadOptions<6>;

namespace functional {
struct PadFuncOptions {
  PadFuncOptions(std::vector<int64_t> pad) : pad_(std::move(pad)) {}
  TANDEM_ARG(std::vector<int64_t>, pad);                  // padding (before, after) per dimension, last dimension first
  TANDEM_ARG(PaddingMode, mode) = PaddingMode::constant;  // kConstant, kReflect, kReplicate or kCircular
  TANDEM_ARG(double, value) = 0;                          // value of the added elements, in mode kConstant
};
/// Pads x with a constant, or in one of the modes kReflect, kReplicate and kCircular; see ops/nn/pad.h.
inline Tensor pad(const Tensor& x, const PadFuncOptions& o) { return tandem::pad(x, o.pad(), o.mode(), o.value()); }
}  // namespace functional

#define TANDEM_PAD_MODULE(Name, call) TANDEM_OPTION_MODULE(Name, Name##Options, , call)
TANDEM_PAD_MODULE(ReflectionPad1d, reflection_pad1d(x, options.padding()));
TANDEM_PAD_MODULE(ReflectionPad2d, reflection_pad2d(x, options.padding()));
TANDEM_PAD_MODULE(ReflectionPad3d, reflection_pad3d(x, options.padding()));
TANDEM_PAD_MODULE(ReplicationPad1d, replication_pad1d(x, options.padding()));
TANDEM_PAD_MODULE(ReplicationPad2d, replication_pad2d(x, options.padding()));
TANDEM_PAD_MODULE(ReplicationPad3d, replication_pad3d(x, options.padding()));
TANDEM_PAD_MODULE(ZeroPad1d, constant_pad_nd(x, options.padding(), 0));
TANDEM_PAD_MODULE(ZeroPad2d, constant_pad_nd(x, options.padding(), 0));
TANDEM_PAD_MODULE(ZeroPad3d, constant_pad_nd(x, options.padding(), 0));
#undef TANDEM_PAD_MODULE

#define TANDEM_CONSTANT_PAD_MODULE(Name, N)                                                            \
  class Name##Impl : public Cloneable<Name##Impl> {                                                    \
   public:                                                                                             \
    Name##Impl(Pads<N> padding, double value) : Name##Impl(Name##Options(padding, value)) {}           \
    explicit Name##Impl(const Name##Options& o) : options(o) {}                                        \
    void reset() override;                                                                             \
    void pretty_print(std::ostream& out) const override;                                               \
    Tensor forward(const Tensor& x) { return constant_pad_nd(x, options.padding(), options.value()); } \
    Name##Options options;                                                                             \
  };                                                                                                   \
  TANDEM_LIBRARY_MODULE(Name)
TANDEM_CONSTANT_PAD_MODULE(ConstantPad1d, 2);
TANDEM_CONSTANT_PAD_MODULE(ConstantPad2d, 4);
TANDEM_CONSTANT_PAD_MODULE(ConstantPad3d, 6);
#undef TANDEM_CONSTANT_PAD_MODULE

}  // namespace tandem::nn
