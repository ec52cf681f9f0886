// Implements read_records(): reads the ranks' files, which parallel/collectives/flight_recorder.cpp writes.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tandem/core/error.h"
#include "tandem/tools/flight/flight.h"

namespace tandem::tools::flight {
namespace {

using nlohmann::json;
constexpr char kFormatVersion[] = "tandem flight 1", kFilePrefix[] = "flight_rank_", kFileSuffix[] = ".json";

double read_time(const json& call, const char* name) {
  return call.at(name).is_null() ? 0 : call.at(name).get<double>();
}
CollectiveRecord read_call(const json& j) {
  CollectiveRecord call;
  call.op = j.at("op");
  call.state = j.at("state");
  call.call_site = j.at("from");
  call.label = j.value("about", "");
  call.dtype = j.value("dtype", "");
  call.reduce_op = j.value("reduce_op", "");
  call.sequence_number = j.value("sequence", int64_t{0});
  call.numel = j.value("numel", int64_t{-1});
  call.peer = j.value("peer", int64_t{-1});
  call.tag = j.value("tag", int64_t{0});
  call.shape = j.value("shape", std::vector<int64_t>());
  call.queue_time = read_time(j, "queued");
  call.start_time = read_time(j, "started");
  call.finish_time = read_time(j, "done");
  return call;
}
GroupRecord read_group(const json& j) {
  GroupRecord group;
  group.id = j.at("id");
  group.name = j.at("name");
  group.backend = j.at("backend");
  group.ranks = j.at("ranks").get<std::vector<int>>();
  group.rank = j.at("rank");
  group.num_calls = j.at("calls_made");
  for (const json& call : j.at("calls")) group.calls.push_back(read_call(call));
  return group;
}
FlightRecord read_record(const std::string& path, int rank) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  TANDEM_CHECK(in, "flight: cannot read ", path, ": ", std::strerror(errno));
  try {
    const json j = json::parse(text.str());
    TANDEM_CHECK(j.is_object() && j.value("format", "") == kFormatVersion, "flight: ", path,
                 " is not a flight record; accepted: files whose \"format\" is \"", kFormatVersion, "\"");
    FlightRecord record;
    record.path = path;
    record.host = j.at("host");
    record.reason = j.at("reason");
    record.rank = j.at("rank");
    record.world_size = j.at("world_size");
    record.write_time = j.at("written");
    record.has_left = j.at("has_left");
    for (const json& group : j.at("groups")) record.groups.push_back(read_group(group));
    TANDEM_CHECK(record.world_size > 0 && record.world_size <= 1000000, "flight: ", path, " says that the job has ",
                 record.world_size, " ranks; accepted: 1 to 1000000");
    TANDEM_CHECK(record.rank == rank, "flight: ", path, " is the record of rank ", record.rank,
                 "; the name of a file must have the rank of its record");
    return record;
  } catch (const json::exception& error) {
    TANDEM_FAIL("flight: ", path, " is cut short, or is not a flight record: ", error.what());
  }
}

}  // namespace

FlightRecords read_records(const std::string& folder) {
  FlightRecords records;
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator(folder, problem)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kFilePrefix) || !name.ends_with(kFileSuffix)) continue;
    const size_t begin = sizeof kFilePrefix - 1, digits = name.size() - begin - (sizeof kFileSuffix - 1);
    const std::string number = name.substr(begin, digits);
    if (number.empty() || number.size() > 6 || number.find_first_not_of("0123456789") != std::string::npos) continue;
    const int rank = std::stoi(number);
    try {
      records[rank] = read_record(entry.path().string(), rank);
    } catch (const Error& error) {
      records.erase(rank);
      records.unreadable_records[rank] = error.what();
    }
  }
  TANDEM_CHECK(!problem, "flight: cannot read the folder ", folder, ": ", problem.message());
  if (records.empty() && !records.unreadable_records.empty()) throw Error(records.unreadable_records.begin()->second);
  TANDEM_CHECK(
      !records.empty(), "flight: ", folder, " has no file ", kFilePrefix, "R", kFileSuffix,
      "; ranks write these files if their job fails and TANDEM_FLIGHT_DIR or `tandem launch --flight` names a folder");
  const FlightRecord& first = records.begin()->second;
  for (const auto& [rank, record] : records)
    TANDEM_CHECK(record.world_size == first.world_size && rank < first.world_size, "flight: ", record.path,
                 " is of a job of ", record.world_size, " ranks, but ", first.path, " is of a job of ",
                 first.world_size, " ranks; accepted: the files of one job");
  return records;
}

}  // namespace tandem::tools::flight
