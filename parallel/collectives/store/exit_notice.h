// ExitNotice: tells the job when a rank's process ends by exit() or by a return from main. Internal.
#pragma once
#include <list>

#include "tandem/parallel/collectives/store/rendezvous.h"

namespace tandem::distributed {

/// While the object lives, an exit of the process is reported to the job's store before static objects are destroyed.
/// Exit status 0: the rank has left all its groups. Another status: the rank is lost, and the other ranks get the
/// status. A process that ends by a signal, abort() or _exit() reports nothing: its connection ends, so the rank is
/// lost.
class ExitNotice {
 public:
  /// @param ended  called at the exit, before this process closes the store, if it hosts it: ends the group's work in
  ///               this process. `well`: the status is 0; `why`: the error that later calls of the group throw
  ExitNotice(const Rendezvous& job, std::function<void(bool well, const std::string& why)> ended);
  ~ExitNotice();
  ExitNotice(const ExitNotice&) = delete;
  struct Entry;

 private:
  std::list<Entry>::iterator at_;
};

}  // namespace tandem::distributed
