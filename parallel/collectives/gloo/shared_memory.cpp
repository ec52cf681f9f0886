// Implements SharedMemory: maps the memory segments of the ranks, and waits and wakes by futexes in these segments.
#include "tandem/parallel/collectives/gloo/shared_memory.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <map>
#include <mutex>
#include <random>

#include "tandem/core/threads/spinner.h"
#include "tandem/parallel/collectives/process_group.h"

namespace tandem::distributed {
namespace {

using std::chrono::milliseconds;
constexpr auto kWakeInterval =
    milliseconds(50);  // interval at which a waiting rank checks that the other process still runs
constexpr size_t kCacheLineAlignment =
    128;  // alignment in bytes: two cache lines, because processors fetch them in pairs

/// Random identity of a segment.
struct SegmentToken {
  uint64_t parts[2];
  auto operator<=>(const SegmentToken&) const = default;
};
SegmentToken make_random_segment_token() {
  std::random_device random;
  const auto part = [&] { return static_cast<uint64_t>(random()) << 32 | random(); };
  const uint64_t first = part();
  return {{first, part()}};
}
/// Data by which another rank finds and checks this rank's shared memory segment.
struct SegmentAddress {
  SegmentToken token;
  uint64_t bytes, device, inode;
  int64_t process_id, file_descriptor;  // file_descriptor: in the process process_id; -1 if there is no segment
};
static_assert(sizeof(SegmentAddress) <= SharedMemory::kSegmentAddressBytes);

/// Header of a segment.
struct alignas(kCacheLineAlignment) SegmentHeader {
  SegmentToken token;
  std::atomic<uint64_t> counters[4];
  std::atomic<uint32_t> events, num_sleepers, is_closed;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

uint32_t* futex_address(std::atomic<uint32_t>& word) { return reinterpret_cast<uint32_t*>(&word); }
void futex_wait(std::atomic<uint32_t>& word, uint32_t value, milliseconds timeout) {
  const timespec time{.tv_sec = timeout.count() / 1000, .tv_nsec = timeout.count() % 1000 * 1000000};
  ::syscall(SYS_futex, futex_address(word), FUTEX_WAIT, value, &time, nullptr, 0);
}
void futex_wake_all(std::atomic<uint32_t>& word) {
  ::syscall(SYS_futex, futex_address(word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

/// A mapping of one rank's memory. If ranks are threads of one process, they share the mapping.
class SharedMemory::Segment {
 public:
  Segment(int file, size_t bytes)
      : memory_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)), bytes_(bytes) {}
  ~Segment() {
    if (*this) ::munmap(memory_, bytes_);
  }
  Segment(const Segment&) = delete;
  explicit operator bool() const { return memory_ != MAP_FAILED; }
  SegmentHeader& header() const { return *static_cast<SegmentHeader*>(memory_); }
  std::byte* at(size_t offset) const { return static_cast<std::byte*>(memory_) + offset; }
  size_t bytes() const { return bytes_; }
  // pidfd of the process that has the segment; empty for this process, or if the system has no pidfds
  Descriptor process_fd;

  /// Registers the segment, so that other ranks in this process find it.
  static void register_in_process(const std::shared_ptr<Segment>& segment) {
    const std::lock_guard lock(registry().mutex);
    std::erase_if(registry().segments, [](const auto& each) { return each.second.expired(); });
    registry().segments[segment->header().token] = segment;
  }
  static std::shared_ptr<Segment> find_in_process(const SegmentToken& token) {
    const std::lock_guard lock(registry().mutex);
    const auto at = registry().segments.find(token);
    return at == registry().segments.end() ? nullptr : at->second.lock();
  }
  /// Maps the segment of another process. Returns null on failure.
  static std::shared_ptr<Segment> map_segment(const SegmentAddress& contact) {
    const std::string path =
        "/proc/" + std::to_string(contact.process_id) + "/fd/" + std::to_string(contact.file_descriptor);
    struct stat file_status {};
    // Check the file: if the process is on another machine or in another container, the path may lead to an unrelated
    // file.
    if (::stat(path.c_str(), &file_status) != 0 || !S_ISREG(file_status.st_mode) ||
        file_status.st_dev != contact.device || file_status.st_ino != contact.inode ||
        static_cast<uint64_t>(file_status.st_size) != contact.bytes)
      return nullptr;
    const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (!file) return nullptr;
    auto segment = std::make_shared<Segment>(file.get(), contact.bytes);
    if (!*segment || segment->header().token != contact.token) return nullptr;
    segment->process_fd = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, contact.process_id, 0)));
    return segment;
  }
  bool has_process_ended() const {
    pollfd end{process_fd.get(), POLLIN, 0};
    return process_fd && ::poll(&end, 1, 0) == 1;
  }

 private:
  struct SegmentRegistry {
    std::mutex mutex;
    std::map<SegmentToken, std::weak_ptr<Segment>> segments;
  };
  static SegmentRegistry& registry() {
    static auto& all = *new SegmentRegistry;  // never destroyed, because groups may be static
    return all;
  }
  void* memory_;
  size_t bytes_;
};

SharedMemory::SharedMemory(int rank, int size, size_t header_bytes, bool enabled)
    : rank_(rank), size_(size), header_bytes_(header_bytes), segments_(static_cast<size_t>(size)) {
  if (!enabled) return;
  const size_t bytes = chunk_slots_offset() + static_cast<size_t>(kSlots * kChunkBytes);
  Descriptor file(::memfd_create("tandem", MFD_CLOEXEC));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return;
  auto segment = std::make_shared<Segment>(file.get(), bytes);
  if (!*segment) return;
  new (&segment->header()) SegmentHeader{
      .token = make_random_segment_token(), .counters = {}, .events = 0, .num_sleepers = 0, .is_closed = 0};
  Segment::register_in_process(segment);
  segments_[static_cast<size_t>(rank)] = std::move(segment);
  file_ = std::move(file);
}
SharedMemory::~SharedMemory() = default;

std::string SharedMemory::segment_address() const {
  SegmentAddress mine{};
  mine.file_descriptor = -1;
  struct stat file_status {};
  if (file_ && ::fstat(file_.get(), &file_status) == 0) {
    const Segment& segment = *segments_[static_cast<size_t>(rank_)];
    mine = {segment.header().token, segment.bytes(), file_status.st_dev, file_status.st_ino, ::getpid(), file_.get()};
  }
  std::string bytes(kSegmentAddressBytes, '\0');
  std::memcpy(bytes.data(), &mine, sizeof mine);
  return bytes;
}
bool SharedMemory::map_segments(const std::vector<std::string>& contacts) {
  for (size_t r = 0; r < segments_.size(); ++r) {
    if (segments_[r]) continue;
    SegmentAddress peer_segment;
    std::memcpy(&peer_segment, contacts[r].data(), sizeof peer_segment);
    if (peer_segment.file_descriptor < 0) return false;
    segments_[r] = Segment::find_in_process(peer_segment.token);
    if (!segments_[r]) segments_[r] = Segment::map_segment(peer_segment);
    if (!segments_[r]) return false;
  }
  return true;
}

size_t SharedMemory::chunk_slots_offset() const {
  constexpr size_t kPage = 4096;
  return (sizeof(SegmentHeader) + 2 * static_cast<size_t>(size_) * header_bytes_ + kPage - 1) / kPage * kPage;
}
void* SharedMemory::call_header(int rank, int for_rank, uint64_t number) const {
  const size_t at = number % 2 * static_cast<size_t>(size_) + static_cast<size_t>(for_rank);
  return segments_[static_cast<size_t>(rank)]->at(sizeof(SegmentHeader) + at * header_bytes_);
}
void* SharedMemory::slot(int rank, uint64_t chunk) const {
  return segments_[static_cast<size_t>(rank)]->at(chunk_slots_offset() + chunk % kSlots * kChunkBytes);
}

uint64_t SharedMemory::read_counter(int rank, ProgressCounter what) const {
  return segments_[static_cast<size_t>(rank)]->header().counters[what].load(std::memory_order_acquire);
}
void SharedMemory::set_counter(ProgressCounter what, uint64_t count) {
  segments_[static_cast<size_t>(rank_)]->header().counters[what].store(count, std::memory_order_release);
  wake_waiters(rank_);
}
void SharedMemory::wake_waiters(int rank) const {
  SegmentHeader& header = segments_[static_cast<size_t>(rank)]->header();
  ++header.events;
  if (header.num_sleepers > 0) futex_wake_all(header.events);
}
void SharedMemory::close() {
  const auto& mine = segments_[static_cast<size_t>(rank_)];
  if (!mine) return;
  mine->header().is_closed = 1;
  wake_waiters(rank_);
}
bool SharedMemory::poll_briefly(int rank, ProgressCounter what, uint64_t min_count) const {
  for (detail::Spinner spinner; read_counter(rank, what) < min_count;)
    if (!spinner.keep_spinning()) return false;
  return true;
}
bool SharedMemory::wait(int rank, ProgressCounter what, uint64_t min_count, Deadline deadline,
                        const std::atomic<bool>& stop) const {
  const Segment& peer_segment = *segments_[static_cast<size_t>(rank)];
  SegmentHeader& header = peer_segment.header();
  for (;;) {
    const uint32_t seen = header.events;
    if (stop) return false;
    if (read_counter(rank, what) >= min_count) return true;
    const milliseconds left = time_until(deadline);
    if (header.is_closed > 0 || peer_segment.has_process_ended())
      throw DistributedError("that rank has closed its shared memory, because it has ended or left the group");
    if (left.count() == 0) throw DistributedError(kTimedOutMessage);
    ++header.num_sleepers;
    futex_wait(header.events, seen, std::min(left, kWakeInterval));
    --header.num_sleepers;
  }
}

}  // namespace tandem::distributed
