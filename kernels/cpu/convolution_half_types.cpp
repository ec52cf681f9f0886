// Convolutions of half types. Each block of images is converted to float in scratch memory, a ConvBlock of float
// computes the result, and the result is rounded. Libraries accept bfloat16 only on processors that have instructions
// for it, and do not accept float16.
#include "tandem/kernels/cpu/casts.h"
#include "tandem/kernels/cpu/convolution.h"

namespace tandem::kernels::cpu {

namespace {

/// Casts `count` elements in the calling thread.
template <class From, class To> void cast(const LoopTables& tables, const From* from, To* to, int64_t count) {
  if (count == 0) return;
  const Buffer buffers[] = {{reinterpret_cast<char*>(to)}, {reinterpret_cast<char*>(const_cast<From*>(from))}};
  Loop loop{};
  loop.extents = {1, {count}};
  loop.operands[0].buffer = &buffers[0];
  loop.operands[0].strides[0] = sizeof(To);
  loop.operands[1].buffer = &buffers[1];
  loop.operands[1].strides[0] = sizeof(From);
  select_body(tables, dtype_of<From>(), "cast")(loop, 0, count);
}
template <class T> void widen(const T* from, float* to, int64_t count) {
  cast(loops::cast_to_float32, from, to, count);
}
template <class T> void narrow(const float* from, T* to, int64_t count) {
  cast(std::is_same_v<T, Half> ? loops::cast_to_float16 : loops::cast_to_bfloat16, from, to, count);
}
int64_t aligned_float_bytes(int64_t floats) { return (floats * static_cast<int64_t>(sizeof(float)) + 63) / 64 * 64; }

template <class T> class WideningBlock final : public ConvBlock<T> {
 public:
  WideningBlock(const ConvProblem& p, ConvBlockPtr<float> block)
      : p_(p), block_(std::move(block)), x_(p.images * p.x_image_numel()), y_(p.images * p.y_image_numel()) {}
  int64_t packed_weight_numel() const override { return block_->packed_weight_numel(); }
  int64_t pack_scratch_bytes() const override { return aligned_float_bytes(p_.weight_numel()); }
  int64_t scratch_bytes() const override {
    return aligned_float_bytes(x_) + aligned_float_bytes(y_) + aligned_float_bytes(p_.out_channels) +
           block_->scratch_bytes();
  }
  void pack(const T* w, float* packed, char* scratch) const override {
    float* const wide = reinterpret_cast<float*>(scratch);
    widen(w, wide, p_.weight_numel());
    block_->pack(wide, packed, nullptr);
  }
  void unpack(const float* packed, T* dw, char* scratch) const override {
    float* const wide = reinterpret_cast<float*>(scratch);
    block_->unpack(packed, wide, nullptr);
    narrow(wide, dw, p_.weight_numel());
  }
  void run(T* x, float* packed, const T* bias, T* y, char* scratch) const override {
    const auto take = [&](int64_t floats) {
      float* const buffer = reinterpret_cast<float*>(scratch);
      scratch += aligned_float_bytes(floats);
      return buffer;
    };
    float *const wide_x = take(x_), *const wide_y = take(y_), *const wide_bias = take(p_.out_channels);
    if (p_.pass != ConvPass::backward_input) widen(x, wide_x, x_);
    if (p_.pass != ConvPass::forward) widen(y, wide_y, y_);
    if (bias) widen(bias, wide_bias, p_.out_channels);
    block_->run(wide_x, packed, bias ? wide_bias : nullptr, wide_y, scratch);
    if (p_.pass == ConvPass::backward_input) narrow(wide_x, x, x_);
    if (p_.pass == ConvPass::forward) narrow(wide_y, y, y_);
  }

 private:
  ConvProblem p_;
  ConvBlockPtr<float> block_;
  int64_t x_, y_;  // numbers of elements of x and of y in a block of images
};

}  // namespace

template <class T> ConvBlockPtr<T> widening_block(const ConvProblem& problem, ConvBlockPtr<float> block) {
  return std::make_shared<WideningBlock<T>>(problem, std::move(block));
}
template ConvBlockPtr<Half> widening_block(const ConvProblem& problem, ConvBlockPtr<float> block);
template ConvBlockPtr<BFloat16> widening_block(const ConvProblem& problem, ConvBlockPtr<float> block);

}  // namespace tandem::kernels::cpu
