// Views, which share the storage of their base.
#include <torch/torch.h>

#include <iostream>

void describe(const char* name, const torch::Tensor& x) {
  std::cout << name << ": " << x.sizes() << " " << x.strides() << " " << x.storage_offset() << " " << x.is_contiguous()
            << "\n";
}

int main() {
  torch::Tensor x = torch::arange(24).reshape({2, 3, 4});
  describe("x", x);
  describe("view", x.view({6, 4}));
  describe("view -1", x.view({-1, 2, 6}));
  describe("transpose", x.transpose(0, 2));
  describe("permute", x.permute({2, 0, 1}));
  describe("select", x.select(1, 1));
  describe("slice", x.slice(2, 1, 4, 2));
  describe("narrow", x.narrow(0, 1, 1));
  describe("unsqueeze", x.unsqueeze(1));
  describe("squeeze", x.narrow(0, 1, 1).squeeze());
  describe("expand", x.select(0, 1).expand({5, 3, 4}));
  describe("diagonal", x.diagonal(0, 1, 2));
  describe("unfold", x.unfold(2, 2, 1));
  describe("flatten", x.flatten(1));
  describe("unflatten", x.unflatten(2, {2, 2}));
  describe("movedim", x.movedim(0, 2));
  describe("swapaxes", x.swapaxes(0, 1));
  describe("t", x.select(0, 0).t());
  describe("as_strided", x.as_strided({2, 2}, {1, 5}, 3));
  describe("broadcast_to", torch::arange(3).broadcast_to({2, 3}));
  describe("view_as", x.view_as(torch::zeros({4, 6})));
  describe("contiguous", x.transpose(0, 1).contiguous());
  describe("reshape", x.transpose(0, 1).reshape({3, 8}));
  describe("clone", x.permute({2, 1, 0}).clone());
  describe("channels", torch::zeros({2, 3, 4, 5}).contiguous(torch::MemoryFormat::ChannelsLast));
  describe("mT", x.mT());
  for (const torch::Tensor& part : x.split(2, 1)) describe("split", part);
  for (const torch::Tensor& part : x.chunk(3, 2)) describe("chunk", part);
  for (const torch::Tensor& part : x.unbind(1)) describe("unbind", part);
  for (const torch::Tensor& part : torch::tensor_split(x, 3, 2)) describe("tensor_split", part);
  for (const torch::Tensor& part : torch::split_with_sizes(x, {1, 3}, 2)) describe("split_with_sizes", part);
  for (const torch::Tensor& part : torch::hsplit(x, 3)) describe("hsplit", part);

  x.view({-1})[0] = 100;
  x.transpose(0, 2)[3][2][1] = -1;
  x.diagonal(0, 1, 2).fill_(0);
  std::cout << x << "\n";
  std::cout << x.view(torch::kInt32).sizes() << x.to(torch::kInt64).is_same(x) << x.is_alias_of(x.view({24})) << "\n";
  std::cout << x.transpose_(0, 1).sizes() << x.squeeze_().sizes() << x.unsqueeze_(0).sizes() << "\n";
  return 0;
}
