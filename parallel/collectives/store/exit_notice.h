// Tells the job when this process, a rank, ends by exit() or by a return from main. Internal.
#pragma once
#include <functional>
#include <list>
#include <string>

#include "tandem/parallel/collectives/store/rendezvous.h"

namespace tandem::distributed {

/// While one lives, the end of the process is told to the job's store before static objects are destroyed: with status
/// 0 the rank has left all its groups; with another status it is lost, and the others hear the status. A process that
/// ends in another way (a signal, abort(), _exit()) says nothing: its connection ends, and so it is lost.
class ExitNotice {
 public:
  /// @param ended  called then, before the store that this process may host is closed: the group takes part in nothing
  /// any
  ///               more. `well`: with status 0. `why` is the error of calls from then on
  ExitNotice(const Rendezvous& job, std::function<void(bool well, const std::string& why)> ended);
  ~ExitNotice();
  ExitNotice(const ExitNotice&) = delete;
  struct Entry;

 private:
  std::list<Entry>::iterator at_;
};

}  // namespace tandem::distributed
