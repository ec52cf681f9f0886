// Tests ranks over a bad network: delays change no result. A connection that is reset causes an error that names it, or
// a restart from the last checkpoint.
#include "tandem/tests/parallel/launch/relay.h"

#include <filesystem>

#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/child.h"

using namespace tandem::test;

namespace {

/// Returns true, with a warning, in builds without the relay: a sanitizer must be loaded before any LD_PRELOAD library.
bool is_relay_unavailable() {
  if (!kRelayPreload) WARN("SKIPPED: no Gloo, or a sanitizer, which does not go with LD_PRELOAD");
  return !kRelayPreload;
}
/// Runs two ranks that train some steps, resume from checkpoints in the folder, and save checkpoints there.
ChildResult train(const std::string& folder, const Relay* relay, const std::string& restarts = "0",
                  const std::string& timeout_ms = "30000") {
  std::vector<std::string> command = {"-n", "2", "--threads", "1", "--max-restarts", restarts, "--", "env"};
  if (relay) {
    command.push_back("LD_PRELOAD=" + std::string(kRelayPreload));
    for (const std::string& entry : relay->environment()) command.push_back(entry);
  }
  for (const std::string& word :
       {std::string(kFaultsProgram), folder, timeout_ms, std::string("40"), std::string("resumes")})
    command.push_back(word);
  return Child(launch(command)).finish();
}
std::string read_final_model(const TemporaryFolder& folder) { return read_file(folder / "end.pt"); }
const std::string& expected_final_model() {
  static const std::string kEnd = [] {
    const TemporaryFolder folder;
    REQUIRE(train(folder.path(), nullptr).status == 0);
    REQUIRE(!read_final_model(folder).empty());
    return read_final_model(folder);
  }();
  return kEnd;
}

}  // namespace

TEST_CASE("a training over connections that are slow and cut all into pieces ends as over good ones",
          "[launch][gloo][relay]") {
  if (is_relay_unavailable()) return;
  for (const Relay::Options& options : {Relay::Options{.delay_us = 800}, Relay::Options{.delay_us = 60, .piece = 123},
                                        Relay::Options{.piece = 500, .bytes_per_second = 200000}}) {
    const TemporaryFolder folder;
    const Relay relay(options);
    const auto start = Clock::now();
    const ChildResult r = train(folder.path(), &relay);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    INFO(r.error);
    REQUIRE(r.status == 0);
    CHECK(read_final_model(folder) == expected_final_model());
    CHECK(relay.connections() >= 5);  // two from each rank to the store, and one between the ranks
    CHECK(relay.bytes() > 100000);    // 40 steps with 321 gradient values, in both directions
    const auto bytes = static_cast<double>(relay.bytes());
    if (options.bytes_per_second > 0) CHECK(seconds > 0.9 * bytes / static_cast<double>(options.bytes_per_second));
  }
}

TEST_CASE("a network that becomes too slow for the timeout is an error that is named",
          "[launch][gloo][relay][errors]") {
  if (is_relay_unavailable()) return;
  const TemporaryFolder folder;
  // The limit starts in training and makes a step take five seconds.
  const Relay relay({.piece = 100, .bytes_per_second = 500, .slow_after = 60000});
  const auto start = Clock::now();
  const ChildResult r = train(folder.path(), &relay, "0", "2000");
  INFO(r.error);
  CHECK(r.status != 0);
  CHECK(Clock::now() - start < std::chrono::seconds(60));
  CHECK(relay.bytes() > 60000);
  CHECK_THAT(r.error, Contains("tandem launch: rank ") && Contains("error: ") && Contains("DDP 1: gradients"));
  CHECK(!std::filesystem::exists(folder / "end.pt"));
  CHECK(has_no_leftovers());
}

TEST_CASE("a connection that is reset is named, and a restart makes up for it", "[launch][gloo][relay][errors]") {
  if (is_relay_unavailable()) return;
  // Resets a connection in its first message, at the start of the job, or in training.
  for (const int64_t after : {20, 2000, 90000}) {
    INFO("after " << after << " bytes");
    const TemporaryFolder folder, reconnect;
    const Relay once({.reset_after = after});
    const ChildResult r = train(folder.path(), &once);
    INFO(r.error);
    REQUIRE(once.has_reset());
    // A connection that is reset in its first message is opened again, so the job may succeed.
    if (r.status == 0) {
      CHECK(after == 20);
      CHECK(read_final_model(folder) == expected_final_model());
    } else {
      CHECK_THAT(r.error, Contains("tandem launch: rank ") && Contains("error: "));
      CHECK(!std::filesystem::exists(folder / "end.pt"));
    }
    const Relay twice({.reset_after = after});
    const ChildResult restarted = train(reconnect.path(), &twice, "2");
    INFO(restarted.error);
    REQUIRE(restarted.status == 0);
    CHECK(read_final_model(reconnect) == expected_final_model());
    CHECK(has_no_leftovers());
  }
}
