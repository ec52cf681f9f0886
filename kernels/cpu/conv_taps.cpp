// The weights' gradients of convolutions with few channels, as those of a network's first layer, which libraries fill
// up to blocks of eight or sixteen.
#include <algorithm>

#include "tandem/kernels/cpu/convolution.h"
#include "tandem/kernels/cpu/gemm.h"
#include "tandem/kernels/cpu/planner.h"

namespace tandem::kernels::cpu {
TANDEM_DECLARE_LOOP(conv_taps)
namespace {

constexpr int64_t kLanes = 8;  // windows side by side

class ConvTapsBlock final : public ConvBlock<float> {
 public:
  ConvTapsBlock(const ConvProblem& p, LoopBody body) : p_(p), body_(body) {}
  int64_t packed_weights() const override { return p_.weights(); }
  int64_t scratch_bytes() const override {
    const int64_t plane = (p_.size[0] + 2 * p_.shape.padding[0]) * (p_.size[1] + 2 * p_.shape.padding[1]);
    return (p_.weights() / p_.channels * kLanes + plane) * static_cast<int64_t>(sizeof(float));
  }
  void pack(const float* w, float* packed, char*) const override { std::copy(w, w + p_.weights(), packed); }
  void unpack(const float* packed, float* dw, char*) const override { std::copy(packed, packed + p_.weights(), dw); }
  void run(float* x, float* packed, const float*, float* y, char* scratch) const override {
    const auto bytes = [](float* p) { return reinterpret_cast<char*>(p); };
    const Buffer buffers[] = {{bytes(packed)}, {bytes(x)}, {bytes(y)}, {scratch}};
    Loop loop{};
    for (int i = 0; i < 4; ++i) loop.operands[i].buffer = &buffers[i];
    const int64_t numbers[] = {p_.channels,  p_.size[0],   p_.size[1],          p_.out_channels,
                               p_.kernel[0], p_.kernel[1], p_.shape.padding[0], p_.shape.padding[1]};
    for (int i = 0; i < 8; ++i) loop.scalars[i] = integer(numbers[i]);
    body_(loop, 0, p_.images);
  }

 private:
  ConvProblem p_;
  LoopBody body_;
};

}  // namespace

std::shared_ptr<const ConvBlock<float>> conv_taps_block(const ConvProblem& p) {
  const LoopBody body = loops::conv_taps.by_isa[cpu_isa_level()]->by_dtype[static_cast<int>(kFloat32)];
  const ConvShape& s = p.shape;
  const bool plain = s.groups * s.stride[0] * s.stride[1] * s.dilation[0] * s.dilation[1] == 1 && !s.channels_last;
  if (!body || p.pass != ConvPass::backward_weight || !plain || p.channels > 4) return nullptr;
  const int64_t width = p.out_size[1], filled = ceil_div(width, kLanes) * kLanes;  // a narrow plane leaves lanes empty
  if (width < kLanes || width * 4 < filled * 3 || (p.kernel[1] != 3 && p.kernel[1] != 5)) return nullptr;
  return std::make_shared<ConvTapsBlock>(p, body);
}

}  // namespace tandem::kernels::cpu
