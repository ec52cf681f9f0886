// Formats the results of `tandem flight` as text and as JSON.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tandem/tools/atomic_file.h"
#include "tandem/tools/flight/flight.h"

namespace tandem::tools::flight {
namespace {

using nlohmann::json;

std::string format_rank_list(const std::vector<int>& ranks) {
  constexpr size_t kMaxListedRanks = 16;
  std::ostringstream out;
  out << (ranks.size() == 1 ? "rank " : "ranks ");
  for (size_t i = 0; i < std::min(ranks.size(), kMaxListedRanks); ++i) out << (i ? ", " : "") << ranks[i];
  if (ranks.size() > kMaxListedRanks) out << ", ... (" << ranks.size() << ")";
  return out.str();
}
std::string rank_with_host(int rank, const FlightRecords& records) {
  const auto at = records.find(rank);
  return "rank " + std::to_string(rank) + (at == records.end() ? "" : " (" + at->second.host + ")");
}

}  // namespace

std::string format_report(const FlightRecords& records, const Findings& findings) {
  std::ostringstream out;
  out << findings.world_size << " ranks, " << records.size() << " records\n";
  if (!findings.missing_ranks.empty())
    out << format_rank_list(findings.missing_ranks)
        << " wrote none: a rank that was killed, is stopped or had already ended writes no record; "
        << "records of other machines must be copied into this folder\n";
  for (const auto& [rank, error] : records.unreadable_records)
    out << "the record of rank " << rank << " is left out: " << error << "\n";
  out << "\n";
  for (const std::string& explanation : findings.explanations) out << explanation << "\n";
  for (const UnfinishedCall& unfinished_call : findings.unfinished_calls) {
    out << "\nIn " << unfinished_call.group << "\n";
    if (!unfinished_call.last_common_call.empty())
      out << "  last call that all ranks finished: " << unfinished_call.last_common_call << "\n";
    out << "  first call that did not finish on all ranks: " << unfinished_call.call << "\n";
    // Describes consecutive ranks with the same state and text in one line.
    for (auto at = unfinished_call.rank_states.begin(); at != unfinished_call.rank_states.end();) {
      const auto alike = [&](const RankState& p) { return p.kind == at->kind && (p.text == at->text); };
      const auto end = std::find_if_not(at, unfinished_call.rank_states.end(), alike);
      std::vector<int> ranks;
      for (auto each = at; each != end; ++each) ranks.push_back(each->rank);
      out << "    " << (ranks.size() == 1 ? rank_with_host(ranks[0], records) : format_rank_list(ranks)) << " "
          << at->text << "\n";
      at = end;
    }
  }
  out << "\nErrors of the ranks\n";
  for (const auto& [rank, record] : records)
    out << "  " << rank_with_host(rank, records) << ": " << record.reason << "\n";
  return out.str();
}

std::string format_report_json(const FlightRecords& records, const Findings& findings) {
  json unfinished_calls = json::array();
  for (const UnfinishedCall& unfinished_call : findings.unfinished_calls) {
    json rank_states = json::array();
    for (const RankState& at : unfinished_call.rank_states)
      rank_states.push_back({{"rank", at.rank}, {"state", to_string(at.kind)}, {"text", at.text}});
    unfinished_calls.push_back({{"group", unfinished_call.group},
                                {"last_common", unfinished_call.last_common_call},
                                {"call", unfinished_call.call},
                                {"ranks", rank_states},
                                {"culprits", unfinished_call.culprits},
                                {"divided", unfinished_call.has_no_majority}});
  }
  json reasons = json::object();
  for (const auto& [rank, record] : records) reasons[std::to_string(rank)] = record.reason;
  json unreadable_records = json::object();
  for (const auto& [rank, error] : records.unreadable_records) unreadable_records[std::to_string(rank)] = error;
  const json all = {{"world_size", findings.world_size},
                    {"missing", findings.missing_ranks},
                    {"unreadable", unreadable_records},
                    {"culprits", findings.culprits},
                    {"why", findings.explanations},
                    {"groups", unfinished_calls},
                    {"reasons", reasons}};
  // Error messages may quote bytes of damaged files that are not valid UTF-8.
  return all.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

void flight(const Settings& settings) {
  const FlightRecords records = read_records(settings.folder);
  const Findings findings = find_unfinished_calls(records);
  std::printf("%s", format_report(records, findings).c_str());
  if (!settings.json.empty()) write_file_atomically("flight", settings.json, format_report_json(records, findings));
}

}  // namespace tandem::tools::flight
