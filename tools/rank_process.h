// Processes of a job: one rank's, and the keeper that ends what a launcher leaves behind. Internal to ranks.cpp.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

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
/// @throws Error when the command cannot be run
RankProcess start_rank(int rank, int count, const std::vector<std::string>& command, int store_port,
                       const std::string& token, pid_t group);

}  // namespace tandem::tools
