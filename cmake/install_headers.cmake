# Run by `cmake --install`; with cmake -P, it only prints the list. Public headers are tandem.h, models/models.h,
# train/train.h, models to train with the Trainer, those that LibTorch's torch.h needs, one that only a few programs need,
# and all headers that these include. Other headers are not installed.
# SOURCE: this project's folder; DESTINATION: folder to install to; if it is missing, the list is printed
cmake_minimum_required(VERSION 3.22)
set(found)
set(left tandem.h models/models.h train/train.h models/language_modeling.h models/text_classification.h
         core/print/print_libtorch.h  # for libtorch/torch/torch.h
         parallel/reducer.h)  # for DistributedDataParallel::reducer()
while(left)
  list(POP_FRONT left header)
  list(APPEND found ${header})
  file(STRINGS ${SOURCE}/${header} lines REGEX "^#include [<\"]tandem/")
  foreach(line ${lines})
    string(REGEX REPLACE ".*tandem/([^>\"]+).*" "\\1" included ${line})
    if(NOT included IN_LIST found AND NOT included IN_LIST left)
      list(APPEND left ${included})
    endif()
  endforeach()
endwhile()
foreach(header ${found})
  if(DESTINATION)
    get_filename_component(folder ${header} DIRECTORY)
    file(INSTALL ${SOURCE}/${header} DESTINATION ${DESTINATION}/${folder})
  else()
    message(${header})
  endif()
endforeach()
