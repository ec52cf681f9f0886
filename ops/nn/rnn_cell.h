// Cells of recurrent networks: rnn_tanh_cell, rnn_relu_cell, lstm_cell, gru_cell.
// One step of a recurrent network: x (B, inputs) and states (B, hidden) -> the next states. The gates' matrices are
// stacked in w_ih (gates hidden, inputs) and w_hh (gates hidden, hidden), and biases, which may be undefined, alike.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// h' = tanh(w_ih x + b_ih + w_hh h + b_hh), and the same with relu.
Tensor rnn_tanh_cell(const Tensor& x, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih = {},
                     const Tensor& b_hh = {});
Tensor rnn_relu_cell(const Tensor& x, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih = {},
                     const Tensor& b_hh = {});
/// (h', c') of hx = {h, c}: gates i, f, g, o; c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c').
std::tuple<Tensor, Tensor> lstm_cell(const Tensor& x, TensorList hx, const Tensor& w_ih, const Tensor& w_hh,
                                     const Tensor& b_ih = {}, const Tensor& b_hh = {});
/// gates r, z, n; n = tanh(x's n + sigmoid(r) h's n), h' = n + sigmoid(z) (h - n).
Tensor gru_cell(const Tensor& x, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih = {},
                const Tensor& b_hh = {});

}  // namespace tandem
