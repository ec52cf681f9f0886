// Tests the caching allocator of GPUs: blocks, streams, statistics, threads, errors.
#include "tandem/core/cuda/allocator.h"

#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "tandem/core/poison.h"
#include "tandem/ops/factory/arange.h"
#include "tandem/ops/factory/empty.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/factory/zeros_ones_full.h"
#include "tandem/ops/random/randint.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/core/cuda/gpu.h"

using namespace tandem;
using test::kGpu;
using test::kMiB;

namespace {

int64_t reserved() { return cuda::memory_reserved(kGpu); }
void* take(size_t bytes) { return cuda::allocate(kGpu, bytes); }
void* take(size_t bytes, const cuda::Stream& stream) {
  const cuda::StreamGuard guard(stream);
  return take(bytes);
}
void give(void* data) { cuda::deallocate(kGpu, data); }
/// Starts a test with an empty cache. Returns false if there is no GPU.
bool fresh() {
  empty_cache();
  return test::has_gpu();
}

}  // namespace

TEST_CASE("GPU blocks are aligned, and a request for nothing gets nothing", "[cuda][allocator]") {
  if (!fresh()) return;
  std::vector<void*> all;
  for (const size_t bytes : {size_t(1), size_t(511), size_t(512), size_t(513), size_t(100'000), kMiB, kMiB + 1,
                             5 * kMiB, 10 * kMiB, 11 * kMiB + 5}) {
    all.push_back(take(bytes));
    REQUIRE(reinterpret_cast<uintptr_t>(all.back()) % 256 == 0);
  }
  REQUIRE(take(0) == nullptr);
  give(nullptr);
  for (void* const each : all) give(each);
}

TEST_CASE("small requests share a segment, as do large ones, and the largest have their own", "[cuda][allocator]") {
  if (!fresh()) return;
  const int64_t before = reserved();
  std::vector<void*> all;
  const auto grows_by = [&](size_t bytes) {
    const int64_t then = reserved();
    all.push_back(take(bytes));
    return static_cast<size_t>(reserved() - then);
  };
  CHECK(grows_by(100) == 2 * kMiB);
  CHECK(grows_by(kMiB) == 0);
  CHECK(grows_by(kMiB - 512) == 0);  // fits exactly into the rest of the segment
  CHECK(grows_by(1) == 2 * kMiB);
  CHECK(grows_by(2 * kMiB) == 20 * kMiB);
  CHECK(grows_by(9 * kMiB) == 0);
  CHECK(grows_by(9 * kMiB) == 0);
  CHECK(grows_by(2 * kMiB) == 20 * kMiB);
  CHECK(grows_by(10 * kMiB) == 0);  // fits exactly into the last segment
  CHECK(grows_by(11 * kMiB + 1) == 12 * kMiB);
  for (void* const each : all) give(each);
  empty_cache();
  REQUIRE(reserved() == before);
}

TEST_CASE("a block is split for a smaller request, and joins its neighbours again", "[cuda][allocator]") {
  if (!fresh()) return;
  char* const whole = static_cast<char*>(take(20 * kMiB));
  give(whole);
  const int64_t held = reserved();
  char* const a = static_cast<char*>(take(4 * kMiB));
  char* const b = static_cast<char*>(take(4 * kMiB));
  char* const c = static_cast<char*>(take(4 * kMiB));
  REQUIRE(a == whole);
  REQUIRE(b == a + 4 * kMiB);
  REQUIRE(c == b + 4 * kMiB);
  SECTION("in any order") {
    std::vector<char*> order{a, b, c};
    for (int i = GENERATE(range(0, 6)); i > 0; --i) std::next_permutation(order.begin(), order.end());
    for (char* const each : order) give(each);
    void* const again = take(20 * kMiB);
    CHECK(again == whole);
    give(again);
  }
  SECTION("and the smallest that fits is taken") {
    give(b);  // now 4 MiB are free between a and c, and 8 MiB behind c
    void* const d = take(3 * kMiB);
    CHECK(d == b);
    void* const e = take(5 * kMiB);
    CHECK(e == c + 4 * kMiB);
    for (void* const each : {d, e, static_cast<void*>(a), static_cast<void*>(c)}) give(each);
  }
  REQUIRE(reserved() == held);
}

TEST_CASE("the stream of a block has it again at once, another only when that one is done",
          "[cuda][allocator][stream]") {
  if (!fresh()) return;
  const size_t bytes = GENERATE(size_t(1000), size_t(3) << 20, size_t(30) << 20);
  const cuda::Stream a(kGpu), b(kGpu);
  test::Gate gate(a);
  void* const first = take(bytes, a);
  test::fill(first, 1, bytes, a);
  give(first);
  void* const again = take(bytes, a);
  CHECK(again == first);
  give(again);
  void* const other = take(bytes, b);
  CHECK(other != first);
  give(other);
  gate.open();
  a.synchronize();
  const int64_t held = reserved();
  void* const held_by_b = take(bytes, b);  // reuses the block that b has freed
  void* const from_a = take(bytes, b);
  CHECK((from_a == first) == (bytes > 10 * kMiB));  // b's own segment has room for two smaller blocks
  CHECK(reserved() == held);
  give(held_by_b);
  give(from_a);
}

TEST_CASE("what another stream once waited for says nothing of later work", "[cuda][allocator][stream]") {
  if (!fresh()) return;
  const cuda::Stream a(kGpu), b(kGpu);
  void* const first = take(30 * kMiB, a);
  {
    test::Gate gate(a);
    give(first);
    give(take(30 * kMiB, b));  // finds a's block busy, and remembers the work on a that it must wait for
  }
  a.synchronize();
  REQUIRE(take(30 * kMiB, a) == first);
  test::Gate gate(a);
  give(first);
  void* const own = take(30 * kMiB, b);
  void* const other = take(30 * kMiB, b);
  CHECK(own != first);
  CHECK(other != first);
  give(own);
  give(other);
}

TEST_CASE("what another stream uses waits for it", "[cuda][allocator][stream]") {
  if (!fresh()) return;
  const cuda::Stream a(kGpu), b(kGpu);
  void* const used = take(kMiB, a);
  {
    test::Gate gate(b);
    cuda::record_stream(kGpu, used, b);
    cuda::record_stream(kGpu, used, a);
    give(used);
    void* const next = take(kMiB, a);
    CHECK(next != used);
    give(next);
    gate.open();
    b.synchronize();
  }
  const int64_t held = reserved();
  std::set<void*> seen;
  for (int i = 0; i < 2; ++i) seen.insert(take(kMiB, a));
  CHECK(seen.contains(used));
  CHECK(reserved() == held);
  for (void* const each : seen) give(each);
  char foreign = 0;
  cuda::record_stream(kGpu, &foreign, b);  // memory of another origin is ignored
}

TEST_CASE("scratch memory may be dropped right after the work that uses it is queued", "[cuda][allocator][stream]") {
  if (!fresh()) return;
  const cuda::Stream stream(kGpu);
  const cuda::StreamGuard guard(stream);
  Tensor results = core::empty({64, 1000}, kUInt8, kGpu);
  for (int i = 0; i < 64; ++i) {
    const Tensor scratch = core::empty({1000}, kUInt8, kGpu);
    test::fill(scratch.raw_data(), i, 1000, stream);
    gpu::copy_async(results.data<char>() + i * 1000, scratch.raw_data(), 1000, stream.handle());
  }
  const Tensor host = results.cpu();
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < 1000; ++j) REQUIRE(host.data<uint8_t>()[i * 1000 + j] == i);
}

namespace {

/// Brute-force model of the allocator: no two live blocks overlap, contents stay until a block is freed although
/// streams run late, and the statistics are right.
class Model {
 public:
  explicit Model(uint32_t seed) : random_(seed), start_(memory_stats(kGpu).current) {
    for (int i = 0; i < 3; ++i) streams_.emplace_back(kGpu);
  }
  void step() {
    const int what = draw(0, 99);
    if (what < 45 && live_.size() < 40)
      add();
    else if (what < 60 && !live_.empty())
      write_from_another();
    else if (what < 97 && !live_.empty())
      remove(static_cast<size_t>(draw(0, static_cast<int>(live_.size()) - 1)));
    else if (what == 97)
      streams_[static_cast<size_t>(draw(0, 2))].synchronize();
    else if (what == 98)
      cuda::synchronize(kGpu);
    else if (draw(0, 3) == 0)
      cuda::empty_cache();
    check();
  }
  void finish() {
    while (!live_.empty()) remove(0);
    check();
    cuda::empty_cache();
    if (start_ == 0) REQUIRE(reserved() == 0);
  }

 private:
  struct Live {
    char* data;
    size_t bytes;
    int value;
    cuda::Stream stream;
  };
  int draw(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }
  size_t draw_size() {
    const int kind = draw(0, 9);
    return static_cast<size_t>(kind < 5 ? draw(1, 5000) : kind < 8 ? draw(5000, 1 << 20) : draw(1 << 20, 12 << 20));
  }
  /// Marks the first and the last bytes of a block.
  static void write(const Live& block, const cuda::Stream& stream) {
    const size_t part = std::min<size_t>(block.bytes, 64);
    test::fill(block.data, block.value, part, stream);
    test::fill(block.data + block.bytes - part, block.value, part, stream);
  }
  void add() {
    Live block{nullptr, draw_size(), draw(0, 255), streams_[static_cast<size_t>(draw(0, 2))]};
    block.data = static_cast<char*>(take(block.bytes, block.stream));
    write(block, block.stream);
    live_.push_back(block);
    peak_ = std::max(peak_, sum());
  }
  void write_from_another() {
    Live& block = live_[static_cast<size_t>(draw(0, static_cast<int>(live_.size()) - 1))];
    const cuda::Stream& other = streams_[static_cast<size_t>(draw(0, 2))];
    other.wait_stream(block.stream);
    block.value = draw(0, 255);
    write(block, other);
    cuda::record_stream(kGpu, block.data, other);
    if (draw(0, 1))
      block.stream.wait_stream(other);
    else
      remove(static_cast<size_t>(&block - live_.data()), &other);
  }
  /// Reads the block in stream order, and frees it before the read is done.
  void remove(size_t index, const cuda::Stream* reader = nullptr) {
    const Live block = live_[index];
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(index));
    const cuda::Stream& stream = reader ? *reader : block.stream;
    const size_t part = std::min<size_t>(block.bytes, 64);
    Read read{core::empty_pinned({128}, kUInt8), part, block.value, stream};
    gpu::copy_async(read.bytes.raw_data(), block.data, part, stream.handle());
    gpu::copy_async(read.bytes.data<char>() + 64, block.data + block.bytes - part, part, stream.handle());
    give(block.data);
    reads_.push_back(read);
    if (reads_.size() > 20) settle();
  }
  void settle() {
    for (const Read& read : reads_) {
      read.stream.synchronize();
      const auto* const bytes = read.bytes.data<uint8_t>();
      for (size_t i = 0; i < read.part; ++i) REQUIRE((bytes[i] == read.value && bytes[64 + i] == read.value));
    }
    reads_.clear();
  }
  int64_t sum() const {
    int64_t all = start_;
    for (const Live& each : live_) all += static_cast<int64_t>(each.bytes);
    return all;
  }
  void check() {
    if (live_.empty()) settle();
    std::vector<std::pair<char*, char*>> ranges;
    for (const Live& each : live_) ranges.emplace_back(each.data, each.data + each.bytes);
    std::sort(ranges.begin(), ranges.end());
    for (size_t i = 1; i < ranges.size(); ++i) REQUIRE(ranges[i - 1].second <= ranges[i].first);
    const MemoryStats stats = memory_stats(kGpu);
    REQUIRE(stats.current == sum());
    REQUIRE(stats.peak >= peak_);
    REQUIRE(stats.reserved >= stats.current);
  }

  struct Read {
    Tensor bytes;
    size_t part;
    int value;
    cuda::Stream stream;
  };
  std::mt19937 random_;
  int64_t start_, peak_ = 0;
  std::vector<cuda::Stream> streams_;
  std::vector<Live> live_;
  std::vector<Read> reads_;
};

}  // namespace

TEST_CASE("random use of several streams agrees with a model by brute force", "[cuda][allocator][stream]") {
  if (!fresh()) return;
  const uint32_t seed = GENERATE(range(1u, 9u));
  CAPTURE(seed);
#if TANDEM_TEST_EMULATED
  emulation::set_stream_seed(seed - 1);
#endif
  reset_peak_memory_stats(kGpu);
  Model model(seed);
  for (int i = 0; i < 300; ++i) model.step();
  model.finish();
#if TANDEM_TEST_EMULATED
  emulation::set_stream_seed(0);
#endif
}

TEST_CASE("what a GPU's memory is used for is counted as on the CPU", "[cuda][allocator]") {
  if (!fresh()) return;
  const int64_t before = cuda::memory_allocated(kGpu);
  cuda::reset_peak_memory_stats(kGpu);
  const int64_t blocks = memory_stats(kGpu).allocations;
  {
    const Tensor x = core::empty({1000}, kFloat32, kGpu);
    CHECK(cuda::memory_allocated(kGpu) == before + 4000);
    const Tensor y = core::empty({250}, kFloat32, kGpu);
    CHECK(memory_stats(kGpu).current == before + 5000);
  }
  CHECK(cuda::memory_allocated() == before);
  CHECK(cuda::max_memory_allocated() == before + 5000);
  CHECK(cuda::memory_reserved() >= before + 5000);
  CHECK(memory_stats(kGpu).allocations == blocks + 2);
  reset_peak_memory_stats(kGpu);
  CHECK(memory_stats(kGpu).peak == before);
  REQUIRE_THROWS_WITH(cuda::memory_allocated(Device("cpu")), Contains("cpu") && Contains("accepted: a CUDA device"));
  REQUIRE_THROWS_WITH(memory_stats(Device("cuda:63")), Contains("cuda:63"));
  const auto [free, total] = cuda::mem_get_info(kGpu);
  CHECK(0 <= free);
  CHECK(free <= total);
}

TEST_CASE("a request that no GPU can serve is an error that says what is held", "[cuda][allocator][errors]") {
  if (!fresh()) return;
  const Tensor a = core::empty({3, 1 << 20}, kUInt8, kGpu), b = core::empty({3, 1 << 20}, kUInt8, kGpu);
  REQUIRE_THROWS_AS(core::empty({int64_t(1) << 45}, kUInt8, kGpu), OutOfMemoryError);
  REQUIRE_THROWS_WITH(core::empty({int64_t(1) << 45}, kUInt8, kGpu),
                      Contains("CUDA out of memory. Tried to allocate 3.28e+04 GiB") && Contains("2 x 3 MiB") &&
                          Contains("Reserved by this process: "));
  REQUIRE_THROWS_AS(core::empty({int64_t(1) << 60}, kUInt8, kGpu), OutOfMemoryError);
}

TEST_CASE("threads share a GPU's memory", "[cuda][allocator][threads]") {
  if (!fresh()) return;
  const int64_t before = cuda::memory_allocated(kGpu);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      const cuda::Stream stream(kGpu);
      const cuda::StreamGuard guard(stream);
      std::mt19937 random(static_cast<uint32_t>(t));
      std::vector<Tensor> held(8);
      for (int i = 0; i < 300; ++i) {
        Tensor& place = held[random() % held.size()];
        place = core::empty({static_cast<int64_t>(1 + random() % 3'000'000)}, kUInt8, kGpu);
        test::fill(place.raw_data(), t, static_cast<size_t>(place.numel()), stream);
        if (i % 50 == 0) empty_cache();
      }
      for (const Tensor& each : held)
        if (each.defined() && each.cpu().data<uint8_t>()[each.numel() - 1] != t) std::abort();
    });
  for (std::thread& each : threads) each.join();
  REQUIRE(cuda::memory_allocated(kGpu) == before);
}

#if TANDEM_ASAN && TANDEM_TEST_EMULATED
TEST_CASE("AddressSanitizer sees what is not in use on an emulated GPU", "[cuda][allocator]") {
  if (!fresh()) return;
  const cuda::Stream stream(kGpu);
  char* const data = static_cast<char*>(take(1001, stream));
  stream.synchronize();
  REQUIRE(__asan_region_is_poisoned(data, 1001) == nullptr);
  REQUIRE(__asan_address_is_poisoned(data + 1001));
  give(data);
  stream.synchronize();
  REQUIRE(__asan_address_is_poisoned(data));
}
#endif

TEST_CASE("a tensor on a GPU may have static storage", "[cuda][allocator]") {
  if (!fresh()) return;
  static Tensor last;
  static std::unique_ptr<cuda::Stream> stream;
  static std::unique_ptr<cuda::Event> event;
  last = core::empty({100}, kFloat32, kGpu);
  stream = std::make_unique<cuda::Stream>(kGpu);
  event = std::make_unique<cuda::Event>(stream->record_event());
  last.record_stream(*stream);
  REQUIRE(last.is_cuda());
}
