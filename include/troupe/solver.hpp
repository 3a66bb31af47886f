#pragma once

/// Factorisations, solves, least squares, singular values and eigenvalues.

#include <troupe/solver/banded.hpp>
#include <troupe/solver/cholesky.hpp>
#include <troupe/solver/eigen.hpp>
#include <troupe/solver/indefinite.hpp>
#include <troupe/solver/least_squares.hpp>
#include <troupe/solver/lu.hpp>
#include <troupe/solver/modes.hpp>
#include <troupe/solver/qr.hpp>
#include <troupe/solver/refined.hpp>
#include <troupe/solver/sparse_direct.hpp>
#include <troupe/solver/svd.hpp>
#include <troupe/solver/symmetric_eigen.hpp>
#include <troupe/solver/triangular.hpp>
