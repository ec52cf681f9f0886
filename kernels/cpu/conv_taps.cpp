// Row-major convolutions with few channels, as in the first layer of a network; a library would pad the channels to
// blocks of eight or sixteen. Implements forward and the gradient of the weights.
#include <algorithm>

#include "tandem/kernels/cpu/convolution.h"
#include "tandem/kernels/cpu/gemm.h"
#include "tandem/kernels/cpu/planner.h"

namespace tandem::kernels::cpu {
TANDEM_DECLARE_LOOP(conv_taps)
TANDEM_DECLARE_LOOP(conv_taps_forward)
namespace {

constexpr int64_t kLanes = 8;  // number of output pixels (and so of windows) in a vector

class ConvTapsBlock final : public ConvBlock<float> {
 public:
  ConvTapsBlock(const ConvProblem& p, LoopBody body) : p_(p), body_(body) {}
  int64_t packed_weight_numel() const override { return p_.weight_numel(); }
  int64_t scratch_bytes() const override {
    const int64_t plane = (p_.size[0] + 2 * p_.shape.padding[0]) * (p_.size[1] + 2 * p_.shape.padding[1]);
    const int64_t sums = p_.weight_numel() / p_.channels * kLanes;
    return (is_forward() ? p_.channels * plane : sums + p_.images * plane) * static_cast<int64_t>(sizeof(float));
  }
  void pack(const float* w, float* packed, char*) const override { std::copy(w, w + p_.weight_numel(), packed); }
  void unpack(const float* packed, float* dw, char*) const override {
    std::copy(packed, packed + p_.weight_numel(), dw);
  }
  void run(float* x, float* packed, const float* bias, float* y, char* scratch) const override {
    call_loop(
        body_, kFloat32,
        {is_forward() ? y : packed, x, is_forward() ? packed : y,
         is_forward() ? static_cast<const void*>(bias) : scratch, scratch},
        {integer(p_.channels), integer(p_.size[0]), integer(p_.size[1]), integer(p_.out_channels),
         integer(p_.kernel[0]), integer(p_.kernel[1]), integer(p_.shape.padding[0]), integer(p_.shape.padding[1])},
        p_.images);
  }

 private:
  bool is_forward() const { return p_.pass == ConvPass::forward; }
  ConvProblem p_;
  LoopBody body_;
};

}  // namespace

bool conv_taps_supports(const ConvProblem& p) {
  const bool forward = p.pass == ConvPass::forward;
  const ConvShape& s = p.shape;
  const bool plain = s.groups * s.stride[0] * s.stride[1] * s.dilation[0] * s.dilation[1] == 1 && !s.channels_last;
  // A library is faster with 16 channels or more. With 16 to 31 channels in forward, this holds only if the channels
  // fill the library's blocks of eight.
  const bool few = p.channels < 16 || (forward && p.channels < 32 && p.channels % 8 != 0);
  // Width of the output, and this width rounded up to whole vectors. If the output is narrow, many lanes of its vectors
  // would be empty.
  const int64_t width = p.out_size[1], filled = ceil_div(width, kLanes) * kLanes;
  return p.pass != ConvPass::backward_input && plain && few && width >= kLanes && width * 4 >= filled * 3 &&
         (forward || p.kernel[1] == 3 || p.kernel[1] == 5);
}
ConvBlockPtr<float> conv_taps_block(const ConvProblem& p) {
  const LoopTables& tables = p.pass == ConvPass::forward ? loops::conv_taps_forward : loops::conv_taps;
  const LoopBody body = tables.by_isa[cpu_isa_level()]->by_dtype[static_cast<int>(kFloat32)];
  return body ? std::make_shared<ConvTapsBlock>(p, body) : nullptr;
}

}  // namespace tandem::kernels::cpu
