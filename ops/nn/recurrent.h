// STUB
#pragma once
#include "tandem/ops/nn/rnn_cell.h"
