#include "tandem/parallel/collectives/process_group.h"

#include "tandem/core/dispatch.h"
#include "tandem/kernels/combine.h"
#include "tandem/parallel/collectives/communicator.h"

namespace tandem::distributed {

const char* to_string(ReduceOp op) {
  switch (op) {
    case ReduceOp::SUM: return "SUM";
    case ReduceOp::AVG: return "AVG";
    case ReduceOp::MIN: return "MIN";
    case ReduceOp::MAX: return "MAX";
  }
  return "?";
}

std::string Call::str() const {
  std::ostringstream out;
  out << name;
  if (sequence > 0) out << " #" << sequence;
  if (!about.empty()) out << " (" << about << ")";
  if (numel >= 0) out << " of " << dtype << ", " << numel << " elements";
  if (reduces) out << ", " << to_string(op);
  if (other >= 0) out << ", rank " << other;
  if (device.is_cuda()) out << ", on " << device;
  return out.str();
}
bool Call::agrees(const Call& o) const {
  return std::string_view(name) == o.name && sequence == o.sequence && about == o.about && dtype == o.dtype &&
         numel == o.numel && device.type() == o.device.type() && other == o.other && reduces == o.reduces &&
         (!reduces || op == o.op);
}

void reduce_in_order(const std::vector<Tensor>& parts, ReduceOp op, Tensor& y) {
  const double scale = op == ReduceOp::AVG ? 1.0 / static_cast<double>(parts.size()) : 1.0;
  const auto how = op == ReduceOp::MIN   ? kernels::Combine::min
                   : op == ReduceOp::MAX ? kernels::Combine::max
                                         : kernels::Combine::sum;
  TANDEM_DISPATCH(y.device(), combine, parts, how, scale, y);
}
void average(Tensor& sum, int ranks) {
  const std::vector<Tensor> parts = {sum};
  TANDEM_DISPATCH(sum.device(), combine, parts, kernels::Combine::sum, 1.0 / ranks, sum);
}

}  // namespace tandem::distributed
