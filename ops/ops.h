// All operations.
#pragma once
#include "tandem/ops/convolution.h"
#include "tandem/ops/dropout.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/factory.h"
#include "tandem/ops/gradcheck.h"
#include "tandem/ops/index.h"
#include "tandem/ops/loss.h"
#include "tandem/ops/matmul.h"
#include "tandem/ops/norm.h"
#include "tandem/ops/pool.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/view.h"
