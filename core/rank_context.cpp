#include "tandem/core/rank_context.h"

#include <map>
#include <utility>

#include "tandem/core/generator.h"

namespace tandem {

struct RankState::Generators {
  std::mutex mutex;
  uint64_t seed = Generator::kDefaultSeed;
  std::map<std::pair<Device, uint64_t>, Generator> all;  // by device and stream
};

RankState::RankState() : generators_(std::make_unique<Generators>()) {}
RankState::~RankState() = default;

Generator& RankState::generator(Device device, uint64_t stream) {
  const std::lock_guard lock(generators_->mutex);
  return generators_->all.try_emplace({device, stream}, generators_->seed, stream).first->second;
}

RankContext& RankContext::current() {
  thread_local RankContext context;
  return context;
}
RankState& RankContext::state() {
  static const std::shared_ptr<RankState> first = std::make_shared<RankState>();
  if (!rank) rank = first;
  return *rank;
}

RankContextGuard::RankContextGuard(RankContext context) : saved_(std::move(RankContext::current())) {
  RankContext::current() = std::move(context);
}
RankContextGuard::~RankContextGuard() { RankContext::current() = std::move(saved_); }

DType get_default_dtype() { return RankContext::current().default_dtype; }
void set_default_dtype(DType dtype) {
  TANDEM_CHECK(is_floating_point(dtype), "set_default_dtype: got ", dtype, "; accepted: a floating-point dtype");
  RankContext::current().default_dtype = dtype;
}

Generator& default_generator(Device device) {
  Generator* const chosen = RankContext::current().generator;
  return chosen ? *chosen : default_generator(device, 0);
}
Generator& default_generator(Device device, uint64_t stream) {
  return RankContext::current().state().generator(device, stream);
}
void manual_seed(uint64_t seed) { RankContext::current().state().seed_all(seed); }

void RankState::seed_all(uint64_t seed) {
  const std::lock_guard lock(generators_->mutex);
  generators_->seed = seed;
  for (auto& [key, generator] : generators_->all) generator.set_current_seed(seed);
}

GeneratorGuard::GeneratorGuard(Generator& generator)
    : saved_(std::exchange(RankContext::current().generator, &generator)) {}
GeneratorGuard::~GeneratorGuard() { RankContext::current().generator = saved_; }

PhiloxState Generator::reserve(uint64_t elements) {
  const std::lock_guard lock(mutex_);
  PhiloxState taken = state_;
  state_.offset += (elements + 1) / 2;  // blocks enough for 64-bit draws, so that dtype does not move what follows
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

}  // namespace tandem
