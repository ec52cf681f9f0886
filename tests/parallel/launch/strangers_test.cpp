// Tests processes that connect to a group that is already complete: from another job, with a RANK that is taken, or too
// late. Each is refused with the reason, and the group continues.
#include <unistd.h>

#include "tandem/tests/parallel/child.h"
#include "tandem/tests/temporary.h"

using namespace tandem::test;

namespace {

using Environment = std::vector<std::string>;
Environment rank_environment(int rank, int size, int port) {
  return {"RANK=" + std::to_string(rank), "WORLD_SIZE=" + std::to_string(size), "MASTER_ADDR=127.0.0.1",
          "MASTER_PORT=" + std::to_string(port)};
}
/// Two ranks without a launcher, which run collectives until finish().
class Job {
 public:
  explicit Job(const std::string& what = "go on", const Environment& more = {})
      : ranks_{start(0, what, more), start(1, what, more)} {
    for (Child& rank : ranks_) rank.read_until("goes on", 1);
  }
  int port() const { return port_; }
  void finish() {
    write_file(folder_ / "end", "");
    for (Child& rank : ranks_) {
      const ChildResult r = rank.finish();
      INFO(r.error);
      CHECK(r.status == 0);
      CHECK(Child::count(r.out, "the sum is 3\n") == 1);
    }
    CHECK(has_no_leftovers());
  }

 private:
  Child start(int rank, const std::string& what, Environment environment) const {
    for (const std::string& each : rank_environment(rank, 2, port_)) environment.push_back(each);
    return Child({kLaunchProgram, what, folder_ / "end"}, environment);
  }
  const TemporaryFolder folder_;
  const int port_ = free_port();
  Child ranks_[2];
};
/// Returns the error of a process that is refused.
std::string failure_text(const Environment& environment) {
  const ChildResult r = Child({kLaunchProgram, "sum"}, environment).finish();
  CHECK(r.status == 3);
  return r.error;
}

}  // namespace

TEST_CASE("launch: a stranger is refused, and the group that is there goes on", "[launch][gloo][errors]") {
  if (skipped()) return;
  Job job;
  CHECK_THAT(failure_text(rank_environment(1, 2, job.port())), Contains("two processes claim to be rank 1") &&
                                                                   Contains("(rank 1 is process ") &&
                                                                   Contains("the group continues without process"));
  CHECK_THAT(failure_text(rank_environment(3, 4, job.port())), Contains("rank 3 has 4, rank ") &&
                                                                   Contains(" has 2 (rank ") &&
                                                                   Contains("the group continues without process"));
  CHECK_THAT(failure_text(rank_environment(1, 3, job.port())), Contains("the ranks have different world sizes"));
  for (const int size : {2, 4})
    CHECK_THAT(failure_text(rank_environment(0, size, job.port())),
               Contains("rank 0 cannot host the job's store (RANK and WORLD_SIZE; address: MASTER_ADDR; port: "
                        "MASTER_PORT)") &&
                   Contains("in use") && Contains("; a group of 2 ranks is there (rank 0 is process "));
  Environment other = rank_environment(1, 2, job.port());
  other.emplace_back("TORCHELASTIC_RUN_ID=another");
  CHECK_THAT(failure_text(other),
             Contains("refuses this job token: the store of another job is there") && Contains("MASTER_PORT"));
  other[0] = "RANK=0";
  CHECK_THAT(failure_text(other), Contains("in use") && Contains("; the store of another job is there"));
  job.finish();
}

TEST_CASE("launch: jobs that have tokens are told apart on one port, before a group is complete too",
          "[launch][gloo][errors]") {
  if (skipped()) return;
  const auto with = [](const char* token, Environment environment) {
    environment.push_back(std::string("TANDEM_JOB_TOKEN=") + token);
    return environment;
  };
  Job job("go on", {"TANDEM_JOB_TOKEN=one"});
  for (const char* token : {"two", ""})
    CHECK_THAT(failure_text(with(token, rank_environment(1, 2, job.port()))),
               Contains("the store of another job is there"));
  job.finish();
  const int port = free_port();
  Child zero({kLaunchProgram, "sum"}, with("one", rank_environment(0, 2, port)));
  CHECK_THAT(failure_text(with("two", rank_environment(1, 2, port))), Contains("the store of another job is there"));
  Child one({kLaunchProgram, "sum"}, with("one", rank_environment(1, 2, port)));
  CHECK((one.finish().status == 0 && zero.finish().status == 0));
  CHECK(has_no_leftovers());
}

TEST_CASE("launch: who makes its first group where rank 0 makes its second is told so", "[launch][gloo][errors]") {
  if (skipped()) return;
  Job job("go on, second group");
  for (const int rank : {1, 3})
    CHECK_THAT(failure_text(rank_environment(rank, rank + 1, job.port())),
               Contains("makes group 0 (counted from 0)") && Contains("belongs to group 1") && Contains("too late"));
  job.finish();
}

TEST_CASE("launch: a program that a rank starts with its own environment does not end the job",
          "[launch][gloo][errors]") {
  if (skipped()) return;
  const TemporaryFolder folder;
  const std::string end = folder / "end", program = kLaunchProgram;
  const ChildResult r =
      Child(launch_shell(2, program + " 'go on' " + end + " > " + end + "_$RANK & rank=$!; until grep -q 'goes on' " +
                                end + "_$RANK; do sleep 0.02; done; if [ $RANK = 1 ]; then " + program +
                                " sum; echo status $?; touch " + end + "; fi; wait $rank"))
          .finish();
  INFO(r.out << r.error);
  CHECK(r.status == 0);
  CHECK(Child::count(r.out, "[1] status 3\n") == 1);
  CHECK_THAT(r.error, Contains("two processes claim to be rank 1"));
  CHECK(has_no_leftovers());
}
