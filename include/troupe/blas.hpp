#pragma once

/// Dense linear algebra: vectors, matrices, batches (BLAS, cuBLAS).

#include <troupe/blas/batched.hpp>
#include <troupe/blas/batched_factor.hpp>
#include <troupe/blas/level1.hpp>
#include <troupe/blas/level1_reductions.hpp>
#include <troupe/blas/level1_rotations.hpp>
#include <troupe/blas/level2.hpp>
#include <troupe/blas/level2_banded.hpp>
#include <troupe/blas/level2_packed.hpp>
#include <troupe/blas/level2_symmetric.hpp>
#include <troupe/blas/level3.hpp>
#include <troupe/blas/level3_symmetric.hpp>
#include <troupe/blas/level3_triangular.hpp>
#include <troupe/blas/modes.hpp>
