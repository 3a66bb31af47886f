#pragma once

#include "ops/validation.hpp"

#include <cstdint>

/// Rules that several Fourier transforms share.
namespace troupe::fft {

/// An operand of a transform and what it is made of.
struct side {
  operand what;
  bool complex = true;
};

/// The complex numbers of halves are pairs side by side, and each lies where it can be loaded.
argument_checks& pairs_fit(argument_checks& check, const side& s);

/// All rules of a transform of two tensors but their types: ranks, extents, what halves need, and
/// that `out` is apart from `in` or lies on it as the request allows.
argument_checks& transform_fits(argument_checks& check, const side& in, const side& out,
                                std::int64_t rank);

}  // namespace troupe::fft
