// A word left with torchrun's store, by which ranks that it started find their own. Internal.
#pragma once
#include "tandem/parallel/collectives/store/socket.h"

namespace tandem::distributed {

/// One connection to PyTorch's TCPStore, which torchrun's agent holds at MASTER_PORT. All errors name it.
class TorchStore {
 public:
  /// @throws DistributedError when nobody listens there until the deadline
  TorchStore(const std::string& address, int port, Deadline deadline);
  /// Returns when the key is set. @throws DistributedError
  void set(const std::string& key, const std::string& value);
  /// Waits for the key. @throws DistributedError saying that `who` did not set it until the deadline
  std::string get(const std::string& key, const std::string& who);
  /// The address of this machine on the way to the store.
  std::string local_address() const { return distributed::local_address(socket_.get()); }

 private:
  void send(const std::string& bytes);
  std::string receive(size_t bytes, const std::string& who);
  std::string place_;
  Deadline deadline_;
  Descriptor socket_;
};

}  // namespace tandem::distributed
