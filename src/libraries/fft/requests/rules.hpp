#pragma once

#include <troupe/request/argument_checks.hpp>

#include <cstdint>
#include <string_view>

/// Rules that several Fourier transforms share.
namespace troupe::fft {

inline constexpr std::string_view pairs_rule =
    "complex halves are pairs: the last dimension has extent 2 and stride 1, other strides are "
    "even";
inline constexpr std::string_view lengths_rule =
    "transformed dimensions have elements; in halves powers of two, 2^32 in all at most";
inline constexpr std::string_view in_place_rule =
    "out is apart from in, or the real rows lie on the complex ones, number on number";

/// An operand of a transform and what it is made of.
struct side {
  operand what;
  bool complex = true;
};

/// The complex numbers of halves are pairs side by side, and each lies where it can be loaded.
argument_checks& pairs_fit(argument_checks& check, const side& s);

/// The transformed dimensions are there and have elements: powers of two, in halves. `lengths` is
/// the real side, if one is.
argument_checks& lengths_fit(argument_checks& check, const side& lengths, std::int64_t rank);

/// `out` is apart from `in` or, where the request allows that, lies on it: the very same view, or
/// real rows on complex ones.
argument_checks& apart_or_in_place(argument_checks& check, const side& in, const side& out);

}  // namespace troupe::fft
