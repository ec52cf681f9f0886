// Formats the results of `tandem flight` as text and as JSON.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tandem/tools/flight/flight.h"
#include "tandem/tools/whole_file.h"

namespace tandem::tools::flight {
namespace {

using nlohmann::json;

std::string list(const std::vector<int>& ranks) {
  constexpr size_t kMost = 16;
  std::ostringstream out;
  out << (ranks.size() == 1 ? "rank " : "ranks ");
  for (size_t i = 0; i < std::min(ranks.size(), kMost); ++i) out << (i ? ", " : "") << ranks[i];
  if (ranks.size() > kMost) out << ", ... (" << ranks.size() << ")";
  return out.str();
}
std::string with_host(int rank, const Records& records) {
  const auto at = records.find(rank);
  return "rank " + std::to_string(rank) + (at == records.end() ? "" : " (" + at->second.host + ")");
}

}  // namespace

std::string report(const Records& records, const Findings& findings) {
  std::ostringstream out;
  out << findings.world_size << " ranks, " << records.size() << " records\n";
  if (!findings.missing.empty())
    out << list(findings.missing)
        << " wrote none: a rank that was killed, is stopped or had already ended writes no record; "
        << "records of other machines must be copied into this folder\n";
  for (const auto& [rank, error] : records.unreadable)
    out << "the record of rank " << rank << " is left out: " << error << "\n";
  out << "\n";
  for (const std::string& why : findings.why) out << why << "\n";
  for (const Trouble& trouble : findings.troubles) {
    out << "\nIn " << trouble.group << "\n";
    if (!trouble.last_common.empty()) out << "  last call that all ranks finished: " << trouble.last_common << "\n";
    out << "  first call that did not finish on all ranks: " << trouble.call << "\n";
    // Describes consecutive ranks with the same state and text in one line.
    for (auto at = trouble.places.begin(); at != trouble.places.end();) {
      const auto alike = [&](const Place& p) { return p.kind == at->kind && (p.text == at->text); };
      const auto end = std::find_if_not(at, trouble.places.end(), alike);
      std::vector<int> ranks;
      for (auto each = at; each != end; ++each) ranks.push_back(each->rank);
      out << "    " << (ranks.size() == 1 ? with_host(ranks[0], records) : list(ranks)) << " " << at->text << "\n";
      at = end;
    }
  }
  out << "\nErrors of the ranks\n";
  for (const auto& [rank, record] : records) out << "  " << with_host(rank, records) << ": " << record.reason << "\n";
  return out.str();
}

std::string report_json(const Records& records, const Findings& findings) {
  json troubles = json::array();
  for (const Trouble& trouble : findings.troubles) {
    json places = json::array();
    for (const Place& at : trouble.places)
      places.push_back({{"rank", at.rank}, {"state", to_string(at.kind)}, {"text", at.text}});
    troubles.push_back({{"group", trouble.group},
                        {"last_common", trouble.last_common},
                        {"call", trouble.call},
                        {"ranks", places},
                        {"culprits", trouble.culprits},
                        {"divided", trouble.is_divided}});
  }
  json reasons = json::object();
  for (const auto& [rank, record] : records) reasons[std::to_string(rank)] = record.reason;
  json unreadable = json::object();
  for (const auto& [rank, error] : records.unreadable) unreadable[std::to_string(rank)] = error;
  const json all = {{"world_size", findings.world_size},
                    {"missing", findings.missing},
                    {"unreadable", unreadable},
                    {"culprits", findings.culprits},
                    {"why", findings.why},
                    {"groups", troubles},
                    {"reasons", reasons}};
  // Error messages may quote bytes of damaged files that are not valid UTF-8.
  return all.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

void flight(const Settings& settings) {
  const Records records = read_records(settings.folder);
  const Findings findings = find_trouble(records);
  std::printf("%s", report(records, findings).c_str());
  if (!settings.json.empty()) write_whole_file("flight", settings.json, report_json(records, findings));
}

}  // namespace tandem::tools::flight
