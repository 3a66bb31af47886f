#include "libraries/fft/requests/rules.hpp"

#include "libraries/fft/requests/geometry.hpp"

#include <fmt/format.h>

#include <bit>

namespace troupe::fft {
namespace {

// More elements than that cuFFT does not transform in halves. Source: cuFFT documentation, "Half
// Precision cuFFT Transforms".
constexpr std::int64_t most_halves = std::int64_t{1} << 32;

/// The real rows lie on the complex ones, number on number. Both are written then, so the
/// descriptions have refused views of which two indices refer to the same element.
bool on_each_other(const side& real, const side& complex) {
  const any_tensor& r = real.what.view;
  const any_tensor& c = complex.what.view;
  if (r.address() != c.address()) return false;
  const int last = r.rank() - 1;
  if (r.extent(last) > 1 && r.stride(last) != 1) return false;
  if (c.extent(last) > 1 && number_stride(c, true, last) != 1) return false;
  for (int d = 0; d < last; ++d) {
    if (r.extent(d) > 1 && r.stride(d) != 2 * number_stride(c, true, d)) return false;
  }
  return true;
}

}  // namespace

argument_checks& pairs_fit(argument_checks& check, const side& s) {
  const any_tensor& t = s.what.view;
  if (!check.good() || !in_pairs(t, s.complex)) return check;
  const int last = t.rank() - 1;
  check.rule(
      last >= 0 && t.extent(last) == 2 && t.stride(last) == 1, errc::layout_unsupported, [&] {
        return fmt::format(
            "{} is complex in {}: its last dimension must have extent 2 and stride 1, it is {}",
            s.what.name, to_string(t.type()), t.to_string());
      });
  for (int d = 0; check.good() && d < last; ++d) {
    check.rule(t.extent(d) <= 1 || t.stride(d) % 2 == 0, errc::layout_unsupported, [&] {
      return fmt::format("{} is complex in {}: stride {} of dimension {} must be even", s.what.name,
                         to_string(t.type()), t.stride(d), d);
    });
  }
  return check;
}

argument_checks& lengths_fit(argument_checks& check, const side& lengths, std::int64_t rank) {
  const auto& [name, view] = lengths.what;
  const int dimensions = number_rank(view, lengths.complex);
  check.rule(dimensions >= rank, errc::shape_mismatch, [&] {
    return fmt::format("{} dimensions are transformed, {} is {}", rank, name, view.to_string());
  });
  if (!check.good()) return check;
  const bool half = is_half(view.type());
  std::int64_t numbers = 1;
  for (int d = dimensions - static_cast<int>(rank); check.good() && d < dimensions; ++d) {
    const std::int64_t n = view.extent(d);
    check.rule(n > 0, errc::shape_mismatch, [&] {
      return fmt::format("dimension {} of {} is transformed and has no elements: {}", d, name,
                         view.to_string());
    });
    if (!half) continue;
    check.rule(std::has_single_bit(static_cast<std::uint64_t>(n)), errc::unsupported, [&] {
      return fmt::format("dimension {} of {} is {} but transforms in {} have powers of two only", d,
                         name, n, to_string(view.type()));
    });
    if (check.good()) numbers *= n;
  }
  return check.rule(numbers <= most_halves, errc::unsupported, [&] {
    return fmt::format("a transform in {} has at most 2^32 numbers, not {}", to_string(view.type()),
                       numbers);
  });
}

argument_checks& apart_or_in_place(argument_checks& check, const side& in, const side& out) {
  if (!check.good()) return check;
  if (in.complex == out.complex) return check.apart_or_same(out.what, in.what);
  const side& real = in.complex ? out : in;
  const side& complex = in.complex ? in : out;
  return on_each_other(real, complex) ? check : check.apart(out.what, in.what);
}

}  // namespace troupe::fft
