// Activation checkpointing: the state of one call of checkpoint(), and the second run of its function in backward.
#include "tandem/nn/utils/checkpoint.h"

#include <map>
#include <mutex>

#include "tandem/autograd/engine.h"
#include "tandem/core/autocast/autocast_cache.h"
#include "tandem/core/generator.h"
#include "tandem/core/internal.h"
#include "tandem/core/loop/run_loop.h"

namespace tandem::autograd {
namespace {

/// Description of a tensor that the first run saved. The tensor that the second run saves at the same index must match
/// it.
struct SavedTensorInfo {
  Shape sizes;
  DType dtype;
  Device device;
};
/// States of the random generators that this thread draws from. They are saved and set by updates, so that each replay
/// of a Graph saves and sets the states of that replay.
struct RngStates {
  struct Entry {
    Generator* generator;
    std::shared_ptr<PhiloxState> state;
  };
  bool has_generator_guard = false;  // true if a GeneratorGuard is active, whose generator serves all devices
  std::vector<Entry> states;

  static Entry save(Generator& generator) {
    const Entry entry{&generator, std::make_shared<PhiloxState>()};
    run_update([entry] { *entry.state = entry.generator->get_state(); });
    return entry;
  }
  static RngStates capture(const variable_list& inputs) {
    RngStates out;
    const auto add = [&](Generator& generator) {
      for (const Entry& known : out.states)
        if (known.generator == &generator) return;
      out.states.push_back(save(generator));
    };
    out.has_generator_guard = ThreadContext::current().generator != nullptr;
    add(default_generator(kCPU));
    for (const Tensor& input : inputs)
      if (input.defined()) add(default_generator(input.device()));
    return out;
  }
  /// Runs f with the generators in the stored states, then restores their previous states.
  void run_with_states(const std::function<void()>& f) const {
    if (has_generator_guard) {  // a scratch generator, because the guard's generator may no longer exist
      const auto scratch = std::make_shared<Generator>();
      run_update([scratch, state = states[0].state] { scratch->set_state(*state); });  // keeps `scratch` for replays
      const GeneratorGuard guard(*scratch);
      return f();
    }
    // held while f runs, because backward's threads for several devices share these generators
    static std::recursive_mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    struct RestoreGuard {
      std::vector<Entry> states;
      Generator* const active_generator = std::exchange(ThreadContext::current().generator, nullptr);
      ~RestoreGuard() {
        ThreadContext::current().generator = active_generator;
        for (const Entry& entry : states) run_update([entry] { entry.generator->set_state(*entry.state); });
      }
    } restore;
    for (const Entry& entry : states) {
      restore.states.push_back(save(*entry.generator));
      run_update([entry] { entry.generator->set_state(*entry.state); });
    }
    f();
  }
};

}  // namespace

struct CheckpointFrame::Impl {
  std::vector<SavedTensor> inputs;
  std::vector<bool> requires_grad;
  std::optional<RngStates> rng_states;
  AutocastState autocast_state = ThreadContext::current().autocast;
  Run run_function;
  bool forward_finished = false;
  std::vector<SavedTensorInfo> saved;  // tensors that the first run saved, in order
  std::mutex mutex;                    // guards `recomputed`
  std::map<size_t, Tensor> recomputed;

  void recompute();
  static Tensor get_recomputed(const std::shared_ptr<CheckpointFrame>& frame, size_t tensor_index);
};

namespace {
/// Stored in the autograd graph instead of a saved tensor. When the graph destroys the handle, the recomputed tensor is
/// freed.
struct SavedTensorHandle {
  std::shared_ptr<CheckpointFrame> frame;
  size_t tensor_index;
  std::function<void()> free_recomputed;
  ~SavedTensorHandle() { free_recomputed(); }
};
thread_local bool is_second_run = false;
/// Restores the first run's autocast state for the second run, with a new cache of casts, which is dropped after the
/// second run.
struct AutocastRestoreGuard {
  explicit AutocastRestoreGuard(const AutocastState& first)
      : previous_state(std::exchange(ThreadContext::current().autocast, first)) {
    ThreadContext::current().autocast.cache = std::make_shared<AutocastCache>();
  }
  ~AutocastRestoreGuard() { ThreadContext::current().autocast = std::move(previous_state); }
  AutocastState previous_state;
};
struct RecomputeGuard : graph::saved_tensors_hooks {
  explicit RecomputeGuard(SavedTensorHooks hooks) { push_hooks(std::move(hooks)); }
  ~RecomputeGuard() { is_second_run = was_second_run_; }

 private:
  const bool was_second_run_ = std::exchange(is_second_run, true);
};
}  // namespace

bool detail::is_recomputing() { return is_second_run; }

CheckpointFrame::CheckpointFrame(const variable_list& inputs, bool preserve_rng_state, Run run) : impl_(new Impl) {
  for (const Tensor& input : inputs) {
    impl_->inputs.emplace_back(input, /*is_output=*/false);
    impl_->requires_grad.push_back(tensor_requires_grad(input));
  }
  if (preserve_rng_state) impl_->rng_states = RngStates::capture(inputs);
  impl_->run_function = std::move(run);
  impl_->autocast_state.cache = nullptr;
}
CheckpointFrame::~CheckpointFrame() = default;
void CheckpointFrame::finish_forward() { impl_->forward_finished = true; }

void CheckpointFrame::Impl::recompute() {
  variable_list recompute_inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensor input = inputs[i].unpack("checkpoint");
    if (input.defined()) input = input.detach();
    if (requires_grad[i]) input.requires_grad_();
    recompute_inputs.push_back(input);
  }
  recomputed.clear();
  // Store each tensor in `recomputed`, and also unchanged in the second run's graph, because that graph may run
  // backward.
  SavedTensorHooks hooks;
  hooks.pack = [this](const Tensor& x) -> std::any {
    const size_t tensor_index = recomputed.size();
    if (tensor_index < saved.size()) {
      const SavedTensorInfo& before = saved[tensor_index];
      TANDEM_CHECK(before.sizes == x.sizes() && before.dtype == x.dtype() && before.device == x.device(),
                   "checkpoint: Recomputed values for the following tensors have different metadata than during the "
                   "forward pass. tensor at position ",
                   tensor_index, ": saved ", before.sizes, ", ", before.dtype, " on ", before.device, "; recomputed ",
                   x.sizes(), ", ", x.dtype(), " on ", x.device(),
                   ". The function must compute the same each time it runs");
    }
    recomputed.emplace(tensor_index, x);
    return x;
  };
  hooks.unpack = [](const std::any& packed) { return std::any_cast<const Tensor&>(packed); };
  const auto second_run = [&] {
    const RecomputeGuard guard(std::move(hooks));
    const EnableGradGuard recorded;
    const AutocastRestoreGuard dtypes(autocast_state);
    run_function(recompute_inputs);
  };
  if (rng_states)
    rng_states->run_with_states(second_run);
  else
    second_run();
  TANDEM_CHECK(!forward_finished || recomputed.size() == saved.size(),
               "checkpoint: A different number of tensors was saved during the original forward and recomputation. "
               "Number of tensors saved during forward: ",
               saved.size(), ". Number of tensors saved during recomputation: ", recomputed.size(),
               ". The function must compute the same each time it runs");
}
Tensor CheckpointFrame::Impl::get_recomputed(const std::shared_ptr<CheckpointFrame>& frame, size_t tensor_index) {
  Impl& m = *frame->impl_;
  const std::lock_guard lock(m.mutex);
  if (!m.recomputed.count(tensor_index)) {
    m.recompute();
    // If backward retains the graph, the handles stay alive, so a callback at the end of backward frees the tensors.
    if (is_backward_running())
      queue_callback([frame] {
        const std::lock_guard held(frame->impl_->mutex);
        frame->impl_->recomputed.clear();
      });
  }
  const auto at = m.recomputed.find(tensor_index);
  TANDEM_CHECK(at != m.recomputed.end(),
               "checkpoint: A different number of tensors was saved during the original forward and recomputation. "
               "Recomputation saved ",
               m.recomputed.size(), " and not tensor ", tensor_index,
               ". The function must compute the same each time it runs");
  return at->second;
}

SavedTensorHooks CheckpointFrame::hooks(const std::shared_ptr<CheckpointFrame>& frame) {
  SavedTensorHooks hooks;
  hooks.pack = [frame](const Tensor& x) -> std::any {
    Impl& m = *frame->impl_;
    const size_t tensor_index = m.saved.size();
    m.saved.push_back({x.sizes(), x.dtype(), x.device()});
    const auto free_recomputed = [&m, tensor_index] {
      Tensor last;  // destroyed after the unlock, because its destructor may call this function again
      const std::lock_guard lock(m.mutex);
      if (const auto at = m.recomputed.find(tensor_index); at != m.recomputed.end()) {
        last = std::move(at->second);
        m.recomputed.erase(at);
      }
    };
    return std::shared_ptr<SavedTensorHandle>(new SavedTensorHandle{frame, tensor_index, free_recomputed});
  };
  hooks.unpack = [](const std::any& packed) {
    const auto& handle = std::any_cast<const std::shared_ptr<SavedTensorHandle>&>(packed);
    return Impl::get_recomputed(handle->frame, handle->tensor_index);
  };
  return hooks;
}

}  // namespace tandem::autograd
