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
constexpr auto kNap = milliseconds(50);  // interval at which a waiting rank checks that the other process still runs
constexpr size_t kLine = 128;            // alignment in bytes: two cache lines, because processors fetch them in pairs

/// Random identity of a segment.
struct Token {
  uint64_t parts[2];
  auto operator<=>(const Token&) const = default;
};
Token new_token() {
  std::random_device random;
  const auto part = [&] { return static_cast<uint64_t>(random()) << 32 | random(); };
  const uint64_t first = part();
  return {{first, part()}};
}
/// Data by which another rank finds and checks this rank's segment.
struct Contact {
  Token token;
  uint64_t bytes, device, inode;
  int64_t process, file;  // file: descriptor in `process`; -1 if the rank has no segment
};
static_assert(sizeof(Contact) <= SharedMemory::kContactBytes);

/// Header of a segment.
struct alignas(kLine) Head {
  Token token;
  std::atomic<uint64_t> counts[4];
  std::atomic<uint32_t> events, sleepers, closed;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

uint32_t* futex_of(std::atomic<uint32_t>& word) { return reinterpret_cast<uint32_t*>(&word); }
void sleep_on(std::atomic<uint32_t>& word, uint32_t value, milliseconds most) {
  const timespec time{.tv_sec = most.count() / 1000, .tv_nsec = most.count() % 1000 * 1000000};
  ::syscall(SYS_futex, futex_of(word), FUTEX_WAIT, value, &time, nullptr, 0);
}
void wake_all(std::atomic<uint32_t>& word) {
  ::syscall(SYS_futex, futex_of(word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
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
  Head& head() const { return *static_cast<Head*>(memory_); }
  std::byte* at(size_t offset) const { return static_cast<std::byte*>(memory_) + offset; }
  size_t bytes() const { return bytes_; }
  // pidfd of the process that has the segment; empty for this process, or if the system has no pidfds
  Descriptor process;

  /// Registers the segment, so that other ranks in this process find it.
  static void publish(const std::shared_ptr<Segment>& segment) {
    const std::lock_guard lock(known().mutex);
    std::erase_if(known().segments, [](const auto& each) { return each.second.expired(); });
    known().segments[segment->head().token] = segment;
  }
  static std::shared_ptr<Segment> find_here(const Token& token) {
    const std::lock_guard lock(known().mutex);
    const auto at = known().segments.find(token);
    return at == known().segments.end() ? nullptr : at->second.lock();
  }
  /// Maps the segment of another process. Returns null on failure.
  static std::shared_ptr<Segment> open(const Contact& contact) {
    const std::string path = "/proc/" + std::to_string(contact.process) + "/fd/" + std::to_string(contact.file);
    struct stat is {};
    // Check the file: if the process is on another machine or in another container, the path may lead to an unrelated
    // file.
    if (::stat(path.c_str(), &is) != 0 || !S_ISREG(is.st_mode) || is.st_dev != contact.device ||
        is.st_ino != contact.inode || static_cast<uint64_t>(is.st_size) != contact.bytes)
      return nullptr;
    const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (!file) return nullptr;
    auto segment = std::make_shared<Segment>(file.get(), contact.bytes);
    if (!*segment || segment->head().token != contact.token) return nullptr;
    segment->process = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, contact.process, 0)));
    return segment;
  }
  bool has_ended() const {
    pollfd end{process.get(), POLLIN, 0};
    return process && ::poll(&end, 1, 0) == 1;
  }

 private:
  struct Known {
    std::mutex mutex;
    std::map<Token, std::weak_ptr<Segment>> segments;
  };
  static Known& known() {
    static auto& all = *new Known;  // never destroyed, because groups may be static
    return all;
  }
  void* memory_;
  size_t bytes_;
};

SharedMemory::SharedMemory(int rank, int size, size_t call_bytes, bool wanted)
    : rank_(rank), size_(size), call_bytes_(call_bytes), segments_(static_cast<size_t>(size)) {
  if (!wanted) return;
  const size_t bytes = slots_at() + static_cast<size_t>(kSlots * kPieceBytes);
  Descriptor file(::memfd_create("tandem", MFD_CLOEXEC));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return;
  auto segment = std::make_shared<Segment>(file.get(), bytes);
  if (!*segment) return;
  new (&segment->head()) Head{.token = new_token(), .counts = {}, .events = 0, .sleepers = 0, .closed = 0};
  Segment::publish(segment);
  segments_[static_cast<size_t>(rank)] = std::move(segment);
  file_ = std::move(file);
}
SharedMemory::~SharedMemory() = default;

std::string SharedMemory::contact() const {
  Contact mine{};
  mine.file = -1;
  struct stat is {};
  if (file_ && ::fstat(file_.get(), &is) == 0) {
    const Segment& segment = *segments_[static_cast<size_t>(rank_)];
    mine = {segment.head().token, segment.bytes(), is.st_dev, is.st_ino, ::getpid(), file_.get()};
  }
  std::string bytes(kContactBytes, '\0');
  std::memcpy(bytes.data(), &mine, sizeof mine);
  return bytes;
}
bool SharedMemory::open(const std::vector<std::string>& contacts) {
  for (size_t r = 0; r < segments_.size(); ++r) {
    if (segments_[r]) continue;
    Contact theirs;
    std::memcpy(&theirs, contacts[r].data(), sizeof theirs);
    if (theirs.file < 0) return false;
    segments_[r] = Segment::find_here(theirs.token);
    if (!segments_[r]) segments_[r] = Segment::open(theirs);
    if (!segments_[r]) return false;
  }
  return true;
}

size_t SharedMemory::slots_at() const {
  constexpr size_t kPage = 4096;
  return (sizeof(Head) + 2 * static_cast<size_t>(size_) * call_bytes_ + kPage - 1) / kPage * kPage;
}
void* SharedMemory::call(int rank, int for_rank, uint64_t number) const {
  const size_t at = number % 2 * static_cast<size_t>(size_) + static_cast<size_t>(for_rank);
  return segments_[static_cast<size_t>(rank)]->at(sizeof(Head) + at * call_bytes_);
}
void* SharedMemory::slot(int rank, uint64_t piece) const {
  return segments_[static_cast<size_t>(rank)]->at(slots_at() + piece % kSlots * kPieceBytes);
}

uint64_t SharedMemory::count(int rank, Count what) const {
  return segments_[static_cast<size_t>(rank)]->head().counts[what].load(std::memory_order_acquire);
}
void SharedMemory::raise(Count what, uint64_t count) {
  segments_[static_cast<size_t>(rank_)]->head().counts[what].store(count, std::memory_order_release);
  nudge(rank_);
}
void SharedMemory::nudge(int rank) const {
  Head& head = segments_[static_cast<size_t>(rank)]->head();
  ++head.events;
  if (head.sleepers > 0) wake_all(head.events);
}
void SharedMemory::close() {
  const auto& mine = segments_[static_cast<size_t>(rank_)];
  if (!mine) return;
  mine->head().closed = 1;
  nudge(rank_);
}
bool SharedMemory::comes_soon(int rank, Count what, uint64_t least) const {
  for (detail::Spinner spinner; count(rank, what) < least;)
    if (!spinner.again()) return false;
  return true;
}
bool SharedMemory::wait(int rank, Count what, uint64_t least, Deadline deadline, const std::atomic<bool>& stop) const {
  const Segment& theirs = *segments_[static_cast<size_t>(rank)];
  Head& head = theirs.head();
  for (;;) {
    const uint32_t seen = head.events;
    if (stop) return false;
    if (count(rank, what) >= least) return true;
    const milliseconds left = left_until(deadline);
    if (head.closed > 0 || theirs.has_ended()) throw DistributedError("its shared memory is closed");
    if (left.count() == 0) throw DistributedError(kLate);
    ++head.sleepers;
    sleep_on(head.events, seen, std::min(left, kNap));
    --head.sleepers;
  }
}

}  // namespace tandem::distributed
