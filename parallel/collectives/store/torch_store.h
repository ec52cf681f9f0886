// TorchStore: a client of torchrun's store, through which rank 0 tells the other ranks where Tandem's store is.
// Internal.
#pragma once
#include "tandem/parallel/collectives/store/socket.h"

namespace tandem::distributed {

/// One connection to PyTorch's TCPStore, which torchrun's agent hosts at MASTER_PORT. All errors name this store.
class TorchStore {
 public:
  /// Connects to the store. @throws DistributedError if no server listens there before the deadline
  TorchStore(const std::string& address, int port, Deadline deadline);
  /// Sets a key. Returns when the store has stored it. @throws DistributedError
  void set(const std::string& key, const std::string& value);
  /// Waits for the key and returns its value. @throws DistributedError saying that `who` did not set it before the
  /// deadline
  std::string get(const std::string& key, const std::string& who);
  /// Returns the address of this machine's end of the connection.
  std::string local_address() const { return distributed::local_address(socket_.get()); }

 private:
  void send(const std::string& bytes);
  std::string receive(size_t bytes, const std::string& who);
  std::string address_text_;
  Deadline deadline_;
  Descriptor socket_;
};

}  // namespace tandem::distributed
