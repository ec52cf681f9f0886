// Implements ExitNotice: keeps a list of the process's groups, and tells their stores when the process ends.
#include "tandem/parallel/collectives/store/exit_notice.h"

#include <stdlib.h>  // on_exit
#include <unistd.h>

#include <mutex>
#include <set>

namespace tandem::distributed {

using std::chrono::milliseconds;

struct ExitNotice::Entry {
  pid_t process_id;  // process that made the entry: a forked child inherits the list, but is not a rank
  int rank;          // rank in the default group
  bool has_launcher;
  // name of the group made by init_process_group, from which all other groups of this rank are made
  std::string outermost_group;
  // value that this rank has set under joined_key() in the group `outermost_group`; it identifies the rank's process
  std::optional<std::string> joined_value;
  std::shared_ptr<void> rank_identity;  // identifies the rank: all groups of the rank share this object
  std::shared_ptr<StoreClient> store;
  std::shared_ptr<StoreServer> server;  // null if another process hosts the store
  std::function<void(bool, const std::string&)> on_exit_callback;
};

namespace {

using Entries = std::list<ExitNotice::Entry>;
struct ExitNoticeRegistry {
  std::mutex mutex;
  Entries entries;
};
/// Returns the list of groups. It is never destroyed, because it is read while static objects are destroyed.
ExitNoticeRegistry& registry() {
  static ExitNoticeRegistry* const all = new ExitNoticeRegistry;
  return *all;
}

/// Tells the store how this rank ends. Opens a new connection, because another thread may be waiting on the group's
/// connection. Does not replace an earlier failure of the group.
void report_exit(const ExitNotice::Entry& e, int status, const std::string& why) try {
  const std::string failure = failure_key(e.outermost_group);
  if (status != 0 && e.has_launcher) return;  // the launcher reports the exit status and the output
  if (status != 0 && e.server) return e.server->find(failure) ? void() : e.server->set(failure, why);
  const auto store = e.store->reconnect(StoreClient::kShortAnswerTime);
  const std::string key = joined_key(e.outermost_group, e.rank);
  // If the value differs, the store at this address is already the store of another program, started after this one.
  if (store->find(key, milliseconds(0), StoreClient::kShortAnswerTime) != e.joined_value) return;
  status == 0 ? store->report_normal_exit(e.rank) : void(store->set_once(failure, why, StoreClient::kShortAnswerTime));
} catch (const std::exception&) {
  // The store's host is lost.
}

void on_process_exit(int status, void*) {
  // Try for half a second only, because a signal handler may call exit() while its own thread holds the mutex. This
  // polls because ThreadSanitizer does not support timed_mutex.
  std::unique_lock lock(registry().mutex, std::try_to_lock);
  for (const Deadline deadline = deadline_after(milliseconds(500)); !lock.owns_lock() && Clock::now() < deadline;
       (void)lock.try_lock())
    std::this_thread::sleep_for(milliseconds(1));
  if (!lock.owns_lock()) return;
  std::set<void*> failure_reported;
  std::set<std::shared_ptr<StoreServer>> servers;
  for (const bool notify_phase : {true, false})  // first tell all stores, then end the groups, which closes connections
    for (const ExitNotice::Entry& e : registry().entries) {
      if (e.process_id != ::getpid()) continue;
      const std::string why = "rank " + std::to_string(e.rank) + " is gone: it has ended with exit status " +
                              std::to_string(status) + " before it left the group (rank " + std::to_string(e.rank) +
                              " is process " + std::to_string(e.process_id) + " on " + host_name() + ")";
      if (notify_phase && failure_reported.insert(e.rank_identity.get()).second) report_exit(e, status, why);
      if (!notify_phase)
        e.on_exit_callback(status == 0, "this process has ended with exit status " + std::to_string(status));
      if (e.server) servers.insert(e.server);
    }
  for (const auto& server : servers)
    status == 0 ? server->close() : server->wait_for_clients_to_leave(milliseconds(300));
}

}  // namespace

ExitNotice::ExitNotice(const Rendezvous& job, std::function<void(bool, const std::string&)> on_exit_callback) {
  static const int registered = ::on_exit(on_process_exit, nullptr);
  TANDEM_CHECK(registered == 0, "init_process_group: on_exit() cannot register a handler; is memory exhausted?");
  const std::string outermost_group = job.name.substr(0, job.name.find('/'));
  auto joined_value = job.store->find(joined_key(outermost_group, job.default_group_rank()), milliseconds(0));
  const std::lock_guard lock(registry().mutex);
  entry_iterator_ = registry().entries.insert(
      registry().entries.end(),
      {::getpid(), job.default_group_rank(), job.has_launcher, outermost_group, std::move(joined_value),
       job.failure_reported, job.store, job.server, std::move(on_exit_callback)});
}
ExitNotice::~ExitNotice() {
  const std::lock_guard lock(registry().mutex);
  registry().entries.erase(entry_iterator_);
}

}  // namespace tandem::distributed
