#pragma once

#include "libraries/fft/requests/geometry.hpp"

#include <troupe/request/argument_checks.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

/// Rules that several Fourier transforms share.
namespace troupe::fft {

inline constexpr std::string_view functions_rule =
    "load and store have one input more than operands, one output and no row operations; they are "
    "valid for their types; operands can be broadcast to in or out and share no element with what "
    "is written; the side without a function has the transform's type, c64 c128 f32 or f64, and "
    "with two functions precision says it";
inline constexpr std::string_view pairs_rule =
    "complex halves are pairs: the last dimension has extent 2 and stride 1, other strides are "
    "even";
inline constexpr std::string_view lengths_rule =
    "transformed dimensions have elements; in halves powers of two, 2^32 in all at most";
inline constexpr std::string_view in_place_rule =
    "out is apart from in, or the real rows lie on the complex ones, number on number";

/// An operand of a transform, its kind of numbers, and the function between both.
struct side {
  operand what;
  bool complex = true;
  const elementwise::function& function;

  /// A complex number is two elements.
  [[nodiscard]] bool in_pairs() const noexcept {
    return fft::in_pairs(what.view, complex) && !given(function);
  }
};

/// The fields of both functions, in every request alike.
template <class Request>
void describe_functions(description<Request>& d) {
  d.group("load", &Request::load);
  d.reads("load_operands", &Request::load_operands, {},
          "what load reads besides in, broadcast to its shape")
      .only_where(d.given(&Request::load));
  d.group("store", &Request::store);
  d.reads("store_operands", &Request::store_operands, {},
          "what store reads besides the numbers, broadcast to the shape of out")
      .only_where(d.given(&Request::store));
  d.value("precision", &Request::precision, "arithmetic of a transform with load and store")
      .only_where(d.given(&Request::load))
      .only_where(d.given(&Request::store));
}

/// Checks that the functions are valid for their inputs and outputs, and that together with the
/// operands they fix the precision of the transform.
template <class Request>
argument_checks& functions_fit(argument_checks& check, const Request& r, bool complex_in,
                               bool complex_out);

/// The complex numbers of halves are pairs side by side, and each lies where it can be loaded.
argument_checks& pairs_fit(argument_checks& check, const side& s);

/// The transformed dimensions are there and have elements: powers of two, in halves. `lengths` is
/// the real side, if one is.
argument_checks& lengths_fit(argument_checks& check, const side& lengths, std::int64_t rank);

/// `out` is apart from `in` or lies on it, real rows on complex ones.
argument_checks& apart_or_in_place(argument_checks& check, const side& in, const side& out,
                                   dtype precision);

}  // namespace troupe::fft
