# Tandem::libtorch: a program that links this target finds headers with LibTorch's names, which declare Tandem. One of
# them has the contents (libtorch/torch/torch.h, with its parts beside it); the others include it.
set(tandem_libtorch_headers
    ATen/ATen.h ATen/autocast_mode.h ATen/Functions.h ATen/Parallel.h ATen/core/Tensor.h ATen/core/ivalue.h ATen/cuda/CUDAContext.h
    ATen/cuda/CUDAEvent.h ATen/cuda/CUDAGraph.h
    c10/core/Device.h c10/core/DeviceType.h c10/core/InferenceMode.h c10/core/MemoryFormat.h c10/core/Scalar.h c10/core/ScalarType.h
    c10/core/TensorOptions.h c10/cuda/CUDAEvent.h c10/cuda/CUDAException.h c10/cuda/CUDAFunctions.h
    c10/cuda/CUDAGuard.h c10/util/ArrayRef.h c10/util/BFloat16.h c10/util/Half.h
    c10/util/Optional.h c10/util/intrusive_ptr.h c10/util/irange.h torch/all.h torch/autograd.h torch/cuda.h torch/data.h
    torch/data/dataloader.h torch/data/datasets.h torch/data/samplers.h torch/data/transforms.h torch/enum.h
    torch/expanding_array.h torch/nn.h torch/nn/cloneable.h torch/nn/functional.h torch/nn/init.h
    torch/nn/module.h torch/nn/modules.h torch/nn/modules/container/any.h torch/nn/modules/container/any_value.h
    torch/nn/modules/container/moduledict.h torch/nn/modules/container/modulelist.h
    torch/nn/modules/container/named_any.h torch/nn/modules/container/parameterdict.h
    torch/nn/modules/container/parameterlist.h torch/nn/modules/container/sequential.h torch/nn/modules/embedding.h
    torch/nn/modules/rnn.h torch/nn/modules/transformer.h torch/nn/modules/transformercoder.h
    torch/nn/modules/transformerlayer.h torch/nn/options.h torch/nn/options/embedding.h torch/nn/options/rnn.h
    torch/nn/options/transformer.h torch/nn/options/transformercoder.h torch/nn/options/transformerlayer.h
    torch/nn/parallel/data_parallel.h torch/nn/pimpl.h torch/nn/utils.h torch/nn/utils/clip_grad.h
    torch/nn/utils/convert_parameters.h torch/nn/utils/rnn.h torch/optim.h torch/optim/adagrad.h torch/optim/adam.h
    torch/optim/adamw.h torch/optim/lbfgs.h torch/optim/optimizer.h torch/optim/rmsprop.h
    torch/optim/schedulers/lr_scheduler.h torch/optim/schedulers/reduce_on_plateau_scheduler.h
    torch/optim/schedulers/step_lr.h torch/optim/sgd.h torch/ordered_dict.h torch/serialize.h torch/serialize/archive.h
    torch/serialize/input-archive.h torch/serialize/output-archive.h torch/serialize/tensor.h torch/types.h torch/utils.h torch/csrc/autograd/anomaly_mode.h torch/csrc/autograd/custom_function.h torch/csrc/distributed/c10d/FileStore.hpp
    torch/csrc/distributed/c10d/PrefixStore.hpp torch/csrc/distributed/c10d/ProcessGroup.hpp
    torch/csrc/distributed/c10d/ProcessGroupGloo.hpp torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp
    torch/csrc/distributed/c10d/Store.hpp torch/csrc/distributed/c10d/TCPStore.hpp torch/csrc/distributed/c10d/Types.hpp
    torch/csrc/distributed/c10d/Work.hpp)
list(APPEND tandem_libtorch_headers
     ATen/AccumulateType.h ATen/CPUGeneratorImpl.h ATen/ExpandUtils.h ATen/NativeFunctions.h ATen/ScalarOps.h ATen/Tensor.h
     ATen/TensorIndexing.h ATen/TensorUtils.h ATen/core/Dict.h ATen/core/Generator.h ATen/core/List.h ATen/core/Reduction.h
     ATen/core/TensorAccessor.h c10/core/Allocator.h c10/core/CPUAllocator.h c10/core/DefaultDtype.h c10/core/GradMode.h
     c10/core/Layout.h c10/core/ScalarTypeToTypeMeta.h c10/core/Storage.h c10/cuda/CUDACachingAllocator.h
     c10/macros/Export.h c10/util/OptionalArrayRef.h c10/util/accumulate.h c10/util/string_view.h c10/util/typeid.h
     torch/arg.h torch/csrc/api/include/torch/torch.h torch/csrc/autograd/autograd.h torch/csrc/autograd/edge.h
     torch/csrc/autograd/engine.h torch/csrc/autograd/function.h torch/csrc/autograd/function_hook.h
     torch/csrc/autograd/grad_mode.h torch/csrc/autograd/generated/variable_factories.h torch/csrc/autograd/variable.h
     torch/csrc/utils/memory.h torch/data/detail/data_shuttle.h torch/data/detail/queue.h
     torch/data/detail/sequencers.h torch/detail/TensorDataContainer.h torch/detail/static.h torch/extension.h
     torch/library.h torch/linalg.h torch/mps.h torch/nn/modules/_functions.h torch/nn/modules/adaptive.h
     torch/nn/modules/common.h torch/nn/modules/container/any_module_holder.h torch/nn/modules/container/functional.h
     torch/nn/modules/utils.h torch/nn/options/adaptive.h torch/nn/pimpl-inl.h torch/optim/serialize.h
     torch/special.h torch/xpu.h)
foreach(family activation batchnorm conv distance dropout embedding fold instancenorm linear loss normalization padding
        pixelshuffle pooling upsampling)
  list(APPEND tandem_libtorch_headers torch/nn/modules/${family}.h torch/nn/options/${family}.h
       torch/nn/functional/${family}.h)
endforeach()
list(APPEND tandem_libtorch_headers torch/nn/options/vision.h torch/nn/functional/vision.h)
foreach(header dataloader/base dataloader/stateful dataloader/stateless dataloader_options datasets/base datasets/chunk
        datasets/map datasets/mnist datasets/shared datasets/stateful datasets/tensor example iterator samplers/base
        samplers/custom_batch_request samplers/distributed samplers/random samplers/sequential samplers/serialize
        samplers/stream transforms/base transforms/collate transforms/lambda transforms/stack transforms/tensor
        worker_exception)
  list(APPEND tandem_libtorch_headers torch/data/${header}.h)
endforeach()
set(tandem_libtorch_folder ${PROJECT_BINARY_DIR}/libtorch)
# Writes a header of one line, unless the file has this content already.
function(tandem_libtorch_header header line)
  file(CONFIGURE OUTPUT ${tandem_libtorch_folder}/${header} CONTENT "#pragma once\n${line}\n" @ONLY)
endfunction()
foreach(header ${tandem_libtorch_headers})
  tandem_libtorch_header(${header} "#include <torch/torch.h>")
endforeach()
# Headers of parts that Tandem leaves out (docs/libtorch.md) stop the compiler with a message.
foreach(part jit fft sparse nested)
  tandem_libtorch_header(torch/${part}.h "#error \"torch/${part}.h is not part of Tandem; docs/libtorch.md lists what is\"")
endforeach()
foreach(header torch/torch.h torch/namespaces.h torch/other_names.h torch/script.h torch/version.h ATen/Context.h ATen/Dispatch.h
        c10/core/Backend.h c10/cuda/CUDAStream.h c10/macros/Macros.h c10/util/Exception.h c10/util/List.h c10/util/Logging.h
        c10/util/tempfile.h)
  configure_file(${PROJECT_SOURCE_DIR}/libtorch/${header} ${tandem_libtorch_folder}/${header} COPYONLY)
  list(APPEND tandem_libtorch_headers ${header})
endforeach()
list(SORT tandem_libtorch_headers)
set_property(GLOBAL PROPERTY tandem_libtorch_headers ${tandem_libtorch_headers})  # for a test

set(tandem_libtorch_installed ${CMAKE_INSTALL_INCLUDEDIR}/tandem/libtorch)
add_library(tandem_libtorch INTERFACE)
add_library(Tandem::libtorch ALIAS tandem_libtorch)
set_target_properties(tandem_libtorch PROPERTIES EXPORT_NAME libtorch)
target_link_libraries(tandem_libtorch INTERFACE tandem)
target_include_directories(tandem_libtorch INTERFACE $<BUILD_INTERFACE:${tandem_libtorch_folder}>
                                                     $<INSTALL_INTERFACE:${tandem_libtorch_installed}>)
