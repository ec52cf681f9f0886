// The arithmetic of recurrent networks: one step, and all steps of one direction of one layer.
#include "tandem/nn/rnn_steps.h"

#include <algorithm>

#include "tandem/ops/ops.h"

namespace tandem::detail {

RNNMode mode_of(const char* module, nn::init::Nonlinearity nonlinearity) {
  const bool relu = nonlinearity == nn::init::Nonlinearity::relu;
  TANDEM_CHECK(relu || nonlinearity == nn::init::Nonlinearity::tanh, module,
               ": the nonlinearity is not known; accepted: tanh and relu");
  return relu ? RNNMode::rnn_relu : RNNMode::rnn_tanh;
}
int64_t gates_of(RNNMode mode) { return mode == RNNMode::lstm ? 4 : mode == RNNMode::gru ? 3 : 1; }

Tensor input_gates(RNNMode mode, const Tensor& x, const StepWeights& w) {
  // A GRU multiplies what the states add to n, bias and all, by r.
  const bool joined = w.bias_ih.defined() && mode != RNNMode::gru;
  return linear(x, w.ih, joined ? w.bias_ih + w.bias_hh : w.bias_ih);
}

States step(RNNMode mode, const Tensor& gates, const States& states, const StepWeights& w) {
  const Tensor& h = states[0];
  const Tensor from_states = linear(h, w.hh, mode == RNNMode::gru ? w.bias_hh : Tensor());
  switch (mode) {
    case RNNMode::rnn_tanh: return {(gates + from_states).tanh()};
    case RNNMode::rnn_relu: return {(gates + from_states).relu()};
    case RNNMode::gru: {
      const int64_t hidden = h.size(1);
      const std::vector<Tensor> x = gates.split({2 * hidden, hidden}, 1),
                                u = from_states.split({2 * hidden, hidden}, 1);
      const std::vector<Tensor> rz = (x[0] + u[0]).sigmoid().chunk(2, 1);
      const Tensor n = (x[1] + rz[0] * u[1]).tanh();
      return {n + rz[1] * (h - n)};
    }
    case RNNMode::lstm: break;
  }
  const std::vector<Tensor> ifgo = (gates + from_states).chunk(4, 1);
  const Tensor c = ifgo[1].sigmoid() * states[1] + ifgo[0].sigmoid() * ifgo[2].tanh();
  const Tensor next = ifgo[3].sigmoid() * c.tanh();
  return {w.hr.defined() ? linear(next, w.hr) : next, c};
}

std::pair<Tensor, States> run_steps(RNNMode mode, const Tensor& x, const std::vector<int64_t>& batch_sizes,
                                    States states, const StepWeights& w, bool reverse) {
  const std::vector<Tensor> gates = input_gates(mode, x, w).split(batch_sizes, 0);
  const size_t steps = gates.size(), count = states.size();
  std::vector<Tensor> outputs(steps);
  if (reverse) {  // the longest sequences begin; others join with their first states when their last step is reached
    const States first = states;
    for (Tensor& s : states) s = s.narrow(0, 0, batch_sizes.back());
    for (size_t t = steps; t-- > 0;) {
      const int64_t running = states[0].size(0), joining = batch_sizes[t] - running;
      if (joining > 0)
        for (size_t s = 0; s < count; ++s) states[s] = cat({states[s], first[s].narrow(0, running, joining)});
      states = step(mode, gates[t], states, w);
      outputs[t] = states[0];
    }
    return {cat(outputs), states};
  }
  std::vector<States> finished(count);  // for each state the parts of the batch that have ended, the shortest first
  for (size_t t = 0; t < steps; ++t) {
    const int64_t running = states[0].size(0), ending = running - batch_sizes[t];
    if (ending > 0)
      for (size_t s = 0; s < count; ++s) {
        const std::vector<Tensor> parts = states[s].split({batch_sizes[t], ending}, 0);
        states[s] = parts[0];
        finished[s].push_back(parts[1]);
      }
    states = step(mode, gates[t], states, w);
    outputs[t] = states[0];
  }
  for (size_t s = 0; s < count; ++s) {
    finished[s].push_back(states[s]);
    std::reverse(finished[s].begin(), finished[s].end());
    if (finished[s].size() > 1) states[s] = cat(finished[s]);
  }
  return {cat(outputs), states};
}

}  // namespace tandem::detail
