// Implements the requests of PyTorch's TCPStore that ranks send to torchrun's agent: set a key, wait for a key, get a
// key. Tandem's requests were compared with requests of PyTorch 2.15.
#pragma once
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <thread>

#include "tandem/parallel/collectives/store/socket.h"

namespace tandem::test {

class FakeTorchStore {
 public:
  FakeTorchStore() : listener_(distributed::listen_on("localhost", 0)), thread_([this] { serve(); }) {}
  ~FakeTorchStore() {
    stop_ = true;
    thread_.join();
  }
  int port() const { return distributed::socket_port(listener_.get()); }
  std::string find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    return values_[key];
  }

 private:
  struct Client {
    distributed::Descriptor socket;
    std::string in = {}, waits_for = {};
    bool valid = false;
  };
  void serve() {
    std::list<Client> clients;
    while (!stop_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd >= 0) clients.push_back({.socket = distributed::Descriptor(fd)});
      for (Client& c : clients) {
        char chunk[4096];
        const ssize_t n = ::recv(c.socket.get(), chunk, sizeof chunk, 0);
        if (n > 0) c.in.append(chunk, static_cast<size_t>(n));
        while (step(c)) {}
      }
    }
  }
  static void send(const Client& c, const std::string& bytes) {
    (void)::send(c.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  /// Reads a length and a text at offset `at` of `in`. Returns false if they have not arrived completely.
  static bool take(const std::string& in, size_t& at, std::string& text) {
    uint64_t length = 0;
    if (in.size() < at + sizeof length) return false;
    std::memcpy(&length, in.data() + at, sizeof length);
    if (in.size() < at + sizeof length + length) return false;
    text = in.substr(at + sizeof length, length);
    at += sizeof length + length;
    return true;
  }
  /// Answers one request. Returns false if none has arrived completely.
  bool step(Client& c) {
    const std::lock_guard lock(mutex_);
    if (!c.waits_for.empty()) {
      if (values_.count(c.waits_for) == 0) return false;
      c.waits_for.clear();
      send(c, std::string(1, '\0'));
    }
    if (c.in.empty()) return false;
    size_t at = 1;
    std::string key, value;
    if (!c.valid) {
      if (c.in.size() < 5) return false;
      c.valid = c.in.substr(0, 5) == std::string("\0\xce\xf7\x85\x3c", 5);
      if (!c.valid) c.socket.close();
      at = 5;
    } else if (c.in[0] == 1) {  // request: set a key
      if (!take(c.in, at, key) || !take(c.in, at, value)) return false;
      values_[key] = value;
    } else if (c.in[0] == 3) {  // request: get a key
      if (!take(c.in, at, key)) return false;
      const uint64_t length = values_[key].size();
      send(c, std::string(reinterpret_cast<const char*>(&length), sizeof length) + values_[key]);
    } else {  // request: wait for a list of keys, which always has one entry
      at = 1 + sizeof(uint64_t);
      if (!take(c.in, at, c.waits_for)) return false;
    }
    c.in.erase(0, at);
    return true;
  }
  distributed::Descriptor listener_;
  std::mutex mutex_;
  std::map<std::string, std::string> values_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace tandem::test
