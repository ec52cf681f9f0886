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
constexpr auto kGoodbye = milliseconds(5000);    // most time that a leaving rank waits for the other ranks to leave too
constexpr auto kLastWords = milliseconds(2000);  // time in which data from a rank that has left may still arrive
constexpr char kLeaving[] = "destroy_process_group";
const Call& joining() {
  // never destroyed, because groups may be destroyed after static objects
  static const auto& call = *new Call{.name = "init_process_group", .about = {}};
  return call;
}

}  // namespace

/// A call as it is sent to other ranks.
struct GlooLink::Header {
  // to_you, from_you: elements that an exchange sends to and receives from the peer
  int64_t sequence, numel, to_you, from_you;
  int64_t shape[detail::kMaxDims];
  int32_t dtype, other, reduces, op, dims;
  char name[32], about[128];

  /// Makes the header that `peer` gets.
  static Header of(const Call& call, int peer) {
    Header h;
    std::memset(static_cast<void*>(&h), 0, sizeof h);
    h.sequence = call.sequence;
    h.numel = call.numel;
    h.to_you = call.sends_to(peer);
    h.from_you = call.receives_from(peer);
    std::copy(call.shape.begin(), call.shape.end(), h.shape);
    h.dims = static_cast<int32_t>(call.shape.size());
    h.dtype = static_cast<int32_t>(call.dtype);
    h.other = call.other;
    h.reduces = call.reduces ? 1 : 0;
    h.op = static_cast<int32_t>(call.op);
    std::strncpy(h.name, call.name, sizeof h.name - 1);
    std::strncpy(h.about, call.about.c_str(), sizeof h.about - 1);
    return h;
  }
  /// Returns the call of this header. The result points into the header, so it is valid as long as the header.
  Call call(const MembersPtr& members) const {
    return {name,
            sequence,
            about,
            static_cast<DType>(dtype),
            {},
            numel,
            other,
            reduces != 0,
            static_cast<ReduceOp>(op),
            members,
            IntArrayRef(shape, static_cast<size_t>(dims))};
  }
  bool leaves() const { return std::strcmp(name, kLeaving) == 0; }
};

/// Buffers for headers. A receive for each rank's next header is always posted, so ranks can send headers at any time.
struct GlooLink::Mailbox {
  std::vector<Header> out, in;  // one header for each rank
  std::unique_ptr<gloo::transport::UnboundBuffer> sender;
  // one buffer for each rank; null for this rank
  std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> receivers;
};

/// Connections to all other ranks, with their addresses, before the connections are made.
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
  static constexpr size_t kEach = 1 + gloo::transport::Address::kMaxByteSize;
  /// Returns the addresses at which the other ranks reach this rank: kEach bytes for each rank.
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
    const std::string one = addresses.substr(kEach * static_cast<size_t>(rank), kEach);
    return {one.begin() + 1, one.begin() + 1 + static_cast<unsigned char>(one[0])};
  }
};

/// Registers a wait while the object lives, so that abort() can end it. If the group has failed already, ends it at
/// once.
class GlooLink::Waiting {
 public:
  Waiting(GlooLink& link, int peer, std::function<void()> wake) : link_(link) {
    const std::lock_guard lock(link_.mutex_);
    at_ = link_.waits_.insert(link_.waits_.end(), {peer, std::move(wake), Clock::now()});
    if (!link_.failure_.empty()) at_->wake();
  }
  ~Waiting() {
    const std::lock_guard lock(link_.mutex_);
    link_.waits_.erase(at_);
  }
  Waiting(const Waiting&) = delete;

 private:
  GlooLink& link_;
  std::list<Wait>::iterator at_;
};

GlooLink::GlooLink(const Rendezvous& job, milliseconds timeout)
    : rank_(job.rank),
      size_(job.size),
      store_(job.store),
      timeout_(timeout),
      name_(job.name),
      members_(job.members),
      may_share_(job.shared_memory && is_shared_memory_wanted()) {}
GlooLink::~GlooLink() {
  const NoPipeSignal no_signal;
  mailbox_.reset();
  context_.reset();
}

void GlooLink::connect() {
  const NoPipeSignal no_signal;  // blocks SIGPIPE before Gloo starts a thread, which inherits the signal mask
  try {
    const Deadline deadline = after(timeout_);
    std::shared_ptr<Mesh> mesh;
    std::string contact;
    std::shared_ptr<SharedMemory> shared;
    if (size_ > 1) {
      gloo::transport::tcp::attr attr(store_->local_address().c_str());
      mesh = std::make_shared<Mesh>(rank_, size_, gloo::transport::tcp::CreateDevice(attr), timeout_);
      shared = std::make_shared<SharedMemory>(rank_, size_, sizeof(Header), may_share_);
      contact = mesh->addresses() + shared->contact();
    }
    const auto all = wait_for_all_ranks(*store_, name_, rank_, size_, timeout_, contact, members_);
    if (size_ > 1) connect_all(std::move(mesh), all, deadline);
    if (size_ > 1) share(std::move(shared), all);
  } catch (const StoreLost&) {
    throw;
  } catch (const DistributedError& error) {
    fail_here(error.what());
    check(joining());
  } catch (const std::exception& error) {
    fail(joining(),
         "init_process_group: " + rank_text(rank_, members_) +
             " cannot connect to the other ranks: " + without_place(error.what()),
         milliseconds(0));
  }
}
void GlooLink::connect_all(std::shared_ptr<Mesh> mesh, const std::vector<std::string>& contacts, Deadline deadline) {
  const size_t contact_bytes = Mesh::kEach * static_cast<size_t>(size_) + SharedMemory::kContactBytes;
  auto mailbox = std::make_unique<Mailbox>();
  mailbox->in.resize(static_cast<size_t>(size_));
  mailbox->out.resize(mailbox->in.size());
  mailbox->sender = mesh->createUnboundBuffer(mailbox->out.data(), mailbox->out.size() * sizeof(Header));
  mailbox->receivers.resize(static_cast<size_t>(size_));
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    const auto at = static_cast<size_t>(r);
    std::string why;
    try {
      TANDEM_CHECK_AS(DistributedError, contacts[at].size() == contact_bytes, "it is not a rank of the backend gloo");
      auto& pair = *mesh->getPair(r);
      const Waiting waiting(*this, r, [&pair] { pair.close(); });
      pair.connect(mesh->find_address(contacts[at]));
      mailbox->receivers[at] = mesh->createUnboundBuffer(&mailbox->in[at], sizeof(Header));
      mailbox->receivers[at]->recv(r, slot(Slot::header));
    } catch (const std::exception& error) {
      why = error.what();
    }
    check(joining());
    if (!why.empty()) lost(joining(), r, Clock::now() >= deadline ? SharedMemory::kLate : why);
  }
  mailbox_ = std::move(mailbox);
  const std::lock_guard lock(mutex_);
  context_ = std::move(mesh);
}

void GlooLink::share(std::shared_ptr<SharedMemory> shared, std::vector<std::string> contacts) {
  for (std::string& contact : contacts) contact.erase(0, contact.size() - SharedMemory::kContactBytes);
  Call call = joining();
  // 0 if this rank can map the others' memory, otherwise -1; no error shows this number
  call.sequence = shared->open(contacts) ? 0 : -1;
  for (const Header& header : meet({call, after(timeout_)}))
    if (header.sequence != 0) return;
  shared->close_file();
  const std::lock_guard lock(mutex_);
  shared_ = std::move(shared);
}

void GlooLink::leave() {
  if (context_ && !failed()) say_goodbye();
  if (!failed()) leave_in_order(*store_, name_, global_rank(rank_, members_));
}
void GlooLink::say_goodbye() {
  const NoPipeSignal no_signal;
  try {
    const Call call{.name = kLeaving, .sequence = -1, .about = {}};
    const Operation op{call, after(std::min(timeout_, kGoodbye))};
    if (shared_) post_in_memory(call);
    for (int r = 0; r < size_ && !shared_; ++r)
      if (r != rank_) post(call, r);
    for (int r = 0; r < size_; ++r) {
      if (r == rank_) continue;
      const auto at = static_cast<size_t>(r);
      if (!(shared_ ? wait_once(op, r, SharedMemory::calls, calls_)
                    : wait_once(op, r, *mailbox_->receivers[at], Direction::recv)))
        return;
      const Header& theirs = shared_ ? header_in_memory(r, rank_) : mailbox_->in[at];
      // that rank waits for this rank in another call: leave at once, so that the store tells it
      if (!theirs.leaves()) return;
    }
    for (int r = 1; r < size_ && !shared_; ++r)
      if (!wait_once(op, r, *mailbox_->sender, Direction::send)) return;
  } catch (const std::exception&) {
    return;  // the other ranks are lost or have not left in time: leave without waiting
  }
}

bool GlooLink::wait_once(const Operation& op, int peer, gloo::transport::UnboundBuffer& buffer, Direction direction) {
  const bool sends = direction == Direction::send;
  const Waiting waiting(*this, peer, [&buffer, sends] { sends ? buffer.abortWaitSend() : buffer.abortWaitRecv(); });
  const milliseconds left = std::max(left_until(op.deadline), milliseconds(1));
  return sends ? buffer.waitSend(left) : buffer.waitRecv(left);
}
void GlooLink::wait(const Operation& op, int peer, gloo::transport::UnboundBuffer& buffer, Direction direction) {
  guard(op, peer, [&] { return wait_once(op, peer, buffer, direction); });
}
bool GlooLink::wait_once(const Operation& op, int peer, SharedMemory::Count what, uint64_t count) {
  if (shared_->comes_soon(peer, what, count)) return true;
  std::atomic<bool> stop{false};
  const Waiting waiting(*this, peer, [&] { stop = true, shared_->nudge(peer); });
  return shared_->wait(peer, what, count, op.deadline, stop);
}
void GlooLink::wait(const Operation& op, int peer, SharedMemory::Count what, uint64_t count) {
  guard(op, peer, [&] { return wait_once(op, peer, what, count); });
}
void GlooLink::note_left(const LeftRanks& left) {
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  for (const auto& [global, how] : left)
    if (const int rank = rank_of(global); rank < size_ && rank != rank_) left_.try_emplace(rank, now);
  if (left_.empty()) return;
  const auto is_late = [&](const Wait& wait) {
    const auto at = left_.find(wait.peer);
    const bool waits_for_left = wait.peer < 0 ? static_cast<int>(left_.size()) == size_ - 1 : at != left_.end();
    const auto heard = at != left_.end() ? at->second : now;
    return waits_for_left && now >= (wait.peer < 0 ? wait.begun : std::max(wait.begun, heard)) + kLastWords;
  };
  for (const Wait& wait : waits_)
    if (is_late(wait)) wait.wake();
}
int GlooLink::waits_for() const {
  const std::lock_guard lock(mutex_);
  return waits_.empty() ? -1 : global_rank(waits_.front().peer, members_);
}

void GlooLink::post(const Call& call, int peer) {
  const auto at = static_cast<size_t>(peer);
  mailbox_->out[at] = Header::of(call, peer);
  mailbox_->sender->send(peer, slot(Slot::header), at * sizeof(Header), sizeof(Header));
}

void GlooLink::post_in_memory(const Call& call) {
  ++calls_;
  for (int r = 0; r < size_; ++r)
    if (r != rank_) header_in_memory(rank_, r) = Header::of(call, r);
  shared_->raise(SharedMemory::calls, calls_);
}
GlooLink::Header& GlooLink::header_in_memory(int rank, int for_rank) const {
  return *static_cast<Header*>(shared_->call(rank, for_rank, calls_));
}

void GlooLink::enter(const Call& call) {
  {
    const std::lock_guard lock(mutex_);
    current_ = &call;
  }
  check(call);
}
void GlooLink::begin(const Operation& op) {
  enter(op.call);
  if (context_) compare(op.call, meet(op));
}
std::vector<GlooLink::Header> GlooLink::meet(const Operation& op) {
  std::vector<Header> headers(static_cast<size_t>(size_));
  headers[static_cast<size_t>(rank_)] = Header::of(op.call, rank_);
  if (shared_) post_in_memory(op.call);
  for (int r = 0; r < size_ && !shared_; ++r)
    if (r != rank_) guard(op, r, [&] { return post(op.call, r), true; });
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    const auto at = static_cast<size_t>(r);
    if (shared_)
      wait(op, r, SharedMemory::calls, calls_);
    else
      wait(op, r, *mailbox_->receivers[at], Direction::recv);
    headers[at] = shared_ ? header_in_memory(r, rank_) : mailbox_->in[at];
    if (headers[at].leaves()) fail(op.call, op.call.str() + ": " + rank_text(r, members_) + kHasLeft, milliseconds(0));
    if (!shared_) guard(op, r, [&] { return mailbox_->receivers[at]->recv(r, slot(Slot::header)), true; });
  }
  for (int r = 0; r < size_ && !shared_; ++r)
    if (r != rank_) wait(op, r, *mailbox_->sender, Direction::send);
  return headers;
}
void GlooLink::end() {
  const std::lock_guard lock(mutex_);
  current_ = nullptr;
}
void GlooLink::compare(const Call& mine, const std::vector<Header>& headers) {
  const Call first = headers[0].call(members_);
  for (int r = 1; r < size_; ++r)
    if (const Call call = headers[static_cast<size_t>(r)].call(members_); !call.agrees(first))
      fail(mine,
           "Detected mismatch between collectives on ranks: " + rank_text(0, members_) + " calls " + first.str() +
               ", but " + rank_text(r, members_) + " calls " + call.str(),
           milliseconds(0));
  if (mine.sends.empty()) return;
  for (int r = 0; r < size_; ++r) {
    Call theirs = mine;
    theirs.sends[static_cast<size_t>(rank_)] = headers[static_cast<size_t>(r)].to_you;
    theirs.receives[static_cast<size_t>(rank_)] = headers[static_cast<size_t>(r)].from_you;
    for (const std::string& what : {mismatch(mine, rank_, theirs, r), mismatch(theirs, r, mine, rank_)})
      if (!what.empty()) fail(mine, what, milliseconds(0));
  }
}

int GlooLink::hear(const Operation& op, uint64_t slot, Header& header) {
  std::vector<int> others;
  for (int r = 0; r < size_; ++r)
    if (r != rank_) others.push_back(r);
  const auto buffer = context_->createUnboundBuffer(&header, sizeof header);
  int from = -1;
  guard(op, -1, [&] {
    buffer->recv(others, slot, 0, sizeof header);
    const Waiting waiting(*this, -1, [&buffer] { buffer->abortWaitRecv(); });
    return buffer->waitRecv(&from, std::max(left_until(op.deadline), milliseconds(1)));
  });
  return from;
}
int GlooLink::begin(const Operation& op, int tag, bool sends) {
  check(op.call);
  Header mine = Header::of(op.call, -1), theirs = mine;
  const auto number = static_cast<uint32_t>(tag);
  const uint64_t here = slot(sends ? Slot::pair_send : Slot::pair_recv, number),
                 there = slot(sends ? Slot::pair_recv : Slot::pair_send, number);
  const int peer = op.call.other >= 0 ? op.call.other : hear(op, there, theirs);
  Channel out(*this, op, peer, here, &mine, sizeof mine), in(*this, op, peer, there, &theirs, sizeof theirs);
  if (op.call.other >= 0) in.recv(0, sizeof theirs);
  out.send(0, sizeof mine);
  in.wait_all();
  out.wait_send();
  if (theirs.dtype == mine.dtype && theirs.numel == mine.numel) return peer;
  const std::string us = rank_text(rank_, members_) + " calls " + mine.call(members_).str();
  const std::string them = rank_text(peer, members_) + " calls " + theirs.call(members_).str();
  fail(op.call, "a send and its receive do not match: " + (sends ? us + ", but " + them : them + ", but " + us),
       milliseconds(0));
}

}  // namespace tandem::distributed
