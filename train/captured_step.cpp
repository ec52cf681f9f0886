// Implements CapturedStep.
#include "tandem/train/captured_step.h"

#include "tandem/core/internal.h"
#include "tandem/ops/ops.h"

namespace tandem::train {
namespace {

bool have_same_shapes(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) {
    return x.defined() == y.defined() && (!x.defined() || (x.sizes() == y.sizes() && x.dtype() == y.dtype()));
  });
}

}  // namespace

BatchResult detail::CapturedStep::operator()(MicroBatch& micro_batch) {
  micro_batch.batch->move_to(device_);
  if (steps_++ == 0) return step_(micro_batch);
  if (!recorded_.batch) {
    recorded_ = micro_batch;
    recorded_.batch->visit([](Tensor& t) {
      if (t.defined()) t = t.clone();
    });
    graph_.capture([this] { result_ = step_(recorded_); });
  }
  const std::vector<Tensor> to = tandem::detail::collect_tree_tensors(*recorded_.batch),
                            from = tandem::detail::collect_tree_tensors(*micro_batch.batch);
  if (micro_batch.weight != recorded_.weight || !have_same_shapes(to, from)) return step_(micro_batch);
  for (size_t i = 0; i < to.size(); ++i)
    if (to[i].defined()) Tensor(to[i]).copy_(from[i]);
  graph_.replay();
  BatchResult result{result_.loss};
  result.loss.value = result.loss.value.clone();  // the next replay overwrites the value
  return result;
}

}  // namespace tandem::train
