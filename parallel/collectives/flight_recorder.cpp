// Implements FlightRecorder and FlightLog: records the stages of each call, and writes them as JSON after a failure.
#include "tandem/parallel/collectives/flight_recorder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstring>

#include "tandem/core/threads/start_thread.h"
#include "tandem/core/trace/tracer.h"
#include "tandem/parallel/collectives/job_environment.h"
#include "tandem/parallel/collectives/rank_groups.h"
#include "tandem/parallel/collectives/store/rendezvous.h"
#include "tandem/serialize/file.h"

namespace tandem::distributed {
namespace {

using Time = FlightRecorder::Time;
using detail::json_string;

/// Converts a time to seconds since 1970, which are comparable between machines. Returns "null" for Time().
std::string format_seconds(Time at) {
  if (at == Time()) return "null";
  const auto age = std::chrono::steady_clock::now() - at;
  const auto then = std::chrono::system_clock::now().time_since_epoch() -
                    std::chrono::duration_cast<std::chrono::system_clock::duration>(age);
  char text[32];
  std::snprintf(text, sizeof text, "%.6f", std::chrono::duration<double>(then).count());
  return text;
}
/// Copies as much of `from` as fits, and ends it at a whole UTF-8 character.
void copy_truncated(const std::string& from, std::array<char, 128>& to) {
  size_t n = std::min(from.size(), to.size() - 1);
  if (n < from.size())
    while (n > 0 && (static_cast<unsigned char>(from[n]) & 0xc0) == 0x80) --n;
  std::memcpy(to.data(), from.data(), n);
  to[n] = 0;
}
void append_field(std::string& out, const char* name, const std::string& value) {
  if (out.back() != '{') out += ", ";
  out.append("\"").append(name).append("\": ").append(value);
}
template <class List> std::string to_json_list(const List& numbers) {
  std::string out = "[";
  for (const auto n : numbers) out.append(out.size() > 1 ? ", " : "").append(std::to_string(n));
  return out + "]";
}
/// Returns the file name of a source path and its folder: "nn/linear.cpp".
std::string short_path(const std::string& path) {
  const size_t last = path.rfind('/');
  const size_t before = last == std::string::npos || last == 0 ? last : path.rfind('/', last - 1);
  return before == std::string::npos ? path : path.substr(before + 1);
}
/// Returns how far the GPU has come with a call, without waiting for it.
const char* gpu_state(const cuda::Event& begin, const cuda::Event& end) try {
  return end.query() ? "done" : begin.query() ? "running" : "not begun";
} catch (const std::exception&) {
  return "lost";
}

}  // namespace

int64_t FlightRecorder::record_queued(const CollectiveCall& call, int tag) {
  const Time now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  if (!ring_buffer_) ring_buffer_ = std::make_unique<Entry[]>(kMaxRecordedCalls);
  Entry& e = ring_buffer_[static_cast<size_t>(num_recorded_calls_ % kMaxRecordedCalls)];
  e.call_number = num_recorded_calls_;
  e.sequence_number = call.sequence_number, e.numel = call.numel, e.shape = call.shape;
  e.name = call.name, e.file = call.file, e.line = call.line;
  e.queued_time = now, e.started_time = e.done_time = Time();
  e.root_or_peer = call.root_or_peer, e.tag = tag;
  e.dtype = call.dtype, e.op = call.op, e.is_reduction = call.is_reduction;
  e.has_failed = false, e.is_cuda = call.device.is_cuda();
  copy_truncated(call.about, e.about);
  if (e.is_cuda) e.begin_event = e.end_event = cuda::Event(/*enable_timing=*/true);
  return num_recorded_calls_++;
}
FlightRecorder::Entry* FlightRecorder::find_entry(int64_t call) {
  Entry& entry = ring_buffer_[static_cast<size_t>(call % kMaxRecordedCalls)];
  return entry.call_number == call ? &entry : nullptr;  // null if a thousand later calls have overwritten the entry
}
void FlightRecorder::record_started(int64_t call, Time at) {
  const std::lock_guard lock(mutex_);
  if (Entry* const entry = find_entry(call)) entry->started_time = at;
}
void FlightRecorder::record_done(int64_t call, Time at, bool failed, const cuda::Event& begin, const cuda::Event& end) {
  const std::lock_guard lock(mutex_);
  Entry* const entry = find_entry(call);
  if (!entry) return;
  entry->done_time = at;
  entry->has_failed = failed;
  if (entry->is_cuda) entry->begin_event = begin, entry->end_event = end;
}

void FlightRecorder::append_entry(std::string& out, const Entry& e) {
  out += "{";
  append_field(out, "op", json_string(e.name));
  if (e.sequence_number > 0) append_field(out, "sequence", std::to_string(e.sequence_number));
  if (e.about[0]) append_field(out, "about", json_string(e.about.data()));
  if (e.numel >= 0) {
    append_field(out, "dtype", json_string(name(e.dtype)));
    append_field(out, "numel", std::to_string(e.numel));
    append_field(out, "shape", to_json_list(e.shape));
  }
  if (e.is_reduction) append_field(out, "reduce_op", json_string(to_string(e.op)));
  if (e.root_or_peer >= 0) append_field(out, "peer", std::to_string(e.root_or_peer));
  if (e.sequence_number == 0) append_field(out, "tag", std::to_string(e.tag));
  append_field(out, "from", json_string(short_path(e.file) + ":" + std::to_string(e.line)));
  append_field(out, "queued", format_seconds(e.queued_time));
  append_field(out, "started", format_seconds(e.started_time));
  append_field(out, "done", format_seconds(e.done_time));
  const bool host_done = e.done_time != Time();
  const std::string gpu = !e.is_cuda                   ? ""
                          : host_done && !e.has_failed ? gpu_state(e.begin_event, e.end_event)
                                                       : "not begun";
  if (e.is_cuda) append_field(out, "gpu", json_string(gpu));
  if (gpu == "done") append_field(out, "gpu_ms", std::to_string(e.begin_event.elapsed_time(e.end_event)));
  const bool is_done = host_done && (!e.is_cuda || gpu == "done");
  append_field(out, "state",
               json_string(e.has_failed               ? "failed"
                           : is_done                  ? "done"
                           : e.started_time != Time() ? "started"
                                                      : "queued"));
  out += "}";
}
void FlightRecorder::append_json(std::string& out, int64_t max_calls) const {
  const std::lock_guard lock(mutex_);
  out += "{";
  append_field(out, "id", json_string(group_.id));
  append_field(out, "name", json_string(group_.name));
  append_field(out, "backend", json_string(group_.backend));
  append_field(out, "ranks", to_json_list(group_.ranks));
  append_field(out, "rank", std::to_string(group_.rank));
  append_field(out, "timeout_ms", std::to_string(group_.timeout.count()));
  append_field(out, "calls_made", std::to_string(num_recorded_calls_));
  append_field(out, "calls", "[");
  for (int64_t i = std::max<int64_t>(0, num_recorded_calls_ - std::min(max_calls, kMaxRecordedCalls));
       i < num_recorded_calls_; ++i) {
    out += out.back() == '[' ? "\n  " : ",\n  ";
    append_entry(out, ring_buffer_[static_cast<size_t>(i % kMaxRecordedCalls)]);
  }
  out += "]}";
}

FlightLog::FlightLog(int rank, int size, const std::string& folder)
    : rank_(rank), size_(size), folder_(folder.empty() ? get_environment_variable("TANDEM_FLIGHT_DIR") : folder) {
  if (folder_.empty()) return;
  ::mkdir(folder_.c_str(), 0777);
  ::unlink(record_path_in(folder_).c_str());
}
std::shared_ptr<FlightRecorder> FlightLog::add_group(FlightRecorder::GroupInfo group) {
  auto recorder = std::make_shared<FlightRecorder>(std::move(group));
  const std::lock_guard lock(mutex_);
  std::erase_if(groups_, [](const auto& each) { return each.expired(); });
  groups_.push_back(recorder);
  return recorder;
}
std::string FlightLog::record_path_in(const std::string& folder) const {
  return folder + "/flight_rank_" + std::to_string(rank_) + ".json";
}
std::string FlightLog::to_json(const std::string& why, bool has_left) const {
  std::vector<std::shared_ptr<FlightRecorder>> groups;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& each : groups_)
      if (auto group = each.lock()) groups.push_back(std::move(group));
  }
  std::string out = "{";
  append_field(out, "format", json_string("tandem flight 1"));
  append_field(out, "rank", std::to_string(rank_));
  append_field(out, "world_size", std::to_string(size_));
  append_field(out, "host", json_string(host_name()));
  append_field(out, "pid", std::to_string(::getpid()));
  append_field(out, "written", format_seconds(std::chrono::steady_clock::now()));
  append_field(out, "has_left", has_left ? "true" : "false");
  append_field(out, "reason", json_string(why));
  append_field(out, "groups", "[");
  constexpr int64_t kMaxCallsAfterLeave = 10;
  for (const auto& group : groups) {
    if (out.back() != '[') out += ",\n";
    group->append_json(out, has_left ? kMaxCallsAfterLeave : FlightRecorder::kMaxRecordedCalls);
  }
  return out + "]}\n";
}

namespace {
void write_file(const std::string& path, const std::string& text) {
  detail::FileSink file("flight record", path);
  file.write(text.data(), text.size());
  file.commit();
}
/// Writes the file on a separate thread, because a disk may hang. Returns the error, or "" on success.
std::string write_with_timeout(const std::string& path, std::string text) {
  constexpr std::chrono::seconds kMaxWriteTime(2);
  struct WriteResult {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
    std::string write_error = {};
  };
  const auto writing = std::make_shared<WriteResult>();
  detail::start_thread("the flight record", [writing, path, text = std::move(text)] {
    std::string write_error;
    try {
      write_file(path, text);
    } catch (const std::exception& error) {
      write_error = error.what();
    }
    const std::lock_guard lock(writing->mutex);
    writing->write_error = write_error;
    writing->done = true;
    writing->changed.notify_all();
  }).detach();
  std::unique_lock lock(writing->mutex);
  const bool in_time = writing->changed.wait_for(lock, kMaxWriteTime, [&] { return writing->done; });
  return in_time ? writing->write_error
                 : path + " is not written within " + std::to_string(kMaxWriteTime.count()) + " s";
}
}  // namespace

std::string FlightLog::write_record(const std::string& folder, const std::string& why) {
  const std::string& target_folder = folder.empty() ? folder_ : folder;
  TANDEM_CHECK(!target_folder.empty(),
               "write_flight_record: no folder is known; accepted: one that is given to this call, by ",
               "InitOptions::flight_folder or by TANDEM_FLIGHT_DIR");
  const std::lock_guard one_at_a_time(write_mutex_);
  write_file(record_path_in(target_folder), to_json(why, /*has_left=*/false));
  was_requested_ = true;
  return record_path_in(target_folder);
}
void FlightLog::record_failure(const std::string& why) noexcept { write_once(why, /*has_left=*/false); }
void FlightLog::record_leave() noexcept { write_once("", /*has_left=*/true); }
void FlightLog::write_once(const std::string& why, bool has_left) noexcept try {
  if (folder_.empty()) return;
  const std::lock_guard one_at_a_time(write_mutex_);
  if (is_written_ || (has_left && was_requested_)) return;
  is_written_ = true;
  if (const std::string write_error = write_with_timeout(record_path_in(folder_), to_json(why, has_left));
      !write_error.empty())
    std::fprintf(stderr, "tandem: the flight record of rank %d: %s\n", rank_, write_error.c_str());
} catch (const std::exception& error) {
  std::fprintf(stderr, "tandem: the flight record of rank %d: %s\n", rank_, error.what());
}

std::string write_flight_record(const std::string& folder) {
  default_group();
  return rank_groups().flight_log->write_record(folder, "on request");
}

}  // namespace tandem::distributed
