// Implements the parts of from_pretrained() and save_pretrained() that all models share.
#include "tandem/models/pretrained.h"

#include <cstdio>
#include <filesystem>
#include <map>
#include <sstream>

#include "tandem/ops/ops.h"
#include "tandem/serialize/archive.h"
#include "tandem/serialize/file.h"

namespace tandem::models::detail {
namespace {

/// Joins at most 8 names, followed by the number of others.
std::string list_names(const std::vector<std::string>& names) {
  constexpr size_t kMost = 8;
  std::string out;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) out += (i ? ", " : "") + names[i];
  if (names.size() > kMost) out += " and " + std::to_string(names.size() - kMost) + " more";
  return out;
}

}  // namespace

std::string path_in(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / name).string();
}

std::string find_weights_file(const std::string& model, const std::string& folder) {
  for (const char* const name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"})
    if (std::filesystem::exists(path_in(folder, name))) return path_in(folder, name);
  TANDEM_FAIL(model, ": ", folder, " has no weights; accepted: model.safetensors or pytorch_model.bin");
}

void load_pretrained(const nn::NamedParameters& state, const PretrainedNames& names, const std::string& folder,
                     const PretrainedOptions& options, LoadingInfo* info) {
  const std::string path = find_weights_file(names.model, folder);
  serialize::InputArchive archive;
  archive.load_from(path);
  LoadingInfo found;
  std::map<std::string, std::pair<std::string, Tensor>> in_file;  // by the model's name: name in the file, and tensor
  tandem::detail::with_error_context(path, [&] {
    for (auto& [name, tensor] : tandem::detail::flatten_tensors(archive.value(), /*skip_others=*/true)) {
      const std::string own_name = names.to_model(name);
      if (!state.contains(own_name) || !in_file.emplace(own_name, std::pair(name, tensor)).second)
        found.unexpected_keys.push_back(name);
    }
  });
  nn::NamedParameters loaded;
  std::vector<std::string> mismatches, absent;
  for (const auto& item : state) {
    const auto from = in_file.find(item.key());
    if (from == in_file.end()) {
      found.missing_keys.push_back(item.key());
      if (!names.may_be_missing(item.key())) absent.push_back(item.key());
      continue;
    }
    const auto& [name, tensor] = from->second;
    if (tensor.sizes() == item->sizes()) {
      loaded.insert(item.key(), tensor);
    } else {
      std::ostringstream text;
      text << name << " is " << tensor.sizes() << " in the file and " << item->sizes() << " in the model";
      mismatches.push_back(text.str());
      found.mismatched_keys.push_back(item.key());
    }
  }
  TANDEM_CHECK(mismatches.empty() || options.ignore_mismatched_sizes(), names.model, ": ", path,
               " does not fit config.json: ", list_names(mismatches),
               "; ignore_mismatched_sizes(true) keeps the initial values of such tensors");
  TANDEM_CHECK(absent.empty(), names.model, ": ", path, " lacks ", list_names(absent));
  {
    const NoGradGuard no_grad;
    for (const auto& item : loaded) state[item.key()].copy_(item.value());
  }
  std::vector<std::string> fresh = found.missing_keys;
  fresh.insert(fresh.end(), found.mismatched_keys.begin(), found.mismatched_keys.end());
  if (info)
    *info = std::move(found);
  else if (!fresh.empty())
    std::fprintf(
        stderr,
        "tandem: warning: %s: weights that %s does not have were newly initialized: %s. Train the model before "
        "it is used for predictions.\n",
        names.model.c_str(), path.c_str(), list_names(fresh).c_str());
}

void save_pretrained(const nn::NamedParameters& state, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  TANDEM_CHECK(!error, "save_pretrained: ", folder, " cannot be created: ", error.message());
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& item : state) tensors.emplace_back(item.key(), item->detach());
  save_safetensors(tensors, path_in(folder, "model.safetensors"), {{"format", "pt"}});
}

}  // namespace tandem::models::detail
