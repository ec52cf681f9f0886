// Implements RunningMeans.
#include "tandem/train/running_means.h"

#include <cstring>

#include "tandem/core/internal.h"
#include "tandem/ops/ops.h"
#include "tandem/serialize/archive.h"

namespace tandem::train {
namespace {

void append_bytes(std::string& to, const void* from, size_t bytes) { to.append(static_cast<const char*>(from), bytes); }
template <class T> T take(const std::string& bytes, size_t& at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  at += sizeof value;
  return value;
}

}  // namespace

void RunningMeans::add(const detail::LoggedValue& value) {
  Entry& entry = entries_[value.name];
  const double factor = value.is_sum ? 1 : value.weight;
  entry.weight += value.weight;
  if (value.value.is_cpu())
    entry.sum += value.value.item<double>() * factor;
  else
    entry.unread.emplace_back(value.value.detach().reshape({}), factor);
}

void RunningMeans::read() {
  for (auto& [name, entry] : entries_) {
    if (entry.unread.empty()) continue;
    std::vector<Tensor> values;
    for (const auto& [value, factor] : entry.unread)
      values.push_back(value.to(entry.unread[0].first.device(), kFloat64));
    const Tensor here = stack(values).cpu();  // one copy for all
    for (size_t i = 0; i < values.size(); ++i) entry.sum += here.data_ptr<double>()[i] * entry.unread[i].second;
    entry.unread.clear();
  }
}

std::string RunningMeans::pack() {
  read();
  std::string bytes;
  for (const auto& [name, entry] : entries_) {
    const size_t length = name.size();
    append_bytes(bytes, &length, sizeof length);
    bytes += name;
    append_bytes(bytes, &entry.sum, sizeof entry.sum);
    append_bytes(bytes, &entry.weight, sizeof entry.weight);
  }
  return bytes;
}

std::map<std::string, double> RunningMeans::merge(const std::vector<std::string>& of_ranks) {
  std::map<std::string, std::pair<double, double>> totals;
  for (const std::string& bytes : of_ranks)
    for (size_t at = 0; at < bytes.size();) {
      const auto length = take<size_t>(bytes, at);
      auto& [sum, weight] = totals[bytes.substr(at, length)];
      at += length;
      sum += take<double>(bytes, at);
      weight += take<double>(bytes, at);
    }
  std::map<std::string, double> means;
  for (const auto& [name, total] : totals) means[name] = total.first / total.second;
  return means;
}

void RunningMeans::save(serialize::OutputArchive& archive) {
  read();
  IValue values = IValue::dict();
  for (const auto& [name, entry] : entries_) values.insert(name, IValue(std::vector<double>{entry.sum, entry.weight}));
  archive.write("means", values);
}
void RunningMeans::load(serialize::InputArchive& archive) {
  IValue values;
  archive.read("means", values);
  clear();
  for (const IValue::Entry& each : values.entries()) {
    const std::vector<double> numbers = each.value().toDoubleVector();
    TANDEM_CHECK(numbers.size() == 2, "Trainer: the mean of ", each.key().toStringRef(), " has ", numbers.size(),
                 " numbers; expected a sum and a weight");
    entries_[each.key().toStringRef()] = {numbers[0], numbers[1]};
  }
}

}  // namespace tandem::train
