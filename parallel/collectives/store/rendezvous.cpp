// Who hosts the job's store, and how its ranks find each other there.
#include "tandem/parallel/collectives/store/rendezvous.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>

#include "tandem/parallel/collectives/job_environment.h"
#include "tandem/parallel/collectives/store/torch_store.h"

namespace tandem::distributed {
namespace {

/// The rank's how-manieth group in this process, which all ranks make in one order.
std::string next_name(int rank) {
  static std::mutex mutex;
  static auto& made = *new std::map<int, int>;  // never destroyed: a static object's destructor may join a group
  const std::lock_guard lock(mutex);
  return "group " + std::to_string(made[rank]++);
}

/// Where a group's store is, and rank 0's server of it.
struct StoreAddress {
  std::string address;
  int port;
  std::shared_ptr<StoreServer> server = nullptr;
};
/// torchrun's agent holds MASTER_PORT for a store of its own: there rank 0 says where it has opened ours.
StoreAddress meet_at_torchrun(int rank, const std::string& address, int port, const std::string& token,
                              const std::string& group, Deadline deadline) {
  TorchStore agent(address, port, deadline);
  const std::string key = "tandem/" + process_variable("TORCHELASTIC_RUN_ID") + "/" +
                          process_variable("TORCHELASTIC_RESTART_COUNT") + "/" + group;
  if (rank == 0) {
    const std::string here = agent.local_address();
    auto server = std::make_shared<StoreServer>(token, here);
    agent.set(key, here + " " + std::to_string(server->port()));
    return {here, server->port(), std::move(server)};
  }
  const std::string place = agent.get(key, "rank 0");
  const size_t at = place.find(' ');
  TANDEM_CHECK_AS(DistributedError, at != std::string::npos, "init_process_group: '", place,
                  "' in torchrun's store is no address and port");
  return {place.substr(0, at), std::atoi(place.c_str() + at)};
}

}  // namespace

ProcessGroupPtr meet_by_environment(const InitOptions& o, const std::function<ProcessGroupPtr(Rendezvous)>& make) {
  const JobEnvironment env = read_job_environment(o);
  const bool launched = env.has_launcher_store;
  const int rank = env.rank;
  const std::string name = next_name(rank), host_name = launched ? "tandem launch" : "rank 0";
  const Deadline deadline = after(o.timeout);
  const Deadline patience = after(std::min<std::chrono::milliseconds>(o.timeout, std::chrono::seconds(10)));
  for (;;) try {
      Rendezvous job{.rank = rank, .size = env.size, .store = nullptr};
      StoreAddress place{env.address, env.port};
      if (env.has_agent_store)
        place = meet_at_torchrun(rank, env.address, env.port, env.token, name, deadline);
      else if (!launched && rank == 0)
        place.server = std::make_shared<StoreServer>(env.token, env.address, env.port);
      show_once(env, place.address, place.port);
      const auto connect = [&] {
        return std::make_unique<StoreClient>(place.address, place.port, env.token, left_until(deadline), host_name);
      };
      job.store = connect();
      job.watch = connect();
      // Where rank 0 puts a new store in the place of the last group's between the two calls, the new one would hear
      // this rank on `watch` and then miss it, as `store` is closed. An answer shows that both are of one store.
      job.store->find(name, std::chrono::milliseconds(0));
      job.server = std::move(place.server);
      job.name = name;
      job.is_process = true;
      return make(std::move(job));
    } catch (const StoreClosed&) {
      // Rank 0's store of the group before, which this rank has left earlier.
      if (launched || rank == 0 || Clock::now() >= patience) throw;
    }
}

Rendezvous Rendezvous::subgroup(const std::string& number, int its_rank, MembersPtr its_members,
                                std::chrono::milliseconds timeout) const {
  Rendezvous job{.rank = its_rank, .size = static_cast<int>(its_members->ranks.size()), .store = store->again(timeout)};
  job.watch = store->again(timeout);
  job.name = name + "/" + number;
  job.server = server;
  job.is_process = is_process;
  job.members = std::move(its_members);
  job.told = told;
  job.flight = flight;
  job.shared_memory = shared_memory;
  return job;
}

std::optional<std::string> find_unless_failed(StoreClient& store, const std::string& group, const std::string& key,
                                              Deadline deadline) {
  using std::chrono::milliseconds;
  for (;;) {
    const milliseconds answer = std::max(StoreClient::kHasty, std::min(left_until(deadline), StoreClient::kUsual));
    if (auto value = store.find(key, std::min(left_until(deadline), milliseconds(50)), answer)) return value;
    for (const std::string& failed : failure_keys(group))
      if (const auto failure = store.find(failed, milliseconds(0), answer)) throw DistributedError(*failure);
    if (Clock::now() >= deadline) return {};
  }
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] ? name : "localhost";
}
std::string came_key(const std::string& group, int rank) { return group + "/rank " + std::to_string(rank); }
std::string whereabouts(int rank, const std::optional<std::string>& came) {
  char process[32], host[256];
  if (!came || std::sscanf(came->c_str(), "%*s %31s %*s %255s", process, host) != 2) return {};
  return std::string(" (rank ").append(std::to_string(rank)) + " is process " + process + " on " + host + ")";
}

std::vector<std::string> wait_for_all_ranks(StoreClient& store, const std::string& group, int rank, int size,
                                            std::chrono::milliseconds timeout, const std::string& contact,
                                            const MembersPtr& members) {
  const Deadline deadline = after(timeout);
  const auto rank_text = [&](int r) { return distributed::rank_text(r, members); };
  std::random_device random;
  const std::string mine = std::to_string(size) + " " + std::to_string(::getpid()) + " " + std::to_string(random()) +
                           " " + host_name() + "\n" + contact;
  const auto refuse = [&](const std::string& why) {
    throw DistributedError(store.set_once(
        failure_key(group), (members ? members->str() : "init_process_group") + ": " + why, StoreClient::kHasty));
  };
  if (store.set_once(came_key(group, rank), mine) != mine)
    refuse("there are two processes of " + rank_text(rank) + "; each needs a RANK of its own");
  std::vector<std::string> contacts;
  for (int r = 0; r < size; ++r) {
    const auto theirs = find_unless_failed(store, group, came_key(group, r), deadline);
    if (!theirs)
      refuse(rank_text(r) + " of " + std::to_string(size) + " did not come within " + std::to_string(timeout.count()) +
             " ms");
    const std::string count = theirs->substr(0, theirs->find(' '));
    if (count != std::to_string(size))
      refuse("the ranks count differently: " + rank_text(rank) + " says that there are " + std::to_string(size) + ", " +
             rank_text(r) + " that there are " + count);
    contacts.push_back(theirs->substr(theirs->find('\n') + 1));
  }
  return contacts;
}

void leave_in_order(StoreClient& store, const std::string& group, int rank) noexcept {
  try {
    store.leave(group, rank);
  } catch (const std::exception&) {
    return;  // its host has left before
  }
}

}  // namespace tandem::distributed
