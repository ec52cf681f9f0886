// Implements find_unfinished_calls(): compares the ranks' recorded calls, and finds the first call that did not finish
// on all ranks.
#include <algorithm>
#include <cstdio>
#include <set>
#include <sstream>

#include "tandem/core/array_ref.h"
#include "tandem/tools/flight/flight.h"

namespace tandem::tools::flight {
namespace {

using Kind = RankState::Kind;

std::string format_time_before(double time, const FlightRecord& record) {
  char text[64];
  std::snprintf(text, sizeof text, "%.3f s before its record was written", std::max(0.0, record.write_time - time));
  return text;
}
/// Returns a description of the last call that a rank made in any group.
std::string describe_last_call(const FlightRecord& record) {
  const CollectiveRecord* last = nullptr;
  const GroupRecord* where = nullptr;
  for (const GroupRecord& group : record.groups)
    for (const CollectiveRecord& call : group.calls)
      if (!last || call.queue_time >= last->queue_time) {
        last = &call;
        where = &group;
      }
  if (!last) return record.has_left ? "it had left the job" : "it had made no call";
  const std::string left = record.has_left ? "it had left the job; " : "";
  return left + "its last call was " + last->str() + ", in " + where->str() + ", " +
         format_time_before(last->queue_time, record) +
         (last->is_done() ? ", which it finished" : ", which it did not finish");
}

std::string describe_missing_record(const FlightRecords& records, int rank) {
  return records.unreadable_records.contains(rank) ? "wrote a record that cannot be read" : "wrote no record";
}

/// Compares the records of the ranks of one process group.
class RankComparison {
 public:
  RankComparison(const FlightRecords& records, const GroupRecord& group) : records_(records), group_(group) {}

  /// Finds the first collective that did not finish on all ranks or that ranks called differently. Returns false if
  /// there is no such collective.
  bool find_unfinished_call(UnfinishedCall& unfinished_call) const {
    // Sequence numbers: `done` is the last collective that all ranks with a record finished, and `oldest` the first one
    // that all of them still have in their records.
    int64_t done = -1, oldest = 0;
    int64_t last = 0;
    for (const int rank : group_.ranks) {
      const GroupRecord* const mine = find_group(rank);
      if (!mine) continue;
      const auto [mine_oldest, mine_done, mine_last] = sequence_range(*mine);
      oldest = std::max(oldest, mine_oldest);
      done = done < 0 ? mine_done : std::min(done, mine_done);
      last = std::max(last, mine_last);
    }
    done = std::max<int64_t>(done, 0);
    for (int64_t n = std::max<int64_t>(oldest, 1); n <= done; ++n)
      if (has_mismatch(n)) done = n - 1;                         // with NCCL, ranks can finish calls that do not match
    if (done == last || !find_any_call(done + 1)) return false;  // every collective has finished on all ranks
    unfinished_call.group = group_.str();
    if (const CollectiveRecord* const common = find_any_call(done)) unfinished_call.last_common_call = common->str();
    classify_ranks(done + 1, unfinished_call);
    return true;
  }

 private:
  const GroupRecord* find_group(int rank) const {
    const auto at = records_.find(rank);
    return at == records_.end() ? nullptr : at->second.find_group(group_.id);
  }
  static const CollectiveRecord* find_call(const GroupRecord& group, int64_t sequence_number) {
    for (const CollectiveRecord& call : group.calls)
      if (call.sequence_number == sequence_number) return &call;
    return nullptr;
  }
  const CollectiveRecord* find_any_call(int64_t sequence_number) const {
    for (const int rank : group_.ranks)
      if (const GroupRecord* const group = find_group(rank))
        if (const CollectiveRecord* const call = find_call(*group, sequence_number)) return call;
    return nullptr;
  }
  struct SequenceRange {
    int64_t oldest, done, last;
  };
  /// Returns the sequence numbers of the oldest recorded collective, of the last one before the first unfinished one,
  /// and of the last recorded one.
  static SequenceRange sequence_range(const GroupRecord& group) {
    SequenceRange r{0, 0, 0};
    bool all_done = true;
    for (const CollectiveRecord& call : group.calls) {
      if (call.sequence_number == 0) continue;
      if (r.oldest == 0) {
        r.oldest = call.sequence_number;
        r.done = call.sequence_number - 1;
      }
      all_done = all_done && call.is_done();
      if (all_done) r.done = call.sequence_number;
      r.last = call.sequence_number;
    }
    return r;
  }
  bool has_mismatch(int64_t sequence_number) const {
    std::set<std::string> signatures;
    for (const int rank : group_.ranks)
      if (const GroupRecord* const group = find_group(rank))
        if (const CollectiveRecord* const call = find_call(*group, sequence_number))
          signatures.insert(call->signature());
    return signatures.size() > 1;
  }
  void classify_ranks(int64_t sequence_number, UnfinishedCall& unfinished_call) const {
    std::map<std::string, std::vector<int>> callers;  // ranks, grouped by the signature of their call
    for (const int rank : group_.ranks)
      if (const GroupRecord* const group = find_group(rank))
        if (const CollectiveRecord* const call = find_call(*group, sequence_number))
          callers[call->signature()].push_back(rank);
    // Largest set of ranks that made equal calls. If several sets have the same size, the one with the lowest rank.
    const std::vector<int>* majority = nullptr;
    for (const auto& each : callers)
      if (!majority || each.second.size() > majority->size() ||
          (each.second.size() == majority->size() && each.second[0] < (*majority)[0]))
        majority = &each.second;
    for (const auto& each : callers)
      if (majority != &each.second && majority->size() == each.second.size()) unfinished_call.has_no_majority = true;
    unfinished_call.call = find_call(*find_group((*majority)[0]), sequence_number)->str();
    for (const int rank : group_.ranks) {
      unfinished_call.rank_states.push_back(classify_rank(rank, sequence_number, *majority));
      const RankState& at = unfinished_call.rank_states.back();
      if (at.kind == Kind::unfinished || at.kind == Kind::different_call) unfinished_call.blocked_ranks.push_back(rank);
    }
    // Blames the ranks of the first of these kinds that occurs. A missing record means that the rank was probably
    // killed, so `no_file` comes before `left`.
    for (const Kind kind : {Kind::different_call, Kind::no_file, Kind::left, Kind::not_begun}) {
      for (const RankState& at : unfinished_call.rank_states)
        if (at.kind == kind) unfinished_call.culprits.push_back(at.rank);
      if (!unfinished_call.culprits.empty()) break;
    }
    // If most ranks left the job without making this call, the ranks that made it are to blame: they made one call too
    // many.
    const size_t callers_count = unfinished_call.blocked_ranks.size(), rest = group_.ranks.size() - callers_count;
    const bool all_left =
        std::all_of(unfinished_call.rank_states.begin(), unfinished_call.rank_states.end(), [&](const RankState& at) {
          return at.kind == Kind::unfinished || (at.kind == Kind::not_begun && records_.at(at.rank).has_left);
        });
    if (all_left && rest > callers_count) {
      unfinished_call.culprits = unfinished_call.blocked_ranks;
      unfinished_call.blocked_ranks.clear();
    }
    if (all_left && rest == callers_count) unfinished_call.has_no_majority = true;
  }
  RankState classify_rank(int rank, int64_t sequence_number, const std::vector<int>& majority) const {
    const auto at = records_.find(rank);
    if (at == records_.end()) return {rank, Kind::no_file, describe_missing_record(records_, rank)};
    const FlightRecord& record = at->second;
    const GroupRecord* const group = record.find_group(group_.id);
    if (!group) return {rank, Kind::left, "had left the group, or was never in it"};
    const CollectiveRecord* const call = find_call(*group, sequence_number);
    if (!call && sequence_number < sequence_range(*group).oldest)
      return {rank, Kind::finished, "finished it long before"};
    if (!call) return {rank, Kind::not_begun, "did not start it: " + describe_last_call(record)};
    if (std::find(majority.begin(), majority.end(), rank) == majority.end())
      return {rank, Kind::different_call, "instead called " + call->str()};
    if (call->is_done()) return {rank, Kind::finished, "finished it"};
    return {rank, Kind::unfinished,
            "called it " + format_time_before(call->queue_time, record) +
                (call->state == "queued" ? ", behind calls that it had not finished" : ", and did not finish it")};
  }
  const FlightRecords& records_;
  const GroupRecord& group_;
};

/// Finds the first unfinished send or receive of the rank that wrote `record`.
void find_transfers(const FlightRecords& records, const FlightRecord& record, const GroupRecord& group,
                    std::vector<UnfinishedCall>& unfinished_calls) {
  const auto count = [](const GroupRecord& g, const std::string& op, int64_t peer, int64_t tag) {
    return std::count_if(g.calls.begin(), g.calls.end(), [&](const CollectiveRecord& call) {
      return call.op == op && (call.peer == peer || peer < 0) && call.tag == tag;
    });
  };
  for (const CollectiveRecord& call : group.calls) {
    if (call.sequence_number > 0 || call.is_done()) continue;
    UnfinishedCall unfinished_call;
    unfinished_call.group = group.str();
    unfinished_call.call = call.str();
    unfinished_call.blocked_ranks = {record.rank};
    unfinished_call.rank_states.push_back(
        {record.rank, Kind::unfinished,
         "called it " + format_time_before(call.queue_time, record) + ", and did not finish it"});
    if (call.peer >= 0 && call.peer < static_cast<int64_t>(group.ranks.size())) {
      const int peer = group.ranks[static_cast<size_t>(call.peer)];
      const auto other = records.find(peer);
      const GroupRecord* const there = other == records.end() ? nullptr : other->second.find_group(group.id);
      const char* const answer = call.op == "send" ? "recv" : "send";
      if (other == records.end())
        unfinished_call.rank_states.push_back({peer, Kind::no_file, describe_missing_record(records, peer)});
      else if (!there)
        unfinished_call.rank_states.push_back({peer, Kind::left, "had left the group, or was never in it"});
      else if (count(*there, answer, group.rank, call.tag) + count(*there, "recv_anysource", -1, call.tag) <
               count(group, call.op, call.peer, call.tag))
        unfinished_call.rank_states.push_back(
            {peer, Kind::not_begun,
             std::string("did not call ") + answer + " for it: " + describe_last_call(other->second)});
      if (unfinished_call.rank_states.size() > 1) unfinished_call.culprits = {peer};
    }
    unfinished_calls.push_back(std::move(unfinished_call));
    return;  // the transfers after this one are only blocked by it
  }
}

std::string format_ranks(const std::vector<int>& ranks) {
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) out.append(i ? ", " : "").append(std::to_string(ranks[i]));
  return out;
}

}  // namespace

std::string CollectiveRecord::str() const {
  std::ostringstream out;
  out << op;
  if (sequence_number > 0) out << " #" << sequence_number;
  if (!label.empty()) out << " (" << label << ")";
  if (numel >= 0) out << " of " << dtype << " " << IntArrayRef(shape);
  if (!reduce_op.empty()) out << ", " << reduce_op;
  if (peer >= 0) out << ", " << (op == "send" ? "to" : op == "recv" ? "from" : "root") << " rank " << peer;
  if (sequence_number == 0 && tag != 0) out << ", tag " << tag;
  out << ", from " << call_site;
  return out.str();
}
std::string CollectiveRecord::signature() const {
  std::ostringstream out;
  out << op << '\n' << label << '\n' << dtype << '\n' << numel << '\n' << reduce_op << '\n' << peer;
  return out.str();
}
std::string GroupRecord::str() const {
  if (id == "0") return "the default group";
  std::string out = "group " + name + (name.empty() ? "of " : " of ");
  return out + format_ranks(ranks);
}
const GroupRecord* FlightRecord::find_group(const std::string& id) const {
  for (const GroupRecord& group : groups)
    if (group.id == id) return &group;
  return nullptr;
}
const char* to_string(Kind kind) {
  switch (kind) {
    case Kind::finished: return "finished";
    case Kind::unfinished: return "unfinished";
    case Kind::different_call: return "otherwise";
    case Kind::not_begun: return "not begun";
    case Kind::left: return "left";
    case Kind::no_file: return "no file";
  }
  return "?";
}

Findings find_unfinished_calls(const FlightRecords& records) {
  Findings found;
  found.world_size = records.begin()->second.world_size;
  for (int r = 0; r < found.world_size; ++r)
    if (!records.contains(r) && !records.unreadable_records.contains(r)) found.missing_ranks.push_back(r);
  // For each group ID, the group as recorded by one of its ranks.
  std::map<std::string, const GroupRecord*> groups;
  for (const auto& each : records)
    for (const GroupRecord& group : each.second.groups) groups.emplace(group.id, &group);
  for (const auto& each : groups)
    if (UnfinishedCall unfinished_call; RankComparison(records, *each.second).find_unfinished_call(unfinished_call))
      found.unfinished_calls.push_back(std::move(unfinished_call));
  for (const auto& each : records)
    for (const GroupRecord& group : each.second.groups)
      find_transfers(records, each.second, group, found.unfinished_calls);

  // If a rank is blocked in one group, it is not to blame for others that wait for it in another group.
  std::set<int> all, blocked;
  for (const UnfinishedCall& unfinished_call : found.unfinished_calls) {
    all.insert(unfinished_call.culprits.begin(), unfinished_call.culprits.end());
    for (const int rank : unfinished_call.blocked_ranks)
      if (std::count(unfinished_call.culprits.begin(), unfinished_call.culprits.end(), rank) == 0) blocked.insert(rank);
  }
  for (const int rank : all)
    if (!blocked.contains(rank)) found.culprits.push_back(rank);
  for (const int rank : found.culprits)
    for (const UnfinishedCall& unfinished_call : found.unfinished_calls) {
      const auto at =
          std::find_if(unfinished_call.rank_states.begin(), unfinished_call.rank_states.end(), [&](const RankState& p) {
            return p.rank == rank &&
                   std::count(unfinished_call.culprits.begin(), unfinished_call.culprits.end(), rank) > 0;
          });
      if (at == unfinished_call.rank_states.end()) continue;
      const std::string who = "rank " + std::to_string(rank),
                        what = unfinished_call.call + ", in " + unfinished_call.group;
      std::string explanation = at->kind == Kind::unfinished
                                    ? who + " called " + what + ", which is one call more than most ranks made"
                                    : who + " was missing in " + what + ": it " + at->text;
      if (unfinished_call.has_no_majority)
        explanation += "; as many ranks made the one call as the other, so either may be wrong";
      found.explanations.push_back(std::move(explanation));
      break;
    }
  if (!found.culprits.empty()) return found;
  if (!all.empty())
    found.explanations.push_back(format_ranks({all.begin(), all.end()}) +
                                 " wait for each other in different groups: they use the groups in different orders");
  else if (!found.unfinished_calls.empty())
    found.explanations.push_back(
        "all ranks reached " + found.unfinished_calls[0].call +
        " with matching calls, but it did not finish: " + "the cause lies between the ranks (network, GPU)");
  else if (!found.missing_ranks.empty()) {
    found.culprits = found.missing_ranks;
    found.explanations.push_back(format_ranks(found.missing_ranks) +
                                 " wrote no record; all calls of the other ranks finished");
  } else
    found.explanations.push_back("all calls finished on all ranks");
  return found;
}

}  // namespace tandem::tools::flight
