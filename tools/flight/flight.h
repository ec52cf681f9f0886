// `tandem flight`: from the records that the ranks of a failed job have written, who was missing where.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tandem::tools::flight {

struct Settings {
  std::string folder, json;  // "": no file
};
/// Reads the records in the folder, prints what they show, and writes it to the file.
void flight(const Settings& settings);

/// A call as a rank has recorded it. Times are seconds since 1970; 0: not yet.
struct Call {
  std::string op, about, dtype, reduce_op, from, state;
  int64_t sequence = 0;  // of a collective, from 1; 0 of a send or receive
  int64_t numel = -1, peer = -1, tag = 0;
  std::vector<int64_t> shape;
  double queued = 0, started = 0, done = 0;
  bool is_done() const { return state == "done"; }
  /// "all_reduce #7 (the loss) of float32 (2, 3), SUM, from examples/mnist.cpp:40"
  std::string str() const;
  /// What the ranks must agree on, as text.
  std::string signature() const;
};
/// A group as one of its ranks has recorded it.
struct Group {
  std::string id, name, backend;
  std::vector<int> ranks;  // of the job
  int rank = 0;            // this one among these
  int64_t calls_made = 0;
  std::vector<Call> calls;  // the oldest first
  /// "the default group", "group tp of ranks 0, 2"
  std::string str() const;
};
struct Record {
  std::string path, host, reason;
  int rank = 0, world_size = 1;
  double written = 0;
  bool has_left = false;  // in order, as far as it knew
  std::vector<Group> groups;
  const Group* find(const std::string& id) const;
};
/// The records by rank. A rank that wrote none, or one that cannot be read, has none.
struct Records : std::map<int, Record> {
  std::map<int, std::string> unreadable;  // error from reading the rank's file, by rank
};

/// Reads all files flight_rank_R.json of a folder. A file that is truncated or no flight record goes to `unreadable`.
/// @throws Error naming a file that belongs to another job; if no file can be read, the error of the first one
Records read_records(const std::string& folder);

/// Where a rank of a group is at the call in question.
struct Place {
  enum class Kind { finished, unfinished, otherwise, not_begun, left, no_file };
  int rank = 0;
  Kind kind = Kind::finished;
  std::string text = {};  // a sentence's end: "has begun it 1.2 s before, and not finished"
};
const char* to_string(Place::Kind kind);

/// A call of a group that did not come to its end on all ranks.
struct Trouble {
  std::string group;             // Group::str()
  std::string last_common;       // the call before that all have finished; "" where there is none in the records
  std::string call;              // the first that some did not finish, begin, or make as the others did
  std::vector<Place> places;     // of the group's ranks, or of the two of a transfer
  std::vector<int> culprits;     // who held the others up, as far as this group shows
  bool is_divided = false;       // as many ranks call one thing as another
  std::vector<int> waits_there;  // who has begun it and not finished
};
struct Findings {
  int world_size = 0;
  std::vector<int> missing;  // ranks without a file
  std::vector<Trouble> troubles;
  std::vector<int> culprits;     // of all troubles, without those who were themselves held up in another one
  std::vector<std::string> why;  // a sentence for each culprit, or for there being none
};
Findings find_trouble(const Records& records);

std::string report(const Records& records, const Findings& findings);
std::string report_json(const Records& records, const Findings& findings);

}  // namespace tandem::tools::flight
