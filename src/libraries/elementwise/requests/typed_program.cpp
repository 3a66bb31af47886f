#include "libraries/elementwise/requests/typed_program.hpp"

#include "libraries/elementwise/requests/function/element_types.hpp"
#include "libraries/elementwise/requests/inference.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

namespace troupe::elementwise {
namespace {

bool is_real_constant(const scalar& s) noexcept { return s.what() == scalar::kind::real; }

/// For u64 these are i64's with the sign bits of operands turned round, and that of a number that
/// they give, too.
bool is_ordering(opcode op) noexcept {
  switch (op) {
    case opcode::minimum:
    case opcode::maximum:
    case opcode::fmin:
    case opcode::fmax:
    case opcode::less:
    case opcode::less_equal:
    case opcode::row_minimum:
    case opcode::row_maximum:
    case opcode::row_argmin:
    case opcode::row_argmax:
      return true;
    default:
      return false;
  }
}
opcode unsigned_of(opcode op) noexcept {
  switch (op) {
    case opcode::quotient:
      return unsigned_quotient;
    case opcode::remainder:
      return unsigned_remainder;
    case opcode::shift_right:
      return unsigned_shift_right;
    default:
      return op;
  }
}

/// Makes the typed instructions of a function, one after the other.
class binder {
 public:
  /// `elements`: the kinds of the function's values, if rows are empty.
  binder(const function& f, const inference& known, std::span<const dtype> outputs,
         std::uint32_t reduced, std::span<const value_kind> elements)
      : f_(f),
        known_(known),
        outputs_(outputs),
        reduced_(reduced),
        elements_(elements),
        places_(f.size()) {}

  [[nodiscard]] typed_program run() {
    for (std::size_t i = 0; i < f_.size(); ++i)
      bind(i);
    divide_into_passes();
    mark_fast();
    return std::move(made_);
  }

 private:
  std::uint16_t add(typed_instruction one) {
    const auto [place, is_new] =
        same_.try_emplace({one.op, one.type, one.result, one.a, one.b, one.c},
                          static_cast<std::uint16_t>(made_.code.size()));
    if (is_new) made_.code.push_back(one);
    return place->second;
  }
  [[nodiscard]] const typed_instruction& at(std::uint16_t n) const { return made_.code[n]; }
  /// An instruction of one operand.
  std::uint16_t add_on(opcode op, std::uint16_t a, number result, std::uint16_t b = 0) {
    return add({op, at(a).result, result, at(a).level, at(a).uniform, a, b, 0});
  }
  std::uint16_t add_constant(number type, std::uint16_t which) {
    return add({opcode::constant, type, type, 0, true, which, 0, 0});
  }
  /// With the other sign bit, so that u64 are in i64's order, or are u64 again.
  std::uint16_t turned(std::uint16_t place) {
    const std::uint16_t sign = add_constant(number::i64, sign_bit_constant);
    return add({opcode::bit_xor, number::i64, number::i64, at(place).level, at(place).uniform,
                place, sign, 0});
  }
  /// Value `n` of the function, as a number of that type.
  std::uint16_t as(number type, std::uint16_t n) {
    const instruction one = f_.at(n);
    if (one.op == opcode::constant) return add_constant(type, one.a);
    const std::uint16_t place = places_[n];
    if (at(place).result == type) return place;
    if (type > number::i64 && known_.of(n).which == integers::unsigned_ones) {
      return add_on(unsigned_to_real, place, type);
    }
    if (type == number::i64 && at(place).result > number::i64) {
      return add_on(to_integer, place, type, static_cast<std::uint16_t>(dtype::i64));
    }
    return add_on(convert, place, type);
  }
  /// As a number that is stored as, or rounded to, an element type.
  std::uint16_t rounded(std::uint16_t n, dtype type) {
    const number wanted = number_of(type);
    const instruction one = f_.at(n);
    if (one.op == opcode::constant) {
      const bool real = is_real_constant(f_.constants()[one.a]);
      if (!is_integer(type) || !real) {
        if (wanted != number::f32 || type == dtype::f32 || type == dtype::c64) return as(wanted, n);
        return add_on(round_to_odd, as(number::f64, n), wanted);
      }
      return add_on(to_integer, as(number::f64, n), wanted, static_cast<std::uint16_t>(type));
    }
    const std::uint16_t place = places_[n];
    const number has = at(place).result;
    if (wanted == number::i64 && has > number::i64) {
      return add_on(to_integer, place, wanted, static_cast<std::uint16_t>(type));
    }
    const bool narrow = wanted == number::f32 && type != dtype::f32 && type != dtype::c64;
    if (narrow && has == number::f64) return add_on(round_to_odd, place, wanted);
    return as(wanted, n);
  }
  void bind(std::size_t i);
  void bind_output(std::size_t i);
  void divide_into_passes();
  void mark_fast();
  void need(std::vector<std::uint16_t>& list, std::vector<bool>& there, std::uint16_t n);

  const function& f_;
  const inference& known_;
  std::span<const dtype> outputs_;
  std::uint32_t reduced_;
  std::span<const value_kind> elements_;
  std::vector<std::uint16_t> places_;  // by instruction of the function
  std::map<std::tuple<opcode, number, number, std::uint16_t, std::uint16_t, std::uint16_t>,
           std::uint16_t>
      same_;
  typed_program made_;
};

void binder::bind_output(std::size_t i) {
  const instruction one = f_.at(i);
  const dtype type = outputs_[one.b];
  const auto store = [&](std::uint16_t a, std::uint16_t part) {
    const number stored = number_of(type);
    return add({opcode::output, stored, stored, at(a).level, (reduced_ >> one.b & 1) != 0, a, one.b,
                part});
  };
  places_[i] = store(rounded(one.a, type), one.c);
  if (!is_complex(type) || one.c == 1) return;
  for (std::size_t other = 0; other < f_.size(); ++other) {
    if (f_.at(other) == instruction{opcode::output, f_.at(other).a, one.b, 1}) return;
  }
  const number part = number_of(type);
  (void)store(add_constant(part, zero_constant), 1);
}

void binder::bind(std::size_t i) {
  const instruction one = f_.at(i);
  const opcode_traits traits = traits_of(one.op);
  const inference::known& known = known_.of(i);
  if (one.op == opcode::constant) return;  // made for each type that wants it
  if (traits.family == opcode_family::source) {
    const auto part = static_cast<std::uint16_t>(one.b == input_imaginary ? 1 : 0);
    places_[i] = add({one.op, known.result, known.result, 0, known.uniform, one.a, part, 0});
    return;
  }
  if (one.op == opcode::output) return bind_output(i);
  if (one.op == opcode::cast) {
    const auto type = static_cast<dtype>(one.b);
    const std::uint16_t a = rounded(one.a, type);
    const bool is_number = type == dtype::f32 || type == dtype::f64;  // which `a` is by now
    places_[i] = is_number ? a : add_on(opcode::cast, a, known.result, one.b);
    return;
  }
  const bool is_bound = one.op == opcode::row_minimum || one.op == opcode::row_maximum;
  if (is_bound && known.type == number::i64 && !elements_.empty()) {
    places_[i] = add_constant(
        number::i64, bound_constant(elements_[one.a].settled(), one.op == opcode::row_minimum));
    return;
  }
  typed_instruction made{.op = known.is_unsigned ? unsigned_of(one.op) : one.op,
                         .type = known.type,
                         .result = known.result,
                         .uniform = known.uniform};
  const bool turns = known.is_unsigned && is_ordering(one.op);
  const std::uint16_t operands[] = {one.a, one.b, one.c};
  std::uint16_t* const places[] = {&made.a, &made.b, &made.c};
  for (int k = 0; k < traits.operands; ++k) {
    const bool condition = one.op == opcode::select && k == 0;
    *places[k] = as(condition ? number::boolean : known.type, operands[k]);
    if (turns) *places[k] = turned(*places[k]);
    made.level = std::max(made.level, at(*places[k]).level);
  }
  if (is_row(one.op)) ++made.level;
  if (known.is_unsigned && one.op == opcode::absolute) {
    places_[i] = made.a;
  } else if (known.is_unsigned && one.op == opcode::sign) {
    places_[i] = add_on(convert, add_on(convert, made.a, number::boolean), number::i64);
  } else {
    places_[i] = add(made);
    if (turns && known.which == integers::unsigned_ones) places_[i] = turned(places_[i]);
  }
}

// Appends the instructions that `n` needs, operands first, without those already in the list.
void binder::need(std::vector<std::uint16_t>& list, std::vector<bool>& there, std::uint16_t n) {
  if (there[n]) return;
  const typed_instruction& one = at(n);
  const std::uint16_t values[] = {one.a, one.b, one.c};
  for (int k = 0; k < value_operands(one.op); ++k)
    need(list, there, values[k]);
  there[n] = true;
  list.push_back(n);
}

void binder::divide_into_passes() {
  std::uint8_t last = 0;
  for (const typed_instruction& one : made_.code)
    last = std::max(last, one.level);
  made_.passes.resize(std::size_t{last} + 1);
  // Uniform values are computed once a row, after the pass that makes them known; constants are
  // wherever they are needed.
  std::vector<bool> done(made_.code.size(), false);
  for (std::size_t p = 0; p < made_.passes.size(); ++p) {
    pass& now = made_.passes[p];
    const bool is_last = p + 1 == made_.passes.size();
    std::vector<bool> there = done;
    for (std::size_t n = 0; n < made_.code.size(); ++n) {
      const typed_instruction& one = made_.code[n];
      const auto place = static_cast<std::uint16_t>(n);
      if (is_row(one.op) && one.level == p + 1) {
        need(now.elements, there, one.a);
        now.rows.push_back(place);
      }
      if (is_last && one.op == opcode::output && !one.uniform) need(now.elements, there, place);
    }
    for (const std::uint16_t n : now.rows)
      done[n] = true;
    std::vector<bool> known = done;
    for (std::size_t n = 0; n < made_.code.size(); ++n) {
      const typed_instruction& one = made_.code[n];
      const bool later = one.op == opcode::output && !is_last;
      if (!one.uniform || one.level > p + 1 || is_row(one.op) || later) continue;
      if (one.op != opcode::constant) need(now.uniform, known, static_cast<std::uint16_t>(n));
    }
    for (const std::uint16_t n : now.uniform)
      done[n] = at(n).op != opcode::constant;
    // An output may be in the place of an input, which is read first.
    std::ranges::stable_partition(now.elements,
                                  [&](std::uint16_t n) { return at(n).op != opcode::output; });
  }
}

bool is_small(dtype type) noexcept { return is_float(type) && size_of(type) <= 2; }

/// True for operations whose result may jump where an operand changes a little.
bool jumps(opcode op) noexcept {
  switch (op) {
    case opcode::sign:
    case opcode::ceil:
    case opcode::floor:
    case opcode::trunc:
    case opcode::round:
    case opcode::quotient:
    case opcode::remainder:
    case opcode::row_argmin:
    case opcode::row_argmax:
      return true;
    default:
      if (op >= convert) return op == to_integer;
      return (traits_of(op).family == opcode_family::comparison ||
              traits_of(op).family == opcode_family::predicate);
  }
}

void binder::mark_fast() {
  std::vector<bool> exact(made_.code.size(), false);
  for (std::size_t n = made_.code.size(); n-- > 0;) {
    typed_instruction& one = made_.code[n];
    one.fast = !exact[n];
    bool wants_exact = exact[n] || jumps(one.op) || one.result < number::f32;
    if (one.op == opcode::output) wants_exact = !is_small(outputs_[one.b]);
    if (one.op == opcode::cast) wants_exact = !is_small(static_cast<dtype>(one.b));
    if (!wants_exact) continue;
    const std::uint16_t operands[] = {one.a, one.b, one.c};
    for (int k = 0; k < value_operands(one.op); ++k)
      exact[operands[k]] = true;
  }
}

}  // namespace

result<void> check_types(const function& f, std::span<const dtype> inputs,
                         std::span<const dtype> outputs, std::uint32_t repeated,
                         std::uint32_t reduced) {
  return inference(f, inputs, outputs, repeated, reduced).run();
}

result<typed_program> typed_program::bind(const function& f, std::span<const dtype> inputs,
                                          std::span<const dtype> outputs, std::uint32_t repeated,
                                          std::uint32_t reduced, bool no_elements) {
  inference known(f, inputs, outputs, repeated, reduced);
  if (auto outcome = known.run(); !outcome) return std::move(outcome).error();
  std::vector<value_kind> elements;
  if (no_elements) elements = kinds_of_values(f, inputs, repeated);
  return binder(f, known, outputs, reduced, elements).run();
}

scalar constant_of(const function& f, std::uint16_t number) noexcept {
  if (number < zero_constant) return f.constants()[number];
  if (number == zero_constant) return {};
  if (number == sign_bit_constant) return std::numeric_limits<std::int64_t>::min();
  const int which = number - bound_constant(dtype{}, false);
  const auto type = static_cast<dtype>(which / 2);
  const bool largest = which % 2 != 0;
  if (type == dtype::boolean) return largest ? 1 : 0;
  const auto unused_bits = static_cast<unsigned>(64 - 8 * size_of(type));
  const bool has_sign = integers_of(type) == integers::signed_ones;
  if (!has_sign) return static_cast<std::int64_t>(largest ? ~std::uint64_t{0} >> unused_bits : 0);
  const auto bound =
      largest ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
  return bound >> unused_bits;
}

}  // namespace troupe::elementwise
