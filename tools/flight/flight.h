// `tandem flight`: finds out, from the flight records of a failed job, which rank did not take part in which
// collective.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tandem::tools::flight {

struct Settings {
  std::string folder, json;  // json: "" writes no file
};
/// Reads the records in settings.folder, prints what went wrong, and writes it to settings.json.
void flight(const Settings& settings);

/// A collective, send or receive, as recorded by one rank. Times are seconds since 1970; 0 if the
/// call did not reach that state.
struct CollectiveRecord {
  std::string op, label, dtype, reduce_op, call_site, state;
  int64_t sequence_number = 0;  // number of the collective in its group, from 1; 0 for a send or receive
  int64_t numel = -1, peer = -1, tag = 0;
  std::vector<int64_t> shape;
  double queue_time = 0, start_time = 0, finish_time = 0;
  bool is_done() const { return state == "done"; }
  /// Returns a description such as "all_reduce #7 (the loss) of float32 (2, 3), SUM, from examples/mnist.cpp:40".
  std::string str() const;
  /// Returns, as text, the fields that must be the same on all ranks for a collective to match.
  std::string signature() const;
};
/// A process group as recorded by one of its ranks.
struct GroupRecord {
  std::string id, name, backend;
  std::vector<int> ranks;  // global ranks of the group's members
  int rank = 0;            // rank of the recording process within the group
  int64_t num_calls = 0;
  std::vector<CollectiveRecord> calls;  // the last recorded calls, oldest first
  /// Returns a description such as "the default group" or "group tp of ranks 0, 2".
  std::string str() const;
};
struct FlightRecord {
  std::string path, host, reason;
  int rank = 0, world_size = 1;
  double write_time = 0;
  bool has_left = false;  // whether the rank left the job without an error
  std::vector<GroupRecord> groups;
  const GroupRecord* find_group(const std::string& id) const;
};
/// The flight records, by rank. A rank has no entry if its record is missing or unreadable.
struct FlightRecords : std::map<int, FlightRecord> {
  std::map<int, std::string> unreadable_records;  // error message for each rank whose file cannot be read
};

/// Reads all files flight_rank_R.json in a folder, where R is a rank. If a file is truncated or not a flight record,
/// stores the error in `unreadable_records`.
/// @throws Error if the folder cannot be read or holds no such file, or that names a file with another world size; if
/// no file can be read, the error of the first one
FlightRecords read_records(const std::string& folder);

/// How far one rank of a group got with the call that went wrong.
struct RankState {
  /// different_call: made another call instead. left: was not in the group any more. no_file: has no readable record.
  enum class Kind { finished, unfinished, different_call, not_begun, left, no_file };
  int rank = 0;
  Kind kind = Kind::finished;
  std::string text = {};  // phrase that completes "rank 1 ...", such as "finished it"
};
const char* to_string(RankState::Kind kind);

/// A call that did not finish on all ranks of its group.
struct UnfinishedCall {
  std::string group;             // description of the group, from GroupRecord::str()
  std::string last_common_call;  // last call that all ranks finished; "" if the records contain none
  /// First call that some rank did not finish, did not start, or made with other arguments.
  std::string call;
  std::vector<RankState> rank_states;  // state of each rank of the group or, for a send or receive, of its two ranks
  std::vector<int> culprits;           // ranks that held up the other ranks, judged from this group alone
  /// Whether two groups of ranks of equal size made different calls, so that either group may be wrong.
  bool has_no_majority = false;
  std::vector<int> blocked_ranks;  // ranks that are blocked in this call or made another call instead of it
};
struct Findings {
  int world_size = 0;
  std::vector<int> missing_ranks;  // ranks without a flight record; unreadable records do not count as missing
  std::vector<UnfinishedCall> unfinished_calls;
  /// Culprits of all unfinished calls, except ranks that were blocked in another unfinished call. If there are no
  /// unfinished calls, `missing_ranks`.
  std::vector<int> culprits;
  /// A sentence for each culprit of an unfinished call. If there is no culprit, one sentence that says what the records
  /// show.
  std::vector<std::string> explanations;
};
Findings find_unfinished_calls(const FlightRecords& records);

std::string format_report(const FlightRecords& records, const Findings& findings);
std::string format_report_json(const FlightRecords& records, const Findings& findings);

}  // namespace tandem::tools::flight
