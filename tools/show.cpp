// `tandem show`: lists the tensors of a file with their names, dtypes, shapes and bytes, and the file's other values.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tandem/serialize/archive.h"
#include "tandem/serialize/file_format.h"
#include "tandem/tools/atomic_file.h"
#include "tandem/tools/commands.h"
#include "tandem/tools/page/format.h"
#include "tandem/tools/usage.h"

namespace tandem::tools {
namespace {

using nlohmann::json;

struct FileContents {
  std::string format = "torch.save";
  // In both lists, a name consists of the keys that lead to the value, separated by dots:
  // "optimizer.param_groups.0.lr".
  std::vector<std::pair<std::string, Tensor>> tensors = {};
  std::vector<std::pair<std::string, json>> other_values = {};
  SafetensorsMetadata metadata = {};
  int64_t elements = 0, bytes = 0;
  // Total bytes of all storages. A storage that several tensors share is counted once.
  int64_t storage_bytes = 0;
};

bool is_sequence(const IValue& value) { return value.isList() || value.isTuple(); }
/// Returns whether a list contains no tensors, lists or dicts, so that it is shown on one line.
bool is_list_of_scalars(const IValue& list) {
  return std::none_of(list.elements().begin(), list.elements().end(),
                      [](const IValue& each) { return each.isTensor() || is_sequence(each) || each.isGenericDict(); });
}
/// Converts a value without tensors to JSON: a scalar, a string, an empty dict or a flat list.
json value_to_json(const IValue& value) {
  if (value.isNone()) return nullptr;
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return value.toInt();
  // Writes "nan" or "inf", which JSON cannot represent, as a string.
  if (value.isDouble() && !std::isfinite(value.toDouble())) return std::to_string(value.toDouble());
  if (value.isDouble()) return value.toDouble();
  if (value.isString()) return value.toStringRef();
  if (value.isDevice()) return value.toDevice().str();
  if (value.isDType()) return name(value.toDType());
  if (value.isGenericDict()) return json::object();
  json list = json::array();
  for (const IValue& each : value.elements()) list.push_back(value_to_json(each));
  return list;
}

/// Estimates the memory in bytes that a value takes, without the elements of a list or dict.
uint64_t estimate_bytes(const IValue& value) { return 64 + (value.isString() ? value.toStringRef().size() : 0); }

/// Appends a value to `to`. If the value is a list or dict, appends the values in it instead. @param memory_used
/// running estimate of the memory taken, in bytes
void collect_entries(const IValue& value, const std::string& name, FileContents& to, uint64_t& memory_used) {
  // Even a small file can refer to one list or string in many places, so that the listing would not fit in memory.
  constexpr uint64_t kMaxBytes = uint64_t{1} << 26;
  memory_used += name.size() + estimate_bytes(value);
  if (is_sequence(value))
    for (const IValue& each : value.elements()) memory_used += estimate_bytes(each);
  TANDEM_CHECK(memory_used <= kMaxBytes, "the values and their names take more than ", kMaxBytes,
               " bytes, which is the most that is accepted");
  const auto child_name = [&](const std::string& key) { return name.empty() ? key : name + "." + key; };
  const std::string own = name.empty() ? "0" : name;  // InputArchive gives a value without a name the key "0"
  if (value.isTensor())
    to.tensors.emplace_back(own, value.toTensor());
  else if (value.isGenericDict() && !value.entries().empty())
    for (const auto& [key, child] : value.entries())
      collect_entries(child, child_name(key.isInt() ? std::to_string(key.toInt()) : key.toStringRef()), to,
                      memory_used);
  else if (is_sequence(value) && !is_list_of_scalars(value))
    for (size_t i = 0; i < value.elements().size(); ++i)
      collect_entries(value.elements()[i], child_name(std::to_string(i)), to, memory_used);
  else
    to.other_values.emplace_back(own, value_to_json(value));
}

/// Reads a file's contents. A safetensors file is mapped into memory, so that the data of its tensors are not read.
FileContents read_contents(const std::string& path) {
  FileContents all;
  const bool is_index = path.ends_with(".json");
  if (is_index || format_of(FileSource("show", path)) == FileFormat::safetensors) {
    all.format = is_index ? "safetensors in several files" : "safetensors";
    for (auto& [name, tensor] : load_safetensors(path, &all.metadata, /*mmap=*/true))
      all.tensors.emplace_back(name, std::move(tensor));
  } else {
    serialize::InputArchive archive;
    archive.load_from(path);
    uint64_t memory_used = 0;
    with_error_context(path, [&] { collect_entries(archive.value(), "", all, memory_used); });
  }
  std::set<const void*> seen;
  for (const auto& [name, tensor] : all.tensors) {
    all.elements += tensor.numel();
    all.bytes += tensor.nbytes();
    if (seen.insert(tensor.storage().get()).second) all.storage_bytes += tensor.storage()->bytes;
  }
  return all;
}

/// Formats a value as one short line of JSON. JSON escapes control characters.
std::string format_short_json(const json& value) {
  constexpr size_t kMaxTextBytes = 80;  // maximum length in bytes
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() <= kMaxTextBytes) return text;
  size_t end = kMaxTextBytes;
  while ((text[end] & 0xc0) == 0x80) --end;  // does not cut a UTF-8 character in two
  return text.substr(0, end) + "...";
}
std::string format_name(const std::string& name) {
  const std::string quoted = json(name).dump(-1, ' ', false, json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

/// Prints rows in aligned columns. @param numbers_last  whether the last column contains numbers and is right-aligned
void print_table(const std::vector<std::vector<std::string>>& rows, bool numbers_last) {
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows)
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], page::character_count(row[c]));
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c + 1 < row.size(); ++c)
      line += row[c] + std::string(widths[c] - page::character_count(row[c]) + 2, ' ');
    if (numbers_last) line += std::string(widths.back() - page::character_count(row.back()), ' ');
    std::printf("%s%s\n", line.c_str(), row.back().c_str());
  }
}
template <class Pairs> void print_values(const char* title, const Pairs& values) {
  if (values.empty()) return;
  std::vector<std::vector<std::string>> rows;
  rows.reserve(values.size());
  for (const auto& [name, value] : values) rows.push_back({"  " + format_name(name), format_short_json(value)});
  std::printf("\n%s\n", title);
  print_table(rows, /*numbers_last=*/false);
}
void print_contents(const std::string& path, const FileContents& all) {
  std::ostringstream head;
  head << path << ": " << all.format << "; tensors: " << all.tensors.size() << ", elements: " << all.elements
       << ", bytes: " << all.bytes << "\n";
  if (all.storage_bytes != all.bytes)
    head << "the storages take " << all.storage_bytes
         << " bytes: some tensors share a storage, or view only a part of it\n";
  std::printf("%s", head.str().c_str());
  std::vector<std::vector<std::string>> rows = {{"name", "dtype", "shape", "bytes"}};
  for (const auto& [name, tensor] : all.tensors) {
    std::ostringstream shape;
    shape << tensor.sizes();
    rows.push_back({format_name(name), detail::name(tensor.dtype()), shape.str(), std::to_string(tensor.nbytes())});
  }
  if (!all.tensors.empty()) {
    std::printf("\n");
    print_table(rows, /*numbers_last=*/true);
  }
  print_values("other values", all.other_values);
  print_values("metadata", all.metadata);
}

std::string format_json(const std::string& path, const FileContents& all) {
  json tensors = json::array(), other_values = json::array();
  for (const auto& [name, tensor] : all.tensors)
    tensors.push_back({{"name", name},
                       {"dtype", detail::name(tensor.dtype())},
                       {"shape", tensor.sizes().vec()},
                       {"bytes", tensor.nbytes()}});
  for (const auto& [name, value] : all.other_values) other_values.push_back({{"name", name}, {"value", value}});
  const json out = {{"file", path},
                    {"format", all.format},
                    {"tensors", tensors},
                    {"values", other_values},
                    {"metadata", all.metadata},
                    {"elements", all.elements},
                    {"bytes", all.bytes},
                    {"storage_bytes", all.storage_bytes}};
  return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

void show(const ShowSettings& settings) {
  check_can_write("--json", settings.json);
  const FileContents all = rethrow_as_usage_error([&] { return read_contents(settings.file); });
  print_contents(settings.file, all);
  if (!settings.json.empty()) write_file_atomically("show", settings.json, format_json(settings.file, all));
}

}  // namespace tandem::tools
