// Implements ThreadContext, the state of a thread, and RankState, the state of a rank with its random generators.
#include "tandem/core/thread_context.h"

#include <cstdlib>
#include <map>
#include <vector>

#include "tandem/core/generator.h"
#include "tandem/core/threads/late_thread_local.h"
#include "tandem/core/trace/tracer.h"

namespace tandem {

struct RankState::Impl {
  std::mutex mutex;
  uint64_t seed = Generator::kDefaultSeed;
  std::map<std::pair<Device, uint64_t>, Generator> generators;  // key: device and stream
  std::map<std::type_index, std::unique_ptr<RankExtension>> extensions;
};

RankState::RankState() : impl_(new Impl) {}
RankState::~RankState() = default;

Generator& RankState::generator(Device device, uint64_t stream) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->generators.try_emplace({device, stream}, impl_->seed, stream).first->second;
}
RankExtension& RankState::extension(std::type_index type, RankExtension* (*make)()) {
  const std::lock_guard lock(impl_->mutex);
  std::unique_ptr<RankExtension>& mine = impl_->extensions[type];
  if (!mine) mine.reset(make());
  return *mine;
}

void RankState::on_process_exit() {
  std::vector<RankExtension*> extensions;
  {
    const std::lock_guard lock(impl_->mutex);
    for (const auto& [type, part] : impl_->extensions) extensions.push_back(part.get());
  }
  for (RankExtension* const part : extensions) part->on_process_exit();
}

ThreadContext::ThreadContext() = default;
ThreadContext::ThreadContext(const ThreadContext&) = default;
ThreadContext::ThreadContext(ThreadContext&&) noexcept = default;
ThreadContext& ThreadContext::operator=(const ThreadContext&) = default;
ThreadContext& ThreadContext::operator=(ThreadContext&&) noexcept = default;
ThreadContext::~ThreadContext() = default;
ThreadContextGuard::ThreadContextGuard(ThreadContext context)
    : context_(std::move(context)), saved_context_(std::exchange(thread_context, &context_)) {}
ThreadContextGuard::~ThreadContextGuard() { thread_context = saved_context_; }

namespace {
/// Never destroyed: static objects may be destroyed later and still use it, and other threads run until the process
/// ends.
const std::shared_ptr<RankState>& first_rank() {
  static const auto* const first = [] {
    const auto* const made = new std::shared_ptr<RankState>(std::make_shared<RankState>());
    std::atexit([] { first_rank()->on_process_exit(); });
    return made;
  }();
  return *first;
}
}  // namespace
ThreadContext& detail::create_thread_context() {
  struct Owner {
    ThreadContext context;
    ~Owner() { thread_context = nullptr; }
  };
  Owner& owner = LateThreadLocal<Owner>::get();
  thread_context = &owner.context;
  attach_process_trace(owner.context);
  return owner.context;
}
RankState& ThreadContext::rank_state() {
  if (!rank) rank = first_rank();
  return *rank;
}

void RankState::seed_all(uint64_t seed) {
  const std::lock_guard lock(impl_->mutex);
  impl_->seed = seed;
  for (auto& [key, generator] : impl_->generators) generator.set_current_seed(seed);
}

}  // namespace tandem
