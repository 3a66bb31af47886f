#pragma once

/// Sparse matrices and what is computed with them.

#include <troupe/sparse/matrix.hpp>
#include <troupe/sparse/structured.hpp>
