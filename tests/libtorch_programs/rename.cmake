# Rewrites a LibTorch program for Tandem: cmake -D IN=program.cpp -D OUT=renamed.cpp -P rename.cmake
file(READ ${IN} text)
string(REPLACE "<torch/torch.h>" "<tandem/tandem.h>" text "${text}")
string(REPLACE "torch::" "tandem::" text "${text}")
file(WRITE ${OUT} "${text}")
