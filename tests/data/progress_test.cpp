// Tests progress(): the line that it draws, the stream it draws on, and that it iterates like the range it wraps.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <list>
#include <optional>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using data::progress;
using data::detail::format_progress_line;

namespace {

/// Redirects standard error while it lives.
class StderrTo {
 public:
  explicit StderrTo(int fd) : kept_(::dup(STDERR_FILENO)) {
    std::fflush(stderr);
    ::dup2(fd, STDERR_FILENO);
  }
  ~StderrTo() {
    std::fflush(stderr);
    ::dup2(kept_, STDERR_FILENO);
    ::close(kept_);
  }

 private:
  int kept_;
};

/// Returns what `run` writes to standard error, which is a terminal. If the system has no terminal, returns nullopt
/// without running it.
std::optional<std::string> on_a_terminal(const std::function<void()>& run) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) return {};
  REQUIRE((::grantpt(terminal) == 0 && ::unlockpt(terminal) == 0));
  const int other_end = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  REQUIRE(other_end >= 0);
  {
    const StderrTo redirected(other_end);
    run();
  }
  ::close(other_end);
  std::string drawn;
  char bytes[4096];
  for (ssize_t n; (n = ::read(terminal, bytes, sizeof bytes)) > 0;) drawn.append(bytes, static_cast<size_t>(n));
  ::close(terminal);
  return drawn;
}

}  // namespace

TEST_CASE("the line of a bar has what is known", "[data]") {
  const std::string line = format_progress_line("epoch 1", 197, 469, 3.2, "", 80);
  CHECK(line.size() == 80);
  CHECK_THAT(line, Contains("epoch 1:  42%|#######") && Contains("  | 197/469 [00:03<00:04, 61.6it/s]"));
  CHECK(std::count(line.begin(), line.end(), '#') == 13);  // 42 % of 32
  CHECK(format_progress_line("", 5, 10, 0, "", 100) ==
        " 50%|####################                    | 5/10 [00:00<00:00, ?it/s]");
  CHECK(format_progress_line("", 10, 10, 40, "loss 0.3", 53) ==
        "100%|#######| 10/10 [00:40<00:00, 4.00s/it, loss 0.3]");
  CHECK(format_progress_line("epoch 1", 197, {}, 3.2, "", 80) == "epoch 1: 197it [00:03, 61.6it/s]");
  CHECK(format_progress_line("epoch 1", 5, 4, 8000, "", 30) == "epoch 1: 100% 5/4 [2:13:20<00:");
  CHECK(format_progress_line("", 0, 0, 1, "", 30) == "100% 0/0 [00:01<?, ?it/s]");
}

TEST_CASE("progress gives what the range gives, and is silent where there is no terminal", "[data]") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::vector<int> seen;
  {
    const StderrTo redirected(ends[1]);
    std::vector<int> numbers = {1, 2, 3};
    for (int& number : progress(numbers, "numbers")) seen.push_back(number++);
    CHECK(numbers == std::vector<int>{2, 3, 4});
    for (const int number : progress(std::list<int>{7, 8})) seen.push_back(number);
    for (const int number : progress(std::vector<int>())) seen.push_back(number);
  }
  ::close(ends[1]);
  CHECK(seen == std::vector<int>{1, 2, 3, 7, 8});
  char byte = 0;
  CHECK(::read(ends[0], &byte, 1) == 0);
  ::close(ends[0]);
}

TEST_CASE("progress knows how many batches a loader has, and draws them on a terminal", "[data]") {
  const auto dataset = data::datasets::TensorDataset(arange(10)).map(data::transforms::Stack<data::TensorExample>());
  auto loader = data::make_data_loader<data::samplers::SequentialSampler>(dataset, data::DataLoaderOptions(4));
  CHECK(loader->size() == 3);
  CHECK(data::make_data_loader(dataset, data::DataLoaderOptions(4).drop_last(true))->size() == 2);
  CHECK(data::make_data_loader(dataset, data::samplers::ShardSampler(10, 3, 0), 2)->size() == 2);
  CHECK(data::make_data_loader(dataset, data::samplers::DistributedRandomSampler(10, 3, 0), 1)->size() == 4);
  int64_t rows = 0;
  const std::optional<std::string> drawn = on_a_terminal([&] {
    auto bar = progress(*loader, "epoch 1");
    for (auto& batch : bar) {
      rows += batch.data.size(0);
      bar.set_postfix("rows " + std::to_string(rows));
    }
    for (auto& batch : progress(*loader, "epoch 2")) {
      rows += batch.data.size(0);
      break;
    }
  });
  if (!drawn) {
    WARN("SKIPPED the drawing: there are no terminals (posix_openpt: is /dev/pts mounted?)");
    return;
  }
  CHECK(rows == 14);
  CHECK_THAT(*drawn, Contains("\repoch 1:   0%|"));
  CHECK_THAT(*drawn, Contains("| 3/3 [00:00<00:00, ") && Contains(", rows 10]\x1b[K\r\n\repoch 2:"));
  CHECK(drawn->ends_with("\n"));  // an interrupted loop's bar ends its line too
}
