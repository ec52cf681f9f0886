// Implements run_processes and run_own_ranks, which run a job and restart it up to max_restarts times.
#include "tandem/tools/launch/ranks.h"

#include <poll.h>

#include <cstdio>
#include <cstdlib>

#include "tandem/tools/launch/job.h"

namespace tandem::tools {
namespace {

using distributed::Clock;
using distributed::Deadline;
using distributed::deadline_after;
using distributed::time_until;

/// Writes the output that remains after the ranks have ended. If the reader is slow, waits until a signal arrives or
/// until one second after the job's timeout. If a timeout or a signal ended the job or the rank
/// that failed, waits at most one second.
void flush_output(const LaunchContext& launch, int status) {
  Deadline last = launch.timeout ? *launch.timeout + std::chrono::seconds(1) : Deadline::max();
  if (status == 124 || status > 128) last = deadline_after(std::chrono::seconds(1));
  while (!launch.sinks.empty() && Clock::now() < last) {
    std::vector<pollfd> fds{{launch.signals.fd(), POLLIN, 0}};
    for (const auto& sink : launch.sinks.sinks())
      if (!sink->empty()) fds.push_back({sink->fd(), POLLOUT, 0});
    ::poll(fds.data(), fds.size(), static_cast<int>(time_until(last).count()));
    launch.sinks.write_pending(launch.options.name);
    while (const int signal = launch.signals.next_signal())
      if (Signals::ends_job(signal)) return;
  }
}
void throw_if_interrupted(const Signals& signals) {
  while (const int signal = signals.next_signal())
    if (Signals::ends_job(signal)) throw Interrupted(signal);
}

/// Runs the job, with up to max_restarts restarts. Returns how the last attempt ended.
JobResult run_job(int num_ranks, const std::vector<std::string>& command, const RankOptions& options) {
  TANDEM_CHECK(num_ranks >= 1, "launch: ", num_ranks, " ranks; accepted: 1 or more");
  TANDEM_CHECK(!command.empty(), "launch: no program is given; accepted: a command to run");
  std::fflush(nullptr);
  std::optional<Deadline> timeout;
  if (options.timeout.count() > 0) timeout = deadline_after(options.timeout);
  Signals signals;
  std::unique_ptr<Nodes> nodes;
  // Created once the number of the first rank is known, because file names contain the ranks.
  std::unique_ptr<Sinks> output;
  if (options.nodes > 1) {
    const char* const token = std::getenv("TANDEM_JOB_TOKEN");
    const auto check = [&] {
      throw_if_interrupted(signals);
      if (output) output->write_pending(options.name);
    };
    const auto print_message = [&](const std::string& text) {
      const std::string line = options.name + ": " + text + "\n";
      output ? output->launcher_stderr().append(line) : void(std::fputs(line.c_str(), stderr));
    };
    nodes = std::make_unique<Nodes>(Nodes::Options{.nodes = options.nodes,
                                                   .ranks = num_ranks,
                                                   .max_restarts = options.max_restarts,
                                                   .rdzv = options.rdzv,
                                                   .token = token ? token : "",
                                                   .timeout = options.rdzv_timeout,
                                                   .heartbeat_timeout = options.node_timeout},
                                    check, print_message);
  }
  output = std::make_unique<Sinks>(options.output, nodes ? nodes->first_rank() : 0, num_ranks);
  Sinks& sinks = *output;
  const LaunchContext launch{num_ranks, command, options, timeout, signals, nodes.get(), sinks};
  JobResult result;
  for (int restarts = 0;; ++restarts) {
    {
      Attempt attempt(nodes.get(), restarts);
      result = Job(launch, attempt, restarts).run();
    }
    const bool reconnect = result.may_restart && restarts < options.max_restarts;
    if (!result.cause.empty())
      sinks.launcher_stderr().append(options.name + ": " + result.cause +
                                     (reconnect ? "; restarting all ranks (" + std::to_string(restarts + 1) + " of " +
                                                      std::to_string(options.max_restarts) + ")"
                                                : "") +
                                     "\n");
    if (!reconnect) break;
  }
  if (nodes) nodes->deregister();
  flush_output(launch, result.status);
  sinks.report_dropped(options.name);
  flush_output(launch, result.status);
  return result;
}

}  // namespace

int run_processes(int num_ranks, const std::vector<std::string>& command, const RankOptions& options) {
  return run_job(num_ranks, command, options).status;
}

void run_own_ranks(const std::string& command, const std::string& job, int num_ranks,
                   std::vector<std::string> arguments) {
  RankOptions options;
  options.name = "tandem " + command;
  arguments.insert(arguments.begin(), {"/proc/self/exe", command});
  const JobResult result = run_job(num_ranks, arguments, options);
  if (result.interrupted) throw Interrupted(result.status - 128);
  TANDEM_CHECK(result.status == 0, command, ": a rank of ", job, " failed with exit status ", result.status);
}

}  // namespace tandem::tools
