// `tandem flight`: finds out from the flight records of a failed job which rank was missing in which collective.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tandem::tools::flight {

struct Settings {
  std::string folder, json;  // json: "" writes no file
};
/// Reads the records in settings.folder, prints the findings, and writes them to settings.json.
void flight(const Settings& settings);

/// A collective, send or receive as recorded by one rank. Times are seconds since 1970; 0: not reached.
struct Call {
  std::string op, about, dtype, reduce_op, from, state;
  int64_t sequence = 0;  // number of a collective, from 1; 0 for a send or receive
  int64_t numel = -1, peer = -1, tag = 0;
  std::vector<int64_t> shape;
  double queued = 0, started = 0, done = 0;
  bool is_done() const { return state == "done"; }
  /// Returns "all_reduce #7 (the loss) of float32 (2, 3), SUM, from examples/mnist.cpp:40".
  std::string str() const;
  /// Returns, as text, the fields in which the ranks' calls must agree.
  std::string signature() const;
};
/// A process group as recorded by one of its ranks.
struct Group {
  std::string id, name, backend;
  std::vector<int> ranks;  // global ranks of its members
  int rank = 0;            // rank of the recording process within the group
  int64_t calls_made = 0;
  std::vector<Call> calls;  // oldest first
  /// Returns "the default group" or "group tp of ranks 0, 2".
  std::string str() const;
};
struct Record {
  std::string path, host, reason;
  int rank = 0, world_size = 1;
  double written = 0;
  bool has_left = false;  // the rank left the job in order
  std::vector<Group> groups;
  const Group* find(const std::string& id) const;
};
/// The records by rank. A rank whose record is missing or unreadable has no entry.
struct Records : std::map<int, Record> {
  std::map<int, std::string> unreadable;  // error from reading the rank's file, by rank
};

/// Reads all files flight_rank_R.json of a folder. A file that is truncated or no flight record goes to `unreadable`.
/// @throws Error naming a file that belongs to another job; if no file can be read, the error of the first one
Records read_records(const std::string& folder);

/// The state of one rank of a group in the call in question.
struct Place {
  enum class Kind { finished, unfinished, otherwise, not_begun, left, no_file };
  int rank = 0;
  Kind kind = Kind::finished;
  std::string text = {};  // end of a sentence, as in "finished it"
};
const char* to_string(Place::Kind kind);

/// A call that did not finish on all ranks of its group.
struct Trouble {
  std::string group;             // Group::str()
  std::string last_common;       // last call that all ranks finished; "" if the records have none
  std::string call;              // first call that some rank did not finish, did not begin or made differently
  std::vector<Place> places;     // one for each rank of the group, or for the two ranks of a transfer
  std::vector<int> culprits;     // ranks that held up the others, judged from this group alone
  bool is_divided = false;       // two groups of equal size did different things, so either may be wrong
  std::vector<int> waits_there;  // ranks still in this call, or in another call in its place
};
struct Findings {
  int world_size = 0;
  std::vector<int> missing;  // ranks without a file
  std::vector<Trouble> troubles;
  std::vector<int> culprits;     // culprits of all troubles, without ranks that were held up in another one
  std::vector<std::string> why;  // a sentence for each culprit, or one about why there is none
};
Findings find_trouble(const Records& records);

std::string report(const Records& records, const Findings& findings);
std::string report_json(const Records& records, const Findings& findings);

}  // namespace tandem::tools::flight
