// Runs small grids of emulated threads for tests of kernels.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tandem/emulation/grid.h"
#include "tandem/emulation/simt.h"

namespace tandem::test {

inline constexpr unsigned kAll = 0xffffffffu;

inline void run(dim3 grid, dim3 block, const std::function<void()>& thread, size_t shared_bytes = 0) {
  emulation::run_grid("tested", grid, block, shared_bytes, thread);
}
/// Returns f() of every thread of one block.
template <class T, class F> std::vector<T> each(unsigned threads, F f) {
  std::vector<T> result(threads);
  run(1, threads, [&] { result[threadIdx.x] = f(); });
  return result;
}
inline std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const CudaError& error) {
    return error.what();
  }
  return "no CudaError";
}
struct Order {  // Runs threads in forward order while it lives, so that messages name the first thread.
  const emulation::OrderSetting saved = emulation::thread_order();
  Order() { emulation::set_thread_order(emulation::ThreadOrder::forward); }
  ~Order() { emulation::set_thread_order(saved.order, saved.seed); }
};

}  // namespace tandem::test
