// Random permutations: randperm.
#include "tandem/ops/random/randperm.h"

#include <limits>
#include <utility>

#include "tandem/core/generator.h"
#include "tandem/core/loop/run_loop.h"
#include "tandem/core/threads/thread_pool.h"
#include "tandem/ops/factory/make_empty.h"

namespace tandem {

Tensor randperm(int64_t n, const TensorOptions& options) {
  TANDEM_CHECK(n >= 0, "randperm: n must be non-negative, got ", n);
  check_not_recorded("randperm", "the host makes the permutation");
  // Fisher-Yates shuffle on the host with numbers from the device's generator, so that all devices give the same
  // permutation.
  Tensor order = core::empty({n}, kInt64, kCPU);
  Tensor draws = core::empty({n}, kInt64, kCPU);
  {
    const GeneratorGuard guard(default_generator(options.device()));
    draws.random_(0, std::numeric_limits<int64_t>::max());
  }
  auto* p = order.data<int64_t>();
  auto* r = draws.data<int64_t>();
  parallel_for(n, 8192, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      p[i] = i;
      r[i] %= i + 1;
    }
  });
  // number of steps by which swap partners are prefetched ahead, because their positions are random
  constexpr int64_t kAhead = 16;
  for (int64_t i = n - 1; i > 0; --i) {
    if (i > kAhead) __builtin_prefetch(p + r[i - kAhead], 1);
    std::swap(p[i], p[r[i]]);
  }
  return apply_requires_grad(order.to(options.dtype(options.dtype_or(kInt64))), options);
}

}  // namespace tandem
