// Implements GlooLink: connects the ranks, compares the headers of their calls, and publishes the first failure.
#include "tandem/parallel/collectives/gloo/link.h"

#include <gloo/transport/context.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <cstring>

#include "tandem/parallel/collectives/gloo/channel.h"
#include "tandem/parallel/collectives/job_environment.h"

namespace tandem::distributed {
namespace {

using std::chrono::milliseconds;
// longest time that a leaving rank waits for the other ranks to leave too
constexpr auto kLeaveTimeout = milliseconds(5000);
constexpr auto kDrainTime = milliseconds(2000);  // time in which data from a rank that has left may still arrive
constexpr char kLeaveCallName[] = "destroy_process_group";
const CollectiveCall& init_process_group_call() {
  // never destroyed, because groups may be destroyed after static objects
  static const auto& call = *new CollectiveCall{.name = "init_process_group", .about = {}};
  return call;
}

}  // namespace

/// A call in the format in which it is sent to other ranks.
struct GlooLink::CallHeader {
  // sent_numel, received_numel: elements that an exchange sends to and receives from the peer
  int64_t sequence_number, numel, sent_numel, received_numel;
  int64_t shape[detail::kMaxDims];
  int32_t dtype, root_or_peer, is_reduction, op, num_dims;
  char name[32], about[128];

  /// Makes the header of `call` that is sent to `peer`.
  static CallHeader of(const CollectiveCall& call, int peer) {
    CallHeader h;
    std::memset(static_cast<void*>(&h), 0, sizeof h);
    h.sequence_number = call.sequence_number;
    h.numel = call.numel;
    h.sent_numel = call.send_numel_to(peer);
    h.received_numel = call.recv_numel_from(peer);
    std::copy(call.shape.begin(), call.shape.end(), h.shape);
    h.num_dims = static_cast<int32_t>(call.shape.size());
    h.dtype = static_cast<int32_t>(call.dtype);
    h.root_or_peer = call.root_or_peer;
    h.is_reduction = call.is_reduction ? 1 : 0;
    h.op = static_cast<int32_t>(call.op);
    std::strncpy(h.name, call.name, sizeof h.name - 1);
    std::strncpy(h.about, call.about.c_str(), sizeof h.about - 1);
    return h;
  }
  /// Returns the call of this header. The result points into the header, so it is valid as long as the header.
  CollectiveCall to_call(const GroupMembersPtr& members) const {
    return {name,
            sequence_number,
            about,
            static_cast<DType>(dtype),
            {},
            numel,
            root_or_peer,
            is_reduction != 0,
            static_cast<ReduceOp>(op),
            members,
            IntArrayRef(shape, static_cast<size_t>(num_dims))};
  }
  bool is_leave() const { return std::strcmp(name, kLeaveCallName) == 0; }
};

/// Buffers for headers. A receive for each rank's next header is always posted, so ranks can send headers at any time.
struct GlooLink::Mailbox {
  std::vector<CallHeader> outgoing, incoming;  // one header for each rank
  std::unique_ptr<gloo::transport::UnboundBuffer> send_buffer;
  // one buffer for each rank; null for this rank
  std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> recv_buffers;
};

/// A Gloo context that connects this rank to all other ranks. The ranks exchange addresses() before they connect.
class GlooLink::Mesh final : public gloo::Context {
 public:
  Mesh(int rank, int size, const std::shared_ptr<gloo::transport::Device>& device, milliseconds timeout)
      : gloo::Context(rank, size) {
    device_ = device;
    transportContext_ = device->createContext(rank, size);
    // Gloo waits for a connection five times as long as its timeout.
    transportContext_->setTimeout(std::max(timeout / 5, milliseconds(1)));
    for (int r = 0; r < size; ++r)
      if (r != rank) transportContext_->createPair(r);
    transportContext_->setTimeout(timeout);
    setTimeout(timeout);
  }
  static constexpr size_t kAddressBytes = 1 + gloo::transport::Address::kMaxByteSize;
  /// Returns the addresses at which the other ranks reach this rank: kAddressBytes bytes for each rank.
  std::string addresses() {
    std::string all;
    for (int r = 0; r < size; ++r) {
      const std::vector<char> bytes = r == rank ? std::vector<char>() : getPair(r)->address().bytes();
      std::string address(bytes.begin(), bytes.end());
      address.resize(gloo::transport::Address::kMaxByteSize);
      all += static_cast<char>(bytes.size()) + address;
    }
    return all;
  }
  /// Returns the entry for this rank in another rank's addresses().
  std::vector<char> find_address(const std::string& addresses) const {
    const std::string one = addresses.substr(kAddressBytes * static_cast<size_t>(rank), kAddressBytes);
    return {one.begin() + 1, one.begin() + 1 + static_cast<unsigned char>(one[0])};
  }
};

/// Registers a wait while the object lives, so that abort() can end it. If the group has failed already, ends it at
/// once.
class GlooLink::WaitGuard {
 public:
  WaitGuard(GlooLink& link, int peer, std::function<void()> end_wait) : link_(link) {
    const std::lock_guard lock(link_.mutex_);
    wait_iterator_ = link_.waits_.insert(link_.waits_.end(), {peer, std::move(end_wait), Clock::now()});
    if (!link_.failure_.empty()) wait_iterator_->end_wait();
  }
  ~WaitGuard() {
    const std::lock_guard lock(link_.mutex_);
    link_.waits_.erase(wait_iterator_);
  }
  WaitGuard(const WaitGuard&) = delete;

 private:
  GlooLink& link_;
  std::list<PendingWait>::iterator wait_iterator_;
};

GlooLink::GlooLink(const Rendezvous& job, milliseconds timeout)
    : rank_(job.rank),
      size_(job.size),
      store_(job.store),
      timeout_(timeout),
      group_name_(job.name),
      members_(job.members),
      allow_shared_memory_(job.allows_shared_memory && is_shared_memory_enabled()) {}
GlooLink::~GlooLink() {
  const BlockSigpipeGuard sigpipe_guard;
  mailbox_.reset();
  context_.reset();
}

void GlooLink::connect() {
  const BlockSigpipeGuard sigpipe_guard;  // blocks SIGPIPE before Gloo starts a thread, which inherits the signal mask
  try {
    const Deadline deadline = deadline_after(timeout_);
    std::shared_ptr<Mesh> mesh;
    std::string contact;
    std::shared_ptr<SharedMemory> shared;
    if (size_ > 1) {
      gloo::transport::tcp::attr attr(store_->local_address().c_str());
      mesh = std::make_shared<Mesh>(rank_, size_, gloo::transport::tcp::CreateDevice(attr), timeout_);
      shared = std::make_shared<SharedMemory>(rank_, size_, sizeof(CallHeader), allow_shared_memory_);
      contact = mesh->addresses() + shared->segment_address();
    }
    const auto all = wait_for_all_ranks(*store_, group_name_, rank_, size_, timeout_, contact, members_);
    if (size_ > 1) connect_all(std::move(mesh), all, deadline);
    if (size_ > 1) enable_shared_memory(std::move(shared), all);
  } catch (const StoreConnectionLost&) {
    throw;
  } catch (const DistributedError& error) {
    fail_locally(error.what());
    throw_if_failed(init_process_group_call());
  } catch (const std::exception& error) {
    fail_group(init_process_group_call(),
               "init_process_group: " + describe_rank(rank_, members_) +
                   " cannot connect to the other ranks: " + strip_source_location(error.what()),
               milliseconds(0));
  }
}
void GlooLink::connect_all(std::shared_ptr<Mesh> mesh, const std::vector<std::string>& contacts, Deadline deadline) {
  const size_t contact_bytes = Mesh::kAddressBytes * static_cast<size_t>(size_) + SharedMemory::kSegmentAddressBytes;
  auto mailbox = std::make_unique<Mailbox>();
  mailbox->incoming.resize(static_cast<size_t>(size_));
  mailbox->outgoing.resize(mailbox->incoming.size());
  mailbox->send_buffer =
      mesh->createUnboundBuffer(mailbox->outgoing.data(), mailbox->outgoing.size() * sizeof(CallHeader));
  mailbox->recv_buffers.resize(static_cast<size_t>(size_));
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    const auto at = static_cast<size_t>(r);
    std::string why;
    try {
      TANDEM_CHECK_AS(DistributedError, contacts[at].size() == contact_bytes,
                      "that rank uses another backend than gloo; use the same on all ranks");
      auto& pair = *mesh->getPair(r);
      const WaitGuard wait_guard(*this, r, [&pair] { pair.close(); });
      pair.connect(mesh->find_address(contacts[at]));
      mailbox->recv_buffers[at] = mesh->createUnboundBuffer(&mailbox->incoming[at], sizeof(CallHeader));
      mailbox->recv_buffers[at]->recv(r, make_gloo_slot(MessageKind::header));
    } catch (const std::exception& error) {
      why = error.what();
    }
    throw_if_failed(init_process_group_call());
    if (!why.empty())
      fail_for_peer(init_process_group_call(), r, Clock::now() >= deadline ? SharedMemory::kTimedOutMessage : why);
  }
  mailbox_ = std::move(mailbox);
  const std::lock_guard lock(mutex_);
  context_ = std::move(mesh);
}

void GlooLink::enable_shared_memory(std::shared_ptr<SharedMemory> shared, std::vector<std::string> contacts) {
  for (std::string& contact : contacts) contact.erase(0, contact.size() - SharedMemory::kSegmentAddressBytes);
  CollectiveCall call = init_process_group_call();
  // The sequence number tells the other ranks whether this rank can map their memory: 0 if it can, -1 if not. Errors
  // never show this number.
  call.sequence_number = shared->map_segments(contacts) ? 0 : -1;
  for (const CallHeader& header : exchange_headers({call, deadline_after(timeout_)}))
    if (header.sequence_number != 0) return;
  shared->close_file();
  const std::lock_guard lock(mutex_);
  shared_memory_ = std::move(shared);
}

void GlooLink::leave() {
  if (context_ && !has_failed()) wait_for_others_to_leave();
  if (!has_failed()) leave_group(*store_, group_name_, global_rank(rank_, members_));
}
void GlooLink::wait_for_others_to_leave() {
  const BlockSigpipeGuard sigpipe_guard;
  try {
    const CollectiveCall call{.name = kLeaveCallName, .sequence_number = -1, .about = {}};
    const CallWithDeadline op{call, deadline_after(std::min(timeout_, kLeaveTimeout))};
    if (shared_memory_) write_header_to_shared_memory(call);
    for (int r = 0; r < size_ && !shared_memory_; ++r)
      if (r != rank_) send_header(call, r);
    for (int r = 0; r < size_; ++r) {
      if (r == rank_) continue;
      const auto at = static_cast<size_t>(r);
      if (!(shared_memory_ ? wait_once(op, r, SharedMemory::calls, num_headers_written_)
                           : wait_once(op, r, *mailbox_->recv_buffers[at], Direction::recv)))
        return;
      const CallHeader& peer_header = shared_memory_ ? header_in_shared_memory(r, rank_) : mailbox_->incoming[at];
      // Rank r waits for this rank in another call: leave at once, so that the store tells rank r.
      if (!peer_header.is_leave()) return;
    }
    for (int r = 1; r < size_ && !shared_memory_; ++r)
      if (!wait_once(op, r, *mailbox_->send_buffer, Direction::send)) return;
  } catch (const std::exception&) {
    return;  // the other ranks are lost or have not left in time: leave without waiting
  }
}

bool GlooLink::wait_once(const CallWithDeadline& op, int peer, gloo::transport::UnboundBuffer& buffer,
                         Direction direction) {
  const bool sends = direction == Direction::send;
  const WaitGuard wait_guard(*this, peer,
                             [&buffer, sends] { sends ? buffer.abortWaitSend() : buffer.abortWaitRecv(); });
  const milliseconds left = std::max(time_until(op.deadline), milliseconds(1));
  return sends ? buffer.waitSend(left) : buffer.waitRecv(left);
}
void GlooLink::wait(const CallWithDeadline& op, int peer, gloo::transport::UnboundBuffer& buffer, Direction direction) {
  call_guarded(op, peer, [&] { return wait_once(op, peer, buffer, direction); });
}
bool GlooLink::wait_once(const CallWithDeadline& op, int peer, SharedMemory::ProgressCounter what, uint64_t count) {
  if (shared_memory_->poll_briefly(peer, what, count)) return true;
  std::atomic<bool> stop{false};
  const WaitGuard wait_guard(*this, peer, [&] { stop = true, shared_memory_->wake_waiters(peer); });
  return shared_memory_->wait(peer, what, count, op.deadline, stop);
}
void GlooLink::wait(const CallWithDeadline& op, int peer, SharedMemory::ProgressCounter what, uint64_t count) {
  call_guarded(op, peer, [&] { return wait_once(op, peer, what, count); });
}
void GlooLink::record_left_ranks(const LeftRanks& left) {
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  for (const auto& [global, how] : left)
    if (const int rank = group_rank_of(global); rank < size_ && rank != rank_) left_ranks_.try_emplace(rank, now);
  if (left_ranks_.empty()) return;
  const auto is_late = [&](const PendingWait& wait) {
    const auto at = left_ranks_.find(wait.peer);
    const bool waits_for_left =
        wait.peer < 0 ? static_cast<int>(left_ranks_.size()) == size_ - 1 : at != left_ranks_.end();
    const auto heard = at != left_ranks_.end() ? at->second : now;
    return waits_for_left && now >= (wait.peer < 0 ? wait.start_time : std::max(wait.start_time, heard)) + kDrainTime;
  };
  for (const PendingWait& wait : waits_)
    if (is_late(wait)) wait.end_wait();
}
int GlooLink::waits_for() const {
  const std::lock_guard lock(mutex_);
  return waits_.empty() ? -1 : global_rank(waits_.front().peer, members_);
}

void GlooLink::send_header(const CollectiveCall& call, int peer) {
  const auto at = static_cast<size_t>(peer);
  mailbox_->outgoing[at] = CallHeader::of(call, peer);
  mailbox_->send_buffer->send(peer, make_gloo_slot(MessageKind::header), at * sizeof(CallHeader), sizeof(CallHeader));
}

void GlooLink::write_header_to_shared_memory(const CollectiveCall& call) {
  ++num_headers_written_;
  for (int r = 0; r < size_; ++r)
    if (r != rank_) header_in_shared_memory(rank_, r) = CallHeader::of(call, r);
  shared_memory_->set_counter(SharedMemory::calls, num_headers_written_);
}
GlooLink::CallHeader& GlooLink::header_in_shared_memory(int rank, int for_rank) const {
  return *static_cast<CallHeader*>(shared_memory_->call_header(rank, for_rank, num_headers_written_));
}

void GlooLink::begin_call(const CollectiveCall& call) {
  {
    const std::lock_guard lock(mutex_);
    current_call_ = &call;
  }
  throw_if_failed(call);
}
void GlooLink::begin_collective(const CallWithDeadline& op) {
  begin_call(op.call);
  if (context_) compare_calls(op.call, exchange_headers(op));
}
std::vector<GlooLink::CallHeader> GlooLink::exchange_headers(const CallWithDeadline& op) {
  std::vector<CallHeader> headers(static_cast<size_t>(size_));
  headers[static_cast<size_t>(rank_)] = CallHeader::of(op.call, rank_);
  if (shared_memory_) write_header_to_shared_memory(op.call);
  for (int r = 0; r < size_ && !shared_memory_; ++r)
    if (r != rank_) call_guarded(op, r, [&] { return send_header(op.call, r), true; });
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    const auto at = static_cast<size_t>(r);
    if (shared_memory_)
      wait(op, r, SharedMemory::calls, num_headers_written_);
    else
      wait(op, r, *mailbox_->recv_buffers[at], Direction::recv);
    headers[at] = shared_memory_ ? header_in_shared_memory(r, rank_) : mailbox_->incoming[at];
    if (headers[at].is_leave())
      fail_group(op.call, op.call.str() + ": " + describe_rank(r, members_) + kHasLeftText, milliseconds(0));
    if (!shared_memory_)
      call_guarded(op, r,
                   [&] { return mailbox_->recv_buffers[at]->recv(r, make_gloo_slot(MessageKind::header)), true; });
  }
  for (int r = 0; r < size_ && !shared_memory_; ++r)
    if (r != rank_) wait(op, r, *mailbox_->send_buffer, Direction::send);
  return headers;
}
void GlooLink::end_call() {
  const std::lock_guard lock(mutex_);
  current_call_ = nullptr;
}
void GlooLink::compare_calls(const CollectiveCall& mine, const std::vector<CallHeader>& headers) {
  const CollectiveCall first = headers[0].to_call(members_);
  for (int r = 1; r < size_; ++r)
    if (const CollectiveCall call = headers[static_cast<size_t>(r)].to_call(members_); !call.matches(first))
      fail_group(mine,
                 "Detected mismatch between collectives on ranks: " + describe_rank(0, members_) + " calls " +
                     first.str() + ", but " + describe_rank(r, members_) + " calls " + call.str(),
                 milliseconds(0));
  if (mine.send_numels.empty()) return;
  for (int r = 0; r < size_; ++r) {
    CollectiveCall peer_header = mine;
    peer_header.send_numels[static_cast<size_t>(rank_)] = headers[static_cast<size_t>(r)].sent_numel;
    peer_header.recv_numels[static_cast<size_t>(rank_)] = headers[static_cast<size_t>(r)].received_numel;
    for (const std::string& what :
         {describe_mismatch(mine, rank_, peer_header, r), describe_mismatch(peer_header, r, mine, rank_)})
      if (!what.empty()) fail_group(mine, what, milliseconds(0));
  }
}

int GlooLink::wait_for_any_header(const CallWithDeadline& op, uint64_t slot, CallHeader& header) {
  std::vector<int> others;
  for (int r = 0; r < size_; ++r)
    if (r != rank_) others.push_back(r);
  const auto buffer = context_->createUnboundBuffer(&header, sizeof header);
  int from = -1;
  call_guarded(op, -1, [&] {
    buffer->recv(others, slot, 0, sizeof header);
    const WaitGuard wait_guard(*this, -1, [&buffer] { buffer->abortWaitRecv(); });
    return buffer->waitRecv(&from, std::max(time_until(op.deadline), milliseconds(1)));
  });
  return from;
}
int GlooLink::begin_p2p(const CallWithDeadline& op, int tag, bool sends) {
  throw_if_failed(op.call);
  CallHeader mine = CallHeader::of(op.call, -1), peer_header = mine;
  const auto number = static_cast<uint32_t>(tag);
  const uint64_t here = make_gloo_slot(sends ? MessageKind::pair_send : MessageKind::pair_recv, number),
                 there = make_gloo_slot(sends ? MessageKind::pair_recv : MessageKind::pair_send, number);
  const int peer = op.call.root_or_peer >= 0 ? op.call.root_or_peer : wait_for_any_header(op, there, peer_header);
  Channel out(*this, op, peer, here, &mine, sizeof mine), in(*this, op, peer, there, &peer_header, sizeof peer_header);
  if (op.call.root_or_peer >= 0) in.recv(0, sizeof peer_header);
  out.send(0, sizeof mine);
  in.wait_all();
  out.wait_send();
  if (peer_header.dtype == mine.dtype && peer_header.numel == mine.numel) return peer;
  const std::string us = describe_rank(rank_, members_) + " calls " + mine.to_call(members_).str();
  const std::string them = describe_rank(peer, members_) + " calls " + peer_header.to_call(members_).str();
  fail_group(op.call, "a send and its receive do not match: " + (sends ? us + ", but " + them : them + ", but " + us),
             milliseconds(0));
}

}  // namespace tandem::distributed
