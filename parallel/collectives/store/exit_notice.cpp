// ExitNotice: lists the process's groups, and tells their stores when the process ends.
#include "tandem/parallel/collectives/store/exit_notice.h"

#include <stdlib.h>  // on_exit
#include <unistd.h>

#include <mutex>
#include <set>

namespace tandem::distributed {

using std::chrono::milliseconds;

struct ExitNotice::Entry {
  pid_t process;  // a forked child inherits the list, but is not a rank
  int rank;       // among all ranks of the store
  bool has_launcher;
  std::string outermost;            // the group that all of this rank's groups were made from
  std::optional<std::string> came;  // value under came_key() of this rank in the outermost group
  std::shared_ptr<void> job;        // one object for all groups of this rank
  std::shared_ptr<StoreClient> store;
  std::shared_ptr<StoreServer> server;  // null if another process hosts the store
  std::function<void(bool, const std::string&)> ended;
};

namespace {

using Entries = std::list<ExitNotice::Entry>;
struct Registry {
  std::mutex mutex;
  Entries entries;
};
/// Never destroyed: it is read during the destruction of static objects.
Registry& registry() {
  static Registry* const all = new Registry;
  return *all;
}

/// Tells the store how this rank ends. Uses a new connection, because another thread may wait on the group's. An
/// earlier failure of the group is kept.
void tell_store(const ExitNotice::Entry& e, int status, const std::string& why) try {
  const std::string failure = failure_key(e.outermost);
  if (status != 0 && e.has_launcher) return;  // the launcher sees the status and the output
  if (status != 0 && e.server) return e.server->find(failure) ? void() : e.server->set(failure, why);
  const auto store = e.store->again(StoreClient::kHasty);
  const std::string key = came_key(e.outermost, e.rank);
  if (store->find(key, milliseconds(0), StoreClient::kHasty) != e.came) return;  // store of the ranks' next program
  status == 0 ? store->end(e.rank) : void(store->set_once(failure, why, StoreClient::kHasty));
} catch (const std::exception&) {
  // The store's host is lost.
}

void process_ends(int status, void*) {
  // A signal handler may call exit() while the mutex is held. Polls, because ThreadSanitizer cannot follow a
  // timed_mutex.
  std::unique_lock lock(registry().mutex, std::try_to_lock);
  for (const Deadline deadline = after(milliseconds(500)); !lock.owns_lock() && Clock::now() < deadline;
       (void)lock.try_lock())
    std::this_thread::sleep_for(milliseconds(1));
  if (!lock.owns_lock()) return;
  std::set<void*> told;
  std::set<std::shared_ptr<StoreServer>> servers;
  for (const bool tells : {true, false})  // tell all stores before any connection is closed
    for (const ExitNotice::Entry& e : registry().entries) {
      if (e.process != ::getpid()) continue;
      const std::string why = "rank " + std::to_string(e.rank) + " is gone: it has ended with exit status " +
                              std::to_string(status) + " before it had left the group (rank " + std::to_string(e.rank) +
                              " is process " + std::to_string(e.process) + " on " + host_name() + ")";
      if (tells && told.insert(e.job.get()).second) tell_store(e, status, why);
      if (!tells) e.ended(status == 0, "this process has ended with exit status " + std::to_string(status));
      if (e.server) servers.insert(e.server);
    }
  for (const auto& server : servers)
    status == 0 ? server->close() : server->wait_for_clients_to_leave(milliseconds(300));
}

}  // namespace

ExitNotice::ExitNotice(const Rendezvous& job, std::function<void(bool, const std::string&)> ended) {
  static const int registered = ::on_exit(process_ends, nullptr);
  TANDEM_CHECK(registered == 0, "init_process_group: the system takes no more exit handlers");
  const std::string outermost = job.name.substr(0, job.name.find('/'));
  auto came = job.store->find(came_key(outermost, job.global()), milliseconds(0));
  const std::lock_guard lock(registry().mutex);
  at_ = registry().entries.insert(registry().entries.end(),
                                  {::getpid(), job.global(), job.has_launcher, outermost, std::move(came), job.told,
                                   job.store, job.server, std::move(ended)});
}
ExitNotice::~ExitNotice() {
  const std::lock_guard lock(registry().mutex);
  registry().entries.erase(at_);
}

}  // namespace tandem::distributed
