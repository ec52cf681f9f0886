// Source of the random numbers of an operation: reserves them in the device's Philox stream.
#include "tandem/ops/random/reserve_random_numbers.h"

#include <map>
#include <mutex>

#include "tandem/core/cuda/capture.h"
#include "tandem/core/generator.h"
#include "tandem/kernels/fill.h"
#include "tandem/ops/define_op.h"

namespace tandem::detail {
namespace {

Tensor empty_philox_state(Device device) { return core::empty({3}, kInt64, device); }
void store_philox_state(const PhiloxState& random, Tensor state) {
  const uint64_t words[] = {random.seed, random.stream, random.offset};
  TANDEM_DISPATCH(state.device(), store_words, ArrayRef<uint64_t>(words, 3), state);
}

/// Philox states at block 0, cached by device, seed and random stream. Each call passes its offset separately, so the
/// cached memory is written only once.
struct PhiloxStateCache : RankExtension {
  std::mutex mutex;
  std::map<std::tuple<Device, uint64_t, uint64_t>, Tensor> states;

  Tensor get_initial_state(Device device, PhiloxState random) {
    constexpr size_t kMaxCachedStates = 64;
    const std::lock_guard lock(mutex);
    if (states.size() > kMaxCachedStates) states.clear();
    Tensor& state = states[{device, random.seed, random.stream}];
    if (!state.defined()) {
      state = empty_philox_state(device);
      random.offset = 0;
      store_philox_state(random, state);
      // Synchronizes, because other CUDA streams may read the state too.
      if (device.is_cuda()) cuda::current_stream(device).synchronize();
    }
    if (device.is_cuda()) state.record_stream(cuda::current_stream(device));
    return state;
  }
};

}  // namespace

RandomReservation reserve_random_numbers(Device device, int64_t elements) {
  if (ThreadContext::current().observer) return {reserve_random_state(device, elements), 0};
  const PhiloxState random = default_generator(device).reserve_numbers(static_cast<uint64_t>(elements));
  return {ThreadContext::current().rank_state().extension<PhiloxStateCache>().get_initial_state(device, random),
          random.offset};
}
Tensor reserve_random_state(Device device, int64_t elements) {
  const auto own_state = [&] {
    const cuda::UncapturedGuard guard;
    return empty_philox_state(device);
  };
  const Tensor state = own_state();
  // If a Graph records the operation, the state is written before each replay, so that each replay draws new numbers.
  run_update([&generator = default_generator(device), count = static_cast<uint64_t>(elements), state,
              rank = ThreadContext::current().rank] { store_philox_state(generator.reserve_numbers(count), state); });
  return state;
}

}  // namespace tandem::detail
