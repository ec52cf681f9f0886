// Memory formats: strides of results for channels-last, transposed and expanded tensors.
#include <torch/torch.h>

#include <iostream>
#include <string>

void show(const std::string& name, const torch::Tensor& x) {
  std::cout << name << " " << x.sizes() << " " << x.strides() << " " << x.is_contiguous()
            << x.is_non_overlapping_and_dense();
  if (x.dim() == 4) std::cout << x.is_contiguous(torch::MemoryFormat::ChannelsLast) << " " << x.suggest_memory_format();
  std::cout << "\n";
}

int main() {
  const torch::Tensor plain = torch::arange(48, torch::kFloat).reshape({2, 3, 2, 4});
  const torch::Tensor last = plain.contiguous(torch::MemoryFormat::ChannelsLast), turned = plain.permute({3, 1, 0, 2});
  show("plain", plain);
  show("last", last);
  show("turned", turned);
  std::cout << torch::equal(plain, last) << (last.data_ptr<float>()[1] == plain[0][1][0][0].item<float>()) << "\n";
  for (const auto& [name, x] :
       {std::pair<std::string, torch::Tensor>{"plain", plain}, {"last", last}, {"turned", turned}}) {
    show(name + " + 1", x + 1);
    show(name + " * itself", x * x);
    show(name + " exp", x.exp());
    show(name + " > 0", x > 0);
    show(name + " + plain", x.dim() == 4 && x.size(0) == 2 ? x + plain : x + x);
    show(name + " + row", x + torch::ones({x.size(3)}));
    show(name + " clone", x.clone());
    show(name + " clone contiguous", x.clone(torch::MemoryFormat::Contiguous));
    show(name + " contiguous", x.contiguous());
    show(name + " to double", x.to(torch::kDouble));
    show(name + " to bool, contiguous", x.to(torch::kBool, false, false, torch::MemoryFormat::Contiguous));
    show(name + " zeros_like", torch::zeros_like(x));
    show(name + " empty_like contiguous", torch::empty_like(x, torch::MemoryFormat::Contiguous));
    show(name + " sum", x.sum(1));
    show(name + " sum keepdim", x.sum(1, true));
    show(name + " mean", x.mean({2, 3}, true));
    show(name + " max", std::get<0>(x.max(1)));
    show(name + " softmax", x.softmax(1));
    show(name + " cumsum", x.cumsum(1));
    show(name + " cat", torch::cat({x, x}, 1));
    show(name + " pad", torch::constant_pad_nd(x, {1, 1}));
    show(name + " where", torch::where(x > 3, x, torch::zeros({1})));
    show(name + " clamp", x.clamp(0, 1));
    show(name + " narrow", x.narrow(1, 1, 2));
    show(name + " narrow + 1", x.narrow(1, 1, 2) + 1);
    show(name + " index_select", x.index_select(1, torch::tensor({0, 2})));
    show(name + " repeat", x.repeat({1, 2, 1, 1}));
    show(name + " roll", x.roll(1, 0));
    show(name + " tril", x.tril());
  }
  show("relu", torch::relu(last));
  show("conv2d", torch::conv2d(last, torch::ones({2, 3, 1, 1})));
  show("max_pool2d", torch::max_pool2d(last, 2));
  show("avg_pool2d", torch::avg_pool2d(last, 2));
  show("adaptive", torch::adaptive_avg_pool2d(last, {1, 2}));
  show("upsample", torch::upsample_nearest2d(last, {4, 4}));
  show("batch_norm", torch::batch_norm(last, {}, {}, {}, {}, true, 0.1, 1e-5, false));
  // broadcast and expanded tensors
  const torch::Tensor row = torch::ones({3}).expand({2, 3}), column = torch::ones({2, 1}).expand({2, 3});
  show("row", row);
  show("row + 1", row + 1);
  show("row clone", row.clone());
  show("column contiguous", column.contiguous());
  show("row + column", row + column);
  show("matmul", plain[0][0].t().matmul(plain[0][1]));
  show("mm of t", plain[0][0].t().mm(plain[0][1]).t() + 1);
  show("reshape of t", plain[0][0].t().reshape({-1}));
  show("t of one row", torch::ones({1, 5}).t());
  show("one channel", torch::ones({2, 1, 3, 3}).contiguous(torch::MemoryFormat::ChannelsLast));
  show("unsqueezed", plain.select(1, 0).unsqueeze(1));
  show("empty_strided", torch::empty_strided({2, 2}, {1, 2}) + torch::ones({2, 2}));
  show("empty channels last",
       torch::empty({1, 2, 3, 4}, torch::TensorOptions().memory_format(torch::MemoryFormat::ChannelsLast)));
  return 0;
}
