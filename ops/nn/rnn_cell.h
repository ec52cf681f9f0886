// Cells of recurrent networks: rnn_tanh_cell, rnn_relu_cell, lstm_cell, gru_cell. Each function computes one step of a
// recurrent network: input x (B, inputs) and states (B, hidden) -> the next states. The matrices of all gates are
// stacked in w_ih (gates * hidden, inputs) and w_hh (gates * hidden, hidden), and so are the biases (gates * hidden),
// which may be undefined.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns h' = tanh(w_ih x + b_ih + w_hh h + b_hh), or the same formula with relu.
Tensor rnn_tanh_cell(const Tensor& x, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih = {},
                     const Tensor& b_hh = {});
Tensor rnn_relu_cell(const Tensor& x, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih = {},
                     const Tensor& b_hh = {});
/// Returns (h', c') for the states hx = {h, c}. The gates are i, f, g, o; c' = sigmoid(f) c + sigmoid(i) tanh(g), h' =
/// sigmoid(o) tanh(c').
std::tuple<Tensor, Tensor> lstm_cell(const Tensor& x, TensorList hx, const Tensor& w_ih, const Tensor& w_hh,
                                     const Tensor& b_ih = {}, const Tensor& b_hh = {});
/// Returns h' = n + sigmoid(z) (h - n). The gates are r, z, n, where n = tanh(n_x + sigmoid(r) n_h) with the parts n_x
/// from x and n_h from h.
Tensor gru_cell(const Tensor& x, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih = {},
                const Tensor& b_hh = {});

}  // namespace tandem
