// Cells of recurrent networks: rnn_tanh_cell, rnn_relu_cell, lstm_cell, gru_cell.
#include "tandem/ops/nn/rnn_cell.h"

#include "tandem/ops/define_op.h"
#include "tandem/ops/nn/linear.h"

namespace tandem {

TANDEM_CAST_POLICY(lower, gru_cell, lstm_cell, rnn_relu_cell, rnn_tanh_cell);

namespace {
/// Checks the batch size of a state. @param number  index of the state: 0 for the hidden state, 1 for the cell state of
/// an LSTM
/// @throws Error unless x and state have the same batch size
void check_batch_size(const char* op, const Tensor& x, const Tensor& state, int number = 0) {
  TANDEM_CHECK(x.dim() == state.dim(), op, ": x is ", x.sizes(), " and hx ", state.sizes(),
               "; accepted: (N, input_size) and (N, hidden_size), or both without N");
  TANDEM_CHECK(x.dim() < 2 || x.size(0) == state.size(0), op, ": Input batch size ", x.size(0), " doesn't match hidden",
               number, " batch size ", state.size(0));
}
}  // namespace

Tensor rnn_tanh_cell(const Tensor& x, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                     const Tensor& b_hh) {
  if (const Autocast cast{cast_policy::rnn_tanh_cell, x, hx, w_ih, w_hh, b_ih, b_hh})
    return rnn_tanh_cell(cast(x), cast(hx), cast(w_ih), cast(w_hh), cast(b_ih), cast(b_hh));
  check_batch_size("rnn_tanh_cell", x, hx);
  return (linear(x, w_ih, b_ih) + linear(hx, w_hh, b_hh)).tanh();
}
Tensor rnn_relu_cell(const Tensor& x, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                     const Tensor& b_hh) {
  if (const Autocast cast{cast_policy::rnn_relu_cell, x, hx, w_ih, w_hh, b_ih, b_hh})
    return rnn_relu_cell(cast(x), cast(hx), cast(w_ih), cast(w_hh), cast(b_ih), cast(b_hh));
  check_batch_size("rnn_relu_cell", x, hx);
  return (linear(x, w_ih, b_ih) + linear(hx, w_hh, b_hh)).relu();
}
std::tuple<Tensor, Tensor> lstm_cell(const Tensor& x, TensorList hx, const Tensor& w_ih, const Tensor& w_hh,
                                     const Tensor& b_ih, const Tensor& b_hh) {
  if (const Autocast cast{cast_policy::lstm_cell, x, hx, w_ih, w_hh, b_ih, b_hh})
    return lstm_cell(cast(x), cast(hx), cast(w_ih), cast(w_hh), cast(b_ih), cast(b_hh));
  TANDEM_CHECK(hx.size() == 2, "lstm_cell expects two hidden states, but got ", hx.size());
  detail::check_floating_point("lstm_cell", x);
  for (int i = 0; i < 2; ++i) check_batch_size("lstm_cell", x, hx[static_cast<size_t>(i)], i);
  TANDEM_CHECK(hx[0].size(-1) == hx[1].size(-1), "lstm_cell: hidden1 has inconsistent hidden_size: got ",
               hx[1].size(-1), ", expected ", hx[0].size(-1));
  const std::vector<Tensor> gates = (linear(x, w_ih, b_ih) + linear(hx[0], w_hh, b_hh)).chunk(4, -1);
  const Tensor cell = gates[1].sigmoid() * hx[1] + gates[0].sigmoid() * gates[2].tanh();
  return {gates[3].sigmoid() * cell.tanh(), cell};
}
Tensor gru_cell(const Tensor& x, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                const Tensor& b_hh) {
  if (const Autocast cast{cast_policy::gru_cell, x, hx, w_ih, w_hh, b_ih, b_hh})
    return gru_cell(cast(x), cast(hx), cast(w_ih), cast(w_hh), cast(b_ih), cast(b_hh));
  detail::check_floating_point("gru_cell", x);
  check_batch_size("gru_cell", x, hx);
  const std::vector<Tensor> of_x = linear(x, w_ih, b_ih).chunk(3, -1), of_h = linear(hx, w_hh, b_hh).chunk(3, -1);
  const Tensor reset = (of_x[0] + of_h[0]).sigmoid(), update = (of_x[1] + of_h[1]).sigmoid();
  const Tensor fresh = (of_x[2] + reset * of_h[2]).tanh();
  return fresh + update * (hx - fresh);
}

}  // namespace tandem
