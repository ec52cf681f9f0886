// Matrix products: cut into pieces by shape, each piece a product in one thread.
#include "tandem/kernels/matmul.h"

#include "tandem/core/thread_pool.h"
#include "tandem/kernels/cpu/gemm.h"
#include "tandem/kernels/cpu/planner.h"
#include "tandem/kernels/reduce.h"

namespace tandem::kernels::cpu {
namespace {

template <class Visitor> void visit_real(const char* op, DType dtype, Visitor&& visitor) {
  if (dtype == kFloat32) return visitor.template operator()<float>();
  TANDEM_CHECK_AS(NotImplementedError, dtype == kFloat64, op, ": does not exist for ", dtype,
                  "; accepted: float32, float64");
  visitor.template operator()<double>();
}

/// How many pieces a product is cut into: by its size alone, so that the calls are the same whoever runs them.
int64_t pieces_of(int64_t m, int64_t n, int64_t k) {
  const double work = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const int64_t wanted = work < 1e6 ? 1 : work < 64e6 ? 2 : work < 1e9 ? 4 : 16;
  return std::min(wanted, std::max<int64_t>(std::max(m, n) / 32, 1));
}

}  // namespace

TANDEM_DECLARE_LOOP(dot)
namespace {
/// Of each row of a with the column of b, both dense: a sum, which a product of matrices would leave to one thread.
void dot(const Tensor& a, const Tensor& b, Tensor& c) {
  constexpr int64_t kBlock = 32768;
  const int64_t batch = c.size(0), k = a.size(2), blocks = (k + kBlock - 1) / kBlock;
  Tensor partial = blocks == 1 ? c : core::empty({batch, blocks, 1}, c.dtype(), c.device());
  run(plan_raw("dot", pick(loops::dot, c.dtype(), "dot"), c.dtype(), {partial}, {a, b},
               {integer(k), integer(blocks), integer(kBlock), integer(a.stride(0)), integer(b.stride(0))},
               batch * blocks, std::max<int64_t>(kBlock / k, 1)));
  if (blocks == 1) return;
  Tensor total = core::try_view(c, {batch, 1});
  sum(partial, total);
}
}  // namespace

void matmul(const Tensor& a, const Tensor& b, bool accumulate, Tensor& c) {
  const int64_t batch = c.size(0), m = c.size(1), n = c.size(2), k = a.size(2);
  const bool ta = a.stride(2) != 1 && k > 1 && m > 0, tb = b.stride(2) != 1 && n > 1;
  const int64_t pieces = pieces_of(m, n, k);
  const bool by_rows = m >= n;
  const int64_t longer = by_rows ? m : n, step = std::max<int64_t>(((longer + pieces - 1) / pieces + 15) / 16 * 16, 1);
  const int64_t cuts = (longer + step - 1) / step;
  if (c.numel() == 0) return;
  if (m == 1 && n == 1 && !accumulate && (k == 1 || (a.stride(2) == 1 && b.stride(1) == 1))) return dot(a, b, c);
  visit_real("matmul", c.dtype(), [&]<class T>() {
    parallel_for(batch * cuts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t i = unit / cuts, first = unit % cuts * step, count = std::min(step, longer - first);
        Gemm g{ta,
               tb,
               accumulate,
               by_rows ? count : m,
               by_rows ? n : count,
               k,
               ta ? a.stride(2) : a.stride(1),
               tb ? b.stride(2) : b.stride(1),
               n};
        if (!ta && m == 1) g.lda = std::max(k, int64_t(1));
        if (!tb && k == 1) g.ldb = std::max(n, int64_t(1));
        const T* from_a = a.data<T>() + i * a.stride(0) + (by_rows ? first * a.stride(1) : 0);
        const T* from_b = b.data<T>() + i * b.stride(0) + (by_rows ? 0 : first * b.stride(2));
        T* const to = c.data<T>() + (i * m + (by_rows ? first : 0)) * n + (by_rows ? 0 : first);
        gemm(g, from_a, from_b, to);
      }
    });
  });
}

}  // namespace tandem::kernels::cpu
