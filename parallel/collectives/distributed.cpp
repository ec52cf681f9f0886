#include "tandem/parallel/collectives/distributed.h"

#include <algorithm>
#include <exception>
#include <thread>

#include "tandem/core/rank_context.h"
#include "tandem/core/thread_pool.h"
#include "tandem/parallel/collectives/gloo.h"
#include "tandem/parallel/collectives/local.h"
#include "tandem/parallel/rethrow.h"

namespace tandem::distributed {
namespace {

/// What run_ranks says to the threads that it starts.
struct Launched {
  int rank = 0, size = 1;
  struct Meeting* meeting = nullptr;
};
thread_local Launched launched;

/// Where the threads of one run_ranks find their hub. The first that initialises makes it.
struct Meeting {
  std::mutex mutex;
  std::vector<std::shared_ptr<LocalHub>> hubs;  // one for each time that a group is made
  std::vector<size_t> inits;                    // by rank, how many it has made
  std::string failure;
  std::shared_ptr<LocalHub> next_hub(const Launched& me, std::chrono::milliseconds timeout) {
    const std::lock_guard lock(mutex);
    const size_t number = inits[static_cast<size_t>(me.rank)]++;
    if (number == hubs.size()) {
      hubs.push_back(make_local_hub(me.size, timeout));
      if (!failure.empty()) abort_local(*hubs.back(), failure);
    }
    return hubs[number];
  }
  void abort(const std::string& reason) {
    const std::lock_guard lock(mutex);
    if (failure.empty()) failure = reason;
    for (const auto& hub : hubs) abort_local(*hub, failure);
  }
};

ProcessGroupPtr make_local_group(const InitOptions& o) {
  TANDEM_CHECK(o.rank.value_or(launched.rank) == launched.rank && o.world_size.value_or(launched.size) == launched.size,
               "init_process_group: rank ", o.rank.value_or(launched.rank), " of ",
               o.world_size.value_or(launched.size), " was asked for, but this thread is rank ", launched.rank, " of ",
               launched.size, "; ranks of the backend local are threads that run_ranks starts");
  std::shared_ptr<LocalHub> hub =
      launched.meeting ? launched.meeting->next_hub(launched, o.timeout) : make_local_hub(1, o.timeout);
  return make_queued_group(launched.rank, launched.size, "local", o.timeout,
                           make_local_communicator(std::move(hub), launched.rank));
}

ProcessGroupPtr chosen(const ProcessGroupPtr& group) { return group ? group : default_group(); }
WorkPtr complete(WorkPtr work, bool async_op) {
  if (!async_op) work->wait();
  return work;
}

}  // namespace

void init_process_group(const std::string& backend, InitOptions options) {
  RankState& state = RankContext::current().state();
  TANDEM_CHECK(!state.default_group, "init_process_group: this rank has a group already (",
               state.default_group->backend(), ", ", state.default_group->size(),
               " ranks); destroy_process_group() leaves it");
  constexpr auto kMost = std::chrono::hours(24 * 365);
  TANDEM_CHECK(options.timeout.count() > 0 && options.timeout <= kMost, "init_process_group: the timeout is ",
               options.timeout.count(), " ms; accepted: more than 0, up to a year");
  ProcessGroupPtr group;
  if (backend == "local")
    group = make_local_group(options);
  else if (backend == "gloo")
    group = make_gloo_group(options);
  else
    TANDEM_FAIL("init_process_group: backend is '", backend, "'; accepted: local, gloo");
  group->barrier()->wait();
  state.world_size = group->size();
  state.default_group = std::move(group);
  state.collectives = 0;
}
bool is_initialized() { return RankContext::current().state().default_group != nullptr; }
void destroy_process_group() {
  RankState& state = RankContext::current().state();
  state.world_size = 1;
  state.default_group.reset();
}
ProcessGroupPtr default_group() {
  const ProcessGroupPtr& group = RankContext::current().state().default_group;
  TANDEM_CHECK(group, "there is no process group; call init_process_group first");
  return group;
}
int get_rank() { return is_initialized() ? default_group()->rank() : 0; }
int get_world_size() { return is_initialized() ? default_group()->size() : 1; }

void run_ranks(int size, const std::function<void(int rank)>& f) {
  TANDEM_CHECK(size >= 1, "run_ranks: size is ", size, "; accepted: 1 or more");
  Meeting meeting;
  meeting.inits.resize(static_cast<size_t>(size));
  std::mutex mutex;
  std::exception_ptr first;
  int first_rank = 0;
  const int cores = get_thread_share() > 0 ? get_thread_share() : get_num_threads();
  const DType default_dtype = get_default_dtype();
  const auto serve = [&](int rank) {
    RankContext context;
    context.default_dtype = default_dtype;
    context.rank = std::make_shared<RankState>();
    context.thread_share = std::max(1, cores / size);
    const RankContextGuard guard(std::move(context));
    launched = {rank, size, &meeting};
    try {
      f(rank);
    } catch (...) {
      {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception(), first_rank = rank;
      }
      meeting.abort("rank " + std::to_string(rank) + " failed: " + detail::what_of(std::current_exception()));
    }
    destroy_process_group();
  };
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(size));
  for (int rank = 0; rank < size; ++rank) threads.emplace_back(serve, rank);
  for (std::thread& thread : threads) thread.join();
  if (first) detail::rethrow_named(first, "rank " + std::to_string(first_rank));
}

WorkPtr all_reduce(const Tensor& x, ReduceOp op, const ProcessGroupPtr& group, bool async_op) {
  return complete(chosen(group)->all_reduce(x, op), async_op);
}
WorkPtr broadcast(const Tensor& x, int src, const ProcessGroupPtr& group, bool async_op) {
  return complete(chosen(group)->broadcast(x, src), async_op);
}
WorkPtr reduce(const Tensor& x, int dst, ReduceOp op, const ProcessGroupPtr& group, bool async_op) {
  return complete(chosen(group)->reduce(x, dst, op), async_op);
}
WorkPtr all_gather(const std::vector<Tensor>& outputs, const Tensor& input, const ProcessGroupPtr& group,
                   bool async_op) {
  return complete(chosen(group)->all_gather(outputs, input), async_op);
}
WorkPtr reduce_scatter(const Tensor& output, const std::vector<Tensor>& inputs, ReduceOp op,
                       const ProcessGroupPtr& group, bool async_op) {
  return complete(chosen(group)->reduce_scatter(output, inputs, op), async_op);
}
void send(const Tensor& x, int dst, const ProcessGroupPtr& group, int tag) { chosen(group)->send(x, dst, tag)->wait(); }
void recv(const Tensor& x, int src, const ProcessGroupPtr& group, int tag) { chosen(group)->recv(x, src, tag)->wait(); }
void barrier(const ProcessGroupPtr& group) { chosen(group)->barrier()->wait(); }

}  // namespace tandem::distributed
