// Generator, the default generators, and seeding.
#include "tandem/core/generator.h"

#include <utility>

#include "tandem/core/internal.h"
#include "tandem/core/thread_context.h"

namespace tandem {

PhiloxState Generator::reserve_numbers(uint64_t elements) {
  const std::lock_guard lock(mutex_);
  PhiloxState taken = state_;
  // Reserves 64 bits for each element even if 32 are used, so that later numbers do not depend on the dtype.
  state_.offset += (elements + 1) / 2;
  return taken;
}
void Generator::set_current_seed(uint64_t seed) {
  const std::lock_guard lock(mutex_);
  state_.seed = seed;
  state_.offset = 0;
}
PhiloxState Generator::get_state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}
void Generator::set_state(PhiloxState state) {
  const std::lock_guard lock(mutex_);
  state_ = state;
}

Generator& default_generator(Device device) {
  Generator* const chosen = ThreadContext::current().generator;
  return chosen ? *chosen : default_generator(device, 0);
}
Generator& default_generator(Device device, uint64_t stream) {
  return ThreadContext::current().rank_state().generator(device, stream);
}
void manual_seed(uint64_t seed) { ThreadContext::current().rank_state().seed_all(seed); }

GeneratorGuard::GeneratorGuard(Generator& generator)
    : saved_generator_(std::exchange(ThreadContext::current().generator, &generator)) {}
GeneratorGuard::~GeneratorGuard() { ThreadContext::current().generator = saved_generator_; }

}  // namespace tandem
