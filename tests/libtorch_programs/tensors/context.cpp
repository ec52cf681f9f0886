// Switches of the global context: the value at the start, and the value that is set.
#include <torch/torch.h>

int main() {
  at::Context& context = at::globalContext();
  std::cout << "attention: " << context.userEnabledFlashSDP() << context.userEnabledMemEfficientSDP()
            << context.userEnabledMathSDP() << context.userEnabledCuDNNSDP() << context.userEnabledOverrideableSDP()
            << context.allowFP16BF16ReductionMathSDP() << '\n';
  context.setSDPUseFlash(false);
  context.setSDPUseMemEfficient(false);
  context.setSDPUseMath(true);
  context.setSDPUseCuDNN(false);
  context.setAllowFP16BF16ReductionMathSDP(true);
  std::cout << "set:       " << context.userEnabledFlashSDP() << context.userEnabledMemEfficientSDP()
            << context.userEnabledMathSDP() << context.userEnabledCuDNNSDP() << context.userEnabledOverrideableSDP()
            << context.allowFP16BF16ReductionMathSDP() << '\n';
  context.setAllowFP16ReductionCuBLAS(false);
  context.setAllowBF16ReductionCuBLAS(false, false);
  context.setAllowFP16AccumulationCuBLAS(true);
  context.setUserEnabledNNPACK(false);
  context.setDeterministicFillUninitializedMemory(false);
  std::cout << "others:    " << context.allowFP16AccumulationCuBLAS() << context.userEnabledNNPACK()
            << context.deterministicFillUninitializedMemory() << context.hasMPS() << context.hasIPU() << '\n';
  at::scalar_value_type<float>::type real = 1.5f;
  at::scalar_value_type<std::complex<double>>::type part = 2.5;
  std::cout << real << ' ' << part << '\n';
  return 0;
}
