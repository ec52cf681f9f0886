// Convolutions of channels-last images by Tandem's own register tiles. conv_few_channels handles few channels, as in
// the first layer of a network; a library would pad them to blocks of eight or sixteen. conv_many_channels handles many
// channels, mostly without padding.
#include <cstring>

#include "tandem/kernels/cpu/convolution.h"
#include "tandem/kernels/cpu/planner.h"

namespace tandem::kernels::cpu {
TANDEM_DECLARE_LOOP(conv_few_channels)
TANDEM_DECLARE_LOOP(conv_few_channels_weights)
TANDEM_DECLARE_LOOP(conv_many_channels)
TANDEM_DECLARE_LOOP(conv_many_channels_input)
TANDEM_DECLARE_LOOP(conv_many_channels_weights)
namespace {

class ChannelsLastConvBlock final : public ConvBlock<float> {
 public:
  /// If `transposed`, the loop reads packed weights of shape (taps, filters) instead of (filters, taps).
  ChannelsLastConvBlock(const ConvProblem& p, LoopBody body, bool transposed)
      : p_(p), body_(body), transposed_(transposed) {}
  bool computes_bias_gradient() const override { return p_.has_bias; }
  int64_t packed_weight_numel() const override {
    return p_.weight_numel() + (p_.pass == ConvPass::backward_weight && p_.has_bias ? p_.out_channels : 0);
  }
  int64_t scratch_bytes() const override {
    const int64_t* const padding = p_.shape.padding;
    return (p_.size[0] + 2 * padding[0]) * (p_.size[1] + 2 * padding[1]) * p_.channels *
           static_cast<int64_t>(sizeof(float));
  }
  void pack(const float* w, float* packed, char*) const override {
    if (!transposed_) return copy(w, packed);
    for (int64_t f = 0; f < p_.out_channels; ++f)
      for (int64_t k = 0; k < taps(); ++k) packed[k * p_.out_channels + f] = w[f * taps() + k];
  }
  void unpack(const float* packed, float* dw, char*) const override {
    if (!transposed_) return copy(packed, dw);
    for (int64_t f = 0; f < p_.out_channels; ++f)
      for (int64_t k = 0; k < taps(); ++k) dw[f * taps() + k] = packed[k * p_.out_channels + f];
  }
  void run(float* x, float* packed, const float* bias, float* y, char* scratch) const override {
    const bool forward = p_.pass == ConvPass::forward, to_input = p_.pass == ConvPass::backward_input;
    const ConvShape& s = p_.shape;
    call_loop(body_, kFloat32,
              {forward    ? y
               : to_input ? x
                          : packed,
               to_input ? y : x, forward || to_input ? packed : y, forward ? static_cast<const void*>(bias) : scratch,
               scratch},
              {integer(p_.channels), integer(p_.size[0]), integer(p_.size[1]), integer(p_.out_channels),
               integer(p_.kernel[0]), integer(p_.kernel[1]), integer(s.padding[0]), integer(s.padding[1]),
               integer(s.stride[0]), integer(s.stride[1]), integer(p_.has_bias)},
              p_.images);
  }

 private:
  int64_t taps() const { return p_.weight_numel() / p_.out_channels; }
  void copy(const float* from, float* to) const {
    std::memcpy(to, from, static_cast<size_t>(p_.weight_numel()) * sizeof(float));
  }
  ConvProblem p_;
  LoopBody body_;
  bool transposed_;
};

ConvBlockPtr<float> make_block(const ConvProblem& p, const LoopTables& tables, bool transposed) {
  const LoopBody body = tables.by_isa[cpu_isa_level()]->by_dtype[static_cast<int>(kFloat32)];
  return body ? std::make_shared<ChannelsLastConvBlock>(p, body, transposed) : nullptr;
}
bool is_ungrouped_undilated(const ConvShape& s) {
  return s.channels_last && s.groups == 1 && s.dilation[0] == 1 && s.dilation[1] == 1;
}

}  // namespace

bool conv_few_channels_supports(const ConvProblem& p) {
  const int64_t width = cpu_isa() == CpuIsa::v4 ? 16 : 8;  // filters per vector
  // In forward, oneDNN is as fast as Tandem's tiles if a filter has more than 48 weights, because oneDNN's blocks of
  // channels are then full.
  const bool many = p.pass == ConvPass::forward && p.channels * p.kernel[0] * p.kernel[1] > 48;
  return !many && p.pass != ConvPass::backward_input && is_ungrouped_undilated(p.shape) && p.channels <= 4 &&
         p.out_channels % width == 0;
}
ConvBlockPtr<float> conv_few_channels_block(const ConvProblem& p) {
  return make_block(p, p.pass == ConvPass::forward ? loops::conv_few_channels : loops::conv_few_channels_weights, true);
}

bool conv_many_channels_supports(const ConvProblem& p) {
  constexpr int64_t kCached = 150'000;  // number of weights that fit into the L2 cache
  const ConvShape& s = p.shape;
  // Tandem's tiles multiply padding by zero, while oneDNN skips it, so oneDNN is faster for padded convolutions.
  // Exception: if a stride is above 1, these tiles are faster for the gradients in spite of the padding.
  const bool padded = s.padding[0] > 0 || s.padding[1] > 0, strided = s.stride[0] * s.stride[1] > 1;
  return is_ungrouped_undilated(s) && p.channels % 16 == 0 && p.out_channels % 16 == 0 &&
         p.kernel[0] * p.kernel[1] != 1 && p.weight_numel() <= kCached &&
         (!padded || (p.pass != ConvPass::forward && strided));
}
ConvBlockPtr<float> conv_many_channels_block(const ConvProblem& p) {
  const bool forward = p.pass == ConvPass::forward, to_input = p.pass == ConvPass::backward_input;
  return make_block(p,
                    forward    ? loops::conv_many_channels
                    : to_input ? loops::conv_many_channels_input
                               : loops::conv_many_channels_weights,
                    forward);
}

}  // namespace tandem::kernels::cpu
