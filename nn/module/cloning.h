// One call of clone(): pairs each module of the original with its copy.
#pragma once
#include <unordered_map>

#include "tandem/core/internal.h"
#include "tandem/nn/module.h"

namespace tandem::detail {

/// Replaces a tensor's storage in place, so that all handles to the tensor (an optimizer's, a parent module's) see the
/// new storage.
void replace_storage(const Tensor& t, Device device, DType dtype, MemoryFormat format = MemoryFormat::Preserve,
                     bool non_blocking = false);

// Note [Cloning]: a copy starts as a shallow copy, whose reset() then registers new tensors and children. While reset()
// runs, each new child is paired with the original's child of the same name as soon as it is registered: the new child
// takes over that child's members and is itself reset. So later lines of reset(), such as one that shares a weight
// between two layers, act on the final tensors. finish_clones() completes all pairs: contents of containers, members of
// modules without tensors (a parent's reset() may have changed them), hooks, training flags, tensor values.

/// State of the clone() that runs on this thread.
class CloneContext {
 public:
  using Children = OrderedDict<std::string, std::shared_ptr<nn::Module>>;
  explicit CloneContext(std::optional<Device> device);
  CloneContext(const CloneContext&) = delete;
  ~CloneContext();
  /// Returns the copy of a module. The first call for a module makes the copy.
  std::shared_ptr<nn::Module> copy_module(const nn::Module& original);
  /// Returns the copies of a module's children, by name.
  Children copy_children(const Children& originals);
  /// Completes all copies; see Note [Cloning].
  void finish_clones();
  /// Pairs a newly registered child with its original. Does nothing unless `parent` belongs to a copy that is being
  /// made.
  static void on_child_registered(nn::Module& parent, const std::string& name, nn::Module& child);

 private:
  void pair_modules(nn::Module& copy, const nn::Module& original);
  void pair_children(nn::Module& copy, const nn::Module& original);
  void check_children(const nn::Module& copy, const nn::Module& original) const;
  void copy_hooks(nn::Module& copy, const nn::Module& original) const;
  void copy_tensor_values(nn::Module& copy, const nn::Module& original) const;

  std::optional<Device> device_;
  CloneContext* outer_context_;
  std::vector<std::pair<nn::Module*, const nn::Module*>> module_pairs_;  // (copy, original), in the order of creation
  std::unordered_map<const nn::Module*, const nn::Module*> originals_;
  std::unordered_map<const nn::Module*, std::shared_ptr<nn::Module>> copies_;
};

}  // namespace tandem::detail
