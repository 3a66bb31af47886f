#pragma once

#include "libraries/blas/shared/reals.hpp"

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

/// How plane rotations are generated. Shared by the backends: all of it is constexpr, so that
/// kernels run the very same code.
///
/// Numbers are scaled by powers of two before they are squared, so that nothing overflows or
/// underflows on the way to a result that does not, and nothing is rounded by it. After: E.
/// Anderson, "Safe Scaling in the Level 1 BLAS", ACM TOMS 44, 2017, which LAPACK 3.10 follows.
namespace troupe::rotations {

using reals::magnitude;
using reals::square_root;

template <class R>
using bits_of = std::conditional_t<sizeof(R) == 4, std::uint32_t, std::uint64_t>;
template <class R>
inline constexpr int fraction_bits = std::numeric_limits<R>::digits - 1;
template <class R>
inline constexpr int bias = std::numeric_limits<R>::max_exponent - 1;

/// The exponent of x, as far as both 2^e and 2^−e are normal.
template <class R>
constexpr int exponent_of(R x) noexcept {
  constexpr int most = bias<R> - 1;
  const int field =
      static_cast<int>(std::bit_cast<bits_of<R>>(x) >> fraction_bits<R>) & (2 * bias<R> + 1);
  const int exponent = field - bias<R>;
  return exponent < -most ? -most : exponent > most ? most : exponent;
}

template <class R>
constexpr R power_of_two(int exponent) noexcept {
  return std::bit_cast<R>(static_cast<bits_of<R>>(exponent + bias<R>) << fraction_bits<R>);
}

/// The result of xROTG for real numbers: c · a + s · b = r, c · b − s · a = 0, and the z from which
/// c and s can be found.
template <class R>
struct real_rotation {
  R r, z, c, s;
};

template <class R>
constexpr real_rotation<R> generate(R a, R b) noexcept {
  if (b == 0) return {a, 0, 1, 0};
  if (a == 0) return {b, 1, 0, 1};
  const bool a_is_larger = magnitude(a) > magnitude(b);
  const R larger = a_is_larger ? a : b;
  const int exponent = exponent_of(larger);
  const R down = power_of_two<R>(-exponent);
  const R length = square_root((a * down) * (a * down) + (b * down) * (b * down));
  const R r = larger < 0 ? -length : length;
  const R c = a * down / r;
  const R s = b * down / r;
  const R z = a_is_larger ? s : c != 0 ? 1 / c : 1;
  return {r * power_of_two<R>(exponent), z, c, s};
}

template <class R>
struct complex_parts {
  R re, im;
};

/// The result of xROTG for complex numbers: c · f + s · g = r, c · g − conj(s) · f = 0.
template <class R>
struct complex_rotation {
  complex_parts<R> r;
  R c;
  complex_parts<R> s;
};

template <class R>
constexpr R larger_part(complex_parts<R> v) noexcept {
  return magnitude(v.re) > magnitude(v.im) ? magnitude(v.re) : magnitude(v.im);
}
template <class R>
constexpr R length_of(complex_parts<R> v) noexcept {
  return square_root(v.re * v.re + v.im * v.im);
}

template <class R>
constexpr complex_rotation<R> generate(complex_parts<R> f, complex_parts<R> g) noexcept {
  if (g.re == 0 && g.im == 0) return {f, 1, {0, 0}};
  const R of_f = larger_part(f);
  const R of_g = larger_part(g);
  const int exponent = exponent_of(of_f > of_g ? of_f : of_g);
  const R down = power_of_two<R>(-exponent);
  // f is the product of its direction and its length, which may be far below that of g.
  complex_parts<R> direction{1, 0};
  R length_f = 0;
  if (!(of_f == 0)) {
    const int own = exponent_of(of_f);
    const R own_down = power_of_two<R>(-own);
    const complex_parts<R> scaled{f.re * own_down, f.im * own_down};
    const R length = length_of(scaled);
    direction = {scaled.re / length, scaled.im / length};
    length_f = length * down * power_of_two<R>(own);
  }
  const complex_parts<R> conjugate{g.re * down, -g.im * down};
  const R length =
      square_root(length_f * length_f + conjugate.re * conjugate.re + conjugate.im * conjugate.im);
  const R up = power_of_two<R>(exponent);
  return {{direction.re * length * up, direction.im * length * up},
          length_f / length,
          {(direction.re * conjugate.re - direction.im * conjugate.im) / length,
           (direction.re * conjugate.im + direction.im * conjugate.re) / length}};
}

/// The matrix of a modified rotation. A flag of 0 stands for ones on the diagonal, one of 1 for
/// h12 = 1 and h21 = −1.
template <class R>
struct modified_rotation {
  R flag, h11, h21, h12, h22;

  constexpr void state_all() noexcept {
    if (flag == 0) h11 = h22 = 1;
    if (flag == 1) {
      h21 = -1;
      h12 = 1;
    }
    flag = -1;
  }
};

/// Scales d into the range from 2^−24 to 2^24 by factors of 2^24, and its row of the matrix to
/// match;
/// answers the factor by which the row's result changes.
template <class R>
constexpr R rescale(R& d, modified_rotation<R>& h, R& first, R& second) noexcept {
  constexpr R step = 4096;
  R factor = 1;
  // Infinities are not scaled.
  while (d != 0 && d - d == 0 &&
         (magnitude(d) <= 1 / (step * step) || magnitude(d) >= step * step)) {
    h.state_all();
    const bool up = magnitude(d) < 1;
    d = up ? d * (step * step) : d / (step * step);
    const R by = up ? 1 / step : step;
    first *= by;
    second *= by;
    factor *= by;
  }
  return factor;
}

/// xROTMG: updates d1, d2, x1, and those of the five elements of `param` that its flag includes.
/// Source: reference BLAS.
template <class R>
constexpr void generate_modified(R& d1, R& d2, R& x1, R y1, R* param) noexcept {
  const R p2 = d2 * y1;
  if (!(d1 < 0) && p2 == 0) {
    param[0] = -2;
    return;
  }
  const R p1 = d1 * x1;
  const R q1 = p1 * x1;
  const R q2 = p2 * y1;
  modified_rotation<R> h{-1, 0, 0, 0, 0};
  R share = 0;  // divisor of d1 and d2; not positive if there is no such rotation
  if (d1 < 0) {
    share = -1;
  } else if (magnitude(q1) > magnitude(q2)) {
    h = {0, 0, -y1 / x1, p2 / p1, 0};
    share = 1 - h.h12 * h.h21;
  } else if (!(q2 < 0)) {
    h = {1, p1 / p2, 0, 0, x1 / y1};
    share = 1 + h.h11 * h.h22;
  }
  if (share <= 0) {
    h = {-1, 0, 0, 0, 0};
    d1 = d2 = x1 = 0;
  } else {
    const R first = (h.flag == 0 ? d1 : d2) / share;
    d2 = (h.flag == 0 ? d2 : d1) / share;
    d1 = first;
    x1 = (h.flag == 0 ? x1 : y1) * share;
    x1 *= rescale(d1, h, h.h11, h.h12);
    rescale(d2, h, h.h21, h.h22);
  }
  param[0] = h.flag;
  if (h.flag != 0) {
    param[1] = h.h11;
    param[4] = h.h22;
  }
  if (h.flag != 1) {
    param[2] = h.h21;
    param[3] = h.h12;
  }
}

}  // namespace troupe::rotations
