// Finds or hosts the job's store. Ranks find each other there.
#include "tandem/parallel/collectives/store/rendezvous.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>

#include "tandem/parallel/collectives/job_environment.h"
#include "tandem/parallel/collectives/store/torch_store.h"

namespace tandem::distributed {
namespace {

/// Returns "group N" for the N-th group, counted from 0, that this rank makes in this process. The names match between
/// ranks because all ranks make groups in the same order.
std::string next_group_name(int rank) {
  static std::mutex mutex;
  // never destroyed, because the destructor of a static object may join a group
  static auto& made = *new std::map<int, int>;
  const std::lock_guard lock(mutex);
  return "group " + std::to_string(made[rank]++);
}

/// Key in rank 0's store whose value is the name of the group for which rank 0 hosts the store.
constexpr char kHostedGroupKey[] = "hosted";
int group_number(const std::string& name) { return std::atoi(name.c_str() + sizeof "group"); }

std::string process_key(const std::string& group, int rank) { return group + "/place " + std::to_string(rank); }
/// Key whose value describes the first rank that registered. Each other rank compares its own number of ranks with the
/// number in that value.
std::string first_rank_key(const std::string& group) { return group + "/first"; }
std::string rejected_key(const std::string& group) { return group + "/refused"; }
/// Describes this process in the format that location_text() parses.
std::string describe_process(int size) {
  std::random_device random;
  return std::to_string(size) + " " + std::to_string(::getpid()) + " " + std::to_string(random()) + " " + host_name();
}

/// Describes the group whose store already uses the address, as text to append to an error. Returns "" if that store
/// does not answer.
std::string describe_store_owner(const JobEnvironment& env) {
  using std::chrono::milliseconds;
  try {
    StoreClient store(env.address, env.port, env.token, milliseconds(2000));
    const auto group = store.find(kHostedGroupKey, milliseconds(0));
    const auto place = group ? store.find(process_key(*group, 0), milliseconds(0)) : std::nullopt;
    if (!place) return {};
    return "; a group of " + place->substr(0, place->find(' ')) + " ranks is there" + location_text(0, place);
  } catch (const StoreDenied&) {
    return "; the store of another job is there";
  } catch (const DistributedError&) {
    return {};
  }
}
std::shared_ptr<StoreServer> host_store(const JobEnvironment& env, const std::string& group) {
  try {
    auto server = std::make_shared<StoreServer>(env.token, env.address, env.port);
    server->set(kHostedGroupKey, group);
    server->set(first_rank_key(group), "0 " + describe_process(env.size));
    return server;
  } catch (const DistributedError& error) {
    throw DistributedError("init_process_group: rank 0 cannot host the job's store (" + env.sources +
                           "): " + error.what_without_backtrace() + describe_store_owner(env));
  }
}

/// Address of a group's store. On rank 0, which hosts the store, also its server.
struct StoreAddress {
  std::string address;
  int port;
  std::shared_ptr<StoreServer> server = nullptr;
};
/// Finds the store of a job that torchrun has started. torchrun's agent has its own store at MASTER_PORT. Rank 0 hosts
/// Tandem's store on a free port and publishes its address in the agent's store, where the other ranks read it.
StoreAddress rendezvous_through_torchrun(int rank, const std::string& address, int port, const std::string& token,
                                         const std::string& group, Deadline deadline) {
  TorchStore agent(address, port, deadline);
  const std::string key = "tandem/" + get_environment_variable("TORCHELASTIC_RUN_ID") + "/" +
                          get_environment_variable("TORCHELASTIC_RESTART_COUNT") + "/" + group;
  if (rank == 0) {
    const std::string here = agent.local_address();
    auto server = std::make_shared<StoreServer>(token, here);
    agent.set(key, here + " " + std::to_string(server->port()));
    return {here, server->port(), std::move(server)};
  }
  const std::string place = agent.get(key, "rank 0");
  const size_t at = place.find(' ');
  TANDEM_CHECK_AS(DistributedError, at != std::string::npos, "init_process_group: '", place,
                  "' in torchrun's store is not the address and port of rank 0; accepted: ADDRESS PORT");
  return {place.substr(0, at), std::atoi(place.c_str() + at)};
}

}  // namespace

ProcessGroupPtr rendezvous_from_environment(const InitOptions& o,
                                            const std::function<ProcessGroupPtr(Rendezvous)>& make) {
  const JobEnvironment env = read_job_environment(o);
  const bool launched = env.has_launcher_store;
  const int rank = env.rank;
  const std::string name = next_group_name(rank), host_name = launched ? "tandem launch" : "rank 0";
  const auto start = Clock::now();
  const Deadline deadline = deadline_after(o.timeout);
  const Deadline grace_period =
      deadline_after(std::min<std::chrono::milliseconds>(o.timeout, std::chrono::seconds(10)));
  for (;;) try {
      Rendezvous job{.rank = rank, .size = env.size, .store = nullptr};
      StoreAddress place{env.address, env.port};
      if (env.has_agent_store)
        place = rendezvous_through_torchrun(rank, env.address, env.port, env.token, name, deadline);
      else if (!launched && rank == 0)
        place.server = host_store(env, name);
      print_rendezvous_once(env, place.address, place.port);
      const auto connect = [&] {
        return std::make_unique<StoreClient>(place.address, place.port, env.token, time_until(deadline), host_name,
                                             start);
      };
      job.store = connect();
      job.watchdog_store = connect();
      // Rank 0 may have replaced the store of its previous group by a new one between the two calls of connect(). Then
      // job.watchdog_store would be connected to the new store but job.store to the old one, and the new store would
      // count this rank as lost when job.watchdog_store closes. An answer on job.store shows that both are connected to
      // the same store.
      const auto hosted = job.store->find(kHostedGroupKey, std::chrono::milliseconds(0));
      TANDEM_CHECK_AS(DistributedError, !hosted || group_number(*hosted) <= group_number(name),
                      "init_process_group: ", describe_rank(rank, nullptr), " makes ", name,
                      " (counted from 0), but the store at ", place.address, ":", place.port, " belongs to ", *hosted,
                      ": this process is too late, or belongs to another job");
      job.server = std::move(place.server);
      job.name = name;
      job.is_process = true;
      job.has_launcher = launched;
      return make(std::move(job));
    } catch (const StoreClosed&) {
      // The store belonged to the previous group of rank 0, which this rank has left: try again.
      if (launched || rank == 0 || Clock::now() >= grace_period) throw;
    }
}

Rendezvous Rendezvous::make_subgroup(const std::string& number, int subgroup_rank, GroupMembersPtr subgroup_members,
                                     std::chrono::milliseconds timeout) const {
  Rendezvous job{.rank = subgroup_rank,
                 .size = static_cast<int>(subgroup_members->ranks.size()),
                 .store = store->reconnect(timeout)};
  job.watchdog_store = store->reconnect(timeout);
  job.name = name + "/" + number;
  job.server = server;
  job.is_process = is_process;
  job.has_launcher = has_launcher;
  job.members = std::move(subgroup_members);
  job.failure_reported = failure_reported;
  job.flight_log = flight_log;
  job.allows_shared_memory = allows_shared_memory;
  return job;
}

std::optional<std::string> find_unless_failed(StoreClient& store, const std::string& group, const std::string& key,
                                              Deadline deadline, const std::function<bool()>& is_hopeless) {
  using std::chrono::milliseconds;
  for (;;) {
    const milliseconds answer =
        std::max(StoreClient::kShortAnswerTime, std::min(time_until(deadline), StoreClient::kDefaultAnswerTime));
    if (auto value = store.find(key, std::min(time_until(deadline), milliseconds(50)), answer)) return value;
    for (const std::string& failed : failure_keys(group))
      if (const auto failure = store.find(failed, milliseconds(0), answer)) throw DistributedError(*failure);
    if (Clock::now() >= deadline || (is_hopeless && is_hopeless())) return {};
  }
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] ? name : "localhost";
}
std::string joined_key(const std::string& group, int rank) { return group + "/rank " + std::to_string(rank); }
std::string location_text(int rank, const std::optional<std::string>& came) {
  char process[32], host[256];
  if (!came || std::sscanf(came->c_str(), "%*s %31s %*s %255s", process, host) != 2) return {};
  return std::string(" (rank ").append(std::to_string(rank)) + " is process " + process + " on " + host + ")";
}

void register_rank(const Rendezvous& job) {
  if (job.members) return;  // no check needed: the ranks have registered in the default group
  StoreClient& store = *job.store;
  const std::string me = describe_process(job.size);
  const auto reject = [&](const std::string& why) {
    const std::string text = why + "; the group continues without process " + std::to_string(::getpid()) + " on " +
                             host_name() +
                             ". Each process of a job needs its own RANK and the same WORLD_SIZE, and each job on a "
                             "machine needs its own MASTER_PORT";
    store.set(rejected_key(job.name), text);
    throw DistributedError("init_process_group: " + text);
  };
  const std::string first = store.set_once(first_rank_key(job.name), std::to_string(job.rank) + " " + me);
  const int first_rank = std::atoi(first.c_str());
  const std::string first_description = first.substr(first.find(' ') + 1),
                    count = first_description.substr(0, first_description.find(' '));
  if (count != std::to_string(job.size))
    reject("the ranks have different world sizes: " + describe_rank(job.rank, nullptr) + " has " +
           std::to_string(job.size) + ", " + describe_rank(first_rank, nullptr) + " has " + count +
           location_text(first_rank, first_description));
  const std::string there = store.set_once(process_key(job.name, job.rank), me);
  if (there != me)
    reject("two processes claim to be " + describe_rank(job.rank, nullptr) + ", and the other one joined first" +
           location_text(job.rank, there));
}

std::vector<std::string> wait_for_all_ranks(StoreClient& store, const std::string& group, int rank, int size,
                                            std::chrono::milliseconds timeout, const std::string& contact,
                                            const GroupMembersPtr& members) {
  const Deadline deadline = deadline_after(timeout);
  store.set(joined_key(group, rank), describe_process(size) + "\n" + contact);
  std::vector<std::string> contacts;
  for (int r = 0; r < size; ++r) {
    std::string left;  // how rank r has left the group; empty if it has not
    const auto has_left = [&] {
      const LeftRanks all = store.get_left_ranks(group, StoreClient::kDefaultAnswerTime);
      if (const auto at = all.find(global_rank(r, members)); at != all.end()) left = at->second;
      return !left.empty();
    };
    const auto theirs = find_unless_failed(store, group, joined_key(group, r), deadline, has_left);
    if (!theirs) {
      std::string why = (members ? members->str() : "init_process_group") + ": " + describe_rank(r, members);
      if (left.empty())
        why += " of " + std::to_string(size) + " did not arrive within " + std::to_string(timeout.count()) + " ms";
      else
        why += " has left (" + left + ") before it joined";
      if (const auto refused =
              store.find(rejected_key(group), std::chrono::milliseconds(0), StoreClient::kShortAnswerTime))
        why += "; a process was refused: " + *refused;
      throw DistributedError(store.publish_failure(group, why, StoreClient::kShortAnswerTime));
    }
    contacts.push_back(theirs->substr(theirs->find('\n') + 1));
  }
  return contacts;
}

void leave_group(StoreClient& store, const std::string& group, int rank) noexcept {
  try {
    store.leave(group, rank);
  } catch (const std::exception&) {
    return;  // the host of the store has already left
  }
}

}  // namespace tandem::distributed
