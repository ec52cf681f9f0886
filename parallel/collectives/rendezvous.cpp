// What the environment says of the job, and who hosts its store.
#include "tandem/parallel/collectives/rendezvous.h"

#include <unistd.h>

#include <cstdlib>
#include <map>
#include <random>

namespace tandem::distributed {
namespace {

std::string text_from(const char* variable, const char* option) {
  const char* const text = std::getenv(variable);
  TANDEM_CHECK(text && *text, "init_process_group: ", variable, " is not set; tandem launch sets it, or give ", option);
  return text;
}
int number_from(const char* variable, const char* option, const std::optional<int>& given, int least, int most) {
  int64_t number = given.value_or(0);
  if (!given) {
    const std::string text = text_from(variable, option);
    char* end = nullptr;
    number = std::strtol(text.c_str(), &end, 10);
    TANDEM_CHECK(*end == '\0', "init_process_group: ", variable, " is '", text, "'; accepted: a number");
  }
  TANDEM_CHECK(number >= least && number <= most, "init_process_group: ", given ? option : variable, " is ", number,
               "; accepted: ", least, " to ", most);
  return static_cast<int>(number);
}

/// The rank's how-manieth group in this process, which all ranks make in one order.
std::string next_name(int rank) {
  static std::mutex mutex;
  static std::map<int, int> made;
  const std::lock_guard lock(mutex);
  return "group " + std::to_string(made[rank]++);
}

}  // namespace

ProcessGroupPtr meet_by_environment(const InitOptions& o, const std::function<ProcessGroupPtr(Rendezvous)>& make) {
  constexpr int kMostRanks = 1024;
  const int size = number_from("WORLD_SIZE", "InitOptions::world_size", o.world_size, 1, kMostRanks);
  const int rank = number_from("RANK", "InitOptions::rank", o.rank, 0, size - 1);
  const std::string address = o.master_addr ? *o.master_addr : text_from("MASTER_ADDR", "InitOptions::master_addr");
  const int port = number_from("MASTER_PORT", "InitOptions::master_port", o.master_port, 1, 65535);
  const char* const host = std::getenv("TANDEM_STORE");
  const char* const given_token = std::getenv("TANDEM_JOB_TOKEN");
  const bool launched = host && std::string(host) == "launcher";
  const std::string token = given_token ? given_token : "";

  const std::string name = next_name(rank);
  const Deadline patience = after(std::min<std::chrono::milliseconds>(o.timeout, std::chrono::seconds(10)));
  for (bool first = true;; first = false) try {
      const auto wait = first ? o.timeout : left_until(patience);
      Rendezvous job{.rank = rank, .size = size, .store = nullptr};
      if (!launched && rank == 0) job.server = std::make_shared<StoreServer>(token, address, port);
      job.store = std::make_shared<StoreClient>(address, port, token, wait);
      job.name = name;
      if (launched) job.launcher = std::make_unique<StoreClient>(address, port, token, wait);
      return make(std::move(job));
    } catch (const StoreLost&) {
      // Rank 0's store of the group before, perhaps, which this rank has left earlier.
      if (launched || rank == 0 || Clock::now() >= patience) throw;
    }
}

std::string failure_key(const std::string& group) { return group + "/failure"; }

std::optional<std::string> find_unless_failed(StoreClient& store, const std::string& group, const std::string& key,
                                              Deadline deadline) {
  using std::chrono::milliseconds;
  for (;;) {
    if (auto value = store.find(key, std::min(left_until(deadline), milliseconds(50)))) return value;
    for (const std::string& failed : {std::string(kFailureKey), failure_key(group)})
      if (const auto failure = store.find(failed, milliseconds(0))) throw DistributedError(*failure);
    if (Clock::now() >= deadline) return {};
  }
}

void wait_for_all_ranks(StoreClient& store, const std::string& group, int rank, int size,
                        std::chrono::milliseconds timeout) {
  const Deadline deadline = after(timeout);
  const auto rank_text = [](int r) { return "rank " + std::to_string(r); };
  std::random_device random;
  const std::string mine = std::to_string(size) + " " + std::to_string(::getpid()) + " " + std::to_string(random());
  const auto refuse = [&](const std::string& why) {
    store.set_once(failure_key(group), "init_process_group: " + why);
    throw DistributedError("init_process_group: " + why);
  };
  if (store.set_once(group + "/" + rank_text(rank), mine) != mine)
    refuse("there are two processes of " + rank_text(rank) + "; each needs a RANK of its own");
  for (int r = 0; r < size; ++r) {
    const auto theirs = find_unless_failed(store, group, group + "/" + rank_text(r), deadline);
    if (!theirs)
      refuse(rank_text(r) + " of " + std::to_string(size) + " did not come within " + std::to_string(timeout.count()) +
             " ms");
    const std::string count = theirs->substr(0, theirs->find(' '));
    if (count != std::to_string(size))
      refuse("the ranks count differently: " + rank_text(rank) + " says that there are " + std::to_string(size) + ", " +
             rank_text(r) + " that there are " + count);
  }
}

}  // namespace tandem::distributed
