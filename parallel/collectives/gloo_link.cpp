#include "tandem/parallel/collectives/gloo_link.h"

#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include <cstring>

#include "tandem/parallel/collectives/gloo_channel.h"
#include "tandem/parallel/collectives/rendezvous.h"

namespace tandem::distributed {
namespace {

using std::chrono::milliseconds;
constexpr auto kPatience = milliseconds(500);  // for the cause of a closed connection to be published
constexpr auto kGoodbye = milliseconds(5000);  // for the others to be done as well
constexpr char kLeaving[] = "destroy_process_group";

/// Our store as Gloo's rendezvous sees it.
class GlooStore final : public gloo::rendezvous::Store {
 public:
  GlooStore(StoreClient& store, std::string group, Deadline deadline)
      : store_(store), group_(std::move(group)), prefix_(group_ + "/gloo "), deadline_(deadline) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    store_.set(prefix_ + key, std::string(data.begin(), data.end()));
  }
  std::vector<char> get(const std::string& key) override {
    const auto value = find_unless_failed(store_, group_, prefix_ + key, deadline_);
    TANDEM_CHECK_AS(DistributedError, value.has_value(), "the key '", prefix_, key, "' was not set in time");
    return {value->begin(), value->end()};
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) get(key);
  }
  void wait(const std::vector<std::string>& keys, const milliseconds&) override { wait(keys); }

 private:
  StoreClient& store_;
  const std::string group_, prefix_;
  const Deadline deadline_;
};

/// Without the place in Gloo's sources that its messages begin with.
std::string without_place(const std::string& message) {
  const size_t end = message.find("] ");
  return message[0] == '[' && end != std::string::npos ? message.substr(end + 2) : message;
}
std::string rank_text(int rank) { return "rank " + std::to_string(rank); }

}  // namespace

/// A call as it travels.
struct GlooLink::Header {
  int64_t sequence, numel;
  int32_t dtype, other, reduces, op;
  char name[32], about[128];

  static Header of(const Call& call) {
    Header h;
    std::memset(static_cast<void*>(&h), 0, sizeof h);
    h.sequence = call.sequence;
    h.numel = call.numel;
    h.dtype = static_cast<int32_t>(call.dtype);
    h.other = call.other;
    h.reduces = call.reduces ? 1 : 0;
    h.op = static_cast<int32_t>(call.op);
    std::strncpy(h.name, call.name, sizeof h.name - 1);
    std::strncpy(h.about, call.about.c_str(), sizeof h.about - 1);
    return h;
  }
  /// Valid as long as this header.
  Call call() const {
    return {name,  sequence, about,        static_cast<DType>(dtype), {},
            numel, other,    reduces != 0, static_cast<ReduceOp>(op)};
  }
  bool leaves() const { return std::strcmp(name, kLeaving) == 0; }
};

/// Receives for the next call's headers are always posted, so that a header is sent without asking first.
struct GlooLink::Mailbox {
  Header out;
  std::vector<Header> in;
  std::unique_ptr<gloo::transport::UnboundBuffer> sender;
  std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> receivers;  // by rank; none for this one
};

GlooLink::GlooLink(int rank, int size, std::shared_ptr<StoreClient> store, milliseconds timeout, std::string name)
    : rank_(rank), size_(size), store_(std::move(store)), timeout_(timeout), name_(std::move(name)) {
  wait_for_all_ranks(*store_, name_, rank_, size_, timeout_);
  if (size_ > 1) connect();
}
GlooLink::~GlooLink() {
  if (context_ && !failed()) leave();
  const NoPipeSignal no_signal;
  mailbox_.reset();
  context_.reset();
}

void GlooLink::connect() {
  const NoPipeSignal no_signal;  // Gloo's thread takes it over
  try {
    gloo::transport::tcp::attr attr(store_->local_address().c_str());
    auto device = gloo::transport::tcp::CreateDevice(attr);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank_, size_);
    context->setTimeout(std::max(timeout_ / 5, milliseconds(1)));  // it waits five times as long for a connection
    GlooStore store(*store_, name_, after(timeout_));
    context->connectFullMesh(store, device);
    context->setTimeout(timeout_);
    context_ = std::move(context);
    mailbox_ = std::make_unique<Mailbox>();
    mailbox_->in.resize(static_cast<size_t>(size_));
    mailbox_->sender = context_->createUnboundBuffer(&mailbox_->out, sizeof(Header));
    mailbox_->receivers.resize(static_cast<size_t>(size_));
    for (int r = 0; r < size_; ++r) {
      if (r == rank_) continue;
      auto& receiver = mailbox_->receivers[static_cast<size_t>(r)];
      receiver = context_->createUnboundBuffer(&mailbox_->in[static_cast<size_t>(r)], sizeof(Header));
      receiver->recv(r, slot(Slot::header));
    }
  } catch (const std::exception& error) {
    throw DistributedError(first_cause(
        "init_process_group: " + rank_text(rank_) + " has no connection to the others: " + without_place(error.what()),
        kPatience));
  }
}

void GlooLink::leave() {
  const NoPipeSignal no_signal;
  try {
    mailbox_->out = Header::of({.name = kLeaving, .sequence = -1, .about = {}});
    const Deadline deadline = after(std::min(timeout_, kGoodbye));
    for (int r = 0; r < size_; ++r)
      if (r != rank_) mailbox_->sender->send(r, slot(Slot::header));
    for (int r = 0; r < size_; ++r) {
      if (r == rank_) continue;
      mailbox_->receivers[static_cast<size_t>(r)]->waitRecv(std::max(left_until(deadline), milliseconds(1)));
      if (!mailbox_->in[static_cast<size_t>(r)].leaves()) return;  // it waits for this rank, and is to hear at once
    }
    for (int r = 1; r < size_; ++r) mailbox_->sender->waitSend(std::max(left_until(deadline), milliseconds(1)));
  } catch (const std::exception&) {
    return;  // the others are gone, or stay: nothing to be done here
  }
}

void GlooLink::begin(const Operation& op) {
  {
    const std::lock_guard lock(mutex_);
    current_ = &op.call;
  }
  check();
  if (!context_) return;
  const auto left = [&] { return std::max(left_until(op.deadline), milliseconds(1)); };
  std::vector<Header> headers(static_cast<size_t>(size_));
  headers[static_cast<size_t>(rank_)] = mailbox_->out = Header::of(op.call);
  for (int r = 0; r < size_; ++r)
    if (r != rank_) guard(op, r, [&] { return mailbox_->sender->send(r, slot(Slot::header)), true; });
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    const auto at = static_cast<size_t>(r);
    guard(op, r, [&] { return mailbox_->receivers[at]->waitRecv(left()); });
    headers[at] = mailbox_->in[at];
    if (headers[at].leaves()) lost(op, r, "it has left the group");
    guard(op, r, [&] { return mailbox_->receivers[at]->recv(r, slot(Slot::header)), true; });
  }
  for (int r = 0; r < size_; ++r)
    if (r != rank_) guard(op, r, [&] { return mailbox_->sender->waitSend(left()); });
  compare(headers);
}
void GlooLink::end() {
  const std::lock_guard lock(mutex_);
  current_ = nullptr;
}
void GlooLink::compare(const std::vector<Header>& headers) {
  for (size_t r = 1; r < headers.size(); ++r)
    if (!headers[r].call().agrees(headers[0].call()))
      fail("the ranks do different things: rank 0 calls " + headers[0].call().str() + ", but " +
               rank_text(static_cast<int>(r)) + " calls " + headers[r].call().str(),
           milliseconds(0));
}

void GlooLink::begin(const Operation& op, int tag, bool sends) {
  check();
  Header mine = Header::of(op.call), theirs = mine;
  const auto number = static_cast<uint32_t>(tag);
  const int peer = op.call.other;
  Channel out(*this, op, peer, slot(sends ? Slot::pair_send : Slot::pair_recv, number), &mine, sizeof mine);
  Channel in(*this, op, peer, slot(sends ? Slot::pair_recv : Slot::pair_send, number), &theirs, sizeof theirs);
  in.recv(0, sizeof theirs);
  out.send(0, sizeof mine);
  in.wait_recv();
  out.wait_send();
  if (theirs.dtype == mine.dtype && theirs.numel == mine.numel) return;
  const std::string us = rank_text(rank_) + " calls " + mine.call().str();
  const std::string them = rank_text(peer) + " calls " + theirs.call().str();
  fail("the ranks do different things: " + (sends ? us + ", but " + them : them + ", but " + us), milliseconds(0));
}

void GlooLink::check() const {
  const std::lock_guard lock(mutex_);
  if (!failure_.empty()) throw DistributedError(failure_);
}
void GlooLink::lost(const Operation& op, int peer, const std::string& why) {
  const std::string who =
      peer >= 0 ? rank_text(peer) : rank_text((rank_ + size_ - 1) % size_) + " or " + rank_text((rank_ + 1) % size_);
  if (why.find("Timed out waiting") != std::string::npos)  // our own wait; a peer's ends with a closed connection
    fail(op.call.str() + ": " + who + " did not come within " + std::to_string(timeout_.count()) + " ms",
         milliseconds(0));
  fail(op.call.str() + ": " + who + " is gone: " + without_place(why), kPatience);
}
void GlooLink::fail(const std::string& own, milliseconds patience) {
  std::string cause = first_cause(own, patience);
  {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = cause;
    cause = failure_;
  }
  cut();
  throw DistributedError(cause);
}
std::string GlooLink::first_cause(const std::string& own, milliseconds patience) {
  const Deadline deadline = after(patience);
  try {
    while (Clock::now() < deadline) {
      {
        const std::lock_guard lock(mutex_);
        if (!failure_.empty()) return failure_;
      }
      if (const auto cause = store_->find(failure_key(name_), milliseconds(20))) return *cause;
    }
    return store_->set_once(failure_key(name_), own);
  } catch (const DistributedError&) {
    return own;  // the store is gone as well
  }
}
void GlooLink::abort(const std::string& reason) {
  std::string cause;
  {
    const std::lock_guard lock(mutex_);
    if (!failure_.empty()) return;
    cause = failure_ = current_ ? current_->str() + ": " + reason : reason;
  }
  try {
    store_->set_once(failure_key(name_), cause);
  } catch (const DistributedError&) {
    // the others see the closed connections
  }
  cut();
}
void GlooLink::cut() {
  if (!context_) return;
  const NoPipeSignal no_signal;
  char nothing = 0;
  try {
    // A wait that is late closes every connection of the context and ends all other waits.
    context_->createUnboundBuffer(&nothing, 1)->waitRecv(milliseconds(1));
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace tandem::distributed
