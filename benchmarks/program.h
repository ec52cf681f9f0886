// Program, the interface of everything that runs benchmark cases: this process, a peer (PyTorch or LibTorch) in a child
// process, or another build of Tandem.
#pragma once
#include <sys/types.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tandem/benchmarks/benchmark.h"

namespace tandem::benchmarks {

/// A benchmark together with the shapes to run it on.
struct Case {
  const Benchmark* benchmark;
  Shapes shapes;
  std::string key() const { return benchmark->name + " " + shapes_to_string(shapes); }
  /// key() without "captured_" in the benchmark's name. Where Tandem replays a Graph, a peer does the same work without
  /// a graph.
  std::string peer_key() const;
};

/// Runs and times benchmark cases.
class Program {
 public:
  virtual ~Program() = default;
  virtual const std::string& name() const = 0;
  virtual std::string version() const = 0;
  /// Prepares a case and warms it up.
  /// @return estimated seconds per call; nullopt if the program does not have this case
  virtual std::optional<double> prepare(const Case& c) = 0;
  /// Returns the mean seconds per call over `iterations` calls, after one call that is not timed.
  virtual double measure_seconds_per_call(const Case& c, int64_t iterations) = 0;
};

/// Tandem in this process. On a GPU, events on the stream time each call. The L2 cache is overwritten before each call,
/// so that small inputs are read from memory. train_step and overhead benchmarks are timed by the host's clock, because
/// a train_step synchronizes by itself and an overhead benchmark measures the cost of the call.
class TandemProgram final : public Program {
 public:
  const std::string& name() const override { return name_; }
  std::string version() const override;
  std::optional<double> prepare(const Case& c) override;
  double measure_seconds_per_call(const Case& c, int64_t iterations) override;

 private:
  std::string name_ = "tandem";
  std::map<std::string, Run> prepared_runs_;
};

/// A peer in a child process. Its standard input and output speak the protocol described in peers/README.md.
class PeerProgram final : public Program {
 public:
  struct Command {
    std::string name;                      // name shown in tables
    std::vector<std::string> arguments;    // command line of the peer, beginning with the program
    std::vector<std::string> environment;  // variables "NAME=value", added to this process's environment for the peer
  };
  /// Starts the peer and reads its version.
  /// @throws Error if the peer cannot be started, ends, does not answer within timeout_seconds, or answers no version
  explicit PeerProgram(Command command, double timeout_seconds = 300);
  ~PeerProgram() override;
  PeerProgram(const PeerProgram&) = delete;
  const std::string& name() const override { return command_.name; }
  std::string version() const override { return version_; }
  std::optional<double> prepare(const Case& c) override;
  double measure_seconds_per_call(const Case& c, int64_t iterations) override;

 private:
  std::string send_request(const std::string& line);
  std::string read_line(const std::string& request);
  double parse_seconds(const std::string& request, const std::string& answer) const;
  Command command_;
  double timeout_s_;
  std::string version_, read_buffer_;
  int socket_ = -1;
  pid_t child_pid_ = -1;
};

/// A build of Tandem, from this commit or another. Each sample runs `tandem bench --case ... --json FILE` in a new
/// process. So every build that has these options can be measured, and no sample depends on the memory layout that an
/// earlier sample left. A sample is the median of five shorter samples, so that one interruption does not change it.
class BuildProgram final : public Program {
 public:
  /// @param build    a build folder, or its program tools/tandem
  /// @param seconds  target duration of a sample
  /// @param options  more options of `tandem bench`, passed for every sample
  /// @throws Error if `build` is not a build of Tandem or has no benchmarks
  BuildProgram(std::string name, const std::string& build, double seconds, std::vector<std::string> options);
  const std::string& name() const override { return name_; }
  std::string version() const override { return version_; }  // version of the build; known after the first sample
  std::optional<double> prepare(const Case& c) override;
  /// Returns the seconds per call of one sample. The build chooses the number of calls by itself.
  double measure_seconds_per_call(const Case& c, int64_t) override;

 private:
  std::string name_, program_, version_;
  std::vector<std::string> options_;
  std::set<std::string> benchmarks_;
};

/// Returns the names of all peers. On the CPU: "pytorch", "pytorch-tuned", "pytorch-compiled" (torch.compile),
/// "libtorch" and "libtorch-tuned"; all tuned and compiled peers use channels-last and keep glibc from returning freed
/// memory to the system. On a GPU: "pytorch", "pytorch-compiled", "pytorch-graphs" (CUDA graphs), and
/// "pytorch-compiled-tuned" and "pytorch-graphs-tuned" (fused optimizers, cudnn.benchmark, torch.compile's
/// max-autotune).
std::vector<std::string> peer_names(const std::string& device = "cpu");
/// Returns the command that starts a peer. PyTorch runs in TANDEM_PEERS_PYTHON or in .peers/python of the checkout;
/// LibTorch is .peers/bench_libtorch. peers/setup.sh makes .peers.
/// @throws Error if no peer has this name, or if the peer is not installed; then the message says how to install it
PeerProgram::Command peer_command(const std::string& name, int threads, const std::string& device = "cpu",
                                  const std::string& precision = "highest");

}  // namespace tandem::benchmarks
