// PeerProgram: starts a peer process whose standard input and output are one socket, and exchanges lines with it.
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tandem/benchmarks/program.h"

extern char** environ;

namespace tandem::benchmarks {
namespace {

/// Returns pointers to the strings, followed by a null pointer as exec requires. The strings must outlive the result.
std::vector<char*> to_argv(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (const std::string& s : strings) out.push_back(const_cast<char*>(s.c_str()));
  out.push_back(nullptr);
  return out;
}

}  // namespace

PeerProgram::PeerProgram(Command command, double timeout_seconds)
    : command_(std::move(command)), timeout_s_(timeout_seconds) {
  int ends[2];
  TANDEM_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0,
               "bench: cannot make a socket pair: ", std::strerror(errno));
  socket_ = ends[0];
  timeval timeout = {};
  timeout.tv_sec = static_cast<time_t>(timeout_seconds);
  timeout.tv_usec = static_cast<suseconds_t>((timeout_seconds - static_cast<double>(timeout.tv_sec)) * 1e6);
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  // The command's own variables go first: if a name occurs twice in the environment, getenv returns the first value.
  std::vector<std::string> environment = command_.environment;
  for (char** e = environ; *e; ++e) environment.emplace_back(*e);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  // The peer gets a process group of its own, so that Ctrl-C reaches only this command. The peer ends when its standard
  // input closes.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int status = posix_spawnp(&child_pid_, command_.arguments[0].c_str(), &actions, &attributes,
                                  to_argv(command_.arguments).data(), to_argv(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (status != 0) {
    ::close(socket_);
    TANDEM_FAIL("bench: cannot start the peer ", command_.name, ", ", command_.arguments[0], ": ",
                std::strerror(status));
  }
  try {
    const std::string greeting = send_request("version");
    TANDEM_CHECK(greeting.starts_with("version "), "bench: the peer ", command_.name, " answered 'version' with '",
                 greeting, "'; accepted: 'version VERSION'");
    version_ = greeting.substr(8);
  } catch (...) {
    ::close(socket_);
    kill(child_pid_, SIGTERM);
    waitpid(child_pid_, nullptr, 0);
    throw;
  }
}
PeerProgram::~PeerProgram() {
  ::close(socket_);
  kill(child_pid_, SIGTERM);
  waitpid(child_pid_, nullptr, 0);
}

std::string PeerProgram::read_line(const std::string& request) {
  for (;;) {
    if (const size_t end = read_buffer_.find('\n'); end != std::string::npos) {
      const std::string line = read_buffer_.substr(0, end);
      read_buffer_.erase(0, end + 1);
      return line;
    }
    char bytes[512];
    const ssize_t n = recv(socket_, bytes, sizeof bytes, 0);
    if (n < 0 && errno == EINTR) continue;
    // EAGAIN means that the timeout expired. With any other error, the peer has ended.
    const bool late = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    TANDEM_CHECK(!late, "bench: the peer ", command_.name, " did not answer '", request, "' within ", timeout_s_, " s");
    TANDEM_CHECK(n > 0, "bench: the peer ", command_.name, " ended when asked '", request,
                 "'; its own messages, on standard error, say why");
    read_buffer_.append(bytes, static_cast<size_t>(n));
  }
}
std::string PeerProgram::send_request(const std::string& line) {
  const std::string message = line + "\n";
  // The result of send() is not checked, because read_line() throws if the peer has ended.
  [[maybe_unused]] const ssize_t sent = send(socket_, message.data(), message.size(), MSG_NOSIGNAL);
  return read_line(line);
}
double PeerProgram::parse_seconds(const std::string& request, const std::string& answer) const {
  char* end = nullptr;
  const double value = std::strtod(answer.c_str(), &end);
  TANDEM_CHECK(end != answer.c_str() && *end == '\0', "bench: the peer ", command_.name, " answered '", request,
               "' with '", answer, "'; accepted: a number of seconds");
  return value;
}
std::string Case::peer_key() const {
  const std::string captured = "/captured_";
  std::string request = key();
  if (const size_t at = request.find(captured); at != std::string::npos) request.replace(at, captured.size(), "/");
  return request;
}
std::optional<double> PeerProgram::prepare(const Case& c) {
  const std::string line = "prepare " + c.peer_key(), answer = send_request(line);
  if (answer == "unknown") return {};
  return parse_seconds(line, answer);
}
double PeerProgram::measure_seconds_per_call(const Case& c, int64_t iterations) {
  const std::string line = "time " + std::to_string(iterations) + " " + c.peer_key();
  return parse_seconds(line, send_request(line));
}

std::vector<std::string> peer_names(const std::string& device) {
  if (device != "cpu")
    return {"pytorch", "pytorch-compiled", "pytorch-graphs", "pytorch-compiled-tuned", "pytorch-graphs-tuned"};
  return {"pytorch", "pytorch-tuned", "pytorch-compiled", "libtorch", "libtorch-tuned"};
}

PeerProgram::Command peer_command(const std::string& name, int threads, const std::string& device,
                                  const std::string& precision) {
  const std::string folder = TANDEM_PEERS_FOLDER, peers_folder = folder + "/../../.peers";
  PeerProgram::Command command{.name = name, .arguments = {}, .environment = {}};
  if (name.starts_with("pytorch")) {
    const char* chosen = std::getenv("TANDEM_PEERS_PYTHON");
    const std::string python = chosen && *chosen ? chosen : peers_folder + "/python";
    TANDEM_CHECK(chosen || std::filesystem::exists(python), "bench: the peer ", name,
                 " needs a Python with torch; run ",
                 "benchmarks/peers/setup.sh, or set TANDEM_PEERS_PYTHON to an interpreter that has it");
    command.arguments = {python, folder + "/bench_torch.py"};
  } else if (name.starts_with("libtorch")) {
    const std::string program = peers_folder + "/bench_libtorch";
    TANDEM_CHECK(std::filesystem::exists(program), "bench: the peer ", name, " is not built; run ",
                 "benchmarks/peers/setup.sh, or pass it the path of a Python that has torch");
    command.arguments = {program};
  }
  bool known = false;
  std::string names;
  for (const std::string& each : peer_names(device)) {
    known |= each == name;
    names += (names.empty() ? "" : ", ") + each;
  }
  TANDEM_CHECK(known, "bench: '", name, "' is not a peer; accepted: ", names);
  command.arguments.insert(command.arguments.end(), {"--threads", std::to_string(threads)});
  if (device != "cpu") {
    const std::string mode = name.starts_with("pytorch-compiled") ? "compiled"
                             : name.starts_with("pytorch-graphs") ? "graphs"
                                                                  : "eager";
    command.arguments.insert(command.arguments.end(), {"--device", device, "--mode", mode, "--precision", precision});
    if (name.ends_with("-tuned")) command.arguments.emplace_back("--tuned");
  } else if (name == "pytorch-compiled") {
    command.arguments.insert(command.arguments.end(), {"--mode", "compiled"});
  }
  if (device == "cpu" && (name.ends_with("-tuned") || name.ends_with("-compiled"))) {
    command.arguments.emplace_back("--channels-last");
    command.environment = {"GLIBC_TUNABLES=glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184"};
  }
  return command;
}

}  // namespace tandem::benchmarks
