// Numbers, dtypes, devices and options, and how they print.
#include <torch/torch.h>

#include <iostream>
#include <vector>

int main() {
  const c10::Scalar one(1), half(0.5), yes(true), big(int64_t{1} << 40);
  std::cout << one << " " << half << " " << yes << " " << big << "\n";
  std::cout << one.isIntegral(false) << yes.isIntegral(false) << yes.isIntegral(true) << half.isFloatingPoint()
            << yes.isBoolean() << "\n";
  std::cout << one.type() << " " << half.type() << " " << yes.type() << "\n";
  std::cout << half.to<int>() << " " << one.toDouble() << " " << half.toFloat() << " " << big.toLong() << " "
            << yes.toBool() << " " << (-half).toDouble() << "\n";
  std::cout << one.equal(1) << half.equal(0.5) << half.equal(1) << "\n";
  const torch::Tensor x = torch::tensor({1.75, -2.0});
  std::cout << x[0].item<float>() << " " << x[1].item<double>() << " " << x[0].item<int64_t>() << " "
            << x[0].item().toDouble() << " " << x[1].item() << "\n";
  std::cout << torch::tensor(3).item() << " " << torch::tensor(true).item() << " " << torch::tensor(3).item<int>()
            << "\n";
  try {
    std::cout << x.item() << "\n";
  } catch (const c10::Error&) {
    std::cout << "two elements are no number\n";
  }
  try {
    std::cout << big.to<int8_t>() << "\n";
  } catch (const std::runtime_error&) {
    std::cout << "overflow\n";
  }
  for (const auto dtype :
       {torch::kBool, torch::kUInt8, torch::kInt8, torch::kInt16, torch::kInt32, torch::kInt64, torch::kFloat16,
        torch::kBFloat16, torch::kFloat32, torch::kFloat64, torch::kByte, torch::kLong, torch::kHalf, torch::kDouble})
    std::cout << dtype << " " << c10::toString(dtype) << " " << c10::elementSize(dtype) << c10::isFloatingType(dtype)
              << c10::isIntegralType(dtype, false) << c10::isIntegralType(dtype, true) << c10::isSignedType(dtype)
              << "\n";
  const torch::TensorOptions options =
      torch::TensorOptions().dtype(torch::kFloat64).device(torch::kCPU).requires_grad(true);
  std::cout << options.device() << " " << options.requires_grad() << options.has_dtype() << options.has_device()
            << options.has_layout() << options.pinned_memory() << "\n";
  std::cout << torch::typeMetaToScalarType(options.dtype()) << " " << torch::TensorOptions().has_dtype() << "\n";
  const torch::Tensor y = torch::zeros({2}, options);
  std::cout << y.device() << " " << y.scalar_type() << " " << y.requires_grad() << y.options().requires_grad() << " "
            << y.layout() << "\n";
  std::cout << torch::ones({1}, y.options().dtype(torch::kInt32).requires_grad(false)) << "\n";
  std::cout << torch::Device(torch::kCPU) << " " << torch::Device("cpu") << " " << torch::Device("cuda:1") << " "
            << torch::Device(torch::kCUDA, 2) << " " << int(torch::Device("cuda:1").index()) << " "
            << torch::Device("cpu").is_cpu() << torch::Device("cuda").is_cuda() << torch::Device("cuda:2").has_index()
            << torch::Device("cpu").has_index() << " " << (torch::Device("cuda:1") == torch::Device("cuda:1")) << "\n";
  std::cout << torch::kCPU << " " << torch::Device("cuda:3").str() << " " << c10::DeviceType::CUDA << "\n";
  try {
    std::cout << torch::Device("gpu") << "\n";
  } catch (const c10::Error&) {
    std::cout << "no such device\n";
  }
  std::cout << torch::MemoryFormat::Contiguous << " " << torch::MemoryFormat::ChannelsLast << " "
            << torch::MemoryFormat::Preserve << "\n";
  std::cout << y.toString() << " " << torch::ones({1}, torch::kInt8).toString() << " " << x.is_floating_point()
            << x.is_complex() << x.is_signed() << x.is_cuda() << "\n";
  std::cout << x.to(torch::kInt32) << "\n"
            << x.to(torch::kFloat64).scalar_type() << " " << x.type_as(y).scalar_type() << " "
            << x.toType(torch::kHalf).scalar_type() << "\n";
  std::cout << x.to(torch::kFloat32).is_same(x) << x.to(torch::kFloat32, false, /*copy=*/true).is_same(x) << "\n";
  return 0;
}
