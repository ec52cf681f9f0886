// Implements DeviceThreads: starts one thread per device, gives each a job, and waits for all of them.
#include "tandem/parallel/device_threads.h"

#include <algorithm>
#include <latch>

#include "tandem/core/generator.h"
#include "tandem/core/loop/run_loop.h"
#include "tandem/core/threads/thread_pool.h"
#include "tandem/core/trace/tracer.h"
#include "tandem/parallel/rethrow.h"
#include "tandem/parallel/worker_thread.h"

namespace tandem::nn::parallel {

DeviceThreads::DeviceThreads(std::vector<Device> devices) : devices_(std::move(devices)) {
  threads_.reserve(devices_.size());
  for (size_t r = 1; r < devices_.size(); ++r) threads_.emplace_back(new tandem::detail::WorkerThread);
}
DeviceThreads::~DeviceThreads() = default;

void DeviceThreads::run_on_devices(size_t count, const std::function<void(size_t)>& job) {
  check_not_recorded("DataParallel", "each device has a thread that would have to record");
  const int cores = get_thread_share() > 0 ? get_thread_share() : get_num_threads(), parts = static_cast<int>(count);
  // rounded up, so that no core is idle
  const int share = count == 1 ? get_thread_share() : (cores + parts - 1) / parts;
  const ThreadShareGuard cores_of_each(share);
  ThreadContext::current()
      .rank_state();  // creates the state of this rank now, so that the copies of the context share it
  ThreadContext context = ThreadContext::current();
  std::vector<std::exception_ptr> failures(count);
  std::vector<uint64_t> sequences(count);
  const auto run_one = [&](size_t r) {
    std::optional<GeneratorGuard> stream;
    if (r > 0) stream.emplace(default_generator(devices_[0], r));
    const PhaseSpan phase("forward");
    try {
      job(r);
    } catch (...) {
      failures[r] = std::current_exception();
    }
    sequences[r] = ThreadContext::current().next_sequence_nr;
  };
  std::latch others(parts - 1);
  for (size_t r = 1; r < count; ++r) {
    context.lane = devices_[r].index();
    threads_[r - 1]->post(context, [&, r] {
      run_one(r);
      others.count_down();
    });
  }
  run_one(0);
  {
    const PhaseSpan phase("wait");
    others.wait();
  }
  // The jobs ran in parallel and numbered their autograd nodes from the same first number. Nodes that are created from
  // now on must get higher numbers than all of these.
  ThreadContext::current().next_sequence_nr = *std::max_element(sequences.begin(), sequences.end());
  for (size_t r = 0; r < count; ++r)
    if (failures[r])
      tandem::detail::rethrow_named(failures[r], "replica " + std::to_string(r) + " on " + devices_[r].str());
}

}  // namespace tandem::nn::parallel
