// Reads recorded GPT steps and all-reduces, and fits the parameters of the time model to them.
#include "tandem/tools/simulate/gpt_model.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "tandem/core/error.h"
#include "tandem/tools/simulate/collectives.h"
#include "tandem/tools/simulate/minimize.h"

namespace tandem::simulate {
namespace {

constexpr double kVocabulary = 51200;  // GPT-2's vocabulary, padded to a multiple of 1024, as Megatron does
// Bytes per element, because the recorded runs used float16.
constexpr double kBytesPerElement = 2;

/// Reads the next line and removes a carriage return at its end. @return false at the end of the file
bool read_line(std::istream& in, std::string& line) {
  if (!std::getline(in, line)) return false;
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return true;
}

/// Reads a CSV file whose first line contains the names of its columns. Returns the numbers of each row, in the order
/// of `columns`.
std::vector<std::vector<double>> read_csv(const std::string& path, const std::vector<std::string>& columns) {
  std::ifstream in(path);
  TANDEM_CHECK(in, "simulate: cannot read ", path, ": ", std::strerror(errno));
  std::string line, field;
  read_line(in, line);
  std::vector<std::string> names;
  for (std::istringstream fields(line); std::getline(fields, field, ',');) names.push_back(field);
  std::vector<size_t> from;
  from.reserve(columns.size());
  for (const std::string& column : columns) {
    const auto at = std::find(names.begin(), names.end(), column);
    TANDEM_CHECK(at != names.end(), "simulate: ", path, " has no column ", column, "; its first line is: ", line);
    from.push_back(static_cast<size_t>(at - names.begin()));
  }
  std::vector<std::vector<double>> rows;
  for (int number = 2; read_line(in, line); ++number) {
    if (line.empty()) continue;
    std::vector<double> values;
    for (std::istringstream fields(line); std::getline(fields, field, ',');) {
      char* end = nullptr;
      const double value = std::strtod(field.c_str(), &end);
      TANDEM_CHECK(end != field.c_str() && *end == '\0' && std::isfinite(value) && value > 0, "simulate: ", path,
                   " line ", number, ": a field is \"", field, "\"; accepted: a number above 0");
      values.push_back(value);
    }
    TANDEM_CHECK(values.size() == names.size(), "simulate: ", path, " line ", number, " has ", values.size(),
                 " fields; accepted: ", names.size(), ", as the first line has");
    std::vector<double> row;
    row.reserve(from.size());
    for (const size_t i : from) row.push_back(values[i]);
    rows.push_back(std::move(row));
  }
  TANDEM_CHECK(!rows.empty(), "simulate: ", path, " has no rows; accepted: at least one after the first line");
  return rows;
}

/// Returns the seconds that forward and backward of one layer take in one pass.
double layer_seconds(const GptTimeModel& model, const GptRow& row) {
  const double h = row.hidden_size, s = row.sequence_length, t = row.micro_batch * s * h;
  const double scores = row.micro_batch * row.num_heads * s * s;  // number of elements of the attention weights
  double seconds = 0;
  const auto add = [&](double times, double flops, double elements) {
    seconds += times * std::max({model.min_op_seconds, flops / model.flops_per_second,
                                 kBytesPerElement * elements / model.bandwidth});
  };
  // Matrix products run once in the forward and twice in the backward, once for the gradient of each operand.
  add(3, 6 * t * h, 4 * t + 3 * h * h);  // queries, keys and values
  add(3, 2 * t * s, 2 * t + scores);     // product of queries and keys
  add(3, 2 * t * s, 2 * t + scores);     // product of attention weights and values
  add(3, 2 * t * h, 2 * t + h * h);      // output projection
  add(6, 8 * t * h, 5 * t + 4 * h * h);  // the two products of the feed-forward block
  // The other operations only read and write elements. Their backward reads one more operand than their forward.
  const auto elementwise = [&](double elements) {
    add(1, 0, elements);
    add(1, 0, 1.5 * elements);
  };
  elementwise(2 * t);
  elementwise(2 * t);  // two layer norms
  elementwise(2 * scores);
  elementwise(2.5 * scores);  // softmax with its mask, and dropout with its mask
  elementwise(3.5 * t);
  elementwise(3.5 * t);  // bias, dropout and residual sum, twice
  elementwise(8 * t);    // bias and GELU
  return seconds;
}

/// Returns the seconds that the output projection and the loss take in one pass. The logits are read and written five
/// times in total.
double vocabulary_seconds(const GptTimeModel& model, const GptRow& row) {
  const double logits = row.micro_batch * row.sequence_length * kVocabulary;
  return 3 * 2 * logits * row.hidden_size / model.flops_per_second +
         5 * 2 * kBytesPerElement * logits / model.bandwidth;
}

}  // namespace

std::vector<GptRow> read_gpt_rows(const std::string& path) {
  std::vector<GptRow> rows;
  for (const std::vector<double>& v : read_csv(
           path, {"gpus", "global_batch", "micro_batch", "hidden", "heads", "layers", "sequence", "iteration_ms"})) {
    GptRow row;
    row.num_gpus = static_cast<int>(v[0]);
    row.global_batch = v[1];
    row.micro_batch = v[2];
    row.hidden_size = static_cast<int>(v[3]);
    row.num_heads = static_cast<int>(v[4]);
    row.num_layers = static_cast<int>(v[5]);
    row.sequence_length = static_cast<int>(v[6]);
    row.seconds = v[7] * 1e-3;
    rows.push_back(row);
  }
  return rows;
}

std::vector<LinkPoint> read_all_reduces(const std::string& path) {
  std::vector<LinkPoint> points;
  for (const std::vector<double>& v : read_csv(path, {"gpus", "bytes", "out_of_place_ns"}))
    points.push_back({v[1], v[2] * 1e-9, static_cast<int>(v[0])});
  return points;
}

double gpt_num_parameters(const GptRow& row) {
  const double h = row.hidden_size;
  return row.num_layers * (12 * h * h + 13 * h) + 2 * kVocabulary * h + row.sequence_length * h + 2 * h;
}

double gpt_pass_flops(const GptRow& row) {
  const double h = row.hidden_size, tokens = row.micro_batch * row.sequence_length;
  return 3 * tokens * (row.num_layers * (24 * h * h + 4.0 * row.sequence_length * h) + 2 * kVocabulary * h);
}

double gpt_all_reduce_seconds(const GptRow& row, int num_gpus, const Link& link) {
  return all_reduce_seconds(AllReduce::ring, kBytesPerElement * gpt_num_parameters(row), num_gpus, link);
}

double GptTimeModel::seconds(const GptRow& row) const {
  const double pass =
      row.num_layers * layer_seconds(*this, row) + vocabulary_seconds(*this, row) + fixed_seconds_per_pass;
  return scale * (row.passes() * pass + gpt_num_parameters(row) * optimizer_seconds_per_parameter +
                  gpt_all_reduce_seconds(row, row.num_gpus, link));
}

GptTimeModel fit_gpt_time_model(const std::vector<GptRow>& rows, const Link& link) {
  TANDEM_CHECK(rows.size() >= 5, "fit_gpt: ", rows.size(),
               " rows were given; accepted: 5 or more, to fit five parameters");
  const auto model_of = [&](const std::vector<double>& logs) {
    GptTimeModel model;
    model.min_op_seconds = std::exp(logs[0]);
    model.flops_per_second = std::exp(logs[1]);
    model.bandwidth = std::exp(logs[2]);
    model.fixed_seconds_per_pass = std::exp(logs[3]);
    model.optimizer_seconds_per_parameter = std::exp(logs[4]);
    model.link = link;
    return model;
  };
  const auto error = [&](const std::vector<double>& logs) {
    const GptTimeModel model = model_of(logs);
    double sum = 0;
    for (const GptRow& row : rows) sum += std::pow(model.seconds(row) / row.seconds - 1, 2);
    return sum;
  };
  // Starts from typical values of an A100 GPU. Fitting the logarithms of the parameters keeps the parameters positive.
  return model_of(
      minimize(error, {std::log(50e-6), std::log(200e12), std::log(1.3e12), std::log(3e-3), std::log(17e-12)}));
}

}  // namespace tandem::simulate
