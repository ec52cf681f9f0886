#include "tandem/serialize/module.h"

namespace tandem {
namespace {

/// An error that does not know of the file, with its name in front.
template <class F> void naming(const std::string& path, F f) {
  try {
    f();
  } catch (const Error& error) {
    throw Error("load: " + path + ": " + error.what());
  }
}

}  // namespace

void save_module(const nn::Module& module, const std::string& path) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& item : module.state_dict()) tensors.emplace_back(item.key(), item.value());
  save_safetensors(tensors, path);
}
void load_module(nn::Module& module, const std::string& path) {
  nn::NamedParameters state;
  for (auto& [name, tensor] : load_safetensors(path)) state.insert(name, std::move(tensor));
  naming(path, [&] { module.load_state_dict(state); });
}

namespace {
const std::string kSetting = "options.";  // before the names of settings in the metadata
}
void save(const optim::Optimizer& optimizer, const std::string& path) {
  SafetensorsMetadata metadata;
  for (const auto& [name, text] : optimizer.settings()) metadata[kSetting + name] = text;
  save_safetensors(optimizer.state(), path, metadata);
}
void load(optim::Optimizer& optimizer, const std::string& path) {
  SafetensorsMetadata metadata;
  const NamedTensors state = load_safetensors(path, &metadata);
  optim::Optimizer::Settings settings;
  for (const auto& [name, text] : metadata)
    if (name.rfind(kSetting, 0) == 0) settings[name.substr(kSetting.size())] = text;
  naming(path, [&] { optimizer.load_state({state.begin(), state.end()}, settings); });
}

void save(const std::vector<Tensor>& tensors, const std::string& path) {
  std::vector<std::pair<std::string, Tensor>> named;
  named.reserve(tensors.size());
  for (const Tensor& t : tensors) named.emplace_back(std::to_string(named.size()), t);
  save_safetensors(named, path);
}
void load(std::vector<Tensor>& tensors, const std::string& path) {
  const NamedTensors named = load_safetensors(path);
  std::vector<Tensor> out;
  for (size_t i = 0; i < named.size(); ++i) {
    const auto found = named.find(std::to_string(i));
    TANDEM_CHECK(found != named.end(), "load: ", path, " has no tensor '", i, "' among its ", named.size(),
                 "; a list's are named 0, 1, ...");
    out.push_back(found->second);
  }
  tensors = std::move(out);
}

}  // namespace tandem
