// EvaluationGuard: lets a module be evaluated without an effect on its training. Internal.
#pragma once
#include "tandem/core/generator.h"
#include "tandem/core/thread_context.h"
#include "tandem/nn/module.h"

namespace tandem::train {

/// While it lives, the module and its descendants are in evaluation mode, autograd records nothing, and random numbers
/// come from a generator of its own. Afterwards each module is in its own mode again.
class EvaluationGuard {
 public:
  EvaluationGuard(nn::Module& module, uint64_t seed, int rank)
      : scratch_(seed, static_cast<uint64_t>(rank)), generator_(scratch_) {
    module.apply([this](nn::Module& each) { modes_.emplace_back(&each, each.is_training()); });
    module.eval();
  }
  ~EvaluationGuard() {
    // Parents come first in the list, so that a module's own mode replaces the one from its parent.
    for (const auto& [module, was_training] : modes_)
      if (module->is_training() != was_training) module->train(was_training);
  }
  EvaluationGuard(const EvaluationGuard&) = delete;

 private:
  std::vector<std::pair<nn::Module*, bool>> modes_;
  Generator scratch_;
  GeneratorGuard generator_;
  NoGradGuard no_grad_;
};

}  // namespace tandem::train
