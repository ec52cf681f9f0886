// One of TensorBoard's event files: records of bytes with checksums, as TensorFlow's RecordWriter lays them out.
#pragma once
#include <chrono>

#include "tandem/logs/summary_writer.h"

namespace tandem::logs {

/// A record is  length (uint64), masked CRC-32C of the length (uint32), the bytes, masked CRC-32C of the bytes
/// (uint32), numbers with the lowest byte first. (TensorFlow's RecordWriter, and
/// https://www.tensorflow.org/tutorials/load_data/tfrecord)
std::string framed(const std::string& bytes);

/// Makes the folder and the file, whose name is TensorBoard's. Events are kept until max_queue of them wait, flush_secs
/// have gone by, or flush() is called.
class EventFile {
 public:
  /// @throws Error with the system's reason
  EventFile(const std::string& folder, const SummaryWriterOptions& options);
  /// Writes what waits; a failure is told on the standard error.
  ~EventFile();
  EventFile(const EventFile&) = delete;
  void add(const std::string& event);
  void flush();

 private:
  std::string path_, waiting_;
  int64_t events_waiting_ = 0, max_queue_;
  std::chrono::seconds flush_after_;
  std::chrono::steady_clock::time_point last_flush_ = std::chrono::steady_clock::now();
  int fd_ = -1;
};

/// Seconds since 1970, as events have them.
double wall_time_now();
std::string host_name();

}  // namespace tandem::logs
