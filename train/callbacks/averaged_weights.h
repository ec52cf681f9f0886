// AveragedWeights: a running average of a module's parameters. Internal.
#pragma once
#include "tandem/nn/module.h"
#include "tandem/serialize/archive.h"

namespace tandem::train {

class AveragedWeights {
 public:
  bool empty() const { return averages_.empty(); }
  /// Starts with the present values, or moves averages that load() has read to the parameters' devices.
  void start(const nn::Module& module);
  /// Sets average += (parameter - average) * share.
  void update(const nn::Module& module, double share);
  /// Exchanges the values of the parameters and of the averages.
  void swap(const nn::Module& module);
  void save(serialize::OutputArchive& archive) const;
  void load(serialize::InputArchive& archive);

 private:
  std::vector<Tensor> averages_;  // one for each parameter
};

}  // namespace tandem::train
