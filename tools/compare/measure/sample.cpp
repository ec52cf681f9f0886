// Implements run_sample(): trains a few steps under a mode, with or without a trace, and collects times, events and
// memory.
#include "tandem/tools/compare/measure/sample.h"

#include <algorithm>
#include <csignal>
#include <numeric>

#include "tandem/benchmarks/scratch_folder.h"
#include "tandem/core/trace/tracer.h"
#include "tandem/tandem.h"
#include "tandem/tools/compare/measure/batches.h"
#include "tandem/tools/compare/measure/links.h"
#include "tandem/tools/compare/measure/rank_file.h"
#include "tandem/tools/launch/ranks.h"

namespace tandem::tools::compare {
namespace {

Device job_device(const Job& job, int index) { return {Device(job.device).type(), index}; }

/// Runs one training step, and marks the phases that the time breakdown distinguishes.
/// @param slept_seconds  incremented by the seconds of a fault that was planted in the input
/// @param outputs_done   if job.trace is set, becomes StepTimes::outputs_done
double run_step(Worker& worker, optim::Optimizer& optimizer, const Batches& batches, const Job& job, int64_t step,
                double& slept_seconds, double& outputs_done) {
  data::Example<> batch;
  {
    const PhaseSpan phase("input");
    batch = batches.get(step);
    if (job.fault.kind == InjectedFault::Kind::input) slept_seconds += sleep_for(job.fault.seconds);
  }
  {
    const PhaseSpan phase("optimizer");
    optimizer.zero_grad();
  }
  Tensor loss;
  if (worker.forward_and_loss) {
    const PhaseSpan phase("forward");
    loss = worker.forward_and_loss(batch.data, batch.target);
  } else {
    Tensor output;
    {
      const PhaseSpan phase("forward");
      output = worker.forward(batch.data);
    }
    if (job.trace) output.register_hook([&](const Tensor&) { outputs_done = trace_clock_seconds(); });
    const PhaseSpan phase("loss");
    loss = worker.loss(output, batch.target);
  }
  loss.backward();
  {
    const PhaseSpan phase("optimizer");
    optimizer.step();
  }
  const PhaseSpan phase("wait");  // item() waits until the GPU has finished; on the CPU there is nothing to wait for
  return loss.item<double>();
}

/// Memory allocated on purpose (fault "memory"), in a given phase; freed at the step's end.
class FaultMemory {
 public:
  /// @param fault    must outlive the memory trace, which keeps a pointer to the phase's name
  FaultMemory(const InjectedFault& fault, Device device) {
    const PhaseSpan phase(fault.phase.c_str());
    buffer_ = core::empty({fault.bytes}, kUInt8, device);
  }

 private:
  Tensor buffer_;
};

/// Returns the addresses of the memory of parameters, gradients and optimizer state, each with its cause.
std::vector<BlockInUse> list_owned_blocks(const Worker& worker, const optim::Optimizer& optimizer, bool in_buckets) {
  std::vector<BlockInUse> owned_blocks;
  const auto add = [&](const Tensor& t, const char* cause) {
    if (t.defined()) owned_blocks.push_back({t.storage().data(), cause});
  };
  for (const Tensor& p : worker.net->parameters()) {
    add(p, "parameters");
    add(p.grad(), in_buckets ? "buckets" : "gradients");
  }
  for (const Tensor& b : worker.net->buffers()) add(b, "parameters");
  for (const auto& [name, t] : optimizer.state()) add(t, "optimizer");
  return owned_blocks;
}

std::vector<float> concatenate_parameters(const Net& net) {
  const NoGradGuard guard;
  std::vector<float> all;
  for (const Tensor& p : net->parameters()) {
    const Tensor here = p.detach().to(kCPU).contiguous();
    all.insert(all.end(), here.data_ptr<float>(), here.data_ptr<float>() + here.numel());
  }
  return all;
}

int64_t bytes_moved_by(const Mode& mode) {
  if (mode.kind == Mode::Kind::data_parallel) return nn::parallel::bytes_moved();
  return mode.kind == Mode::Kind::distributed ? distributed::default_group()->bytes_sent() : 0;
}

/// Returns the observer that slows the device down, or null if `fault` is a fault of another kind.
std::shared_ptr<Slowdown> make_slowdown(const InjectedFault& fault, Device device, bool between_ranks) {
  using Kind = InjectedFault::Kind;
  const bool slows = fault.kind == Kind::compute || fault.kind == Kind::slow || fault.kind == Kind::link;
  return slows ? std::make_shared<Slowdown>(fault, device, between_ranks) : nullptr;
}

template <class F> auto run_in_phase(const char* name, F f) {
  const PhaseSpan phase(name);
  return f();
}

std::vector<Device> job_devices(const Job& job) {
  std::vector<Device> devices;
  devices.reserve(static_cast<size_t>(job.devices));
  for (int i = 0; i < job.devices; ++i) devices.push_back(job_device(job, i));
  return devices;
}

/// Fills in the sizes of the network's parameters and buffers.
void record_tensor_sizes(const Net& net, RankSample& sample) {
  constexpr int64_t kFlat = 64;  // alignment of tensors in DataParallel's flat buffer, in elements
  const auto flat = [](const Tensor& t) { return (t.numel() + kFlat - 1) / kFlat * kFlat * t.itemsize(); };
  for (const Tensor& p : net->parameters()) {
    sample.parameter_bytes.push_back(p.nbytes());
    sample.flat_parameter_bytes += flat(p);
  }
  sample.flat_bytes = sample.flat_parameter_bytes;
  for (const Tensor& b : net->buffers()) {
    sample.buffer_bytes.push_back(b.nbytes());
    sample.flat_bytes += flat(b);
  }
}

/// Returns the index of the step of median duration; the shorter one of the two in the middle if their number is even.
int find_median_step(const std::vector<StepTimes>& steps) {
  std::vector<int> order(steps.size());
  std::iota(order.begin(), order.end(), 0);
  const auto seconds = [&](int i) { return steps[static_cast<size_t>(i)].end - steps[static_cast<size_t>(i)].start; };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return seconds(a) < seconds(b); });
  return order.at((order.size() - 1) / 2);
}
/// Broadcasts the value of `mine` on rank 0, the index of the step to show, and returns it on all ranks.
int broadcast_shown_step(int mine) {
  std::string text = std::to_string(mine);
  distributed::broadcast_bytes(text, 0);
  return std::stoi(text);
}

/// Runs one rank's part of the training. For DDP the process group must be initialised.
RankSample run_rank(const Mode& mode, const Job& job) {
  const bool distributed_mode = mode.kind == Mode::Kind::distributed || mode.independent_ranks;
  const int rank = distributed_mode ? distributed::get_rank() : 0;
  const int ranks = distributed_mode ? distributed::get_world_size() : 1;
  RankSample sample;
  sample.rank = rank;
  if (job.probe) {
    sample.all_reduce_seconds = time_all_reduces();
    return sample;
  }
  const std::vector<Device> devices = job_devices(job);
  const Device rank_device =
      distributed_mode && mode.backend != "gloo" ? devices[static_cast<size_t>(rank)] : devices[0];
  if (job.trace) start_trace();  // starts before the network is created, so that the network's memory is recorded
  const Batches batches = run_in_phase("input", [&] { return Batches(job, rank, ranks); });
  manual_seed(job.seed);
  Net net(job.model);
  net->to(rank_device);
  net->train(!job.for_reference_comparison);
  Worker worker = run_in_phase("replicate", [&] { return make_worker(mode, net, devices); });
  optim::Adam optimizer(net->parameters(), optim::AdamOptions(1e-3));
  const InjectedFault& fault = job.fault;
  const bool here = distributed_mode ? fault.target == rank : fault.target < job.devices;
  const Device slow = distributed_mode || mode.kind == Mode::Kind::single ? rank_device : job_device(job, fault.target);
  const std::shared_ptr<Slowdown> slowdown = here ? make_slowdown(fault, slow, distributed_mode) : nullptr;
  std::optional<ObserverGuard> observer;
  if (slowdown) observer.emplace(slowdown);
  std::shared_ptr<FingerprintObserver> fingerprints;
  std::optional<ObserverGuard> fingerprinting;
  if (job.fingerprints && rank == 0) {
    fingerprints = std::make_shared<FingerprintObserver>(rank_device);
    fingerprinting.emplace(fingerprints);
  }

  if (mode.independent_ranks)
    // Suppresses the warning about ranks that call no collective, because here this is intended.
    ThreadContext::current().rank_state().has_warned_of_no_collective = true;
  record_tensor_sizes(net, sample);
  int64_t moved = 0;
  double slept_seconds = 0, slept_before = 0, machine_cpu = -1, process_cpu = 0;
  std::vector<std::vector<BlockInUse>> owned_blocks;
  std::vector<std::vector<int64_t>> peaks;
  const CoreWait core_wait;
  for (int step = 0; step < job.warmup + job.steps; ++step) {
    if (distributed_mode && step == job.warmup) distributed::barrier();
    if (step == job.warmup) {
      moved = bytes_moved_by(mode);
      machine_cpu = machine_cpu_seconds();
      process_cpu = process_cpu_seconds();
      slept_seconds = 0;
      slept_before = slowdown ? slowdown->slept_seconds() : 0;
      TANDEM_CHECK(!here || fault.kind != InjectedFault::Kind::fail, "compare: planted failure on ", slow,
                   ", as --plant asks");
    }
    if (slowdown) slowdown->begin_step();
    if (fingerprints) fingerprints->begin_step(step);
    if (job.trace)
      for (const Device device : worker.devices) reset_peak_memory_stats(device);
    const double waited = job.trace ? core_wait.seconds() : 0;
    const double start = trace_clock_seconds(), cpu_start = thread_cpu_seconds();
    std::optional<FaultMemory> memory;
    if (here && fault.kind == InjectedFault::Kind::memory) memory.emplace(fault, slow);
    double outputs_done = 0;
    const double loss = run_step(worker, optimizer, batches, job, step, slept_seconds, outputs_done);
    if (step < job.warmup) continue;
    const double cpu_end = thread_cpu_seconds();
    sample.steps.push_back({start, trace_clock_seconds(), cpu_start, cpu_end, 0, outputs_done});
    sample.losses.push_back(loss);
    if (!job.trace) continue;
    sample.steps.back().without_core = core_wait.seconds() - waited;
    peaks.emplace_back();
    for (const Device device : worker.devices) peaks.back().push_back(memory_stats(device).peak);
    owned_blocks.push_back(list_owned_blocks(worker, optimizer, distributed_mode));
  }
  if (const double now = machine_cpu_seconds(); now >= 0 && machine_cpu >= 0) sample.machine_cpu = now - machine_cpu;
  sample.process_cpu = process_cpu_seconds() - process_cpu;
  sample.bytes_moved = bytes_moved_by(mode) - moved;
  if (slowdown) slept_seconds += slowdown->slept_seconds() - slept_before;
  sample.planted_seconds = slept_seconds / std::max(1, job.steps);
  fingerprinting.reset();
  observer.reset();
  if (fingerprints) sample.fingerprints = fingerprints->take();
  if (job.for_reference_comparison) sample.parameters = concatenate_parameters(net);
  if (!job.trace) return sample;
  sample.events = take_trace();
  sample.devices = worker.devices;
  sample.shown_step = find_median_step(sample.steps);
  if (mode.kind == Mode::Kind::distributed) sample.shown_step = broadcast_shown_step(sample.shown_step);
  const auto shown = static_cast<size_t>(sample.shown_step);
  sample.owned_blocks = std::move(owned_blocks[shown]);
  sample.allocator_peaks = std::move(peaks[shown]);
  return sample;
}

/// Calls `run`, which trains the ranks in this process. If job.trace is set, attributes each rank's memory to causes,
/// and records the activity of the process.
std::vector<RankSample> run_with_memory_trace(const Job& job, const std::function<std::vector<RankSample>()>& run) {
  if (!job.trace) return run();
  const int count = Device(job.device).is_cpu() ? kMaxDevices : cuda::device_count();
  std::vector<int64_t> before;
  before.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) before.push_back(memory_stats(job_device(job, i)).current);
  start_memory_trace();
  ActivityRecorder recorder;
  std::vector<RankSample> samples;
  try {
    samples = run();
  } catch (...) {
    take_memory_trace();
    throw;
  }
  const std::vector<MemoryEvent> events = take_memory_trace();
  samples[0].activity = recorder.take();
  for (RankSample& sample : samples)
    for (const Device device : sample.devices)
      sample.memory.push_back(attribute_memory(events, device, sample.steps[static_cast<size_t>(sample.shown_step)],
                                               before[static_cast<size_t>(device.index())], sample.owned_blocks));
  return samples;
}

/// Runs each rank as a process, by starting this program again with the hidden option --rank-result.
std::vector<RankSample> run_in_processes(const Mode& mode, const Job& job) {
  const benchmarks::ScratchFolder folder("compare");
  std::vector<std::string> arguments = {"--rank-result", folder.path()};
  for (const std::string& argument : make_rank_arguments(mode, job)) arguments.push_back(argument);
  try {
    run_own_ranks("compare", mode.key, job.devices, arguments);
  } catch (const Interrupted&) {
    // The launcher had replaced the caller's SIGINT handler, so the signal is raised again for the caller.
    std::raise(SIGINT);
    throw;
  }
  std::vector<RankSample> samples;
  samples.reserve(static_cast<size_t>(job.devices));
  for (int r = 0; r < job.devices; ++r) samples.push_back(read_rank_sample(folder.path(), r));
  return samples;
}

}  // namespace

std::vector<double> Sample::seconds() const {
  std::vector<double> out;
  for (const StepTimes& step : ranks.at(0).steps) out.push_back(step.end - step.start);
  return out;
}
std::vector<Activity> Sample::activities() const {
  std::vector<Activity> out;
  for (const RankSample& rank : ranks)
    if (!rank.activity.samples.empty()) out.push_back(rank.activity);
  return out;
}
std::vector<TraceEvent> Sample::events() const {
  std::vector<TraceEvent> all;
  for (const RankSample& rank : ranks)
    for (TraceEvent e : rank.events) {
      e.rank = rank.rank;
      all.push_back(std::move(e));
    }
  return all;
}

RankSample run_reference(const Mode& mode, const Job& job) {
  const bool dp = mode.kind == Mode::Kind::data_parallel;
  manual_seed(job.seed);
  Net net(job.model);
  const Device device = job_device(job, 0);
  net->to(device);
  net->eval();
  optim::Adam optimizer(net->parameters(), optim::AdamOptions(1e-3));
  // Splits each batch as DDP does. DataParallel gets the same shards if the batch size is a multiple of the number of
  // devices.
  std::vector<Batches> shards;
  shards.reserve(static_cast<size_t>(job.devices));
  for (int r = 0; r < job.devices; ++r) shards.emplace_back(job, r, job.devices);
  const auto targets = static_cast<double>(job.batch * example_sizes(job.model).targets);
  RankSample sample;
  const auto fingerprints = std::make_shared<FingerprintObserver>(device);
  std::optional<ObserverGuard> observer;
  if (job.fingerprints) observer.emplace(fingerprints);
  for (int step = 0; step < job.warmup + job.steps; ++step) {
    fingerprints->begin_step(step);
    optimizer.zero_grad();
    double loss = 0;
    for (size_t r = 0; r < shards.size(); ++r) {
      const data::Example<> shard = shards[r].get(step);
      const Tensor output = net(shard.data.to(device)), target = shard.target.to(device);
      const Tensor part = dp ? net->loss(output, target, Reduction::sum) / targets : net->loss(output, target);
      part.backward();
      if (dp || r == 0) loss += part.item<double>();
    }
    if (!dp) {
      const NoGradGuard guard;
      for (const Tensor& p : net->parameters()) p.mutable_grad().mul_(1.0 / job.devices);
    }
    optimizer.step();
    if (step >= job.warmup) sample.losses.push_back(loss);
  }
  observer.reset();
  sample.fingerprints = fingerprints->take();
  sample.parameters = concatenate_parameters(net);
  return sample;
}

TracedSteps alternate_tracing(const Job& job, int pairs) {
  const Batches batches(job, 0, 1);
  manual_seed(job.seed);
  const Net net(job.model);
  const std::vector<Device> devices = {job_device(job, 0)};
  net->to(devices[0]);
  Worker worker = make_worker(find_mode("single"), net, devices);
  optim::Adam optimizer(net->parameters(), optim::AdamOptions(1e-3));
  double slept_seconds = 0, outputs_done = 0;
  TracedSteps out;
  constexpr int kWarmup = 3;
  int64_t step = 0;
  const auto timed = [&](bool traced, std::vector<double>& seconds) {
    if (traced) start_trace();
    const double start = trace_clock_seconds();
    run_step(worker, optimizer, batches, job, step++, slept_seconds, outputs_done);
    const double taken = trace_clock_seconds() - start;
    if (traced) take_trace();
    if (step > kWarmup) seconds.push_back(taken);
  };
  std::vector<double> unused;
  while (step < kWarmup) timed(step % 2 == 1, unused);
  // Alternates the order, so that a traced step comes first in every other pair.
  for (int i = 0; i < pairs; ++i)
    for (const bool traced : {i % 2 == 0, i % 2 == 1}) timed(traced, traced ? out.traced : out.untraced);
  return out;
}

RankSample run_this_rank(const Mode& mode, const Job& job) {
  return run_with_memory_trace(job, [&] { return std::vector{run_rank(mode, job)}; }).at(0);
}

Sample run_sample(const Mode& mode, const Job& job) {
  if (mode.backend == "gloo" || mode.backend == "nccl") return {run_in_processes(mode, job)};
  return {run_with_memory_trace(job, [&] {
    const bool ranks = mode.kind == Mode::Kind::distributed || mode.independent_ranks;
    std::vector<RankSample> samples(ranks ? static_cast<size_t>(job.devices) : 1);
    if (!ranks)
      samples[0] = run_rank(mode, job);
    else
      distributed::run_ranks(job.devices, [&](int rank) {
        distributed::init_process_group("local");
        samples[static_cast<size_t>(rank)] = run_rank(mode, job);
      });
    return samples;
  })};
}

}  // namespace tandem::tools::compare
