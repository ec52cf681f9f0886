// ExitNotice: reports to the job's store that a rank's process ends, by exit() or by a return from main. Internal.
#pragma once
#include <list>

#include "tandem/parallel/collectives/store/rendezvous.h"

namespace tandem::distributed {

/// While the object lives, an exit of the process is reported to the job's store before static objects are destroyed.
/// If the exit status is 0, the rank counts as having left all its groups. Otherwise the rank is lost, and the failure
/// that the other ranks get contains the status. A process that ends by a signal, abort() or _exit() reports nothing;
/// the rank is lost because its connection to the store ends.
class ExitNotice {
 public:
  /// @param on_exit_callback  called at the exit, before this process closes a store that it hosts. It must end the
  /// group's work
  ///               in this process. `succeeded` is true if the exit status is 0. `why` is the error that later calls of
  ///               the group throw
  ExitNotice(const Rendezvous& job, std::function<void(bool succeeded, const std::string& why)> on_exit_callback);
  ~ExitNotice();
  ExitNotice(const ExitNotice&) = delete;
  struct Entry;

 private:
  std::list<Entry>::iterator entry_iterator_;
};

}  // namespace tandem::distributed
