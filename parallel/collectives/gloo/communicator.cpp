// Implements GlooCommunicator: collectives on Gloo's sends and receives. Every rank sends to all others at once and
// reduces its share of the elements in rank order. Gloo's own collectives are not used: they reduce in another order,
// lack bfloat16 and empty tensors, do not say which peer failed, and cannot be aborted by another thread.
#include "tandem/parallel/collectives/gloo/gloo.h"

#if TANDEM_HAS_GLOO
#include <algorithm>
#include <cstring>
#include <optional>

#include "tandem/core/internal.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/parallel/collectives/flight_recorder.h"
#include "tandem/parallel/collectives/gloo/channel.h"
#include "tandem/parallel/collectives/gloo/shared_memory_collectives.h"
#include "tandem/parallel/collectives/store/exit_notice.h"
#include "tandem/parallel/collectives/store/watchdog.h"

namespace tandem::distributed {
namespace {

// bytes of a segment: one segment is reduced while the next ones are in flight
constexpr int64_t kSegmentBytes = 512 << 10;
constexpr int64_t kMaxSegmentsInFlight = 4;  // number of segments in flight at a time

/// Range of piece i when `all` elements are split into `count` nearly equal pieces.
struct ChunkRange {
  int64_t begin, numel;
  ChunkRange(int64_t all, int64_t i, int64_t count) : begin(all * i / count), numel(all * (i + 1) / count - begin) {}
};
int64_t num_segments(int64_t numel, int64_t itemsize) {
  return std::max<int64_t>(1, (numel * itemsize + kSegmentBytes - 1) / kSegmentBytes);
}
Tensor flatten_view(const Tensor& x) { return core::as_strided(x, {x.numel()}, {1}, x.storage_offset()); }
Tensor narrow_to(const Tensor& x, ChunkRange p) { return core::narrow(x, 0, p.begin, p.numel); }
void copy_bytes(const Tensor& from, const Tensor& to) {
  if (from.nbytes() > 0 && from.raw_data() != to.raw_data())
    std::memcpy(to.raw_data(), from.raw_data(), static_cast<size_t>(from.nbytes()));
}

/// A collective in progress. The constructor compares the call with the calls of the other ranks; the destructor ends
/// the collective.
struct CollectiveGuard {
  CollectiveGuard(GlooLink& link, const CollectiveCall& call) : link(link), op(link.with_deadline(call)) {
    link.begin_collective(op);
  }
  ~CollectiveGuard() { link.end_call(); }
  CollectiveGuard(const CollectiveGuard&) = delete;
  GlooLink& link;
  BlockSigpipeGuard sigpipe_guard;
  CallWithDeadline op;
};
using Channels = std::vector<std::unique_ptr<Channel>>;  // one channel for each rank; null for this rank

class GlooCommunicator final : public Communicator {
 public:
  GlooCommunicator(Rendezvous job, std::chrono::milliseconds timeout)
      : rendezvous_(std::move(job)),
        store_host_{rendezvous_.server},
        link_(rendezvous_, timeout),
        rank_(static_cast<size_t>(rendezvous_.rank)),
        size_(static_cast<size_t>(rendezvous_.size)) {
    register_rank(rendezvous_);
    if (rendezvous_.watchdog_store) {
      Watchdog::Options options{.group = rendezvous_.name,
                                .rank = rendezvous_.default_group_rank(),
                                .heartbeat_interval = report_interval(timeout)};
      options.waits_for = [this] { return link_.waits_for(); };
      options.on_ranks_left = [this](const LeftRanks& left) { link_.record_left_ranks(left); };
      options.on_failure = [this](const std::string& cause) {
        const std::string error = link_.fail_locally(cause);
        rendezvous_.flight_log->record_failure(error);
        return error;
      };
      if (rendezvous_.is_process) options.failure_reported = rendezvous_.failure_reported;
      watchdog_ = std::make_unique<Watchdog>(std::move(rendezvous_.watchdog_store), std::move(options));
    }
    link_.connect();
    store_host_.all_joined = true;
    if (!rendezvous_.is_process) return;
    exit_notice_.emplace(rendezvous_, [this](bool succeeded, const std::string& why) {
      link_.fail_locally(why);
      succeeded ? rendezvous_.flight_log->record_leave() : rendezvous_.flight_log->record_failure(why);
    });
  }

  ~GlooCommunicator() override {
    exit_notice_.reset();
    // Leave before the watchdog stops, because the watchdog reports for which rank leave() waits.
    link_.leave();
    watchdog_.reset();
    store_host_.failed = link_.has_failed();
  }

  /// Over TCP, the elements are split into one chunk per rank. Rank r receives chunk r of all ranks, reduces it and
  /// sends the result to all, in segments.
  void all_reduce(const CollectiveCall& call, Tensor& x) override {
    if (link_.shared_memory()) {
      all_reduce_in_shared_memory(link_, call, x);
      bytes_sent +=
          2 * static_cast<int64_t>(size_ - 1) * ChunkRange(x.numel(), link_.rank(), link_.size()).numel * x.itemsize();
      return;
    }
    const CollectiveGuard c(link_, call);
    if (size_ == 1 || x.numel() == 0) return;
    if (size_ > kMaxDirectRanks && (x.itemsize() == 4 || x.itemsize() == 8)) return ring_all_reduce(c.op, x);
    const Tensor all = flatten_view(x);
    const auto ranks = static_cast<int64_t>(size_);
    std::vector<Tensor> chunks;
    chunks.reserve(size_);
    for (int64_t r = 0; r < ranks; ++r) chunks.push_back(narrow_to(all, ChunkRange(all.numel(), r, ranks)));
    const int64_t segments = num_segments((all.numel() + ranks - 1) / ranks, all.itemsize());
    const Channels results = make_channels(c.op, MessageKind::results, std::vector<Tensor>(size_, all));
    reduce_in_segments(c.op, chunks, chunks[rank_], chunks[rank_], segments, [&](int64_t s, const Channels& parts) {
      for (size_t r = 0; r < size_; ++r) {
        if (r == rank_) continue;
        send_range(*results[r], all, element_offset_in(all, chunks[rank_]),
                   ChunkRange(chunks[rank_].numel(), s, segments));
        const ChunkRange peer_range(chunks[r].numel(), s, segments);
        if (peer_range.numel > 0) parts[r]->wait_send();  // recv() below overwrites the memory that this send reads
        results[r]->recv((element_offset_in(all, chunks[r]) + peer_range.begin) * all.itemsize(),
                         peer_range.numel * all.itemsize());
      }
    });
    wait_all(results);
  }
  void reduce(const CollectiveCall& call, Tensor& x) override {
    const CollectiveGuard c(link_, call);
    if (size_ == 1) return;
    const auto root = static_cast<size_t>(call.root_or_peer);
    std::vector<Tensor> sends(size_);
    sends[root] = flatten_view(x);
    const Tensor own = rank_ == root ? sends[root] : Tensor();
    reduce_in_segments(c.op, sends, own, own, num_segments(x.numel(), x.itemsize()), [](int64_t, const Channels&) {});
  }
  void reduce_scatter(const CollectiveCall& call, Tensor& output, const std::vector<Tensor>& inputs) override {
    const CollectiveGuard c(link_, call);
    std::vector<Tensor> sends;
    sends.reserve(size_);
    for (const Tensor& x : inputs) sends.push_back(flatten_view(x));
    reduce_in_segments(c.op, sends, sends[rank_], flatten_view(output), num_segments(output.numel(), output.itemsize()),
                       [](int64_t, const Channels&) {});
  }
  void broadcast(const CollectiveCall& call, Tensor& x) override {
    const auto root = static_cast<size_t>(call.root_or_peer);
    if (link_.shared_memory()) {
      broadcast_in_shared_memory(link_, call, x);
      if (rank_ == root) bytes_sent += static_cast<int64_t>((size_ - 1) * x.nbytes());
      return;
    }
    const CollectiveGuard c(link_, call);
    std::vector<Tensor> peers(size_);
    for (size_t r = 0; r < size_; ++r)
      if (rank_ == root || r == root) peers[r] = flatten_view(x);
    const Channels all = make_channels(c.op, MessageKind::parts, peers);
    for (size_t r = 0; r < size_; ++r) {
      if (!all[r]) continue;
      if (rank_ == root)
        send_range(*all[r], x, 0, ChunkRange(x.numel(), 0, 1));
      else
        all[r]->recv(0, x.nbytes());
    }
    wait_all(all);
  }
  void all_gather(const CollectiveCall& call, std::vector<Tensor>& outputs, const Tensor& input) override {
    all_to_all_v(call, outputs, std::vector<Tensor>(size_, input));
  }
  void all_to_all_v(const CollectiveCall& call, std::vector<Tensor>& outputs,
                    const std::vector<Tensor>& inputs) override {
    const CollectiveGuard c(link_, call);
    const Channels in = make_channels(c.op, MessageKind::results, outputs),
                   out = make_channels(c.op, MessageKind::results, inputs);
    for (size_t r = 0; r < size_; ++r) {
      if (in[r]) in[r]->recv(0, outputs[r].nbytes());
      if (out[r]) send_range(*out[r], inputs[r], 0, ChunkRange(inputs[r].numel(), 0, 1));
    }
    if (outputs[rank_].defined()) copy_bytes(inputs[rank_], outputs[rank_]);
    wait_all(in);
    wait_all(out);
  }
  void send(const CollectiveCall& call, const Tensor& x, int tag) override {
    const BlockSigpipeGuard sigpipe_guard;
    const CallWithDeadline op = link_.with_deadline(call);
    link_.begin_p2p(op, tag, /*sends=*/true);
    Channel channel(link_, op, call.root_or_peer, make_gloo_slot(MessageKind::pair_data, static_cast<uint32_t>(tag)),
                    x.raw_data(), x.nbytes());
    send_range(channel, x, 0, ChunkRange(x.numel(), 0, 1));
    channel.wait_all();
  }
  int recv(const CollectiveCall& call, Tensor& x, int tag) override {
    const BlockSigpipeGuard sigpipe_guard;
    const CallWithDeadline op = link_.with_deadline(call);
    const int from = link_.begin_p2p(op, tag, /*sends=*/false);
    Channel channel(link_, op, from, make_gloo_slot(MessageKind::pair_data, static_cast<uint32_t>(tag)), x.raw_data(),
                    x.nbytes());
    channel.recv(0, x.nbytes());
    channel.wait_all();
    return from;
  }
  void barrier(const CollectiveCall& call) override { const CollectiveGuard come(link_, call); }
  std::unique_ptr<Communicator> split(const std::string& name, int rank, GroupMembersPtr members,
                                      std::chrono::milliseconds timeout) override {
    return make_gloo_communicator(rendezvous_.make_subgroup(name, rank, std::move(members), timeout), timeout);
  }
  void abort(const std::string& reason) override { link_.abort(reason); }
  std::shared_ptr<std::atomic<bool>> failure_reported() const override { return rendezvous_.failure_reported; }

 private:
  static int64_t element_offset_in(const Tensor& all, const Tensor& part) {
    return part.storage_offset() - all.storage_offset();
  }
  Channels make_channels(const CallWithDeadline& op, MessageKind kind, const std::vector<Tensor>& memory) {
    Channels all(size_);
    for (size_t r = 0; r < size_; ++r)
      if (r != rank_ && memory[r].defined())
        all[r] = std::make_unique<Channel>(link_, op, static_cast<int>(r), make_gloo_slot(kind), memory[r].raw_data(),
                                           memory[r].nbytes());
    return all;
  }
  static void wait_all(const Channels& channels) {
    for (const auto& channel : channels)
      if (channel) channel->wait_all();
  }
  /// Sends p.numel elements of x, beginning with element first + p.begin. The channel's memory must begin at the first
  /// element of x.
  void send_range(Channel& channel, const Tensor& x, int64_t first, ChunkRange p) {
    channel.send((first + p.begin) * x.itemsize(), p.numel * x.itemsize());
    bytes_sent += p.numel * x.itemsize();
  }

  /// Sends sends[r] to each rank r for which it is defined. If `own` is defined, reduces `own` and the tensors that the
  /// other ranks send to this rank into `result`, which may be `own`. All tensors are one-dimensional and contiguous.
  /// Calls each(s, channels of the sends) when segment s has been reduced.
  template <class F>
  void reduce_in_segments(const CallWithDeadline& op, const std::vector<Tensor>& sends, const Tensor& own,
                          const Tensor& result, int64_t segments, F&& each) {
    const Channels out = make_channels(op, MessageKind::parts, sends);
    Channels in(size_);
    std::vector<Tensor> scratch(size_);
    const int64_t max_segment_numel = own.defined() ? (own.numel() + segments - 1) / segments : 0;
    if (own.defined()) {
      for (size_t r = 0; r < size_; ++r)
        if (r != rank_)
          scratch[r] =
              core::empty({std::min(kMaxSegmentsInFlight, segments) * max_segment_numel}, own.dtype(), own.device());
      in = make_channels(op, MessageKind::parts, scratch);
    }
    const auto receive = [&](int64_t s) {
      if (s >= segments || !own.defined()) return;
      for (const auto& channel : in)
        if (channel)
          channel->recv(s % kMaxSegmentsInFlight * max_segment_numel * own.itemsize(),
                        ChunkRange(own.numel(), s, segments).numel * own.itemsize());
    };
    for (int64_t s = 0; s < kMaxSegmentsInFlight; ++s) receive(s);
    for (int64_t s = 0; s < segments; ++s)
      for (size_t r = 0; r < size_; ++r)
        if (out[r]) send_range(*out[r], sends[r], 0, ChunkRange(sends[r].numel(), s, segments));
    for (int64_t s = 0; s < segments; ++s) {
      if (own.defined())
        reduce_segment(op.call.op, in, scratch, own, result, s % kMaxSegmentsInFlight * max_segment_numel,
                       ChunkRange(own.numel(), s, segments));
      receive(s + kMaxSegmentsInFlight);
      each(s, out);
    }
    wait_all(out);
  }
  void reduce_segment(ReduceOp how, const Channels& in, const std::vector<Tensor>& scratch, const Tensor& own,
                      const Tensor& result, int64_t first, ChunkRange p) {
    if (p.numel == 0) return;
    std::vector<Tensor> parts;
    parts.reserve(size_);
    for (size_t r = 0; r < size_; ++r) {
      if (in[r]) in[r]->wait_recv();
      parts.push_back(r == rank_ ? narrow_to(own, p) : core::narrow(scratch[r], 0, first, p.numel));
    }
    Tensor y = narrow_to(result, p);
    reduce_in_order(parts, how, y);
  }

  /// All-reduce around a ring, for many ranks: each rank communicates with its two neighbours only. Every chunk goes
  /// around the ring once to be reduced, and its result goes around once more. Each chunk is split into halves: while
  /// one half is reduced, the other is in flight.
  void ring_all_reduce(const CallWithDeadline& op, Tensor& x) {
    const Tensor all = flatten_view(x);
    const auto ranks = static_cast<int64_t>(size_), me = static_cast<int64_t>(rank_);
    const auto half_range = [&](int64_t chunk, int64_t half) {
      const ChunkRange whole(all.numel(), (chunk + 2 * ranks) % ranks, ranks);
      ChunkRange piece(whole.numel, half, 2);
      piece.begin += whole.begin;
      return piece;
    };
    const int next = static_cast<int>((me + 1) % ranks), before = static_cast<int>((me + ranks - 1) % ranks);
    const int64_t max_segment_numel = (all.numel() / ranks + 1) / 2 + 1;
    const Tensor scratch = core::empty({2 * max_segment_numel}, all.dtype(), all.device());
    const auto channel = [&](int peer, MessageKind kind, const Tensor& memory) {
      return Channel(link_, op, peer, make_gloo_slot(kind), memory.raw_data(), memory.nbytes());
    };
    Channel parts_out = channel(next, MessageKind::parts, all), parts_in = channel(before, MessageKind::parts, scratch);
    Channel results_out = channel(next, MessageKind::results, all),
            results_in = channel(before, MessageKind::results, all);
    const ReduceOp how = op.call.op == ReduceOp::AVG ? ReduceOp::SUM : op.call.op;
    for (const int64_t half : {0, 1}) {
      parts_in.recv(half * max_segment_numel * all.itemsize(), half_range(me - 1, half).numel * all.itemsize());
      send_range(parts_out, all, 0, half_range(me, half));
    }
    for (int64_t step = 1; step < ranks; ++step)
      for (const int64_t half : {0, 1}) {
        const ChunkRange piece = half_range(me - step, half);
        if (piece.numel > 0) parts_in.wait_recv();
        Tensor y = narrow_to(all, piece);
        if (piece.numel > 0)
          reduce_in_order({core::narrow(scratch, 0, half * max_segment_numel, piece.numel), y}, how, y);
        send_range(step + 1 < ranks ? parts_out : results_out, all, 0, piece);
        if (step + 1 < ranks)
          parts_in.recv(half * max_segment_numel * all.itemsize(),
                        half_range(me - step - 1, half).numel * all.itemsize());
      }
    for (int64_t step = 0; step + 1 < ranks; ++step)
      for (const int64_t half : {0, 1}) {
        const ChunkRange piece = half_range(me - step, half);
        results_in.recv(piece.begin * all.itemsize(), piece.numel * all.itemsize());
        if (piece.numel > 0) results_in.wait_recv();
        if (step + 2 < ranks) send_range(results_out, all, 0, piece);
      }
    parts_out.wait_all();
    results_out.wait_all();
    if (op.call.op == ReduceOp::AVG) x.mul_(1.0 / static_cast<double>(size_));
  }

  Rendezvous rendezvous_;
  StoreHost store_host_;  // declared before link_ and the others, so that it outlives them
  GlooLink link_;
  size_t rank_, size_;
  std::unique_ptr<Watchdog> watchdog_;
  std::optional<ExitNotice> exit_notice_;
};

}  // namespace

std::unique_ptr<Communicator> make_gloo_communicator(Rendezvous job, std::chrono::milliseconds timeout) {
  return std::make_unique<GlooCommunicator>(std::move(job), timeout);
}

}  // namespace tandem::distributed

#else

namespace tandem::distributed {

std::unique_ptr<Communicator> make_gloo_communicator(Rendezvous, std::chrono::milliseconds) {
  TANDEM_CHECK_AS(
      NotImplementedError, false,
      "init_process_group: Distributed package doesn't have Gloo built in; on Debian: apt install libgloo-dev, then "
      "build again");
  return nullptr;
}

}  // namespace tandem::distributed
#endif
