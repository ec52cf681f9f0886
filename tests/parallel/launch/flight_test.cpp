// Tests `tandem flight` on planted failures: the records that the ranks write, and the report about them.
#include <filesystem>
#include <map>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/json.h"
#include "tandem/tests/parallel/child.h"
#include "tandem/tests/parallel/ranks.h"
#include "tandem/tests/temporary.h"
#include "tandem/tools/flight/flight.h"

using namespace tandem;
using namespace tandem::test;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

/// Report of `tandem flight` about a job of flight_program.
struct Verdict {
  std::string text, launch_error;
  std::map<int, std::string> records;
  json findings;
  std::vector<int> culprits() const { return findings.at("culprits").get<std::vector<int>>(); }
  std::vector<int> missing_ranks() const { return findings.at("missing").get<std::vector<int>>(); }
  std::string explanations() const { return findings.at("why").at(0).get<std::string>(); }
};
Verdict find_verdict(const std::string& folder) {
  const std::string file = folder + "/findings.json";
  const ChildResult said = Child({kCommand, "flight", folder, "--json", file}).finish();
  INFO(said.error);
  REQUIRE(said.status == 0);
  Verdict verdict{said.out, "", {}, parse_json(read_file(file))};
  for (int r = 0; r < verdict.findings.at("world_size").get<int>(); ++r)
    if (const std::string path = folder + "/flight_rank_" + std::to_string(r) + ".json"; std::filesystem::exists(path))
      verdict.records[r] = read_file(path);
  return verdict;
}
Verdict run_launch(int ranks, const std::string& what, int status) {
  const TemporaryFolder folder;
  const ChildResult job =
      Child(launch({"-n", std::to_string(ranks), "--flight", folder.path(), "--", kFlightProgram, what})).finish();
  INFO(job.error);
  CHECK(job.status == status);
  Verdict verdict = find_verdict(folder.path());
  verdict.launch_error = job.error;
  return verdict;
}

}  // namespace

TEST_CASE("flight: a rank that was killed is named, with the call that it was missing in", "[flight]") {
  if (skipped()) return;
  const Verdict v = run_launch(3, "killed", 128 + SIGKILL);
  INFO(v.text);
  CHECK(v.culprits() == std::vector<int>{1});
  CHECK(v.missing_ranks() == std::vector<int>{1});
  const json& group = v.findings["groups"][0];
  CHECK_THAT(group["last_common"].get<std::string>(), Contains("all_reduce #4 (sum 2) of float32 (2, 3), SUM"));
  CHECK_THAT(group["last_common"].get<std::string>(), Contains("flight_program.cpp:"));
  CHECK_THAT(group["call"].get<std::string>(), Contains("all_reduce #5 (the loss)"));
  CHECK(group["ranks"][0]["state"] == "unfinished");
  CHECK(group["ranks"][1]["state"] == "no file");
  CHECK(group["ranks"][2]["state"] == "unfinished");
  CHECK_THAT(v.explanations(), Contains("rank 1 was missing in all_reduce #5") && Contains("wrote no record"));
  CHECK_THAT(v.text, Contains("rank 1 wrote none"));
  CHECK_THAT(v.findings["reasons"]["0"].get<std::string>(), Contains("rank 1 was ended by signal 9"));
}

TEST_CASE("flight: a rank that is stopped, or does something else until the timeout, is named", "[flight]") {
  if (skipped()) return;
  const Verdict stopped = run_launch(3, "stopped", 3);
  INFO(stopped.text);
  CHECK(stopped.culprits() == std::vector<int>{1});
  CHECK(stopped.missing_ranks() == std::vector<int>{1});
  CHECK_THAT(stopped.explanations(), Contains("all_reduce #5 (the loss)"));
  const Verdict late = run_launch(3, "late", 3);
  INFO(late.text);
  CHECK(late.culprits() == std::vector<int>{1});
  CHECK(late.missing_ranks().empty());  // the rank is alive, and writes a record when the group fails
  const std::string host = parse_json(late.records.at(1)).at("host").get<std::string>();
  CHECK_THAT(late.launch_error, Contains("did not arrive within 1500 ms") && Contains("(rank 1 is process ") &&
                                    Contains(" on " + host + ")"));
  CHECK_THAT(late.explanations(), Contains("rank 1 was missing in all_reduce #5 (the loss)") &&
                                      Contains("did not start it: its last call was all_reduce #4 (sum 2)") &&
                                      Contains("which it finished"));
}

TEST_CASE("flight: a rank that calls another collective, or of another shape, is named", "[flight]") {
  if (skipped()) return;
  const Verdict other = run_launch(3, "other", 3);
  INFO(other.text);
  CHECK(other.culprits() == std::vector<int>{2});
  CHECK_THAT(other.explanations(), Contains("rank 2 was missing in all_reduce #5 (the loss)") &&
                                       Contains("it instead called broadcast #5 (weights)"));
  const Verdict shape = run_launch(3, "shape", 3);
  INFO(shape.text);
  CHECK(shape.culprits() == std::vector<int>{2});
  CHECK_THAT(shape.explanations(), Contains("float32 (2, 3)") && Contains("float32 (4,)"));
}

TEST_CASE("flight: a rank that calls a collective more than the others is named", "[flight]") {
  if (skipped()) return;
  const Verdict v = run_launch(3, "more", 3);
  INFO(v.text);
  CHECK(v.culprits() == std::vector<int>{0});
  CHECK(v.missing_ranks().empty());
  CHECK_THAT(v.explanations(), Contains("rank 0 called all_reduce #5 (one more)") && Contains("one call more"));
}

TEST_CASE("flight: of ranks that wait in different groups, the one for whom all wait is named", "[flight]") {
  if (skipped()) return;
  const Verdict v = run_launch(4, "groups", 3);
  INFO(v.text);
  CHECK(v.culprits() == std::vector<int>{3});
  CHECK_THAT(v.explanations(), Contains("rank 3 was missing in"));
  CHECK_THAT(v.text, Contains("(the last of the pair)") && Contains("In group right of ranks 2, 3"));
  const Verdict circle = run_launch(4, "circle", 3);
  INFO(circle.text);
  CHECK(circle.culprits().empty());
  CHECK_THAT(circle.explanations(), Contains("ranks 2, 3 wait for each other in different groups"));
}

TEST_CASE("flight: a receive that nobody answers is named", "[flight]") {
  if (skipped()) return;
  const Verdict v = run_launch(3, "pair", 3);
  INFO(v.text);
  CHECK(v.culprits() == std::vector<int>{2});
  CHECK_THAT(v.text, Contains("recv of float32 (2, 3), from rank 2, tag 5") && Contains("did not call send for it"));
}

TEST_CASE("flight: ranks that are threads write records too, and so does whoever asks for it", "[flight]") {
  const TemporaryFolder folder;
  const std::string environment = "TANDEM_FLIGHT_DIR=" + folder.path();
  ChildResult job = Child({kFlightProgram, "local other"}, {environment}).finish();
  INFO(job.error);
  CHECK(job.status == 3);
  CHECK(find_verdict(folder.path()).culprits() == std::vector<int>{2});
  job = Child({kFlightProgram, "local request"}, {environment}).finish();
  CHECK(job.status == 0);
  CHECK(Child::count(job.out, "/flight_rank_") == 3);
  const json record = parse_json(read_file(folder / "flight_rank_1.json"));
  CHECK(record["reason"] == "on request");
  CHECK(record["has_left"] == false);
  const Verdict v = find_verdict(folder.path());
  CHECK(v.culprits().empty());
  CHECK_THAT(v.explanations(), Contains("all calls finished on all ranks"));
}

TEST_CASE("flight: a record holds what a call was, for as many calls as there is room for", "[flight]") {
  const TemporaryFolder folder;
  distributed::run_ranks(2, [&](int rank) {
    distributed::init_process_group("local");
    const auto group = distributed::default_group();
    const Tensor x = ones({4});
    for (int i = 0; i < 1500; ++i)
      group->all_reduce(x, distributed::ReduceOp::MAX, "call " + std::to_string(i))->wait();
    const std::string letter = "\xc3\xa4";  // the letter a with two dots, two bytes in UTF-8
    std::string name = "a \"name\" \\ of many letters: ";
    while (name.size() < 200) name += letter;
    group->broadcast(ones({2, 5}, kInt64), 1, name)->wait();
    if (rank == 0) distributed::write_flight_record(folder.path());
    distributed::barrier();
  });
  const json record = parse_json(read_file(folder / "flight_rank_0.json"));
  const json& group = record["groups"][0];
  const json& calls = group["calls"];
  CHECK(group["calls_made"] == 1502);  // including the barrier of init_process_group
  REQUIRE(calls.size() == 1000);
  CHECK(calls[0]["sequence"] == 503);
  const json& reduce = calls[998];
  CHECK(reduce["op"] == "all_reduce");
  CHECK(reduce["about"] == "call 1499");
  CHECK(reduce["reduce_op"] == "MAX");
  CHECK(reduce["dtype"] == "float32");
  CHECK(reduce["shape"] == json({4}));
  CHECK_THAT(reduce["from"].get<std::string>(), Contains("flight_test.cpp:"));
  const json& last = calls[999];
  CHECK(last["peer"] == 1);
  CHECK(last["shape"] == json({2, 5}));
  CHECK(last["state"] == "done");
  CHECK(last["queued"].get<double>() <= last["started"].get<double>());
  CHECK(last["started"].get<double>() <= last["done"].get<double>());
  CHECK_THAT(last["about"].get<std::string>(), Contains("a \"name\" \\ of many"));
  CHECK(last["about"].get<std::string>().size() == 126);  // the text is not cut inside a two-byte letter
}

TEST_CASE("flight: a record that cannot be written is a warning, and the first error is what it was", "[flight]") {
  for (const std::string folder : {"/proc/none", "/dev/full"}) {
    const ChildResult job = Child({kFlightProgram, "local other"}, {"TANDEM_FLIGHT_DIR=" + folder}).finish();
    INFO(job.error);
    CHECK(job.status == 3);
    CHECK_THAT(job.error, Contains("tandem: the flight record of rank 0: ") && Contains(folder));
    CHECK_THAT(job.error, Contains("error: ") && Contains("Detected mismatch between collectives on ranks"));
  }
}

TEST_CASE("flight: files that are cut short or foreign are left out by name, those of another job are errors",
          "[flight]") {
  const TemporaryFolder folder;
  const auto report_of = [&] {
    try {
      const tools::flight::FlightRecords records = tools::flight::read_records(folder.path());
      const tools::flight::Findings sources = tools::flight::find_unfinished_calls(records);
      tools::flight::format_report_json(records, sources);
      return tools::flight::format_report(records, sources);
    } catch (const Error& error) {
      return std::string("error: ") + error.what();
    }
  };
  CHECK_THAT(report_of(), Contains("error: ") && Contains(folder.path()) && Contains("has no file flight_rank_R.json"));
  distributed::run_ranks(2, [&](int) {
    distributed::init_process_group("local", {.flight_folder = folder.path()});
    distributed::all_reduce(ones({4}));
    distributed::write_flight_record();
    distributed::barrier();
  });
  CHECK_THAT(report_of(), !Contains("error: ") && !Contains("left out"));
  const std::string path = folder / "flight_rank_1.json", whole = read_file(path);
  for (size_t length = 0; length + 2 < whole.size(); length += whole.size() / 50 + 1) {
    write_file(path, whole.substr(0, length));
    CHECK_THAT(report_of(), Contains("2 ranks, 1 records") && Contains("the record of rank 1 is left out: ") &&
                                Contains(path) && Contains("cut short") && !Contains("wrote none"));
  }
  for (const char* const foreign : {"{}", "[]", "null", "{\"format\": \"tandem flight 2\"}", "{\"format\": 3}",
                                    "{\"format\": \"tandem flight 1\"}"}) {
    write_file(path, foreign);
    CHECK_THAT(report_of(), Contains("the record of rank 1 is left out: ") && Contains(path));
  }
  write_file(path, read_file(folder / "flight_rank_0.json"));
  CHECK_THAT(report_of(), Contains("the record of rank 1 is left out: ") && Contains("is the record of rank 0"));
  std::string larger = whole;
  const std::string two = "\"world_size\": 2";
  larger.replace(larger.find(two), two.size(), "\"world_size\": 3");
  write_file(path, larger);
  CHECK_THAT(report_of(), Contains("error: ") && Contains(path) && Contains("of a job of 3 ranks"));
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) {  // a damaged file must be read, or rejected by name
    write_file(path, mutate(whole, random));
    if (const std::string text = report_of(); text.starts_with("error: ")) CHECK_THAT(text, Contains(folder.path()));
  }
  write_file(path, whole.substr(0, 100));
  write_file(folder / "flight_rank_0.json", "{");
  CHECK_THAT(report_of(), Contains("error: ") && Contains("flight_rank_0.json") && Contains("cut short"));
}

namespace {
using tools::flight::FlightRecords;

/// Returns records of ranks 0 to size - 1 in the default group, without calls.
FlightRecords make_records(int size) {
  FlightRecords records;
  for (int rank = 0; rank < size; ++rank) {
    tools::flight::FlightRecord record;
    record.rank = rank, record.world_size = size, record.write_time = 100;
    tools::flight::GroupRecord group;
    group.id = "0", group.backend = "gloo", group.rank = rank;
    for (int r = 0; r < size; ++r) group.ranks.push_back(r);
    record.groups.push_back(group);
    records[rank] = record;
  }
  return records;
}
/// Adds a call to the record of a rank, in the last group of the record.
void add_call(FlightRecords& records, int rank, const std::string& op, int64_t sequence_number,
              const std::string& state, int64_t peer = -1) {
  tools::flight::CollectiveRecord call;
  call.op = op, call.dtype = "float32", call.state = state, call.sequence_number = sequence_number, call.peer = peer;
  call.numel = 4, call.shape = {4}, call.queue_time = 10.0 * static_cast<double>(sequence_number),
  call.call_site = "train.cpp:1";
  records.at(rank).groups.back().calls.push_back(call);
}
void add_group(FlightRecords& records, const std::string& id, const std::vector<int>& ranks) {
  for (size_t i = 0; i < ranks.size(); ++i) {
    tools::flight::GroupRecord group;
    group.id = id, group.name = id, group.ranks = ranks, group.rank = static_cast<int>(i);
    records.at(ranks[i]).groups.push_back(group);
  }
}
}  // namespace

TEST_CASE("flight: of two faults at once the one that explains the failure is blamed, or both", "[flight]") {
  using List = std::vector<int>;
  const auto started = [](int size) {
    FlightRecords records = make_records(size);
    for (int rank = 0; rank < size; ++rank) add_call(records, rank, "all_reduce", 1, "done");
    return records;
  };
  {
    INFO("rank 1 was killed, and rank 3 calls something else");
    FlightRecords records = started(4);
    for (const int rank : {0, 2}) add_call(records, rank, "all_reduce", 2, "started");
    add_call(records, 3, "broadcast", 2, "started", 0);
    records.erase(1);
    const auto sources = find_unfinished_calls(records);
    CHECK(sources.culprits == List{3});
    CHECK(sources.missing_ranks == List{1});
    CHECK_THAT(sources.explanations.at(0), Contains("rank 3 was missing in all_reduce #2") && Contains("broadcast #2"));
  }
  {
    INFO("rank 1 was killed, and rank 2 is late");
    FlightRecords records = started(4);
    for (const int rank : {0, 3}) add_call(records, rank, "all_reduce", 2, "started");
    records.erase(1);
    CHECK(find_unfinished_calls(records).culprits == List{1});
  }
  {
    INFO("two are killed; two are late");
    FlightRecords records = started(4);
    for (const int rank : {0, 1}) add_call(records, rank, "all_reduce", 2, "started");
    const auto sources = find_unfinished_calls(records);
    CHECK(sources.culprits == List{2, 3});
    // Ranks 2 and 3 are late but have not left, so the ranks do not disagree about the next call.
    CHECK_FALSE(sources.unfinished_calls.at(0).has_no_majority);
    records.at(2).has_left = records.at(3).has_left = true;
    CHECK(find_unfinished_calls(records).unfinished_calls.at(0).has_no_majority);
    records.erase(2), records.erase(3);
    CHECK(find_unfinished_calls(records).culprits == List{2, 3});
    CHECK(find_unfinished_calls(records).explanations.size() == 2);
  }
  {
    INFO("a call that differs counts before a later one that a rank is missing in");
    FlightRecords records = started(3);
    for (const int rank : {0, 1}) add_call(records, rank, "all_reduce", 2, "done");
    add_call(records, 2, "broadcast", 2, "done", 0);
    for (const int rank : {0, 2}) add_call(records, rank, "all_reduce", 3, "started");
    const auto sources = find_unfinished_calls(records);
    CHECK(sources.culprits == List{2});
    CHECK_THAT(sources.explanations.at(0), Contains("all_reduce #2"));
  }
  {
    INFO("in each of two groups a rank is missing");
    FlightRecords records = started(4);
    add_group(records, "left", {0, 1});
    add_call(records, 0, "all_reduce", 1, "started");
    add_group(records, "right", {2, 3});
    add_call(records, 2, "all_reduce", 1, "started");
    const auto sources = find_unfinished_calls(records);
    CHECK(sources.culprits == List{1, 3});
    CHECK_THAT(sources.explanations.at(0), Contains("rank 1") && Contains("group left"));
    CHECK_THAT(sources.explanations.at(1), Contains("rank 3") && Contains("group right"));
  }
  {
    INFO("who waits in one group is not blamed in another, and the fault behind it is");
    FlightRecords records = started(4);
    for (const int rank : {0, 1}) add_call(records, rank, "barrier", 2, "started");
    add_group(records, "right", {2, 3});
    add_call(records, 2, "all_reduce", 1, "started");
    const auto sources = find_unfinished_calls(records);
    CHECK(sources.culprits == List{3});
  }
  {
    INFO("a receive that nobody answers, and a rank that was killed");
    FlightRecords records = started(4);
    add_call(records, 0, "recv", 0, "started", 2);
    add_call(records, 3, "all_reduce", 2, "started");
    records.erase(1);
    const auto sources = find_unfinished_calls(records);
    CHECK(sources.culprits == List{1, 2});
  }
}
