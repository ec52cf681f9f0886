// Implements Channel: transfers to and from one peer, which never raise SIGPIPE.
#include "tandem/parallel/collectives/gloo/channel.h"

#include <cerrno>
#include <ctime>

namespace tandem::distributed {

BlockSigpipeGuard::BlockSigpipeGuard() {
  sigset_t pending;
  ::sigemptyset(&sigpipe_set_);
  ::sigaddset(&sigpipe_set_, SIGPIPE);
  ::sigpending(&pending);
  was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
  ::pthread_sigmask(SIG_BLOCK, &sigpipe_set_, &old_mask_);
}
BlockSigpipeGuard::~BlockSigpipeGuard() {
  const timespec now{};
  if (!was_pending_ && ::sigismember(&old_mask_, SIGPIPE) == 0)
    while (::sigtimedwait(&sigpipe_set_, nullptr, &now) < 0 && errno == EINTR) {}
  ::pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
}

void Channel::send(int64_t offset, int64_t bytes) {
  if (bytes == 0) return;
  link_.call_guarded(op_, peer_, [&] {
    buffer_->send(peer_, slot_, static_cast<size_t>(offset), static_cast<size_t>(bytes));
    return true;
  });
  ++num_pending_sends_;
}
void Channel::recv(int64_t offset, int64_t bytes) {
  if (bytes == 0) return;
  link_.call_guarded(op_, peer_, [&] {
    buffer_->recv(peer_, slot_, static_cast<size_t>(offset), static_cast<size_t>(bytes));
    return true;
  });
  ++num_pending_recvs_;
}
void Channel::wait_send() {
  link_.wait(op_, peer_, *buffer_, GlooLink::Direction::send);
  --num_pending_sends_;
}
void Channel::wait_recv() {
  link_.wait(op_, peer_, *buffer_, GlooLink::Direction::recv);
  --num_pending_recvs_;
}
void Channel::wait_all() {
  while (num_pending_recvs_ > 0) wait_recv();
  while (num_pending_sends_ > 0) wait_send();
}

}  // namespace tandem::distributed
