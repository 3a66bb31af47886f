#include "combining.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace troupe::conformance {
namespace {

using primitives::combination;

bool is_extreme(combination op) { return op == combination::minimum || op == combination::maximum; }
bool is_unsigned(dtype type) {
  return type == dtype::u8 || type == dtype::u16 || type == dtype::u32 || type == dtype::u64;
}
dtype accumulated_in(dtype type) {
  if (type == dtype::f64) return dtype::f64;
  if (is_float(type)) return dtype::f32;
  return is_unsigned(type) ? dtype::u64 : dtype::i64;
}

/// The element that no other one of the type is beyond.
element_bits least_extreme(dtype type, bool smallest) {
  const auto width = static_cast<unsigned>(size_of(type) * 8);
  element_bits best;
  bool found = false;
  // Every type's extremes are among these.
  for (const std::uint64_t high : {std::uint64_t{0}, std::uint64_t{1}}) {
    for (const std::uint64_t low :
         {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{0x7ff0000000000000},
          std::uint64_t{0x7f800000}, std::uint64_t{0x7c00}, std::uint64_t{0x7f80},
          std::uint64_t{0x7e}, std::uint64_t{0x7c}, std::uint64_t{1}}) {
      element_bits bits{{(high << (width - 1) | (low & (~std::uint64_t{0} >> (65 - width)))), 0}};
      if (type == dtype::boolean) bits.words[0] &= 1;
      if (value_of(type, bits).nan) continue;
      if (!found || (smallest ? goes_before(type, best, bits) : goes_before(type, bits, best)))
        best = bits;
      found = true;
    }
  }
  return best;
}

std::uint64_t as_integer(dtype type, const element_bits& bits) {
  const long double value = value_of(type, bits).number;
  return value < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value))
                   : static_cast<std::uint64_t>(value);
}

/// How far a combination may be from the exact one.
long double limit_of(dtype of, dtype to, const combined& expected) {
  const auto terms = static_cast<long double>(expected.terms + 8);
  return 2 * terms * static_cast<long double>(epsilon(accumulated_in(of))) * expected.bound +
         static_cast<long double>(epsilon(to)) * std::abs(expected.number) +
         static_cast<long double>(smallest(to));
}

}  // namespace

std::string name_of(combination op) {
  constexpr const char* names[] = {"sum", "product", "minimum", "maximum"};
  return names[static_cast<int>(op)];
}

std::vector<dtype> types_of_result(dtype type, combination op) {
  if (is_extreme(op)) return {type};
  if (type == dtype::boolean) return {dtype::i64};
  if (accumulated_in(type) == type) return {type};
  return {type, accumulated_in(type)};
}

void fill_to_combine(scene& s, test_tensor& x, content with, combination op) {
  const dtype type = x.view.type();
  if (is_extreme(op) || !is_float(type)) return fill_bits(s, x, with);
  std::vector<number> values(x.values.size());
  // Few elements grow in a product, and sums of small types stay below their largest number.
  const bool is_long = values.size() > 64;
  for (number& one : values) {
    const double drawn = std::abs(s.random(type).real());
    const double sign = s.generator()() % 2 == 0 ? 1 : -1;
    if (op == combination::product) {
      one = sign * (is_long ? 1 : 0.75 + drawn / 2);
    } else {
      one = sign * (with == content::equal ? 0.5 : drawn) *
            (size_of(type) == 1 && is_long ? 0.25 : 1);
    }
  }
  if (with == content::special && values.size() > 1) {
    values[s.generator()() % values.size()] = std::numeric_limits<double>::quiet_NaN();
  }
  s.fill(x, values);
}

combined none(dtype type, combination op) {
  combined all;
  if (is_extreme(op)) all.element = least_extreme(type, op == combination::minimum);
  if (op == combination::product) {
    all.integer = 1;
    all.number = all.bound = 1;
  }
  return all;
}

void extend(combined& all, dtype type, const element_bits& next, combination op) {
  const element_value value = value_of(type, next);
  ++all.terms;
  all.nan = all.nan || value.nan;
  if (is_extreme(op)) {
    if (value.nan) return;
    const bool wins = op == combination::minimum ? goes_before(type, next, *all.element)
                                                 : goes_before(type, *all.element, next);
    if (wins) all.element = next;
  } else if (is_float(type)) {
    if (op == combination::sum) {
      all.number += value.number;
      all.bound += std::abs(value.number);
    } else {
      all.number *= value.number;
      all.bound = std::abs(all.number);
    }
  } else if (op == combination::sum) {
    all.integer += as_integer(type, next);
  } else {
    all.integer *= as_integer(type, next);
  }
}

combined combine(dtype type, const std::vector<element_bits>& elements, combination op) {
  combined all = none(type, op);
  for (const element_bits& one : elements)
    extend(all, type, one, op);
  return all;
}

void expect_element(dtype to, const element_bits& found, dtype of, const combined& expected,
                    const std::string& note) {
  if (expected.nan) {
    EXPECT_TRUE(value_of(to, found).nan) << note;
  } else if (expected.element) {
    EXPECT_EQ(found, *expected.element) << note;
  } else if (is_float(of)) {
    const long double off = std::abs(value_of(to, found).number - expected.number);
    EXPECT_LE(off, limit_of(of, to, expected))
        << value_of(to, found).number << " instead of " << expected.number << note;
  } else {
    const auto width = static_cast<unsigned>(size_of(to) * 8);
    EXPECT_EQ(found.words[0], expected.integer & (~std::uint64_t{0} >> (64 - width))) << note;
  }
}

void expect_number(const scalar& found, dtype of, const combined& expected,
                   const std::string& note) {
  if (expected.element && !expected.nan && !is_float(of)) {
    const long double value = value_of(of, *expected.element).number;
    EXPECT_EQ(is_unsigned(of) ? static_cast<long double>(found.as<std::uint64_t>())
                              : static_cast<long double>(found.as<std::int64_t>()),
              value)
        << note;
  } else if (!is_float(of)) {
    EXPECT_EQ(found.as<std::uint64_t>(), expected.integer) << note;
    EXPECT_EQ(found.what(),
              is_unsigned(of) ? scalar::kind::unsigned_integer : scalar::kind::integer)
        << note;
  } else {
    const auto real = found.as<double>();
    if (expected.nan) {
      EXPECT_TRUE(std::isnan(real)) << note;
    } else if (expected.element) {
      EXPECT_EQ(real, value_of(of, *expected.element).number) << note;
      EXPECT_EQ(std::signbit(real), value_of(of, *expected.element).negative) << note;
    } else {
      EXPECT_LE(std::abs(real - expected.number), limit_of(of, accumulated_in(of), expected))
          << real << " instead of " << expected.number << note;
    }
  }
}

std::int64_t first_extreme(dtype type, const std::vector<element_bits>& elements, bool smallest) {
  std::int64_t best = -1;
  bool best_is_nan = false;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const bool nan = value_of(type, elements[i]).nan;
    const auto at = static_cast<std::size_t>(best);
    const bool wins =
        best < 0 ||
        (!best_is_nan && (nan || (smallest ? goes_before(type, elements[i], elements[at])
                                           : goes_before(type, elements[at], elements[i]))));
    if (!wins) continue;
    best = static_cast<std::int64_t>(i);
    best_is_nan = nan;
  }
  return best;
}

}  // namespace troupe::conformance
