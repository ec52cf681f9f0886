// Processes of a job: one rank's, and the keeper that ends what a launcher leaves behind. Internal to ranks.cpp.
#pragma once
#include <sys/types.h>

#include "tandem/parallel/collectives/store/store.h"
#include "tandem/parallel/collectives/store/watchdog.h"

namespace tandem::tools {

struct Pipe {
  distributed::Descriptor read, write;
};
/// Both ends non-blocking and closed in programs that are started.
Pipe make_pipe();
/// 128 random bits in hexadecimal.
std::string random_token();

/// A process that leads the ranks' process group and does nothing but wait for the launcher's end: then, however that
/// came, it kills the group and so itself. It also keeps the group's number from being used anew.
class Keeper {
 public:
  Keeper();
  ~Keeper() { end_group(); }
  Keeper(const Keeper&) = delete;
  pid_t group() const { return pid_; }
  /// Kills whatever is left of the group.
  void end_group();

 private:
  distributed::Descriptor alive_;  // open as long as the launcher lives
  pid_t pid_ = -1;
};

struct RankProcess {
  pid_t pid = -1;
  distributed::Descriptor out = {}, error = {};  // what it writes
};
/// What a rank is told of itself and its job.
struct RankPlace {
  int rank = 0, world_size = 1, local_rank = 0, local_world_size = 1, node = 0, restarts = 0;
  std::string store_address = "127.0.0.1";
  int store_port = 0;
  std::string token = {};
  int threads = 0;             // to compute with; 0: what the environment says, or an equal share of the cores
  std::string flight = {};     // where its record of a failure goes; "": what the environment says
  std::vector<int> cpus = {};  // where it may run; empty: wherever the launcher may
};
/// @throws UsageError when the command cannot be run
RankProcess start_rank(const RankPlace& place, const std::vector<std::string>& command, pid_t group);

/// An equal part of the processors that the launcher may use, side by side; with fewer of them than parts, one each,
/// and several parts the same.
std::vector<int> cpus_of_part(int part, int parts);

}  // namespace tandem::tools
