// DeviceThreads: starts one thread per device, hands out a step, and waits for all of them.
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

void DeviceThreads::run(size_t count, const std::function<void(size_t)>& job) {
  check_not_recorded("DataParallel", "each device has a thread that would have to record");
  const int cores = get_thread_share() > 0 ? get_thread_share() : get_num_threads(), parts = static_cast<int>(count);
  const int share = count == 1 ? get_thread_share() : (cores + parts - 1) / parts;  // rounded up: no core is idle
  const ThreadShareGuard cores_of_each(share);
  RankContext::current().state();  // creates this rank's state, so that the threads share it
  RankContext context = RankContext::current();
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
    sequences[r] = RankContext::current().next_sequence;
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
  // The shards numbered their nodes at the same time, beginning with the same number. Nodes of the joined graph come
  // after them all.
  RankContext::current().next_sequence = *std::max_element(sequences.begin(), sequences.end());
  for (size_t r = 0; r < count; ++r)
    if (failures[r])
      tandem::detail::rethrow_named(failures[r], "replica " + std::to_string(r) + " on " + devices_[r].str());
}

}  // namespace tandem::nn::parallel
