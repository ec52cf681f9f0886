// What runs benchmarks: this process, or a peer in a process of its own that is asked line by line.
#pragma once
#include <sys/types.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tandem/benchmarks/benchmark.h"

namespace tandem::benchmarks {

/// A benchmark with one of its shapes.
struct Case {
  const Benchmark* benchmark;
  Shapes shapes;
  std::string key() const { return benchmark->name + " " + str(shapes); }
  /// How peers are asked for it: for the same work as it comes where Tandem replays a Graph ("captured_").
  std::string peer_key() const;
};

class Program {
 public:
  virtual ~Program() = default;
  virtual const std::string& name() const = 0;
  virtual std::string version() const = 0;
  /// Makes a case ready and warms it up. @return an estimate of a call's seconds, or nothing: it has no such case
  virtual std::optional<double> prepare(const Case& c) = 0;
  /// Seconds per call, over so many calls after one that is not timed.
  virtual double time(const Case& c, int64_t iterations) = 0;
};

/// Tandem itself. On a GPU a call is timed by events on the stream, after the L2 cache was filled with other data, so
/// that small inputs are read from memory; calls that wait for the GPU themselves, and those whose cost is the call
/// (train_step, overhead), by the clock.
class OwnProgram final : public Program {
 public:
  const std::string& name() const override { return name_; }
  std::string version() const override;
  std::optional<double> prepare(const Case& c) override;
  double time(const Case& c, int64_t iterations) override;

 private:
  std::string name_ = "tandem";
  std::map<std::string, Run> ready_;
};

/// A peer: a process that speaks the protocol of peers/README.md through its standard input and output.
class PeerProgram final : public Program {
 public:
  struct Command {
    std::string name;                      // how tables call it
    std::vector<std::string> arguments;    // the program first
    std::vector<std::string> environment;  // "NAME=value", beside this process's
  };
  /// Starts it and reads its version. @throws Error when it cannot be started, ends, or says something else
  explicit PeerProgram(Command command, double timeout_s = 300);
  ~PeerProgram() override;
  PeerProgram(const PeerProgram&) = delete;
  const std::string& name() const override { return command_.name; }
  std::string version() const override { return version_; }
  std::optional<double> prepare(const Case& c) override;
  double time(const Case& c, int64_t iterations) override;

 private:
  std::string ask(const std::string& line);
  std::string read_line(const std::string& asked);
  double number(const std::string& asked, const std::string& answer) const;
  Command command_;
  std::string version_, unread_;
  int socket_ = -1;
  pid_t child_ = -1;
};

/// A build of Tandem, this one or another commit's. Each sample is a process of its own, `tandem bench --case ...
/// --json FILE`: so any build can be asked that has these options, and no sample depends on where an earlier one left
/// memory. A sample is the median of five, each of a fifth of the time, so that one interruption does not count.
class BuildProgram final : public Program {
 public:
  /// @param build    a build folder, or its program tools/tandem
  /// @param seconds  aimed at for a sample
  /// @param options  of `tandem bench`, for every sample
  /// @throws Error when there is no such build, or it has no benchmarks
  BuildProgram(std::string name, const std::string& build, double seconds, std::vector<std::string> options);
  const std::string& name() const override { return name_; }
  std::string version() const override { return version_; }  // known after the first sample
  std::optional<double> prepare(const Case& c) override;
  /// As many calls as the build itself finds right for the time.
  double time(const Case& c, int64_t) override;

 private:
  std::string name_, program_, version_;
  std::vector<std::string> options_;
  std::set<std::string> benchmarks_;
};

/// The peers that can be named: on the CPU "pytorch", "pytorch-tuned", "libtorch", "libtorch-tuned" (tuned is
/// channels-last, and glibc told to keep memory that was freed); on a GPU "pytorch", "pytorch-compiled"
/// (torch.compile), "pytorch-graphs" (CUDA graphs), and the last two "-tuned" (fused optimizers, the fastest of cuDNN's
/// algorithms, and torch.compile's max-autotune).
std::vector<std::string> peer_names(const std::string& device = "cpu");
/// How to start a peer: with TANDEM_PEERS_PYTHON, or what peers/setup.sh left in .peers of the checkout.
/// @throws Error on another name, or when the peer is not there: then it says how to get it
PeerProgram::Command peer_command(const std::string& name, int threads, const std::string& device = "cpu",
                                  const std::string& precision = "highest");

}  // namespace tandem::benchmarks
