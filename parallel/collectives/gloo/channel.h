// BlockSigpipeGuard and Channel: transfers to and from one peer. Internal; compiled only in builds with Gloo.
#pragma once
#include <csignal>

#include "tandem/parallel/collectives/gloo/link.h"

namespace tandem::distributed {

/// Blocks SIGPIPE on this thread for the lifetime of the guard. Gloo writes to sockets whose other end may be closed,
/// and does not handle the SIGPIPE that would end the process. Every call into Gloo needs this guard.
class BlockSigpipeGuard {
 public:
  BlockSigpipeGuard();
  ~BlockSigpipeGuard();
  BlockSigpipeGuard(const BlockSigpipeGuard&) = delete;

 private:
  sigset_t sigpipe_set_, old_mask_;
  bool was_pending_;
};

/// A memory block that is sent to one peer, or received from it, in segments that arrive in order.
class Channel {
 public:
  Channel(GlooLink& link, const CallWithDeadline& op, int peer, uint64_t slot, const void* data, int64_t bytes)
      : link_(link),
        op_(op),
        peer_(peer),
        slot_(slot),
        buffer_(link.context()->createUnboundBuffer(const_cast<void*>(data), static_cast<size_t>(bytes))) {}
  void send(int64_t offset, int64_t bytes);
  void recv(int64_t offset, int64_t bytes);
  /// wait_send() waits for the oldest send that has not been waited for yet, and wait_recv() for the oldest such
  /// receive.
  void wait_send();
  void wait_recv();
  void wait_all();

 private:
  GlooLink& link_;
  const CallWithDeadline& op_;
  int peer_;
  uint64_t slot_;
  std::unique_ptr<gloo::transport::UnboundBuffer> buffer_;
  int64_t num_pending_sends_ = 0, num_pending_recvs_ = 0;  // numbers of sends and of receives in progress
};

}  // namespace tandem::distributed
