// Cells of recurrent networks: rnn_tanh_cell, rnn_relu_cell, lstm_cell, gru_cell.
#include "tandem/ops/nn/rnn_cell.h"

#include "tandem/ops/define_op.h"
#include "tandem/ops/nn/linear.h"

namespace tandem {

TANDEM_CAST_POLICY(lower, gru_cell, lstm_cell, rnn_relu_cell, rnn_tanh_cell);

namespace {
/// @throws Error unless x and state have the same batch size
void check_batch(const char* op, const Tensor& x, const Tensor& state) {
  TANDEM_CHECK(x.dim() == state.dim() && (x.dim() < 2 || x.size(0) == state.size(0)), op, ": x is ", x.sizes(),
               " and hx ", state.sizes(), "; accepted: (N, features) and (N, hidden), or both without N");
}
}  // namespace

Tensor rnn_tanh_cell(const Tensor& x, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                     const Tensor& b_hh) {
  check_batch("rnn_tanh_cell", x, hx);
  return (linear(x, w_ih, b_ih) + linear(hx, w_hh, b_hh)).tanh();
}
Tensor rnn_relu_cell(const Tensor& x, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                     const Tensor& b_hh) {
  check_batch("rnn_relu_cell", x, hx);
  return (linear(x, w_ih, b_ih) + linear(hx, w_hh, b_hh)).relu();
}
std::tuple<Tensor, Tensor> lstm_cell(const Tensor& x, TensorList hx, const Tensor& w_ih, const Tensor& w_hh,
                                     const Tensor& b_ih, const Tensor& b_hh) {
  TANDEM_CHECK(hx.size() == 2, "lstm_cell: hx has ", hx.size(), " tensors; accepted: the hidden state and the cell");
  detail::check_real("lstm_cell", x);
  for (const Tensor& state : hx) check_batch("lstm_cell", x, state);
  TANDEM_CHECK(hx[0].size(-1) == hx[1].size(-1), "lstm_cell: the hidden state is ", hx[0].sizes(), " and the cell ",
               hx[1].sizes(), "; both must have the same size");
  const std::vector<Tensor> gates = (linear(x, w_ih, b_ih) + linear(hx[0], w_hh, b_hh)).chunk(4, -1);
  const Tensor cell = gates[1].sigmoid() * hx[1] + gates[0].sigmoid() * gates[2].tanh();
  return {gates[3].sigmoid() * cell.tanh(), cell};
}
Tensor gru_cell(const Tensor& x, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                const Tensor& b_hh) {
  detail::check_real("gru_cell", x);
  check_batch("gru_cell", x, hx);
  const std::vector<Tensor> of_x = linear(x, w_ih, b_ih).chunk(3, -1), of_h = linear(hx, w_hh, b_hh).chunk(3, -1);
  const Tensor reset = (of_x[0] + of_h[0]).sigmoid(), update = (of_x[1] + of_h[1]).sigmoid();
  const Tensor fresh = (of_x[2] + reset * of_h[2]).tanh();
  return fresh + update * (hx - fresh);
}

}  // namespace tandem
