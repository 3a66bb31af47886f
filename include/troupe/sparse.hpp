#pragma once

/// Sparse matrices and computations with them.

#include <troupe/sparse/conversions.hpp>
#include <troupe/sparse/matrix.hpp>
#include <troupe/sparse/matrix_market.hpp>
#include <troupe/sparse/products.hpp>
#include <troupe/sparse/sparse_products.hpp>
#include <troupe/sparse/structured.hpp>
#include <troupe/sparse/triangular.hpp>
#include <troupe/sparse/validation.hpp>
#include <troupe/sparse/vectors.hpp>
