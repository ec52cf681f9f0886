// One call of clone(): pairs each module of the original with its copy.
#pragma once
#include <unordered_map>

#include "tandem/core/internal.h"
#include "tandem/nn/module.h"

namespace tandem::detail {

/// Gives a tensor other storage in place, so that every handle on it (an optimizer's, a parent's) sees the move.
void rebind(const Tensor& t, Device device, DType dtype, MemoryFormat format = MemoryFormat::Preserve,
            bool non_blocking = false);

// Note [Cloning]: a copy starts as a shallow one, whose reset() then registers fresh tensors and children. While
// reset() runs, each child is paired with the original's child of the same name as soon as it is registered: it takes
// over the members of its counterpart and is reset in turn. Later lines of reset(), such as one that lets two layers
// share a weight, then act on the final tensors. finish() completes all pairs: contents of containers, members of
// modules without tensors (a parent's reset() may have changed them), hooks, training flags, values of tensors.

/// A clone() that is under way on this thread.
class Cloning {
 public:
  using Children = OrderedDict<std::string, std::shared_ptr<nn::Module>>;
  explicit Cloning(std::optional<Device> device);
  Cloning(const Cloning&) = delete;
  ~Cloning();
  /// Returns the copy of a module, which is made unless there is one.
  std::shared_ptr<nn::Module> copy(const nn::Module& original);
  /// The copies of a module's children, under their names.
  Children copies(const Children& originals);
  /// Completes all copies.
  void finish();
  /// Notes that a module got a child. Does nothing unless the module is part of a copy that is being made.
  static void registered(nn::Module& parent, const std::string& name, nn::Module& child);

 private:
  void take(nn::Module& copy, const nn::Module& original);
  void take_children(nn::Module& copy, const nn::Module& original);
  void check_children(const nn::Module& copy, const nn::Module& original) const;
  void take_hooks(nn::Module& copy, const nn::Module& original) const;
  void take_values(nn::Module& copy, const nn::Module& original) const;

  std::optional<Device> device_;
  Cloning* outer_;
  std::vector<std::pair<nn::Module*, const nn::Module*>> pairs_;  // copy, original
  std::unordered_map<const nn::Module*, const nn::Module*> originals_;
  std::unordered_map<const nn::Module*, std::shared_ptr<nn::Module>> copies_;
};

}  // namespace tandem::detail
