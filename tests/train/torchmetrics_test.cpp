// Compares metrics with torchmetrics in 1,000 random cases, on one rank and with the batches split over several ranks.
#include <fcntl.h>
#include <unistd.h>

#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/ranks.h"
#include "tandem/tests/train/metric_cases.h"

using namespace tandem;
using metrics::Metric;
using test::MetricCase;

namespace {

/// Discards standard error while it lives: many cases print warnings.
class NoStderr {
 public:
  NoStderr() : kept_(::dup(STDERR_FILENO)) {
    const int null = ::open("/dev/null", O_WRONLY);
    ::dup2(null, STDERR_FILENO);
    ::close(null);
  }
  ~NoStderr() {
    ::dup2(kept_, STDERR_FILENO);
    ::close(kept_);
  }

 private:
  int kept_;
};

const std::vector<MetricCase>& cases() {
  static const std::vector<MetricCase> all = test::metric_cases();
  return all;
}

/// Returns the value over all batches; undefined if compute() throws.
Tensor value_on_one_rank(const MetricCase& c, Device device = kCPU) {
  const std::unique_ptr<Metric> metric = c.make();
  for (size_t i = 0; i < c.preds.size(); ++i) metric->update(c.preds[i].to(device), c.target[i].to(device));
  try {
    return metric->compute();
  } catch (const Error&) {
    return {};
  }
}

/// Returns the rank that gets a batch of a case. In every third case, the last rank has no batch.
int owner(size_t c, size_t batch, int size) {
  const int owners = c % 3 == 0 ? size - 1 : size;
  return static_cast<int>(test::unit(static_cast<int64_t>(batch), static_cast<uint32_t>(c)) * owners);
}

/// Computes case c with its batches split over the ranks of `group`. Returns what is wrong, "" if nothing is.
std::string wrong_over_ranks(size_t c, const Tensor& expected, const distributed::ProcessGroupPtr& group,
                             Device device = kCPU) {
  const MetricCase& from = cases()[c];
  const std::unique_ptr<Metric> metric = from.make();
  for (size_t i = 0; i < from.preds.size(); ++i)
    if (owner(c, i, group->size()) == group->rank())
      metric->update(from.preds[i].to(device), from.target[i].to(device));
  Tensor value;
  try {
    value = metric->compute();
  } catch (const distributed::DistributedError&) {
    throw;
  } catch (const Error&) {}
  if (value.defined() != expected.defined()) return from.text + (value.defined() ? ": a value" : ": no value");
  if (!value.defined()) return "";
  value = value.to(kCPU);
  const bool equal =
      from.counts ? value.equal(expected)
                  : value.sizes() == expected.sizes() &&
                        test::is_near(value, std::vector<double>(expected.data_ptr<double>(),
                                                                 expected.data_ptr<double>() + expected.numel()));
  std::ostringstream text;
  if (!equal) text << from.text << ": rank " << group->rank() << " of " << group->size() << " has " << value;
  return text.str();
}

}  // namespace

TEST_CASE("metrics equal torchmetrics' in 1,000 random cases", "[metrics]") {
  const NoStderr quiet;
  REQUIRE(cases().size() == 1000);
  for (const MetricCase& c : cases()) {
    INFO(c.text);
    const Tensor value = value_on_one_rank(c);
    REQUIRE(value.defined() == c.has_value);
    if (!c.has_value) continue;
    INFO("computed " << value);
    REQUIRE(value.sizes() == IntArrayRef(c.shape));
    REQUIRE((value.dtype() == kFloat64 || value.dtype() == kInt64));
    REQUIRE(test::is_near(value, c.value));
  }
}

TEST_CASE("metrics split unevenly over ranks equal those of one rank", "[metrics][ranks]") {
  const NoStderr quiet;
  std::vector<Tensor> expected;
  for (const MetricCase& c : cases()) expected.push_back(value_on_one_rank(c));
  const auto compare = [&](const std::string& backend, int size, size_t step) {
    const std::string failure = test::find_backend_failure(backend, size, [&](const auto& group) {
      for (size_t c = 0; c < cases().size(); c += step) {
        const std::string wrong = wrong_over_ranks(c, expected[c], group);
        TANDEM_CHECK(wrong.empty(), wrong);
      }
    });
    INFO(backend << ", " << size << " ranks");
    CHECK(failure == "");
  };
  for (const int size : {2, 3, 4}) compare("local", size, TANDEM_TEST_SANITIZED ? 7 : 1);
  if (TANDEM_HAS_GLOO) compare("gloo", 3, 10);
}

TEST_CASE("metrics of GPU tensors equal those of the CPU, on one rank and over ranks", "[metrics][cuda][ranks]") {
  if (!cuda::is_available()) return;
  const NoStderr quiet;
  // The kernels of emulated GPUs are slow.
  const size_t step = TANDEM_TEST_EMULATED ? 40 : 5;
  std::vector<Tensor> expected(cases().size());
  for (size_t c = 0; c < cases().size(); c += step) {
    INFO(cases()[c].text);
    const Tensor value = value_on_one_rank(cases()[c], kCUDA);
    REQUIRE(value.defined() == cases()[c].has_value);
    expected[c] = value.defined() ? value.to(kCPU) : value;
    if (!value.defined()) continue;
    CHECK(value.is_cuda());
    CHECK(test::is_near(value, cases()[c].value));
  }
  for (const std::string& backend : test::backends(kCUDA)) {
    if (!test::can_run(backend, 2)) continue;
    const std::string failure = test::find_backend_failure(backend, 2, [&](const auto& group) {
      for (size_t c = 0; c < cases().size(); c += 2 * step) {
        const std::string wrong = wrong_over_ranks(c, expected[c], group, test::device_for_rank(group->rank()));
        TANDEM_CHECK(wrong.empty(), wrong);
      }
    });
    INFO(backend);
    CHECK(failure == "");
  }
}
