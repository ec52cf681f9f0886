// Implements RankContext, the state of a thread, and RankState, the state of a rank with its random generators.
#include "tandem/core/rank_context.h"

#include <cstdlib>
#include <map>
#include <vector>

#include "tandem/core/generator.h"
#include "tandem/core/threads/thread_kept.h"
#include "tandem/core/trace/tracer.h"

namespace tandem {

struct RankState::Members {
  std::mutex mutex;
  uint64_t seed = Generator::kDefaultSeed;
  std::map<std::pair<Device, uint64_t>, Generator> generators;  // key: device and stream
  std::map<std::type_index, std::unique_ptr<RankPart>> parts;
};

RankState::RankState() : members_(new Members) {}
RankState::~RankState() = default;

Generator& RankState::generator(Device device, uint64_t stream) {
  const std::lock_guard lock(members_->mutex);
  return members_->generators.try_emplace({device, stream}, members_->seed, stream).first->second;
}
RankPart& RankState::part(std::type_index type, RankPart* (*make)()) {
  const std::lock_guard lock(members_->mutex);
  std::unique_ptr<RankPart>& mine = members_->parts[type];
  if (!mine) mine.reset(make());
  return *mine;
}

void RankState::end_of_process() {
  std::vector<RankPart*> parts;
  {
    const std::lock_guard lock(members_->mutex);
    for (const auto& [type, part] : members_->parts) parts.push_back(part.get());
  }
  for (RankPart* const part : parts) part->end_of_process();
}

RankContext::RankContext() = default;
RankContext::RankContext(const RankContext&) = default;
RankContext::RankContext(RankContext&&) noexcept = default;
RankContext& RankContext::operator=(const RankContext&) = default;
RankContext& RankContext::operator=(RankContext&&) noexcept = default;
RankContext::~RankContext() = default;
RankContextGuard::RankContextGuard(RankContext context)
    : mine_(std::move(context)), saved_(std::exchange(rank_context, &mine_)) {}
RankContextGuard::~RankContextGuard() { rank_context = saved_; }

namespace {
/// Never destroyed: static objects may be destroyed later and still use it, and other threads run until the process
/// ends.
const std::shared_ptr<RankState>& first_rank() {
  static const auto* const first = [] {
    const auto* const made = new std::shared_ptr<RankState>(std::make_shared<RankState>());
    std::atexit([] { first_rank()->end_of_process(); });
    return made;
  }();
  return *first;
}
}  // namespace
RankContext& detail::first_rank_context() {
  struct Owner {
    RankContext context;
    ~Owner() { rank_context = nullptr; }
  };
  Owner& owner = ThreadKept<Owner>::get();
  rank_context = &owner.context;
  trace_if_asked(owner.context);
  return owner.context;
}
RankState& RankContext::state() {
  if (!rank) rank = first_rank();
  return *rank;
}

void RankState::seed_all(uint64_t seed) {
  const std::lock_guard lock(members_->mutex);
  members_->seed = seed;
  for (auto& [key, generator] : members_->generators) generator.set_current_seed(seed);
}

}  // namespace tandem
