// Tests ranks whose processes end while others continue: with status 0 they have left the group, otherwise they are
// lost.
#include <thread>

#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/child.h"

using namespace tandem::test;

namespace {

struct ExitTimes {
  std::vector<ChildResult> ranks;  // result of each rank
  std::chrono::milliseconds time{0};
};
/// Runs three ranks of launch_program without a launcher.
ExitTimes run_alone(const std::string& what) {
  const auto start = Clock::now();
  const int port = free_port();
  std::vector<Child> children;
  for (int rank = 0; rank < 3; ++rank)
    children.emplace_back(std::vector<std::string>{kLaunchProgram, what},
                          std::vector<std::string>{"RANK=" + std::to_string(rank), "WORLD_SIZE=3",
                                                   "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + std::to_string(port)});
  ExitTimes ends;
  for (Child& child : children) ends.ranks.push_back(child.finish());
  ends.time = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
  return ends;
}
std::string join_outputs(const ExitTimes& ends) {
  std::string text;
  for (const ChildResult& r : ends.ranks) text += std::to_string(r.status) + ": " + r.out + r.error;
  return text;
}

}  // namespace

TEST_CASE("a rank that ends with status 0 leaves the others alone", "[launch][gloo][leave]") {
  if (skipped()) return;
  for (const std::string what : {"leave 1 exit alone", "leave 1 destroy alone", "leave 2 return alone",
                                 "leave 0 exit alone", "leave 0 return alone"}) {
    const ExitTimes ends = run_alone(what);
    INFO(what << ":\n" << join_outputs(ends));
    for (size_t r = 0; r < 3; ++r) {
      CHECK(ends.ranks[r].status == 0);
      CHECK(Child::count(ends.ranks[r].out, "goes on\n") == (what[6] == static_cast<char>('0' + r) ? 0 : 1));
    }
    const ChildResult launched = Child(launch_program(3, what)).finish();
    INFO(launched.out << launched.error);
    CHECK(launched.status == 0);
    CHECK(Child::count(launched.out, "goes on\n") == 2);
  }
  // _exit() sends no goodbye to the store, so only a launcher sees the status.
  const ChildResult silent = Child(launch_program(3, "leave 1 _exit alone")).finish();
  CHECK(silent.status == 0);
  CHECK(has_no_leftovers());
}

TEST_CASE("a call that needs a rank that has left fails at once, and names it", "[launch][gloo][leave][errors]") {
  if (skipped()) return;
  for (const std::string what :
       {"leave 1 exit later", "leave 1 return now", "leave 1 exit recv", "leave 0 exit now", "leave 0 destroy later"}) {
    const ExitTimes ends = run_alone(what);
    INFO(what << ":\n" << join_outputs(ends));
    const size_t leaver = what[6] == '1' ? 1 : 0;
    CHECK(ends.time < std::chrono::seconds(20));  // the group's timeout is one minute
    CHECK(ends.ranks[leaver].status == 0);
    const std::string named = "rank " + std::to_string(leaver) + " has left the group (it ended normally)";
    for (const size_t r : {1 - leaver, size_t{2}}) {
      CHECK(ends.ranks[r].status == 3);
      CHECK_THAT(ends.ranks[r].error, Contains(named));
    }
  }
  for (const std::string what : {"leave 1 exit later", "leave 1 _exit later", "leave 2 return now"}) {
    const ChildResult r = Child(launch_program(3, what)).finish();
    INFO(what << ":\n" << r.out << r.error);
    CHECK(r.status == 3);
    CHECK_THAT(r.error, Contains("rank " + std::string(1, what[6]) + " has left the group (it ended normally)") &&
                            Contains("tandem launch: rank ") && Contains("exited with status 3: error: all_reduce #"));
  }
  CHECK(has_no_leftovers());
}

TEST_CASE("a rank that ends with another status is lost, and the others hear that at once",
          "[launch][gloo][leave][errors]") {
  if (skipped()) return;
  for (const std::string what : {"leave 1 status_3 now", "leave 1 status_3 alone", "leave 0 status_3 alone",
                                 "leave 0 status_3 later", "leave 1 _exit alone"}) {
    const ExitTimes ends = run_alone(what);
    INFO(what << ":\n" << join_outputs(ends));
    const size_t leaver = what[6] == '1' ? 1 : 0;
    CHECK(ends.time < std::chrono::seconds(20));
    for (const size_t r : {1 - leaver, size_t{2}}) {
      CHECK(ends.ranks[r].status != 0);
      CHECK(Child::count(ends.ranks[r].out, "goes on\n") == 0);
      CHECK_THAT(ends.ranks[r].error, Contains("rank " + std::to_string(leaver) + " is gone"));
      if (what.find("status_3") != std::string::npos)
        CHECK_THAT(ends.ranks[r].error, Contains("it has ended with exit status 3"));
    }
  }
  CHECK(has_no_leftovers());
}

TEST_CASE("a rank that ends before it has joined fails those who wait for it, where a launcher sees that",
          "[launch][gloo][leave][errors]") {
  if (skipped()) return;
  const auto start = Clock::now();
  const ChildResult r = Child(launch({"-n", "2", "--", "sh", "-c",
                                      "[ $RANK = 1 ] && exit 0; exec " + std::string(kLaunchProgram) + " sum"}))
                            .finish();
  INFO(r.out << r.error);
  CHECK(r.status == 3);
  CHECK(Clock::now() - start < std::chrono::seconds(20));
  CHECK_THAT(r.error, Contains("init_process_group: rank 1 has left (it ended normally)"));
  CHECK(has_no_leftovers());
}
