// Parses and formats the header of safetensors by nlohmann/json, and checks that the tensors' byte ranges fit the file.
#include "tandem/serialize/safetensors_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace tandem::detail {
namespace {

using OrderedJson = nlohmann::ordered_json;
constexpr const char* kMetadataKey = "__metadata__";

struct DTypeName {
  DType dtype;
  const char* name;
};
// Dtypes and their names in the format, in the order of the Python library's enumeration, which determines the order of
// the tensors in a file.
constexpr DTypeName kDTypeNames[] = {{kBool, "BOOL"},   {kUInt8, "U8"},      {kInt8, "I8"},   {kInt16, "I16"},
                                     {kFloat16, "F16"}, {kBFloat16, "BF16"}, {kInt32, "I32"}, {kFloat32, "F32"},
                                     {kFloat64, "F64"}, {kInt64, "I64"}};

const DTypeName& find_dtype_name(DType dtype) {
  return *std::find_if(std::begin(kDTypeNames), std::end(kDTypeNames),
                       [&](const DTypeName& n) { return n.dtype == dtype; });
}

/// Parses JSON. Refuses an object in which a name occurs twice; the JSON library would silently keep the last value.
OrderedJson parse_json(const std::string& text, const std::string& path) {
  std::vector<std::set<std::string>> names;  // stack of the names in each object that is being parsed
  // The header has three levels: names, entries and lists. Much deeper nesting could overflow the stack when it is
  // printed.
  constexpr int kMaxDepth = 8;
  const OrderedJson::parser_callback_t callback = [&](int depth, OrderedJson::parse_event_t event, OrderedJson& value) {
    TANDEM_CHECK(depth <= kMaxDepth, "load_safetensors: the header of ", path, " nests deeper than ", kMaxDepth,
                 " levels, the most that are accepted");
    if (event == OrderedJson::parse_event_t::object_start) names.emplace_back();
    if (event == OrderedJson::parse_event_t::object_end) names.pop_back();
    if (event == OrderedJson::parse_event_t::key)
      TANDEM_CHECK(names.back().insert(value.get<std::string>()).second, "load_safetensors: the header of ", path,
                   " has the name '", value.get<std::string>(), "' twice; each name must occur once");
    return true;
  };
  try {
    return OrderedJson::parse(text, callback);
  } catch (const nlohmann::json::exception& e) {
    TANDEM_FAIL("load_safetensors: the header of ", path, " is not valid JSON: ", e.what());
  }
}

uint64_t unsigned_value(const OrderedJson& value, const char* what, const std::string& name, const std::string& path) {
  TANDEM_CHECK(value.is_number_unsigned(), "load_safetensors: ", what, " of '", name, "' in ", path, " holds ",
               value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace), "; accepted: non-negative integers");
  return value.get<uint64_t>();
}

SafetensorsEntry parse_entry(const std::string& name, const OrderedJson& json, const std::string& path) {
  const auto member = [&](const char* key) -> const OrderedJson& {
    TANDEM_CHECK(json.is_object() && json.contains(key), "load_safetensors: '", name, "' in ", path, " has no ", key,
                 "; accepted: an object with dtype, shape and data_offsets");
    return json.at(key);
  };
  const OrderedJson &dtype = member("dtype"), &shape = member("shape"), &offsets = member("data_offsets");
  const auto* known = std::find_if(std::begin(kDTypeNames), std::end(kDTypeNames),
                                   [&](const DTypeName& n) { return dtype.is_string() && dtype == n.name; });
  TANDEM_CHECK(known != std::end(kDTypeNames), "load_safetensors: '", name, "' in ", path, " is of dtype ",
               dtype.dump(-1, ' ', false, OrderedJson::error_handler_t::replace),
               "; accepted: F64, F32, F16, BF16, I64, I32, I16, I8, U8, BOOL");
  TANDEM_CHECK(shape.is_array() && shape.size() <= kMaxDims, "load_safetensors: shape of '", name, "' in ", path,
               " is not a list of at most ", kMaxDims, " sizes");
  TANDEM_CHECK(offsets.is_array() && offsets.size() == 2, "load_safetensors: data_offsets of '", name, "' in ", path,
               " are not two numbers; accepted: [BEGIN, END]");
  SafetensorsEntry entry{name,
                         known->dtype,
                         {},
                         unsigned_value(offsets[0], "data_offsets", name, path),
                         unsigned_value(offsets[1], "data_offsets", name, path)};
  // Product of sizes in bytes; a size of 0 counts as 1, so that strides cannot overflow either
  int64_t widest = element_size(entry.dtype);
  for (const OrderedJson& s : shape) {
    const uint64_t size = unsigned_value(s, "shape", name, path);
    TANDEM_CHECK(
        size <= INT64_MAX && !__builtin_mul_overflow(widest, std::max<int64_t>(static_cast<int64_t>(size), 1), &widest),
        "load_safetensors: shape of '", name, "' in ", path, " is more than memory can address: ", shape.dump(),
        "; the file is damaged");
    entry.sizes.push_back(static_cast<int64_t>(size));
  }
  const auto bytes = static_cast<uint64_t>(numel_of(entry.sizes) * element_size(entry.dtype));
  TANDEM_CHECK(entry.begin <= entry.end && entry.end - entry.begin == bytes, "load_safetensors: '", name, "' in ", path,
               " is ", entry.sizes, " of ", entry.dtype, ", ", bytes, " bytes, but its data_offsets are ", entry.begin,
               " to ", entry.end, "; they must be that many bytes apart");
  return entry;
}

}  // namespace

SafetensorsHeader plan_safetensors_header(const std::vector<std::pair<std::string, Tensor>>& tensors,
                                          const SafetensorsMetadata& metadata, const std::string& path) {
  SafetensorsHeader header{{}, metadata};
  std::set<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    TANDEM_CHECK(name != kMetadataKey, "save_safetensors: a tensor for ", path, " is named ", kMetadataKey,
                 ", a name that the format reserves; use another name");
    TANDEM_CHECK(names.insert(name).second, "save_safetensors: two tensors for ", path, " are named '", name,
                 "'; each name must occur once");
    TANDEM_CHECK(tensor.defined(), "save_safetensors: tensor '", name, "' for ", path,
                 " is undefined; accepted: defined tensors");
    header.entries.push_back({name, tensor.dtype(), tensor.sizes(), 0, static_cast<uint64_t>(tensor.nbytes())});
  }
  std::sort(header.entries.begin(), header.entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    const auto *rank_a = &find_dtype_name(a.dtype), *rank_b = &find_dtype_name(b.dtype);
    return rank_a != rank_b ? rank_a > rank_b : a.name < b.name;
  });
  uint64_t at = 0;
  for (SafetensorsEntry& e : header.entries) {
    e.begin = at;
    e.end = at += e.end;  // until here, `end` held the length in bytes
  }
  return header;
}

std::string format_safetensors_header(const SafetensorsHeader& header, const std::string& path) {
  OrderedJson json = OrderedJson::object();
  if (!header.metadata.empty()) json[kMetadataKey] = header.metadata;
  for (const SafetensorsEntry& e : header.entries) {
    OrderedJson& entry = json[e.name];
    entry["dtype"] = find_dtype_name(e.dtype).name;
    entry["shape"] = e.sizes.vec();
    entry["data_offsets"] = {e.begin, e.end};
  }
  std::string text;
  try {
    text = json.dump();
  } catch (const nlohmann::json::exception& e) {
    TANDEM_FAIL("save_safetensors: a name or metadata for ", path, " is not valid UTF-8: ", e.what());
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  TANDEM_CHECK(text.size() <= kMaxSafetensorsHeaderBytes, "save_safetensors: the header of ", path, " takes ",
               text.size(), " bytes; accepted: up to ", kMaxSafetensorsHeaderBytes);
  return text;
}

SafetensorsHeader parse_safetensors_header(const std::string& text, uint64_t data_bytes, const std::string& path) {
  const OrderedJson json = parse_json(text, path);
  TANDEM_CHECK(json.is_object(), "load_safetensors: the header of ", path,
               " is not a JSON object; the file is damaged");
  SafetensorsHeader header;
  for (const auto& [name, value] : json.items()) {
    if (name != kMetadataKey) {
      header.entries.push_back(parse_entry(name, value, path));
      continue;
    }
    TANDEM_CHECK(value.is_object(), "load_safetensors: ", kMetadataKey, " in ", path,
                 " is not an object; accepted: an object whose values are strings");
    for (const auto& [key, text_value] : value.items()) {
      TANDEM_CHECK(text_value.is_string(), "load_safetensors: ", kMetadataKey, " '", key, "' in ", path,
                   " is not a string; accepted: strings");
      header.metadata[key] = text_value.get<std::string>();
    }
  }
  std::sort(header.entries.begin(), header.entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  uint64_t at = 0;
  for (const SafetensorsEntry& e : header.entries) {
    TANDEM_CHECK(e.begin == at, "load_safetensors: '", e.name, "' in ", path, " begins at ", e.begin,
                 e.begin < at ? ", within the tensor before it, which ends at " : ", after unused bytes from ", at,
                 "; accepted: tensors without gaps or overlaps");
    at = e.end;
  }
  TANDEM_CHECK(at == data_bytes, "load_safetensors: the tensors of ", path, " take ", at, " bytes, but the file holds ",
               data_bytes, at > data_bytes ? ": it is truncated" : ": it has extra bytes");
  return header;
}

std::map<std::string, std::string> parse_safetensors_index(const std::string& text, const std::string& path) {
  const OrderedJson json = parse_json(text, path);
  TANDEM_CHECK(json.is_object() && json.contains("weight_map") && json.at("weight_map").is_object(),
               "load_safetensors: ", path,
               " has no weight_map; accepted: an index, such as model.safetensors.index.json");
  std::map<std::string, std::string> out;
  for (const auto& [name, file] : json.at("weight_map").items()) {
    const std::string shard = file.is_string() ? file.get<std::string>() : "";
    TANDEM_CHECK(!shard.empty() && shard.find('/') == std::string::npos && shard[0] != '.' &&
                     shard.find('\0') == std::string::npos,
                 "load_safetensors: the index ", path, " places '", name, "' in ",
                 file.dump(-1, ' ', false, OrderedJson::error_handler_t::replace),
                 "; accepted: names of files in its folder");
    out[name] = shard;
  }
  return out;
}

}  // namespace tandem::detail
