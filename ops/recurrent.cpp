#include "tandem/ops/recurrent.h"

#include "tandem/ops/elementwise.h"
#include "tandem/ops/matmul.h"

namespace tandem {

Tensor rnn_tanh_cell(const Tensor& x, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                     const Tensor& b_hh) {
  return (linear(x, w_ih, b_ih) + linear(hx, w_hh, b_hh)).tanh();
}
Tensor rnn_relu_cell(const Tensor& x, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                     const Tensor& b_hh) {
  return (linear(x, w_ih, b_ih) + linear(hx, w_hh, b_hh)).relu();
}
std::tuple<Tensor, Tensor> lstm_cell(const Tensor& x, TensorList hx, const Tensor& w_ih, const Tensor& w_hh,
                                     const Tensor& b_ih, const Tensor& b_hh) {
  TANDEM_CHECK(hx.size() == 2, "lstm_cell: hx has ", hx.size(), " tensors; accepted: the hidden state and the cell");
  const std::vector<Tensor> gates = (linear(x, w_ih, b_ih) + linear(hx[0], w_hh, b_hh)).chunk(4, -1);
  const Tensor cell = gates[1].sigmoid() * hx[1] + gates[0].sigmoid() * gates[2].tanh();
  return {gates[3].sigmoid() * cell.tanh(), cell};
}
Tensor gru_cell(const Tensor& x, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                const Tensor& b_hh) {
  const std::vector<Tensor> of_x = linear(x, w_ih, b_ih).chunk(3, -1), of_h = linear(hx, w_hh, b_hh).chunk(3, -1);
  const Tensor reset = (of_x[0] + of_h[0]).sigmoid(), update = (of_x[1] + of_h[1]).sigmoid();
  const Tensor fresh = (of_x[2] + reset * of_h[2]).tanh();
  return fresh + update * (hx - fresh);
}

}  // namespace tandem
