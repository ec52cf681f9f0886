// Builds the out-of-memory message for GPUs.
#include "tandem/core/cuda/memory_report.h"

#include <algorithm>
#include <map>
#include <sstream>

namespace tandem::cuda {
namespace {

/// Formats a size, for example "1.5 GiB".
std::string format_bytes(size_t bytes) {
  constexpr size_t kKiB = 1024, kGiB = 1024 * kMiB;
  std::ostringstream out;
  out.precision(3);
  const auto n = static_cast<double>(bytes);
  if (bytes < kKiB)
    out << bytes << " bytes";
  else if (bytes < kMiB)
    out << n / kKiB << " KiB";
  else if (bytes < kGiB)
    out << n / kMiB << " MiB";
  else
    out << n / kGiB << " GiB";
  return out.str();
}
std::string format_bytes(int64_t bytes) { return format_bytes(static_cast<size_t>(std::max<int64_t>(bytes, 0))); }

}  // namespace

std::string out_of_memory_report(Device device, gpu::StreamHandle stream, size_t bytes, const BlockPool& blocks,
                                 const MemoryStats& stats) {
  size_t cached = 0, elsewhere = 0, waiting = 0, rounding = 0, largest = 0, count = 0;
  std::map<size_t, size_t> counts;  // number of blocks in use, by requested size
  blocks.for_each_block([&](const Block& block) {
    if (block.is_free()) {
      (block.segment->stream == stream ? cached : elsewhere) += block.bytes;
      largest = std::max(largest, block.bytes);
    } else if (block.state == Block::State::waiting) {
      waiting += block.bytes;
    } else {
      rounding += block.bytes - block.requested_bytes;
      ++counts[block.requested_bytes];
      ++count;
    }
  });
  const auto info = gpu::memory_info(device.index());
  std::ostringstream out;
  out << "CUDA out of memory. Tried to allocate " << format_bytes(bytes) << " (" << bytes << " bytes) on " << device
      << ". GPU " << device.index() << " has a total capacity of " << format_bytes(info.total_bytes) << " of which "
      << format_bytes(info.free_bytes) << " is free. In use: " << format_bytes(stats.current) << " in " << count
      << " blocks (peak " << format_bytes(stats.peak) << "), plus " << format_bytes(rounding)
      << " of rounding. Cached: " << format_bytes(cached) << " of this stream and " << format_bytes(elsewhere)
      << " of other streams, largest block " << format_bytes(largest)
      << ". Freed, but still used by other streams: " << format_bytes(waiting)
      << ". Reserved by this process: " << format_bytes(stats.reserved)
      << "; by libraries, contexts and other processes: "
      << format_bytes(info.total_bytes - info.free_bytes - stats.reserved);
  std::vector<std::pair<size_t, size_t>> largest_first(counts.begin(), counts.end());
  std::sort(largest_first.begin(), largest_first.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first * a.second, a.first) > std::pair(b.first * b.second, b.first);
  });
  constexpr size_t kMaxShown = 5;
  for (size_t i = 0; i < std::min(kMaxShown, largest_first.size()); ++i)
    out << (i ? ", " : ". Most in use: ") << largest_first[i].second << " x " << format_bytes(largest_first[i].first);
  return out.str();
}

}  // namespace tandem::cuda
