// Convolutions of channels-last images with few channels, as a network's first, which libraries fill up to blocks of
// eight or sixteen: forward, and the gradients of weights and bias.
#include <algorithm>

#include "tandem/kernels/cpu/convolution.h"
#include "tandem/kernels/cpu/planner.h"

namespace tandem::kernels::cpu {
TANDEM_DECLARE_LOOP(conv_few)
TANDEM_DECLARE_LOOP(conv_few_weights)
namespace {

class ConvFewBlock final : public ConvBlock<float> {
 public:
  ConvFewBlock(const ConvProblem& p, LoopBody body) : p_(p), body_(body) {}
  bool sums_bias() const override { return p_.has_bias; }
  int64_t packed_weights() const override {
    return p_.weights() + (p_.pass == ConvPass::backward_weight && p_.has_bias ? p_.out_channels : 0);
  }
  int64_t scratch_bytes() const override {
    const int64_t* const padding = p_.shape.padding;
    return (p_.size[0] + 2 * padding[0]) * (p_.size[1] + 2 * padding[1]) * p_.channels *
           static_cast<int64_t>(sizeof(float));
  }
  // From a filter's weights side by side to a weight's filters, and back.
  void pack(const float* w, float* packed, char*) const override {
    for (int64_t f = 0; f < p_.out_channels; ++f)
      for (int64_t k = 0; k < taps(); ++k) packed[k * p_.out_channels + f] = w[f * taps() + k];
  }
  void unpack(const float* packed, float* dw, char*) const override {
    for (int64_t f = 0; f < p_.out_channels; ++f)
      for (int64_t k = 0; k < taps(); ++k) dw[f * taps() + k] = packed[k * p_.out_channels + f];
  }
  void run(float* x, float* packed, const float* bias, float* y, char* scratch) const override {
    const auto bytes = [](const float* p) { return reinterpret_cast<char*>(const_cast<float*>(p)); };
    const bool forward = p_.pass == ConvPass::forward;
    const Buffer buffers[] = {{bytes(forward ? y : packed)},
                              {bytes(x)},
                              {bytes(forward ? packed : y)},
                              {forward ? bytes(bias) : scratch},
                              {scratch}};
    Loop loop{};
    for (int i = 0; i < 5; ++i) loop.operands[i].buffer = &buffers[i];
    const ConvShape& s = p_.shape;
    const int64_t numbers[] = {p_.channels,  p_.size[0],   p_.size[1],  p_.out_channels, p_.kernel[0], p_.kernel[1],
                               s.padding[0], s.padding[1], s.stride[0], s.stride[1],     p_.has_bias};
    for (int i = 0; i < 11; ++i) loop.scalars[i] = integer(numbers[i]);
    body_(loop, 0, p_.images);
  }

 private:
  int64_t taps() const { return p_.weights() / p_.out_channels; }
  ConvProblem p_;
  LoopBody body_;
};

}  // namespace

std::shared_ptr<const ConvBlock<float>> conv_few_block(const ConvProblem& p) {
  const LoopTables& tables = p.pass == ConvPass::forward ? loops::conv_few : loops::conv_few_weights;
  const LoopBody body = tables.by_isa[cpu_isa_level()]->by_dtype[static_cast<int>(kFloat32)];
  const ConvShape& s = p.shape;
  const int64_t width = cpu_isa() == CpuIsa::v4 ? 16 : 8;  // filters in a vector
  // Forward beyond that, the library's blocks of channels are as full as registers can be.
  const bool many = p.pass == ConvPass::forward && p.channels * p.kernel[0] * p.kernel[1] > 48;
  if (!body || many || p.pass == ConvPass::backward_input || !s.channels_last || p.channels > 4 ||
      p.out_channels % width != 0 || s.groups * s.dilation[0] * s.dilation[1] != 1)
    return nullptr;
  return std::make_shared<ConvFewBlock>(p, body);
}

}  // namespace tandem::kernels::cpu
