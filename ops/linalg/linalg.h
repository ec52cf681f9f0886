// Linear algebra, all headers of it: this one only includes.
// Factorizations, solutions, functions and norms of matrices. x is (..., m, n), leading dimensions are
// batches, and two operands' batches broadcast; float32 and float64 only. They are computed by LAPACK on the host, so
// tensors of a GPU are copied there and back; a build without LAPACK throws NotImplementedError. Functions whose name
// ends in _ex give `info` (int32, one for each matrix) as well, 0 for success, and throw LinAlgError for another one
// only if check_errors is set; the others throw it. ops/linalg/linalg_namespace.h has the same under tandem::linalg.
#pragma once
#include "tandem/ops/linalg/cholesky.h"
#include "tandem/ops/linalg/cond.h"
#include "tandem/ops/linalg/cross.h"
#include "tandem/ops/linalg/det.h"
#include "tandem/ops/linalg/eig.h"
#include "tandem/ops/linalg/inverse.h"
#include "tandem/ops/linalg/lstsq.h"
#include "tandem/ops/linalg/lu.h"
#include "tandem/ops/linalg/matrix_exp.h"
#include "tandem/ops/linalg/matrix_power.h"
#include "tandem/ops/linalg/matrix_rank.h"
#include "tandem/ops/linalg/multi_dot.h"
#include "tandem/ops/linalg/norm.h"
#include "tandem/ops/linalg/pinv.h"
#include "tandem/ops/linalg/qr.h"
#include "tandem/ops/linalg/solve.h"
#include "tandem/ops/linalg/svd.h"
#include "tandem/ops/linalg/tensorsolve.h"
#include "tandem/ops/linalg/vander.h"
#include "tandem/ops/products/dot.h"
#include "tandem/ops/products/matmul.h"
#include "tandem/ops/shape/diagonal.h"
