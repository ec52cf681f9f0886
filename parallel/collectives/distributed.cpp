// Implements init_process_group, the default group, and run_ranks, which starts ranks as threads.
#include "tandem/parallel/collectives/distributed.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <map>
#include <random>
#include <thread>

#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/core/thread_context.h"
#include "tandem/core/threads/start_thread.h"
#include "tandem/core/threads/thread_pool.h"
#include "tandem/core/trace/tracer.h"
#include "tandem/data/example_random_streams.h"
#include "tandem/parallel/collectives/flight_recorder.h"
#include "tandem/parallel/collectives/gloo/gloo.h"
#include "tandem/parallel/collectives/job_environment.h"
#include "tandem/parallel/collectives/local.h"
#include "tandem/parallel/collectives/nccl/api.h"
#include "tandem/parallel/collectives/nccl/nccl.h"
#include "tandem/parallel/collectives/rank_groups.h"
#include "tandem/parallel/rethrow.h"

namespace tandem::distributed {
namespace {

/// Rank of a thread that run_ranks started, and the state that it shares with the other threads of the same call of
/// run_ranks.
struct ThreadRank {
  int rank = 0, size = 1;
  struct LaunchContext* launch_context = nullptr;
};
thread_local ThreadRank thread_rank;

/// State shared by the threads of one call of run_ranks. The first thread that initialises a group creates the object
/// through which its ranks meet: a LocalHub (backend local) or a store (other backends).
struct LaunchContext {
  std::mutex mutex;
  std::map<size_t, std::shared_ptr<LocalHub>> local_hubs;  // LocalHub of each group, by number of the group
  std::vector<size_t> num_groups;                          // number of groups that each rank has made so far, by rank
  std::string failure;
  std::vector<std::shared_ptr<FlightLog>> flight_logs;
  std::unique_ptr<StoreServer> store;
  std::string token;

  std::shared_ptr<LocalHub> next_hub(const ThreadRank& me, std::chrono::milliseconds timeout) {
    const std::lock_guard lock(mutex);
    std::shared_ptr<LocalHub>& hub = local_hubs[num_groups[static_cast<size_t>(me.rank)]++];
    if (!hub) {
      hub = make_local_hub(me.size, timeout);
      if (!failure.empty()) abort_local(*hub, failure);
    }
    return hub;
  }
  Rendezvous next_rendezvous(const ThreadRank& me, std::chrono::milliseconds timeout) {
    Rendezvous job{.rank = me.rank, .size = me.size, .store = nullptr};
    const std::lock_guard lock(mutex);
    job.name = "group " + std::to_string(num_groups[static_cast<size_t>(me.rank)]++);
    if (!store) {
      std::random_device random;
      for (int i = 0; i < 4; ++i) token += std::to_string(random());
      store = std::make_unique<StoreServer>(token);
      if (!failure.empty()) store->set(kFailureKey, failure);
    }
    job.store = std::make_shared<StoreClient>("127.0.0.1", store->port(), token, timeout);
    job.watchdog_store = std::make_unique<StoreClient>("127.0.0.1", store->port(), token, timeout);
    return job;
  }
  void abort(const std::string& reason) {
    std::vector<std::shared_ptr<FlightLog>> all;
    {
      const std::lock_guard lock(mutex);
      if (!failure.empty()) return;
      failure = reason;
      for (const auto& each : local_hubs) abort_local(*each.second, failure);
      if (store) store->set(kFailureKey, failure);
      all = flight_logs;
    }
    // writes the flight records of all ranks, including ranks that make no more calls
    for (const auto& flight : all) flight->record_failure(reason);
  }
};

void check_thread_rank(const InitOptions& o) {
  TANDEM_CHECK(o.rank.value_or(thread_rank.rank) == thread_rank.rank &&
                   o.world_size.value_or(thread_rank.size) == thread_rank.size,
               "init_process_group: rank ", o.rank.value_or(thread_rank.rank), " of ",
               o.world_size.value_or(thread_rank.size), " was requested, but this thread is rank ", thread_rank.rank,
               " of ", thread_rank.size, "; the backend local has ranks that are threads, which run_ranks starts");
}
/// Starts this rank's flight record.
std::shared_ptr<FlightLog> start_flight_log(int rank, int size, const InitOptions& o) {
  auto flight = std::make_shared<FlightLog>(rank, size, o.flight_folder);
  rank_groups().flight_log = flight;
  if (!thread_rank.launch_context) return flight;
  const std::lock_guard lock(thread_rank.launch_context->mutex);
  // Remove the logs of ranks that have left: only this list still holds them.
  std::erase_if(thread_rank.launch_context->flight_logs, [](const auto& each) { return each.use_count() == 1; });
  thread_rank.launch_context->flight_logs.push_back(flight);
  return flight;
}
ProcessGroupPtr make_local_group(const InitOptions& o) {
  check_thread_rank(o);
  std::shared_ptr<LocalHub> hub = thread_rank.launch_context
                                      ? thread_rank.launch_context->next_hub(thread_rank, o.timeout)
                                      : make_local_hub(1, o.timeout);
  return make_queued_group(thread_rank.rank, thread_rank.size, "local", o.timeout,
                           make_local_communicator(std::move(hub), thread_rank.rank), kCPU, nullptr,
                           start_flight_log(thread_rank.rank, thread_rank.size, o));
}
ProcessGroupPtr make_group_from_store(const InitOptions& o, const std::function<ProcessGroupPtr(Rendezvous)>& make) {
  const auto make_recorded = [&](Rendezvous job) {
    job.flight_log = start_flight_log(job.rank, job.size, o);
    return make(std::move(job));
  };
  if (!thread_rank.launch_context) return rendezvous_from_environment(o, make_recorded);
  check_thread_rank(o);
  return make_recorded(thread_rank.launch_context->next_rendezvous(thread_rank, o.timeout));
}

// Backends are checked before this rank waits for other ranks, so that errors come without delay.
const InitOptions& require_gloo(const InitOptions& o) {
  TANDEM_CHECK_AS(
      NotImplementedError, is_gloo_available(),
      "init_process_group: Distributed package doesn't have Gloo built in; on Debian: apt install libgloo-dev, then "
      "build again");
  return o;
}
const InitOptions& require_nccl(const InitOptions& o) {
  TANDEM_CHECK_AS(NotImplementedError, cuda::is_available(),
                  "init_process_group: nccl needs a GPU, but none is available: ", gpu::unavailable_reason());
  nccl::library();
  TANDEM_CHECK_AS(
      DistributedError, !thread_rank.launch_context || thread_rank.size == 1 || gpu::loads_kernels_eagerly(),
      "init_process_group: nccl between threads of one process may deadlock when kernels are loaded at their "
      "first launch; set CUDA_MODULE_LOADING=EAGER in the environment, use the backend local, or make the "
      "ranks processes (tandem launch)");
  return o;
}

/// Returns the GPU that a rank uses if the options name none.
Device default_gpu(int rank) {
  const int number = thread_rank.launch_context ? rank : read_local_rank().value_or(rank);
  TANDEM_CHECK(number >= 0 && number < cuda::device_count(), "init_process_group: rank ", rank,
               " would use cuda:", number, ", but this machine has ", cuda::device_count(),
               " GPUs; nccl needs one for each rank on a machine");
  return Device(kCUDA, number);
}
std::string default_backend(const InitOptions& o) {
  const bool on_gpu =
      o.device ? o.device->is_cuda() : is_nccl_available() && gpu::implementation() != std::string("emulated");
  return on_gpu ? "nccl" : thread_rank.launch_context ? "local" : "gloo";
}

}  // namespace

void init_process_group(const std::string& requested_backend, InitOptions options) {
  const std::string backend = requested_backend.empty() ? default_backend(options) : requested_backend;
  ProcessGroupPtr& current = rank_groups().default_group;
  TANDEM_CHECK(!current,
               "init_process_group: trying to initialize the default process group twice! This rank is in a group of ",
               current->size(), " ranks (", current->backend(), "); call destroy_process_group() first");
  constexpr auto kMaxTimeout = std::chrono::hours(24 * 365);
  TANDEM_CHECK(options.timeout.count() > 0 && options.timeout <= kMaxTimeout, "init_process_group: the timeout is ",
               options.timeout.count(), " ms; accepted: more than 0, up to a year");
  ProcessGroupPtr group;
  if (backend == "local")
    group = make_local_group(options);
  else if (backend == "gloo")
    group = make_group_from_store(require_gloo(options),
                                  [&](Rendezvous job) { return make_gloo_group(std::move(job), options.timeout); });
  else if (backend == "nccl")
    group = make_group_from_store(require_nccl(options), [&](Rendezvous job) {
      const Device device = options.device ? *options.device : default_gpu(job.rank);
      return make_nccl_group(std::move(job), device, options.timeout);
    });
  else
    TANDEM_FAIL("init_process_group: Unknown backend '", backend, "'; accepted: local, gloo, nccl");
  group->barrier()->wait();
  RankState& state = ThreadContext::current().rank_state();
  state.world_size = group->size();
  state.gpu_index = group->device().is_cuda() ? group->device().index() : -1;
  state.num_collectives = 0;
  data::detail::set_data_rank(group->rank());
  if (backend != "local") set_process_trace_rank(group->rank());  // not for `local`, because its ranks share a process
  current = std::move(group);
}
int get_node_local_rank(std::optional<int> fallback_rank) {
  const std::optional<int> known = thread_rank.launch_context ? thread_rank.rank : read_local_rank();
  TANDEM_CHECK(known || fallback_rank,
               "get_node_local_rank: LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
               "`get_node_local_rank` to work, or start the ranks with a launcher that sets it");
  return known ? *known : *fallback_rank;
}
bool is_initialized() { return rank_groups().default_group != nullptr; }
void destroy_process_group(const ProcessGroupPtr& group) {
  RankGroups& groups = rank_groups();
  if (group && group != groups.default_group) {
    TANDEM_CHECK(
        std::erase(groups.subgroups, group) > 0,
        "destroy_process_group: Invalid process group specified: this rank is not in it, or has left it; accepted: "
        "a group that new_group returned");
    return;
  }
  ThreadContext::current().rank_state().world_size = 1;
  ThreadContext::current().rank_state().gpu_index = -1;
  data::detail::set_data_rank(0);
  groups.leave_all_groups();
}
ProcessGroupPtr default_group() {
  const ProcessGroupPtr& group = rank_groups().default_group;
  TANDEM_CHECK(group, "Default process group has not been initialized, please make sure to call init_process_group.");
  return group;
}
int get_rank(const ProcessGroupPtr& group) {
  return group ? group->rank() : is_initialized() ? default_group()->rank() : 0;
}
int get_world_size(const ProcessGroupPtr& group) {
  return group ? group->rank() < 0 ? -1 : group->size() : is_initialized() ? default_group()->size() : 1;
}

void run_ranks(int size, const std::function<void(int rank)>& f) {
  TANDEM_CHECK(size >= 1, "run_ranks: size is ", size, "; accepted: 1 or more");
  LaunchContext launch_context;
  launch_context.num_groups.resize(static_cast<size_t>(size));
  std::mutex mutex;
  std::exception_ptr first;
  int first_rank = 0;
  const int cores = get_thread_share() > 0 ? get_thread_share() : get_num_threads();
  const DType default_dtype = get_default_dtype();
  const auto serve = [&](int rank) {
    ThreadContext context;
    context.default_dtype = default_dtype;
    context.rank = std::make_shared<RankState>();
    context.thread_share = std::max(1, cores / size);
    detail::attach_process_trace(context);
    const ThreadContextGuard guard(std::move(context));
    thread_rank = {rank, size, &launch_context};
    try {
      f(rank);
    } catch (...) {
      {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception(), first_rank = rank;
      }
      launch_context.abort("rank " + std::to_string(rank) +
                           " failed: " + detail::exception_message(std::current_exception()));
    }
    destroy_process_group();
  };
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(size));
  for (int rank = 0; rank < size; ++rank)
    threads.push_back(detail::start_thread("a rank", [&serve, rank] { serve(rank); }));
  for (std::thread& thread : threads) thread.join();
  if (first) detail::rethrow_named(first, "rank " + std::to_string(first_rank));
}

}  // namespace tandem::distributed
