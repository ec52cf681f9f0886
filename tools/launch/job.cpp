// Implements Job: starts the ranks, waits for them, for signals and for the launchers of other nodes, and ends the
// remaining ranks after a failure.
#include "tandem/tools/launch/job.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace tandem::tools {

using distributed::Deadline;
using distributed::deadline_after;
using distributed::time_until;

namespace {
/// Creates the folder for the flight records of one attempt. Returns its absolute path; "" if the options name no
/// folder.
std::string flight_folder(const RankOptions& options, int restarts) {
  const std::string& named = options.flight.empty() ? options.output : options.flight;
  if (named.empty()) return {};
  std::error_code problem;
  std::filesystem::path folder = std::filesystem::absolute(named, problem);
  if (restarts > 0) folder /= "restart_" + std::to_string(restarts);
  if (!problem) std::filesystem::create_directories(folder, problem);
  TANDEM_CHECK(!problem, "launch: the folder ", folder.string(), " cannot be created: ", problem.message());
  return folder.string();
}
}  // namespace

Job::Job(const LaunchContext& launch, Attempt& attempt, int restarts)
    : launch_(launch), attempt_(attempt), timeout_(launch.timeout) {
  ranks_.reserve(static_cast<size_t>(launch.num_ranks));
  const std::string flight = flight_folder(launch.options, restarts);
  for (int r = 0; r < launch.num_ranks; ++r) {
    RankEnvironment rank_env{.rank = first_rank() + r,
                             .world_size = launch.nodes ? launch.nodes->world_size() : launch.num_ranks,
                             .local_rank = r,
                             .local_world_size = launch.num_ranks,
                             .node = launch.nodes ? launch.nodes->node() : 0,
                             .restarts = restarts,
                             .threads = launch.options.threads,
                             .flight = flight};
    if (!flight.empty())  // removes the rank's flight record from an earlier job
      ::unlink((flight + "/flight_rank_" + std::to_string(rank_env.rank) + ".json").c_str());
    if (launch.options.pin) rank_env.cpus = cpu_share(r, launch.num_ranks);
    attempt.set_store_address(rank_env);
    RankProcess process = start_rank(rank_env, launch.command, process_group_.group_id());
    Output out = launch.sinks.make_output(std::move(process.out), /*is_error=*/false, r);
    Output error = launch.sinks.make_output(std::move(process.error), /*is_error=*/true, r);
    ranks_.push_back({std::move(process), std::move(out), std::move(error)});
  }
}

JobResult Job::run() {
  while (has_running_rank() || !attempt_.get_result()) {
    poll_events();
    handle_signals();
    check_other_nodes();
    for (Rank& rank : ranks_) {
      rank.out.read_available();
      rank.error.read_available();
    }
    launch_.sinks.write_pending(launch_.options.name);
    for (size_t r = 0; r < ranks_.size(); ++r) reap(r);
    if (timeout_ && time_until(*timeout_).count() == 0) {
      timeout_.reset();
      fail("the job did not end within " + std::to_string(launch_.options.timeout.count()) + " s", 124,
           /*may_restart=*/false, {});
    }
    if (next_signal_time_ && (time_until(*next_signal_time_).count() == 0 || is_hopeless())) end_ranks(next_signal_);
    if (!has_running_rank() && result_.cause.empty() && !has_reported_done_) {
      attempt_.report_success();
      has_reported_done_ = true;
    }
    if (!has_running_rank() && !result_.cause.empty()) break;
  }
  check_other_nodes();  // a launcher on another node may have reported the end of the attempt in the meantime
  process_group_.end_group();
  for (Rank& rank : ranks_)
    for (Output* output : {&rank.out, &rank.error}) {
      output->read_remaining();
      // Closes the stream even if another process still holds the write end of the pipe. Such a process has left the
      // process group, so it was not killed.
      output->finish();
    }
  return result_;
}

bool Job::has_running_rank() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.is_running; });
}
/// Returns whether all remaining ranks are stopped by signals after a failure. Then no rank can end by itself, so it is
/// useless to wait.
bool Job::is_hopeless() const {
  return next_signal_ == SIGTERM && has_running_rank() &&
         std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& r) { return !r.is_running || r.stop_signal != 0; });
}
void Job::poll_events() {
  std::vector<pollfd> fds{
      {launch_.signals.fd(), POLLIN, 0},
      {is_result_known_ ? -1 : attempt_.fd(), POLLIN, 0},
      {!launch_.nodes || launch_.nodes->get_lost_node_error() ? -1 : launch_.nodes->fd(), POLLIN, 0}};
  for (const Rank& rank : ranks_)
    for (const Output* output : {&rank.out, &rank.error})
      if (output->fd() >= 0) fds.push_back({output->fd(), POLLIN, 0});
  for (const auto& sink : launch_.sinks.sinks())
    if (!sink->empty()) fds.push_back({sink->fd(), POLLOUT, 0});
  Deadline first = deadline_after(std::chrono::hours(1));
  if (timeout_) first = std::min(first, *timeout_);
  if (next_signal_time_) first = std::min(first, *next_signal_time_);
  // EINTR needs no handling: the signal handler has written a byte to the pipe, which handle_signals() reads.
  ::poll(fds.data(), fds.size(), static_cast<int>(time_until(first).count()));
}
void Job::handle_signals() {
  while (const int signal = launch_.signals.next_signal()) {
    if (Signals::ends_job(signal)) interrupt(signal);
    if (signal == SIGUSR1 || signal == SIGUSR2) ::kill(-process_group_.group_id(), signal);
  }
}
void Job::check_other_nodes() {
  if (launch_.nodes)
    if (const auto lost_node_error = launch_.nodes->get_lost_node_error())
      fail(*lost_node_error + "; the job cannot restart after losing a node's launcher", 1, /*may_restart=*/false,
           launch_.options.patience);
  const std::optional<Attempt::Result> end = attempt_.get_result();
  is_result_known_ = end.has_value();
  if (end && end->status != 0) fail(end->cause, end->status, end->is_failure, launch_.options.patience);
}

void Job::reap(size_t r) {
  Rank& rank = ranks_[r];
  int status = 0;
  rusage usage{};
  while (rank.is_running &&
         ::wait4(rank.process.pid, &status, WNOHANG | WUNTRACED | WCONTINUED, &usage) == rank.process.pid) {
    if (WIFSTOPPED(status))
      rank.stop_signal = WSTOPSIG(status);
    else if (WIFCONTINUED(status))
      rank.stop_signal = 0;
    else
      on_rank_ended(r, status, usage.ru_maxrss);
  }
}
void Job::on_rank_ended(size_t r, int status, int64_t peak_kib) {
  Rank& rank = ranks_[r];
  const int number = first_rank() + static_cast<int>(r);
  rank.is_running = false;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return attempt_.mark_ended_normally(number);
  rank.out.read_remaining();
  rank.error.read_remaining();
  const std::string how = WIFSIGNALED(status) ? "was ended by " + signal_name(WTERMSIG(status)) +
                                                    describe_likely_cause(WTERMSIG(status), oom_kills_before_,
                                                                          OomKillCounts::now(), peak_kib)
                                              : "exited with status " + std::to_string(WEXITSTATUS(status));
  const std::string& last_line = rank.error.last_output_line();
  fail("rank " + std::to_string(number) + " " + how + (last_line.empty() ? "" : ": " + last_line),
       WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), /*may_restart=*/true,
       launch_.options.patience);
}
/// Ends the job because of `cause`. Publishes `cause` in the store, and schedules SIGTERM for the ranks after `wait`.
/// Later calls have no effect.
void Job::fail(std::string cause, int status, bool may_restart, std::chrono::milliseconds wait) {
  if (!result_.cause.empty()) return;
  for (size_t r = 0; r < ranks_.size(); ++r)
    if (ranks_[r].is_running && ranks_[r].stop_signal != 0)
      cause += "; rank " + std::to_string(first_rank() + static_cast<int>(r)) + " is stopped by " +
               signal_name(ranks_[r].stop_signal);
  result_ = {status, cause, may_restart, false};
  attempt_.report_failure({status, may_restart, cause});
  next_signal_ = SIGTERM;
  next_signal_time_ = deadline_after(wait);
}
/// Ends the job because this launcher received a signal. With one node, publishes no failure, because otherwise the
/// ranks would report an error although there is none. With several nodes, publishes it for the other launchers.
void Job::interrupt(int signal) {
  if (!result_.cause.empty()) return end_ranks(SIGKILL);  // a second signal kills the ranks at once
  result_ = {128 + signal, signal == SIGINT ? "interrupted" : "ended by " + signal_name(signal), false, true};
  if (launch_.nodes)
    attempt_.report_failure(
        {result_.status, false, "node " + std::to_string(launch_.nodes->node()) + " was " + result_.cause});
  end_ranks(signal);
}
void Job::end_ranks(int signal) {
  ::kill(-process_group_.group_id(), signal);
  // A stopped process handles the signal only after SIGCONT.
  if (signal != SIGKILL) ::kill(-process_group_.group_id(), SIGCONT);
  next_signal_time_ = deadline_after(signal == SIGKILL ? std::chrono::hours(1) : launch_.options.grace);
  next_signal_ = SIGKILL;
}

}  // namespace tandem::tools
