// init_process_group("gloo"): what the environment says, and who hosts the store.
#include "tandem/parallel/collectives/gloo.h"

#include <cstdlib>
#include <map>

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

bool is_gloo_available() { return TANDEM_HAS_GLOO; }

ProcessGroupPtr make_gloo_group(const InitOptions& o) {
  TANDEM_CHECK_AS(NotImplementedError, is_gloo_available(),
                  "init_process_group: this build has no Gloo; on Debian: apt install libgloo-dev, and build anew");
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
      GlooJob job;
      if (!launched && rank == 0) job.server = std::make_shared<StoreServer>(token, address, port);
      job.store = std::make_shared<StoreClient>(address, port, token, wait);
      job.name = name;
      if (launched) job.launcher = std::make_unique<StoreClient>(address, port, token, wait);
      return make_queued_group(rank, size, "gloo", o.timeout,
                               make_gloo_communicator(rank, size, std::move(job), o.timeout));
    } catch (const StoreLost&) {
      // Rank 0's store of the group before, perhaps, which this rank has left earlier.
      if (launched || rank == 0 || Clock::now() >= patience) throw;
    }
}

}  // namespace tandem::distributed
