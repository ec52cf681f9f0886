// Implements a fake libnccl.so.2 for tests on emulated GPUs. Its ranks are threads of one process. An operation runs in
// rank order once the streams of all ranks have reached it. As in NCCL, no error is reported if ranks call different
// operations (op, count, dtype, reduction, root): these never run. A communicator is destroyed once all its ranks
// destroy it. Unlike NCCL, it checks every pointer at the call and again when the operation runs. Its undefined symbols
// are resolved by the program that loads it.
#include "tandem/tests/parallel/collectives/fake_nccl.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

#include "tandem/core/half.h"
#include "tandem/emulation/emulation.h"
#include "tandem/parallel/collectives/nccl/api.h"

using namespace tandem;
using namespace tandem::distributed::nccl;
using emulation::StreamBarrier;
using gpu::StreamHandle;

namespace {

enum class Kind { all_reduce, reduce, broadcast, all_gather, reduce_scatter, send, recv };
constexpr const char* kNames[] = {"AllReduce", "Reduce", "Broadcast", "AllGather", "ReduceScatter", "Send", "Recv"};

/// Arguments of one rank's call
struct Call {
  Kind kind;
  const void* in = nullptr;
  void* out = nullptr;
  size_t count = ~size_t(0);  // this value marks a call that was not made yet
  Type type = Type::int8;
  Op op = Op::sum;
  int other = -1;  // root or peer rank

  bool made() const { return count != ~size_t(0); }
  /// Returns whether two ranks' calls belong to the same operation. A send matches its receive.
  bool matches(const Call& o) const {
    const bool both_transfer = kind >= Kind::send && o.kind >= Kind::send;
    return count == o.count && type == o.type && op == o.op && (both_transfer || (kind == o.kind && other == o.other));
  }
};

size_t bytes_of(Type type) {
  switch (type) {
    case Type::int8:
    case Type::uint8: return 1;
    case Type::float16:
    case Type::bfloat16: return 2;
    case Type::int32:
    case Type::float32: return 4;
    case Type::int64:
    case Type::float64: return 8;
  }
  return 0;
}

template <class T> T combine(T a, T b, Op op) {
  return op == Op::sum ? T(a + b) : op == Op::prod ? T(a * b) : op == Op::max ? std::max(a, b) : std::min(a, b);
}
template <class T>
requires(std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) T combine(T a, T b, Op op) {
  return T(combine<float>(float(a), float(b), op));
}
/// Computes sum = op(sum, more) elementwise.
template <class T> void accumulate(void* sum, const void* more, size_t count, Op op) {
  T* const y = static_cast<T*>(sum);
  const T* const x = static_cast<const T*>(more);
  for (size_t i = 0; i < count; ++i) y[i] = combine(y[i], x[i], op);
}
void accumulate(void* sum, const void* more, size_t count, Type type, Op op) {
  switch (type) {
    case Type::int8: return accumulate<int8_t>(sum, more, count, op);
    case Type::uint8: return accumulate<uint8_t>(sum, more, count, op);
    case Type::int32: return accumulate<int32_t>(sum, more, count, op);
    case Type::int64: return accumulate<int64_t>(sum, more, count, op);
    case Type::float16: return accumulate<Half>(sum, more, count, op);
    case Type::bfloat16: return accumulate<BFloat16>(sum, more, count, op);
    case Type::float32: return accumulate<float>(sum, more, count, op);
    case Type::float64: return accumulate<double>(sum, more, count, op);
  }
}

void check_live(const void* memory, const char* what) {
  if (gpu::pointer_info(memory).kind != gpu::MemoryKind::device)
    throw std::runtime_error(std::string("fake nccl: the ") + what + " buffer is no GPU memory any more");
}
/// Runs the operation after all ranks have joined it.
void run(const std::vector<Call>& calls) {
  const Call& c = calls[0];
  const size_t ranks = calls.size(), each = c.count * bytes_of(c.type),
               root = static_cast<size_t>(std::max(c.other, 0));
  if (each == 0) return;
  for (const Call& call : calls) {
    if (call.in) check_live(call.in, "send");
    if (call.out) check_live(call.out, "receive");
  }
  const auto in = [&](size_t r, size_t at) { return static_cast<const char*>(calls[r].in) + at; };
  const auto reduced = [&](size_t at) {
    std::vector<double> memory(each / sizeof(double) + 1);
    void* const sum = memory.data();
    std::memcpy(sum, in(0, at), each);
    for (size_t r = 1; r < ranks; ++r) accumulate(sum, in(r, at), c.count, c.type, c.op);
    return memory;
  };
  std::vector<std::vector<double>> results;  // computed before any output is written, because in and out may overlap
  switch (c.kind) {
    case Kind::all_reduce:
    case Kind::reduce:
      results.push_back(reduced(0));
      for (size_t r = 0; r < ranks; ++r)
        if (c.kind == Kind::all_reduce || r == root) std::memcpy(calls[r].out, results[0].data(), each);
      break;
    case Kind::broadcast:
      for (size_t r = 0; r < ranks; ++r) std::memmove(calls[r].out, in(root, 0), each);
      break;
    case Kind::all_gather:
      for (size_t r = 0; r < ranks; ++r)
        for (size_t from = 0; from < ranks; ++from)
          std::memmove(static_cast<char*>(calls[r].out) + from * each, in(from, 0), each);
      break;
    case Kind::reduce_scatter:
      for (size_t r = 0; r < ranks; ++r) results.push_back(reduced(r * each));
      for (size_t r = 0; r < ranks; ++r) std::memcpy(calls[r].out, results[r].data(), each);
      break;
    default: std::memmove(calls[1].out, calls[0].in, each); break;
  }
}

/// State shared by the ranks of a communicator
struct World {
  struct Operation {
    std::vector<Call> calls;  // for a collective: by rank; for a transfer: the send, then the receive
    std::shared_ptr<StreamBarrier> meeting;
  };
  explicit World(int size) : size(size), devices(static_cast<size_t>(size), -1) {}
  const int size;
  std::mutex mutex;
  int joined = 0;
  std::vector<int> devices;  // GPU of each rank
  std::string error;         // error seen by all ranks
  bool aborted = false;      // true once a rank has aborted; then no operation starts
  int leaving = 0;           // number of ranks that have destroyed or aborted the communicator
  std::condition_variable left;
  /// Sender, receiver and sequence number; collectives have sender and receiver -1. An operation is erased when it
  /// runs.
  using Key = std::tuple<int, int, int64_t>;
  std::map<Key, Operation> operations;
};

std::mutex global;  // guards worlds, next_id, random_numbers, delays, failures and hangs
std::map<std::string, std::weak_ptr<World>> worlds;
int next_id = 0;
std::mt19937_64 random_numbers;
bool delays = false;
std::map<int, int> failures, hangs;  // rank -> number of calls before the failure or hang
std::atomic<int> alive{0};
std::atomic<int64_t> ran{0};
thread_local std::string last_error;

void run_and_forget(World& world, const World::Key& key) {
  std::vector<Call> calls;
  {
    const std::lock_guard lock(world.mutex);
    const auto at = world.operations.find(key);
    if (at == world.operations.end()) return;
    calls = at->second.calls;
    world.operations.erase(at);
  }
  run(calls);
  ++ran;
}

int random_delay() {
  const std::lock_guard lock(global);
  return delays ? static_cast<int>(random_numbers() % 4) : 0;
}
/// Counts down the calls planned for this rank. Returns true exactly once, when the count is over.
bool due(std::map<int, int>& plan, int rank) {
  const std::lock_guard lock(global);
  const auto at = plan.find(rank);
  if (at == plan.end() || at->second-- > 0) return false;
  plan.erase(at);
  return true;
}
Result refuse(Result result, std::string why) {
  last_error = std::move(why);
  return result;
}

}  // namespace

namespace tandem::distributed::nccl {

struct CommTag {
  CommTag(std::shared_ptr<World> world, int rank, int device, int delay)
      : world(std::move(world)), rank(rank), device(device), delay(delay) {
    ++alive;
  }
  const std::shared_ptr<World> world;
  const int rank, device;
  std::mutex mutex;  // guards all members below
  int delay;         // number of "in progress" results still to return
  bool initialised = false, broken = false;
  std::vector<std::function<void()>> waiting;  // calls that start once `delay` is 0
  int64_t collectives = 0;
  std::map<int, int64_t> sends, recvs;  // number of transfers by peer
  // Stream 0 runs collectives in order; the others run transfers of a group concurrently.
  std::vector<StreamHandle> inner;
  std::vector<std::shared_ptr<StreamBarrier>> gates;

  ~CommTag() {
    for (const StreamHandle stream : inner) gpu::destroy_stream(stream);
    --alive;
  }
  Result state() {
    const std::lock_guard lock(mutex);
    {
      const std::lock_guard world_lock(world->mutex);
      if (!world->error.empty()) return refuse(Result::invalid_usage, world->error);
      if (!initialised && world->joined < world->size) return Result::in_progress;
    }
    if (broken) return refuse(Result::remote_error, "fake nccl: a link is down");
    if (delay > 0) {
      --delay;
      return Result::in_progress;
    }
    initialised = true;
    for (const auto& each : std::exchange(waiting, {})) each();
    return Result::success;
  }
};

}  // namespace tandem::distributed::nccl

namespace {

/// A call and its stream. The calls of a group start together.
struct Posted {
  Comm comm;
  Call call;
  StreamHandle stream;
};
thread_local int depth = 0;
thread_local std::vector<Posted> posted;

/// Key of the operation that the next call of this kind belongs to
World::Key next_key(CommTag& comm, const Call& call) {
  if (call.kind == Kind::send) return {comm.rank, call.other, comm.sends[call.other]++};
  if (call.kind == Kind::recv) return {call.other, comm.rank, comm.recvs[call.other]++};
  return {-1, -1, comm.collectives++};
}
void follow(StreamHandle stream, StreamHandle leader, int device) {
  const gpu::EventHandle event = gpu::create_event(device);
  gpu::record_event(event, leader);
  gpu::wait_event(stream, event);
  gpu::destroy_event(event);
}

// The caller's stream waits at a gate of this rank, which abort opens. A stream of the communicator first waits for the
// streams of the other ranks at the operation, then arrives at the gate. So a rank that aborts can continue alone.

/// Adds one call to its operation. The first rank creates the operation, the calls of the others must match. Returns
/// the gate.
std::shared_ptr<StreamBarrier> join_operation(CommTag& comm, const Call& call, StreamHandle inner, bool stuck) {
  const std::shared_ptr<World> world = comm.world;
  const bool sends = call.kind == Kind::send, transfer = sends || call.kind == Kind::recv;
  const World::Key key = next_key(comm, call);
  const int parties = transfer ? 2 : world->size;
  const auto gate = std::make_shared<StreamBarrier>("nccl, the end", 2, [] {});
  std::shared_ptr<StreamBarrier> meeting;
  {
    const std::lock_guard lock(world->mutex);
    World::Operation& one = world->operations[key];
    if (!one.meeting) {
      one.calls.resize(static_cast<size_t>(parties));
      one.meeting = std::make_shared<StreamBarrier>(std::string("nccl") + kNames[static_cast<int>(call.kind)], parties,
                                                    [world, key] { run_and_forget(*world, key); });
    }
    for (const Call& other : one.calls) stuck = stuck || (other.made() && !call.matches(other));
    one.calls[static_cast<size_t>(transfer ? !sends : comm.rank)] = call;
    if (stuck || world->aborted || !world->error.empty()) return gate;  // the operation never runs
    meeting = one.meeting;
  }
  meeting->join(inner);  // without the lock, because join may run the operation
  gate->join(inner);
  return gate;
}

/// Enqueues the calls of a group. Sends and receives run concurrently, collectives in order.
void start(Comm comm, const std::vector<Posted>& calls) {
  const bool fails = due(failures, comm->rank), hangs_now = due(hangs, comm->rank);
  comm->broken = comm->broken || fails;
  std::vector<StreamHandle> inner;  // stream of each call
  for (const Posted& each : calls) {
    const bool aside = calls.size() > 1 && (each.call.kind == Kind::send || each.call.kind == Kind::recv);
    const size_t lane = aside ? inner.size() + 1 : 0;
    while (comm->inner.size() <= lane) comm->inner.push_back(gpu::create_stream(comm->device));
    inner.push_back(comm->inner[lane]);
    follow(inner.back(), each.stream, comm->device);
  }
  std::vector<std::shared_ptr<StreamBarrier>> gates;
  for (size_t i = 0; i < calls.size(); ++i)
    gates.push_back(join_operation(*comm, calls[i].call, inner[i], comm->broken || hangs_now));
  for (size_t i = 0; i < calls.size(); ++i) gates[i]->join(calls[i].stream);
  comm->gates.insert(comm->gates.end(), gates.begin(), gates.end());
}

/// Queues the calls, which start in order after a random delay.
Result queue_calls(Comm comm, std::vector<Posted> calls) {
  const int delay = random_delay();
  {
    const std::lock_guard lock(comm->mutex);
    if (!comm->initialised) return refuse(Result::invalid_usage, "fake nccl: the communicator is not ready");
    comm->delay += delay;
    comm->waiting.emplace_back([comm, calls = std::move(calls)] { start(comm, calls); });
  }
  return comm->state();
}

Result post(Comm comm, const Call& call, StreamHandle stream) {
  const auto on_device = [&](const void* memory) {
    const gpu::PointerInfo info = gpu::pointer_info(memory);
    return info.kind == gpu::MemoryKind::device && info.device == comm->device;
  };
  if (!comm || !stream) return refuse(Result::invalid_argument, "fake nccl: no communicator, or no stream");
  if (call.count > 0 &&
      ((call.kind != Kind::recv && !on_device(call.in)) || (call.kind != Kind::send && !on_device(call.out))))
    return refuse(Result::invalid_argument, "fake nccl: a buffer is not in the memory of the rank's GPU");
  if (depth == 0) return queue_calls(comm, {{comm, call, stream}});
  posted.push_back({comm, call, stream});
  return Result::success;
}

/// Destroys the communicator. The last rank also cancels operations that never ran, whose streams still wait.
void end(Comm comm) {
  std::map<World::Key, World::Operation> rest;
  {
    World& world = *comm->world;
    const std::lock_guard lock(world.mutex);
    if (world.leaving == world.size) rest.swap(world.operations);
  }
  for (const auto& each : rest) each.second.meeting->cancel();
  delete comm;
}

}  // namespace

// The functions are found by name and have the types declared in nccl/api.h.
extern "C" {

Result ncclGetVersion(int* version) {
  *version = 22900;
  return Result::success;
}
const char* ncclGetErrorString(Result result) {
  switch (result) {
    case Result::success: return "no error";
    case Result::invalid_argument: return "invalid argument";
    case Result::invalid_usage: return "invalid usage";
    case Result::remote_error: return "remote process exited or there was a network error";
    default: return "some error";
  }
}
const char* ncclGetLastError(Comm) { return last_error.c_str(); }

Result ncclGetUniqueId(UniqueId* id) {
  const std::lock_guard lock(global);
  std::memset(id, 0, sizeof *id);
  const std::string text = "fake " + std::to_string(next_id++);
  std::memcpy(id->internal, text.c_str(), text.size());
  return Result::success;
}
Result ncclCommInitRankConfig(Comm* comm, int size, UniqueId id, int rank, Config* config) {
  if (rank < 0 || rank >= size || config->magic != 0xcafebeef || config->blocking != 0)
    return refuse(Result::invalid_argument, "fake nccl: impossible rank or configuration");
  const int delay = random_delay(), device = gpu::current_device();
  std::shared_ptr<World> world;
  {
    const std::lock_guard lock(global);
    std::weak_ptr<World>& known = worlds[id.internal];
    world = known.lock();
    if (!world) known = world = std::make_shared<World>(size);
  }
  {
    const std::lock_guard lock(world->mutex);
    if (world->size != size) return refuse(Result::invalid_argument, "fake nccl: the ranks count differently");
    if (std::count(world->devices.begin(), world->devices.end(), device) > 0)
      world->error = "Duplicate GPU detected: rank " + std::to_string(rank) + " is on cuda:" + std::to_string(device);
    world->devices[static_cast<size_t>(rank)] = device;
    ++world->joined;
  }
  *comm = new CommTag(world, rank, device, delay);
  return Result::in_progress;
}
Result ncclCommFinalize(Comm comm) {
  const std::lock_guard lock(comm->mutex);
  comm->delay = std::max(comm->delay, 1);
  return Result::in_progress;
}
Result ncclCommDestroy(Comm comm) {
  {
    World& world = *comm->world;
    std::unique_lock lock(world.mutex);
    ++world.leaving;
    world.left.notify_all();
    world.left.wait(lock, [&world] { return world.aborted || world.leaving == world.size; });
  }
  end(comm);
  return Result::success;
}
Result ncclCommAbort(Comm comm) {
  {
    const std::lock_guard lock(comm->world->mutex);
    comm->world->aborted = true;
    ++comm->world->leaving;
    comm->world->left.notify_all();
  }
  {
    const std::lock_guard lock(comm->mutex);
    for (const auto& gate : comm->gates) gate->cancel();
  }
  end(comm);
  return Result::success;
}
Result ncclCommGetAsyncError(Comm comm, Result* error) {
  *error = comm->state();
  return Result::success;
}

Result ncclGroupStart() {
  ++depth;
  return Result::success;
}
Result ncclGroupEnd() {
  if (depth == 0) return refuse(Result::invalid_usage, "fake nccl: there is no group to end");
  if (--depth > 0) return Result::success;
  std::vector<Posted> all = std::exchange(posted, {});
  Result worst = Result::success;
  while (!all.empty()) {  // one communicator after the other
    const Comm comm = all[0].comm;
    const auto others =
        std::stable_partition(all.begin(), all.end(), [comm](const Posted& p) { return p.comm == comm; });
    const Result result = queue_calls(comm, {all.begin(), others});
    if (result != Result::success) worst = result;
    all.erase(all.begin(), others);
  }
  return worst;
}

Result ncclAllReduce(const void* in, void* out, size_t count, Type type, Op op, Comm comm, StreamHandle stream) {
  return post(comm, {Kind::all_reduce, in, out, count, type, op}, stream);
}
Result ncclReduce(const void* in, void* out, size_t count, Type type, Op op, int root, Comm comm, StreamHandle stream) {
  return post(comm, {Kind::reduce, in, out, count, type, op, root}, stream);
}
Result ncclBroadcast(const void* in, void* out, size_t count, Type type, int root, Comm comm, StreamHandle stream) {
  return post(comm, {Kind::broadcast, in, out, count, type, Op::sum, root}, stream);
}
Result ncclAllGather(const void* in, void* out, size_t count, Type type, Comm comm, StreamHandle stream) {
  return post(comm, {Kind::all_gather, in, out, count, type}, stream);
}
Result ncclReduceScatter(const void* in, void* out, size_t count, Type type, Op op, Comm comm, StreamHandle stream) {
  return post(comm, {Kind::reduce_scatter, in, out, count, type, op}, stream);
}
Result ncclSend(const void* in, size_t count, Type type, int peer, Comm comm, StreamHandle stream) {
  return post(comm, {Kind::send, in, nullptr, count, type, Op::sum, peer}, stream);
}
Result ncclRecv(void* out, size_t count, Type type, int peer, Comm comm, StreamHandle stream) {
  return post(comm, {Kind::recv, nullptr, out, count, type, Op::sum, peer}, stream);
}

extern const test::FakeNccl fake_nccl;
const test::FakeNccl fake_nccl = {
    [](uint64_t seed) {
      const std::lock_guard lock(global);
      delays = seed != 0;
      random_numbers.seed(seed);
    },
    [](int rank, int calls) {
      const std::lock_guard lock(global);
      failures[rank] = calls;
    },
    [](int rank, int calls) {
      const std::lock_guard lock(global);
      hangs[rank] = calls;
    },
    [] { return alive.load(); },
    [] { return ran.load(); },
};

}  // extern "C"
