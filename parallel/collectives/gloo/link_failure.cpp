// Implements the failures of GlooLink: finds the rank at fault, tells all ranks, and ends their waits.
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <thread>

#include "tandem/parallel/collectives/gloo/channel.h"

namespace tandem::distributed {

using std::chrono::milliseconds;
static constexpr auto kGracePeriod =
    milliseconds(400);  // time to wait until another rank publishes why a connection is closed

std::string GlooLink::strip_source_location(const std::string& message) {
  const size_t end = message.find("] ");
  return message[0] == '[' && end != std::string::npos ? message.substr(end + 2) : message;
}

void GlooLink::throw_if_failed(const CollectiveCall& call) {
  const std::lock_guard lock(mutex_);
  prepend_call_name(call);
  if (!failure_.empty()) throw DistributedError(failure_);
}
/// Converts a rank of the default group to a rank of this group. Returns the number of members if it is not a member.
int GlooLink::group_rank_of(int global) const {
  if (!members_) return global;
  const auto at = std::find(members_->ranks.begin(), members_->ranks.end(), global);
  return static_cast<int>(at - members_->ranks.begin());
}
void GlooLink::fail_for_peer(const CollectiveCall& call, int peer, const std::string& why) {
  throw_if_failed(call);
  const std::string what = call.str();
  if (peer < 0 && all_others_left()) fail_group(call, what + ": every other rank" + kHasLeftText, milliseconds(0));
  if (peer < 0)
    fail_group(call, what + ": no rank sent anything within " + std::to_string(timeout_.count()) + " ms", kGracePeriod);
  const int global = global_rank(peer, members_);
  // True if the wait of this rank timed out. If the wait of a peer times out first, the peer closes the connection
  // instead.
  if (why.find(SharedMemory::kTimedOutMessage) != std::string::npos) {
    StoreClient::FailedRank blame{.rank = global};
    try {
      blame = store_->find_failed_rank(group_name_, blame.rank);
    } catch (const StoreClosed&) {
      // The store is closed because rank 0 has left: blame the peer that this rank waits for.
    } catch (const StoreConnectionLost& error) {
      fail_group(call, what + ": " + error.what(), milliseconds(0));  // blame the host of the store
    }
    fail_group(call,
               what + ": " + describe_rank(group_rank_of(blame.rank), members_) + " did not arrive within " +
                   std::to_string(timeout_.count()) + " ms" + (blame.silence.empty() ? "" : ", and " + blame.silence) +
                   describe_location(blame.rank),
               milliseconds(0));
  }
  if (const std::string how = describe_leave(global); !how.empty())
    fail_group(
        call, what + ": " + describe_rank(peer, members_) + kHasLeftText + " (" + how + ")" + describe_location(global),
        milliseconds(0));
  fail_group(call,
             what + ": " + describe_rank(peer, members_) + " is gone: " + strip_source_location(why) +
                 describe_location(global),
             kGracePeriod);
}
bool GlooLink::all_others_left() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(left_ranks_.size()) == size_ - 1;
}
std::string GlooLink::describe_leave(int global) const {
  try {
    const LeftRanks left = store_->get_left_ranks(group_name_);
    const auto at = left.find(global);
    return at == left.end() ? "" : at->second;
  } catch (const StoreClosed&) {
    return global == 0 ? kEndedNormally : "";  // rank 0 hosted the store, which closes when that rank ends
  } catch (const DistributedError&) {
    return {};  // the host of the store is lost
  }
}
std::string GlooLink::describe_location(int global) const {
  try {
    const std::string outermost = group_name_.substr(0, group_name_.find('/'));
    return location_text(global,
                         store_->find(joined_key(outermost, global), milliseconds(0), StoreClient::kShortAnswerTime));
  } catch (const DistributedError&) {
    return {};  // no answer: the host of the store has left or is lost
  }
}
void GlooLink::fail_group(const CollectiveCall& call, const std::string& own, milliseconds grace_period) {
  const std::string cause = fail_locally(wait_for_first_cause(own, grace_period));
  throw_if_failed(call);
  throw DistributedError(cause);
}
/// If the watchdog sets the group's failure within `grace_period`, returns `own`, which fail_locally() then ignores.
/// Otherwise publishes `own` in the store and returns the first failure there.
std::string GlooLink::wait_for_first_cause(const std::string& own, milliseconds grace_period) {
  for (const Deadline deadline = deadline_after(grace_period); Clock::now() < deadline;) {
    if (has_failed()) return own;
    std::this_thread::sleep_for(milliseconds(1));
  }
  try {
    return store_->publish_failure(group_name_, own, StoreClient::kShortAnswerTime);
  } catch (const StoreClosed&) {
    return own;  // rank 0 has left and has closed the store
  } catch (const StoreConnectionLost& error) {
    return error.what();  // the host of the store is lost, which is the cause
  }
}
std::string GlooLink::fail_locally(const std::string& cause) {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_.empty()) return failure_;
    failure_ = cause;
    if (current_call_) prepend_call_name(*current_call_);
    for (const PendingWait& wait : waits_) wait.end_wait();
  }
  close_connections();
  const std::lock_guard lock(mutex_);
  return failure_;
}
void GlooLink::prepend_call_name(const CollectiveCall& call) {
  if (failure_.empty() || has_call_name_) return;
  if (failure_.find(call.str()) == std::string::npos) failure_ = call.str() + ": " + failure_;
  has_call_name_ = true;
}
void GlooLink::abort(const std::string& reason) {
  if (has_failed()) return;
  std::string cause;
  {
    const std::lock_guard lock(mutex_);
    cause = current_call_ ? current_call_->str() + ": " + reason : reason;
  }
  fail_locally(wait_for_first_cause(cause, milliseconds(0)));
}
void GlooLink::close_connections() {
  std::shared_ptr<gloo::Context> context;
  std::shared_ptr<SharedMemory> shared;
  {
    const std::lock_guard lock(mutex_);
    context = context_, shared = shared_memory_;
  }
  if (shared) shared->close();
  if (!context) return;
  const BlockSigpipeGuard sigpipe_guard;
  char nothing = 0;
  try {
    // A wait that times out makes Gloo close every connection of the context.
    context->createUnboundBuffer(&nothing, 1)->waitRecv(milliseconds(1));
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace tandem::distributed
