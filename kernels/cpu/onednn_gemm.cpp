// Matrix products of bfloat16 by oneDNN (versions 2 and 3), if the processor has instructions for them.
#include <vector>

#include "tandem/core/error.h"
#include "tandem/core/internal.h"
#include "tandem/core/threads/cpu_info.h"
#include "tandem/core/threads/late_thread_local.h"
#include "tandem/kernels/cpu/gemm.h"
#if TANDEM_HAS_ONEDNN
#include "tandem/kernels/cpu/onednn.h"
#endif

namespace tandem::kernels::cpu {

#if TANDEM_HAS_ONEDNN
namespace {

using dnnl::memory;

struct TypedGemm {
  Gemm gemm;
  memory::data_type c;
  auto operator<=>(const TypedGemm&) const = default;
};

/// A matrix product, prepared for given sizes. Any number of threads may run it at once.
class OnednnMatmul {
 public:
  explicit OnednnMatmul(const TypedGemm& typed) {
    const Gemm& g = typed.gemm;
    const auto matrix = [](int64_t rows, int64_t columns, bool transposed, int64_t lead) {
      return memory::desc({rows, columns}, memory::data_type::bf16,
                          transposed ? memory::dims{1, lead} : memory::dims{lead, 1});
    };
    a_ = matrix(g.m, g.k, g.transpose_a, g.lda);
    b_ = matrix(g.k, g.n, g.transpose_b, g.ldb);
    c_ = memory::desc({g.m, g.n}, typed.c, memory::dims{g.ldc, 1});
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (g.accumulate) {
      dnnl::post_ops sum;
      sum.append_sum();
      attr.set_post_ops(sum);
    }
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc desc(onednn_engine(), a_, b_, c_, attr);
#else
    const dnnl::matmul::primitive_desc desc({a_, b_, c_}, attr, onednn_engine());
#endif
    scratchpad_ = desc.scratchpad_desc();
    matmul_ = dnnl::matmul(desc);
  }
  void run(const BFloat16* a, const BFloat16* b, void* c) const {
    struct Scratch {
      std::unique_ptr<char[]> bytes;
      size_t size = 0;
    };
    Scratch& scratch = LateThreadLocal<Scratch>::get();
    const size_t wanted = scratchpad_.get_size() + 64;
    if (wanted > scratch.size) {
      scratch.bytes.reset(new char[wanted]);
      scratch.size = wanted;
    }
    char* const aligned = scratch.bytes.get() + -reinterpret_cast<uintptr_t>(scratch.bytes.get()) % 64;
    const auto at = [](const memory::desc& desc, const void* p) {
      return memory(desc, onednn_engine(), const_cast<void*>(p));
    };
    const dnnl::stream stream(onednn_engine());
    execute(matmul_, stream,
            {{DNNL_ARG_SRC, at(a_, a)},
             {DNNL_ARG_WEIGHTS, at(b_, b)},
             {DNNL_ARG_DST, at(c_, c)},
             {DNNL_ARG_SCRATCHPAD, at(scratchpad_, aligned)}});
  }

 private:
  memory::desc a_, b_, c_, scratchpad_;
  dnnl::matmul matmul_;
};

/// Computes a product by oneDNN. Returns false if oneDNN does not support the product, or exit() has begun.
bool run(const TypedGemm& g, const BFloat16* a, const BFloat16* b, void* c) {
  static auto* const cache = new OnednnCache<TypedGemm, OnednnMatmul>;  // never destroyed
  const auto product = cache->get(g);
  if (!product) return false;
  const SingleOpenMpThreadGuard guard;
  product->run(a, b, c);
  return true;
}
/// Returns a copy of a matrix, converted to float and with the same leading dimension.
std::vector<float> widen_to_float(const BFloat16* from, int64_t rows, int64_t columns, int64_t lead) {
  return {from, from + (rows - 1) * lead + columns};
}

}  // namespace

bool onednn_supports_bfloat16() { return cpu_supports_bfloat16(); }
bool onednn_gemm(const Gemm& g, const BFloat16* a, const BFloat16* b, BFloat16* c) {
  return run({g, memory::data_type::bf16}, a, b, c);
}
void onednn_gemm(const Gemm& g, const BFloat16* a, const BFloat16* b, float* c) {
  if (run({g, memory::data_type::f32}, a, b, c)) return;
  const auto wide_a = g.transpose_a ? widen_to_float(a, g.k, g.m, g.lda) : widen_to_float(a, g.m, g.k, g.lda);
  const auto wide_b = g.transpose_b ? widen_to_float(b, g.n, g.k, g.ldb) : widen_to_float(b, g.k, g.n, g.ldb);
  native_gemm(g, wide_a.data(), wide_b.data(), c);
}

#else

bool onednn_supports_bfloat16() { return false; }
bool onednn_gemm(const Gemm&, const BFloat16*, const BFloat16*, BFloat16*) { return false; }
void onednn_gemm(const Gemm&, const BFloat16*, const BFloat16*, float*) {
  TANDEM_FAIL("onednn_gemm: internal error: it was called in a build without oneDNN; please report it");
}

#endif

}  // namespace tandem::kernels::cpu
