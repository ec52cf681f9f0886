#include "tandem/benchmarks/runner.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <thread>

namespace tandem::benchmarks {

double percentile(std::vector<double> samples, double part) {
  TANDEM_CHECK(!samples.empty(), "percentile: there are no samples; accepted: one or more");
  std::sort(samples.begin(), samples.end());
  const double at = part * static_cast<double>(samples.size() - 1), low = std::floor(at);
  const auto i = static_cast<size_t>(low);
  return i + 1 < samples.size() ? samples[i] + (at - low) * (samples[i + 1] - samples[i]) : samples.back();
}

std::vector<Case> find_cases(const std::vector<Benchmark>& table, const std::string& filter) {
  std::vector<std::string> parts;
  std::istringstream text(filter);
  for (std::string part; std::getline(text, part, ',');)
    if (!part.empty()) parts.push_back(part);
  std::vector<Case> cases;
  for (const Benchmark& benchmark : table) {
    const bool wanted = parts.empty() || std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
                          return benchmark.name.find(part) != std::string::npos;
                        });
    if (!wanted) continue;
    for (const Shapes& shapes : benchmark.cases) cases.push_back({&benchmark, shapes});
  }
  TANDEM_CHECK(!cases.empty(), "bench: no benchmark's name contains '", filter, "'; --list prints the names");
  return cases;
}

std::vector<Case> find_cases(const std::vector<Benchmark>& table, const std::vector<std::string>& keys) {
  std::vector<Case> cases;
  cases.reserve(keys.size());
  for (const std::string& key : keys) {
    const size_t space = key.find(' ');
    const auto found =
        std::find_if(table.begin(), table.end(), [&](const Benchmark& b) { return b.name == key.substr(0, space); });
    TANDEM_CHECK(space != std::string::npos && found != table.end(), "bench: '", key,
                 "' is not a case; accepted: a name that --list prints, a space, and sizes as in 64x784,784x10");
    Shapes shapes;
    std::istringstream inputs(key.substr(space + 1));
    for (std::string input; std::getline(inputs, input, ',');) {
      std::istringstream sizes(input);
      shapes.emplace_back();
      for (std::string size; std::getline(sizes, size, 'x');) {
        int64_t& number = shapes.back().emplace_back(0);
        const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), number);
        TANDEM_CHECK(error == std::errc() && end == size.data() + size.size() && number > 0, "bench: '", size, "' in '",
                     key, "' is not a size; accepted: positive integers");
      }
    }
    const size_t expected_inputs = found->cases.at(0).size();
    TANDEM_CHECK(shapes.size() == expected_inputs, "bench: '", key, "' has sizes of ", shapes.size(),
                 " input(s); accepted: ", expected_inputs, ", as in '", Case{&*found, found->cases[0]}.key(), "'");
    cases.push_back({&*found, std::move(shapes)});
  }
  return cases;
}

std::vector<CaseResult> run_cases(const std::vector<Case>& cases, const std::vector<std::unique_ptr<Program>>& programs,
                                  const Settings& settings, const std::function<void(double)>& progress) {
  std::vector<CaseResult> rows;
  const double steps = static_cast<double>(cases.size()) * (settings.repeats + 1);
  double done = 0;
  for (const Case& c : cases) {
    CaseResult row{.c = c, .samples_by_program = {}};
    for (const auto& program : programs)
      if (const std::optional<double> estimate = program->prepare(c)) {
        const double calls = settings.seconds / std::max(*estimate, 1e-9);
        row.samples_by_program.push_back(
            {program->name(), std::clamp<int64_t>(static_cast<int64_t>(calls), 1, 10000000), {}});
      }
    rows.push_back(std::move(row));
    progress(++done / steps);
  }
  for (int repeat = 0; repeat < settings.repeats; ++repeat)
    for (CaseResult& row : rows) {
      for (size_t i = 0; i < row.samples_by_program.size(); ++i) {
        Samples& samples = row.samples_by_program[repeat % 2 ? row.samples_by_program.size() - 1 - i : i];
        const auto program =
            std::find_if(programs.begin(), programs.end(), [&](const auto& p) { return p->name() == samples.program; });
        // Waits, because threads of the previous program may still spin in search of work.
        if (programs.size() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(3));
        samples.seconds.push_back((*program)->measure_seconds_per_call(row.c, samples.iterations));
      }
      progress(++done / steps);
    }
  return rows;
}

}  // namespace tandem::benchmarks
