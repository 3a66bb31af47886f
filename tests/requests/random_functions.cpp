#include "random_functions.hpp"

#include <algorithm>
#include <vector>

namespace troupe::testing_requests {
namespace {

using elementwise::function;
using elementwise::opcode;
using elementwise::value;

constexpr int most_row_operations = 4;

}  // namespace

function random_function(std::mt19937_64& random, const function_use& use) {
  const auto below = [&](std::size_t n) { return random() % n; };
  return function::of(static_cast<int>(use.inputs.size()), [&](std::span<const value> x) {
    std::vector<value> reals;
    std::vector<value> bits;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (is_complex(use.inputs[i])) {
        const auto parts = elementwise::complex(x[i]);
        reals.push_back(parts.real);
        reals.push_back(parts.imaginary);
      } else if (use.inputs[i] == dtype::u64) {  // signed types have none with it
        reals.push_back(cast(max(x[i] / 3, x[i] >> 7), dtype::f32));
        bits.push_back(cast((x[i] % 1000) * x[i], dtype::i64));
      } else {
        reals.push_back(x[i]);
        if (is_integer(use.inputs[i])) bits.push_back(x[i]);
      }
    }
    if (use.positions) {
      reals.push_back(elementwise::index(0));
      reals.push_back(elementwise::position());
      bits.push_back(reals.back());
    }
    if (reals.empty()) reals.emplace_back(1.5);
    int row_operations = 0;
    const auto one_of = [&](const std::vector<value>& from) { return from[below(from.size())]; };
    const auto any = [&]() -> value {
      if (below(6) == 0) return static_cast<double>(below(17)) / 4 - 2;
      if (below(8) == 0) return static_cast<std::int64_t>(below(9)) - 4;
      return one_of(reals);
    };
    const auto allowed = [&](opcode op) {
      if (use.divides) return op;
      if (op == opcode::divide) return opcode::multiply;
      return op == opcode::sqrt ? opcode::absolute : op;
    };
    // Not copysign: a NaN has no specified sign, and processors differ.
    constexpr opcode of_two[] = {
        opcode::add,     opcode::subtract, opcode::multiply,   opcode::divide,   opcode::quotient,
        opcode::minimum, opcode::maximum,  opcode::fmin,       opcode::fmax,     opcode::remainder,
        opcode::less,    opcode::equal,    opcode::less_equal, opcode::not_equal};
    constexpr opcode of_one[] = {opcode::negative, opcode::absolute,   opcode::sign,  opcode::ceil,
                                 opcode::floor,    opcode::trunc,      opcode::round, opcode::sqrt,
                                 opcode::is_nan,   opcode::is_infinite};
    constexpr opcode of_bits[] = {opcode::bit_and,    opcode::bit_or,      opcode::bit_xor,
                                  opcode::shift_left, opcode::shift_right, opcode::philox};
    constexpr dtype casts[] = {dtype::f16, dtype::bf16, dtype::e4m3, dtype::e5m2, dtype::f32,
                               dtype::i8,  dtype::u16,  dtype::i32,  dtype::f64};
    constexpr opcode of_rows[] = {opcode::row_minimum, opcode::row_maximum, opcode::row_argmin,
                                  opcode::row_argmax};
    const std::size_t steps = 1 + below(20);
    for (std::size_t i = 0; i < steps; ++i) {
      if (use.rows && row_operations < most_row_operations && below(4) == 0) {
        reals.push_back(elementwise::apply(of_rows[below(std::size(of_rows))], any()));
        ++row_operations;
        continue;
      }
      switch (below(8)) {
        case 0:
        case 1:
          reals.push_back(elementwise::apply(allowed(of_one[below(std::size(of_one))]), any()));
          break;
        case 2:
          reals.push_back(elementwise::cast(any(), casts[below(std::size(casts))]));
          break;
        case 3:
          reals.push_back(elementwise::select(any(), any(), any()));
          break;
        case 4:
          if (bits.empty()) break;
          bits.push_back(
              elementwise::apply(of_bits[below(std::size(of_bits))], one_of(bits), one_of(bits)));
          reals.push_back(bits.back());
          break;
        case 5:
          reals.push_back(elementwise::fma(any(), any(), any()));
          break;
        default:
          reals.push_back(
              elementwise::apply(allowed(of_two[below(std::size(of_two))]), any(), any()));
          break;
      }
    }
    std::vector<elementwise::result_value> results;
    for (int k = 0; k < use.outputs; ++k) {
      const std::size_t last = reals.size() - 1 - below(std::min<std::size_t>(reals.size(), 3));
      results.emplace_back(reals[last]);
    }
    return results;
  });
}

}  // namespace troupe::testing_requests
