// The arithmetic of recurrent networks: one step, one direction of one layer. Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/nn/rnn.h"

namespace tandem::detail {

/// Of an RNN or RNNCell. @throws Error that names it, unless the nonlinearity is tanh or relu
RNNMode mode_of(const char* module, nn::init::Nonlinearity nonlinearity);
int64_t gates_of(RNNMode mode);  // matrices that are stacked in weight_ih
/// The parameters of one direction of one layer; biases and the projection may be undefined.
struct StepWeights {
  Tensor ih, hh, bias_ih, bias_hh, hr;
};
/// What the inputs add to the gates, for any number of rows at once, and the biases that can be added with it.
Tensor input_gates(RNNMode mode, const Tensor& x, const StepWeights& w);
/// The next states of a batch, from its share of input_gates and the states (B, hidden).
States step(RNNMode mode, const Tensor& gates, const States& states, const StepWeights& w);
/// All steps. x (rows, inputs) has the rows of step t, batch_sizes[t], behind those of step t - 1 -> (outputs (rows,
/// hidden), the states after each sequence's last step). `reverse`: from the last step to the first.
std::pair<Tensor, States> run_steps(RNNMode mode, const Tensor& x, const std::vector<int64_t>& batch_sizes,
                                    States states, const StepWeights& w, bool reverse);

}  // namespace tandem::detail
