// Includes the headers of linear algebra: factorizations, solutions, functions and norms of matrices. Matrices are
// tensors (..., m, n); leading dimensions are batch dimensions, which broadcast between operands. Functions that need
// LAPACK accept only float32 and float64. LAPACK computes on the host, so a GPU's tensors are copied there and back; a
// build without LAPACK throws NotImplementedError. Functions whose name ends in _ex also return `info`, an int32 for
// each matrix that is 0 on success, and throw LinAlgError for another value only if check_errors; the functions of the
// same name without _ex always throw. ops/linalg/linalg_namespace.h has the same functions in tandem::linalg.
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
