// TensorBoard event files: records of bytes with checksums, in the format of TensorFlow's RecordWriter.
#pragma once
#include <chrono>

#include "tandem/logs/summary_writer.h"

namespace tandem::logs {

/// Returns a record with these bytes: length (uint64), masked CRC-32C of the length (uint32), the bytes, masked CRC-32C
/// of the bytes (uint32). Numbers are little-endian. (TensorFlow's RecordWriter, and
/// https://www.tensorflow.org/tutorials/load_data/tfrecord)
std::string encode_tfrecord(const std::string& bytes);

/// An event file with TensorBoard's naming, created in `folder`. Events stay in memory until there are max_queue of
/// them, flush_secs have passed, or flush() is called.
class EventFile {
 public:
  /// Creates the folder and the file. @throws Error with the system's error message
  EventFile(const std::string& folder, const SummaryWriterOptions& options);
  /// Writes the events in memory; prints an error message on stderr if that fails.
  ~EventFile();
  EventFile(const EventFile&) = delete;
  void add_event(const std::string& event);
  void flush();

 private:
  std::string path_, pending_records_;
  int64_t num_pending_events_ = 0, max_queue_;
  std::chrono::seconds flush_interval_;
  std::chrono::steady_clock::time_point last_flush_time_ = std::chrono::steady_clock::now();
  int fd_ = -1;
};

/// Returns the seconds since 1970, the unit of times in events.
double wall_time_now();
std::string get_host_name();

}  // namespace tandem::logs
