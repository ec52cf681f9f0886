// Saves and loads models in Hugging Face's layout: a folder with config.json and model.safetensors.
#pragma once
#include "tandem/core/option.h"
#include "tandem/nn/module.h"

namespace tandem::models {

/// Options of from_pretrained().
struct PretrainedOptions {
  /// If true, a tensor whose sizes differ from the model's is left at its initial values. If false, it is an error.
  TANDEM_ARG(bool, ignore_mismatched_sizes) = false;
};

/// Differences between a model and a file of weights, with the names that Hugging Face's loading_info has.
struct LoadingInfo {
  std::vector<std::string> missing_keys;     // tensors of the model that the file lacks; they keep their initial values
  std::vector<std::string> unexpected_keys;  // tensors of the file that the model lacks; they were ignored
  std::vector<std::string> mismatched_keys;  // tensors of other sizes, ignored because of ignore_mismatched_sizes
};

namespace detail {

/// Describes how the tensors of a file belong to a model.
struct PretrainedNames {
  std::string model;  // class name, for error messages
  /// Converts a name in the file to the model's name.
  std::function<std::string(const std::string&)> to_model;
  /// Returns whether a model may be loaded from a file that lacks this tensor.
  std::function<bool(const std::string&)> may_be_missing;
};

/// Returns the path of a file in a folder.
std::string path_in(const std::string& folder, const std::string& name);
/// Returns the path of a folder's weights: model.safetensors, its index, or pytorch_model.bin.
/// @throws Error that names the folder if it has none of them
std::string find_weights_file(const std::string& model, const std::string& folder);
/// Copies the weights of a folder into `module`, whose tensors are named by `state`. If `info` is null, prints a
/// warning that lists the tensors which keep their initial values.
/// @throws Error that names each tensor which is missing or has other sizes; then nothing is changed
void load_pretrained(const nn::NamedParameters& state, const PretrainedNames& names, const std::string& folder,
                     const PretrainedOptions& options, LoadingInfo* info);
/// Creates the folder if necessary, and writes the tensors to its model.safetensors.
void save_pretrained(const nn::NamedParameters& state, const std::string& folder);

}  // namespace detail
}  // namespace tandem::models
