// Convolutions by oneDNN (versions 2 and 3): for float32, and for bfloat16 if the processor has instructions that
// multiply it.
#include "tandem/core/threads/cpu_info.h"
#include "tandem/kernels/cpu/convolution.h"

#if TANDEM_HAS_ONEDNN
#include <cstring>

#include "tandem/kernels/cpu/onednn.h"
#endif

namespace tandem::kernels::cpu {

#if TANDEM_HAS_ONEDNN
namespace {

using dnnl::memory;

int64_t align_to_64_bytes(int64_t bytes) { return (bytes + 63) / 64 * 64; }
int64_t desc_bytes(const memory::desc& desc) { return static_cast<int64_t>(desc.get_size()); }

/// Returns the memory layout of images for the primitive. For row-major images, oneDNN's own choice (`any`, which is
/// blocks of channels) is twice as fast in spite of the reordering, except in the cases below. Channels-last images are
/// used in place, but with many channels oneDNN's blocks are faster by a sixth.
memory::format_tag preferred_format_tag(const ConvProblem& p) {
  const ConvShape& s = p.shape;
  const int64_t channels = p.channels / s.groups;
  const bool pointwise = p.kernel[0] * p.kernel[1] * s.stride[0] * s.stride[1] == 1 && !s.padding[0] && !s.padding[1];
  if (s.channels_last) {
    if (p.pass == ConvPass::backward_input && p.channels == 1) return memory::format_tag::nchw;  // equal to nhwc
    const bool wide = channels >= 64 && p.out_channels / s.groups >= 64 && !pointwise;
    return wide && p.pass != ConvPass::backward_weight ? memory::format_tag::any : memory::format_tag::nhwc;
  }
  // oneDNN computes this case as a matrix product, which reads images in place.
  if (pointwise && s.groups == 1) return memory::format_tag::nchw;
  if (p.pass == ConvPass::forward || channels % 16 == 0) return memory::format_tag::any;
  if (channels > 4) return memory::format_tag::nhwc;  // oneDNN's blocks of channels would be padded with zeros
  return p.pass == ConvPass::backward_input ? memory::format_tag::nchw : memory::format_tag::any;
}

/// Layout of a tensor in Tandem (`tandem_desc`) and for the primitive (`onednn_desc`), and the reorders between the two
/// layouts if they differ.
struct Reorder {
  memory::desc tandem_desc, onednn_desc;
  std::optional<dnnl::reorder> in, out;

  Reorder(memory::desc plain_desc, memory::desc wanted_desc, const dnnl::primitive_attr& attr)
      : tandem_desc(std::move(plain_desc)), onednn_desc(std::move(wanted_desc)) {
    if (tandem_desc == onednn_desc) return;
    in.emplace(dnnl::reorder::primitive_desc(onednn_engine(), tandem_desc, onednn_engine(), onednn_desc, attr));
    out.emplace(dnnl::reorder::primitive_desc(onednn_engine(), onednn_desc, onednn_engine(), tandem_desc, attr));
  }
  bool is_needed() const { return in.has_value(); }
};

/// Key of a cached convolution: a problem and the type of its elements.
struct TypedProblem {
  ConvProblem problem;
  memory::data_type type;
  auto operator<=>(const TypedProblem& other) const = default;
};

/// Implements OnednnBlock, without its template argument, so that it is compiled once for all types of elements.
class OnednnConvolution {
 public:
  explicit OnednnConvolution(const TypedProblem& typed) : p_(typed.problem), type_(typed.type) {
    const ConvProblem& p = p_;
    // oneDNN's own scratchpad crashes if the primitive is run by different threads.
    attr_.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const ConvShape& s = p.shape;
    const memory::dims stride{s.stride[0], s.stride[1]}, padding{s.padding[0], s.padding[1]},
        dilation{s.dilation[0] - 1, s.dilation[1] - 1};
    const memory::dims x{p.images, p.channels, p.size[0], p.size[1]},
        y{p.images, p.out_channels, p.out_size[0], p.out_size[1]}, bias{p.out_channels};
    memory::dims w{p.out_channels, p.channels / s.groups, p.kernel[0], p.kernel[1]};
    if (s.groups > 1) w = {s.groups, p.out_channels / s.groups, p.channels / s.groups, p.kernel[0], p.kernel[1]};
    using Tag = memory::format_tag;
    const auto any = [this](const memory::dims& d) { return memory::desc(d, type_, Tag::any); };
    const auto image = [this, tag = preferred_format_tag(p)](const memory::dims& d) {
      return memory::desc(d, type_, tag);
    };
    const auto tandem_desc = [this](const memory::dims& d, Tag tag) { return memory::desc(d, type_, tag); };
    const bool last = s.channels_last;
    const Tag images = last ? Tag::nhwc : Tag::nchw;
    const Tag weights = s.groups > 1 ? (last ? Tag::gohwi : Tag::goihw) : (last ? Tag::ohwi : Tag::oihw);
    const auto plain_bias = p.has_bias ? tandem_desc(bias, Tag::a) : memory::desc();
    const auto kind = dnnl::prop_kind::forward_training;
    const auto direct = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::convolution_forward::primitive_desc forward(onednn_engine(), kind, direct, image(x), any(w), plain_bias,
                                                            image(y), stride, dilation, padding, padding, attr_);
#else
    const dnnl::convolution_forward::primitive_desc forward(
        {kind, direct, image(x), any(w), plain_bias, image(y), stride, dilation, padding, padding}, attr_,
        onednn_engine());
#endif
    // Rejects oneDNN's implementations of float convolutions by im2col and GEMM. Their GEMM keeps the address of heap
    // memory in the stack pointer, so a signal that arrives while it runs writes its frame into the heap (the library's
    // issue 4845). Tandem's im2col is used instead.
    const auto reject_gemm = [this](const auto& desc) {
      const std::string impl_info = desc.impl_info_str();
      if (type_ == memory::data_type::f32 && impl_info.find("gemm:") != std::string::npos)
        throw dnnl::error(dnnl_unimplemented, "a product of patches");
    };
    const auto set_descs = [&](auto desc, const memory::desc& x_desc, const memory::desc& w_desc,
                               const memory::desc& y_desc) {
      reject_gemm(desc);
      x_.emplace(tandem_desc(x, images), x_desc, attr_);
      w_.emplace(tandem_desc(w, weights), w_desc, attr_);
      y_.emplace(tandem_desc(y, images), y_desc, attr_);
      scratchpad_bytes_ = desc_bytes(desc.scratchpad_desc());
      scratchpad_ = desc.scratchpad_desc();
    };
    if (p.pass == ConvPass::forward) {
      convolution_ = dnnl::convolution_forward(forward);
      set_descs(forward, forward.src_desc(), forward.weights_desc(), forward.dst_desc());
    } else if (p.pass == ConvPass::backward_input) {
#if DNNL_VERSION_MAJOR >= 3
      const dnnl::convolution_backward_data::primitive_desc desc(onednn_engine(), direct, image(x), any(w), image(y),
                                                                 stride, dilation, padding, padding, forward, attr_);
#else
      const dnnl::convolution_backward_data::primitive_desc desc(
          {direct, image(x), any(w), image(y), stride, dilation, padding, padding}, attr_, onednn_engine(), forward);
#endif
      convolution_ = dnnl::convolution_backward_data(desc);
      set_descs(desc, desc.diff_src_desc(), desc.weights_desc(), desc.diff_dst_desc());
    } else {
#if DNNL_VERSION_MAJOR >= 3
      const dnnl::convolution_backward_weights::primitive_desc desc(onednn_engine(), direct, image(x), any(w), image(y),
                                                                    stride, dilation, padding, padding, forward, attr_);
#else
      const dnnl::convolution_backward_weights::primitive_desc desc(
          {direct, image(x), any(w), image(y), stride, dilation, padding, padding}, attr_, onednn_engine(), forward);
#endif
      convolution_ = dnnl::convolution_backward_weights(desc);
      set_descs(desc, desc.src_desc(), desc.diff_weights_desc(), desc.diff_dst_desc());
    }
  }

  int64_t packed_weight_numel() const {
    return align_to_64_bytes(desc_bytes(w_->onednn_desc)) / int64_t(sizeof(float));
  }
  int64_t scratch_bytes() const {
    return align_to_64_bytes(scratchpad_bytes_) +
           (x_->is_needed() ? align_to_64_bytes(desc_bytes(x_->onednn_desc)) : 0) +
           (y_->is_needed() ? align_to_64_bytes(desc_bytes(y_->onednn_desc)) : 0);
  }
  void pack(const void* w, void* packed) const {
    copy_or_reorder(*w_, w_->in, w, w_->tandem_desc, packed, w_->onednn_desc);
  }
  void unpack(const void* packed, void* dw) const {
    copy_or_reorder(*w_, w_->out, packed, w_->onednn_desc, dw, w_->tandem_desc);
  }

  void run(void* x, void* packed, const void* bias, void* y, char* scratch) const {
    const SingleOpenMpThreadGuard guard;
    dnnl::stream stream(onednn_engine());
    const memory scratchpad(scratchpad_, onednn_engine(), scratch);
    scratch += align_to_64_bytes(scratchpad_bytes_);
    const memory weight(w_->onednn_desc, onednn_engine(), packed);
    const memory x_plain(x_->tandem_desc, onednn_engine(), x), y_plain(y_->tandem_desc, onednn_engine(), y);
    memory x_wanted = x_plain, y_wanted = y_plain;
    if (x_->is_needed()) {
      x_wanted = memory(x_->onednn_desc, onednn_engine(), scratch);
      scratch += align_to_64_bytes(desc_bytes(x_->onednn_desc));
    }
    if (y_->is_needed()) y_wanted = memory(y_->onednn_desc, onednn_engine(), scratch);
    const bool reads_x = p_.pass != ConvPass::backward_input, reads_y = p_.pass != ConvPass::forward;
    if (reads_x && x_->is_needed()) execute(*x_->in, stream, {{DNNL_ARG_FROM, x_plain}, {DNNL_ARG_TO, x_wanted}});
    if (reads_y && y_->is_needed()) execute(*y_->in, stream, {{DNNL_ARG_FROM, y_plain}, {DNNL_ARG_TO, y_wanted}});
    if (p_.pass == ConvPass::forward) {
      if (bias)
        execute(convolution_, stream,
                {{DNNL_ARG_SRC, x_wanted},
                 {DNNL_ARG_WEIGHTS, weight},
                 {DNNL_ARG_BIAS,
                  memory({{p_.out_channels}, type_, memory::format_tag::a}, onednn_engine(), const_cast<void*>(bias))},
                 {DNNL_ARG_DST, y_wanted},
                 {DNNL_ARG_SCRATCHPAD, scratchpad}});
      else
        execute(convolution_, stream,
                {{DNNL_ARG_SRC, x_wanted},
                 {DNNL_ARG_WEIGHTS, weight},
                 {DNNL_ARG_DST, y_wanted},
                 {DNNL_ARG_SCRATCHPAD, scratchpad}});
      if (y_->is_needed()) execute(*y_->out, stream, {{DNNL_ARG_FROM, y_wanted}, {DNNL_ARG_TO, y_plain}});
    } else if (p_.pass == ConvPass::backward_input) {
      execute(convolution_, stream,
              {{DNNL_ARG_DIFF_SRC, x_wanted},
               {DNNL_ARG_WEIGHTS, weight},
               {DNNL_ARG_DIFF_DST, y_wanted},
               {DNNL_ARG_SCRATCHPAD, scratchpad}});
      if (x_->is_needed()) execute(*x_->out, stream, {{DNNL_ARG_FROM, x_wanted}, {DNNL_ARG_TO, x_plain}});
    } else {
      execute(convolution_, stream,
              {{DNNL_ARG_SRC, x_wanted},
               {DNNL_ARG_DIFF_WEIGHTS, weight},
               {DNNL_ARG_DIFF_DST, y_wanted},
               {DNNL_ARG_SCRATCHPAD, scratchpad}});
    }
    stream.wait();
  }

 private:
  static void copy_or_reorder(const Reorder& layouts, const std::optional<dnnl::reorder>& reorder, const void* from,
                              const memory::desc& from_desc, void* to, const memory::desc& to_desc) {
    if (!layouts.is_needed()) {
      std::memcpy(to, from, layouts.tandem_desc.get_size());
      return;
    }
    const SingleOpenMpThreadGuard guard;
    dnnl::stream stream(onednn_engine());
    execute(*reorder, stream,
            {{DNNL_ARG_FROM, memory(from_desc, onednn_engine(), const_cast<void*>(from))},
             {DNNL_ARG_TO, memory(to_desc, onednn_engine(), to)}});
    stream.wait();
  }

  ConvProblem p_;
  memory::data_type type_;
  dnnl::primitive_attr attr_;
  dnnl::primitive convolution_;
  std::optional<Reorder> x_, w_, y_;
  memory::desc scratchpad_;
  int64_t scratchpad_bytes_ = 0;
};

template <class T> class OnednnBlock final : public ConvBlock<T> {
 public:
  explicit OnednnBlock(std::shared_ptr<const OnednnConvolution> convolution) : convolution_(std::move(convolution)) {}
  int64_t packed_weight_numel() const override { return convolution_->packed_weight_numel(); }
  int64_t scratch_bytes() const override { return convolution_->scratch_bytes(); }
  void pack(const T* w, float* packed, char*) const override { convolution_->pack(w, packed); }
  void unpack(const float* packed, T* dw, char*) const override { convolution_->unpack(packed, dw); }
  void run(T* x, float* packed, const T* bias, T* y, char* scratch) const override {
    convolution_->run(x, packed, bias, y, scratch);
  }

 private:
  std::shared_ptr<const OnednnConvolution> convolution_;
};

}  // namespace

template <class T> ConvBlockPtr<T> onednn_block(const ConvProblem& problem) {
  constexpr bool narrow = std::is_same_v<T, BFloat16>;
  static auto* const cache = new OnednnCache<TypedProblem, OnednnConvolution>;  // never destroyed
  auto convolution = cache->get({problem, narrow ? memory::data_type::bf16 : memory::data_type::f32});
  return convolution ? std::make_shared<OnednnBlock<T>>(std::move(convolution)) : nullptr;
}

#else

template <class T> ConvBlockPtr<T> onednn_block(const ConvProblem&) { return nullptr; }

#endif

template <class T> bool onednn_supports(const ConvProblem& problem) {
  // oneDNN's gradient of the weights takes as long for bfloat16 as for float, and is rounded after each block of
  // images.
  return TANDEM_HAS_ONEDNN &&
         (std::is_same_v<T, float> || (cpu_supports_bfloat16() && problem.pass != ConvPass::backward_weight));
}
template bool onednn_supports<float>(const ConvProblem& problem);
template bool onednn_supports<BFloat16>(const ConvProblem& problem);
template ConvBlockPtr<float> onednn_block(const ConvProblem& problem);
template ConvBlockPtr<BFloat16> onednn_block(const ConvProblem& problem);

}  // namespace tandem::kernels::cpu
