// Implements a client of PyTorch 2.15's TCPStore. A request is one byte for the operation, then the arguments. Numbers
// are in the machine's byte order; a text is its length in eight bytes, then the bytes. A connection begins with a
// magic number. A request to set a key gets no reply; a request to wait for a key gets a zero byte.
#include "tandem/parallel/collectives/store/torch_store.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "tandem/parallel/collectives/process_group.h"

namespace tandem::distributed {
namespace {

constexpr char kTorchValidate = 0, kTorchSet = 1, kTorchGet = 3, kTorchWait = 6;
constexpr uint32_t kValidationMagicNumber = 0x3C85F7CE;
constexpr uint64_t kMaxValueBytes = 1 << 16;  // longest value that is accepted; Tandem's own values are far shorter

template <class T> std::string to_bytes(T number) {
  return std::string(reinterpret_cast<const char*>(&number), sizeof number);
}
std::string encode_string(const std::string& s) { return to_bytes<uint64_t>(s.size()) + s; }

}  // namespace

TorchStore::TorchStore(const std::string& address, int port, Deadline deadline)
    : address_text_("torchrun's store at " + address + ":" + std::to_string(port)),
      deadline_(deadline),
      socket_(connect_to(address, port, deadline, "torchrun's agent")) {
  send(kTorchValidate + to_bytes(kValidationMagicNumber));
}
void TorchStore::send(const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t n = ::send(socket_.get(), bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (n >= 0)
      at += static_cast<size_t>(n);
    else
      TANDEM_CHECK_AS(DistributedError,
                      errno == EINTR || (errno == EAGAIN && wait_until_ready(socket_.get(), POLLOUT, deadline_)),
                      "init_process_group: ", address_text_, " cannot be written to: ", std::strerror(errno));
  }
}
std::string TorchStore::receive(size_t bytes, const std::string& who) {
  std::string received(bytes, '\0');
  for (size_t at = 0; at < bytes;) {
    const ssize_t n = ::recv(socket_.get(), received.data() + at, bytes - at, 0);
    if (n > 0) {
      at += static_cast<size_t>(n);
      continue;
    }
    TANDEM_CHECK_AS(DistributedError, n < 0 && (errno == EINTR || errno == EAGAIN),
                    "init_process_group: ", address_text_, " has closed the connection; is torchrun still running?");
    TANDEM_CHECK_AS(DistributedError, wait_until_ready(socket_.get(), POLLIN, deadline_), "init_process_group: ", who,
                    " did not arrive: within the timeout it wrote nothing to ", address_text_);
  }
  return received;
}
void TorchStore::set(const std::string& key, const std::string& value) {
  send(kTorchSet + encode_string(key) + encode_string(value) + kTorchWait + to_bytes<uint64_t>(1) + encode_string(key));
  receive(1, "this rank");
}
std::string TorchStore::get(const std::string& key, const std::string& who) {
  send(kTorchWait + to_bytes<uint64_t>(1) + encode_string(key));
  TANDEM_CHECK_AS(DistributedError, receive(1, who)[0] == 0, "init_process_group: ", address_text_,
                  " refuses to wait for the key ", key, "; is its version of PyTorch supported?");
  send(kTorchGet + encode_string(key));
  uint64_t length = 0;
  std::memcpy(&length, receive(sizeof length, who).data(), sizeof length);
  TANDEM_CHECK_AS(DistributedError, length <= kMaxValueBytes, "init_process_group: the value of ", key, " in ",
                  address_text_, " has ", length, " bytes; accepted: at most ", kMaxValueBytes);
  return receive(length, who);
}

}  // namespace tandem::distributed
