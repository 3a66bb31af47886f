#include "libraries/elementwise/requests/typed_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace troupe::elementwise {
namespace {

error refused(errc code, std::size_t i, std::string_view why) {
  return {.code = code, .message = fmt::format("instruction {} of the program: {}", i, why)};
}

bool is_real_constant(const scalar& s) noexcept { return s.what() == scalar::kind::real; }

/// What is known of a function's values before any is made: a constant has no type of its own.
class inference {
 public:
  inference(const function& f, std::span<const dtype> inputs, std::span<const dtype> outputs,
            std::uint32_t repeated, std::uint32_t reduced) noexcept
      : f_(f), inputs_(inputs), outputs_(outputs), repeated_(repeated), reduced_(reduced) {}

  struct known {
    number result{};
    number type{};  ///< that it computes in
    bool constant = false;
    bool real_constant = false;
    bool uniform = false;
  };

  [[nodiscard]] result<void> run() {
    for (std::size_t i = 0; i < f_.size(); ++i) {
      if (auto outcome = infer(i); !outcome) return outcome;
    }
    return {};
  }
  [[nodiscard]] const known& of(std::size_t i) const noexcept { return all_[i]; }

 private:
  /// The common type of some operands.
  [[nodiscard]] number common(std::initializer_list<std::uint16_t> operands) const noexcept {
    number most = number::boolean;
    bool any = false;
    bool real = false;
    for (const std::uint16_t n : operands) {
      const known& one = all_[n];
      if (one.constant) {
        real = real || one.real_constant;
      } else {
        any = true;
        most = std::max(most, one.result);
      }
    }
    if (!any) return real ? number::f32 : number::i64;
    if (real) return std::max(most, number::f32);
    const bool integer = std::ranges::any_of(operands, [&](auto n) { return all_[n].constant; });
    return integer ? std::max(most, number::i64) : most;
  }
  [[nodiscard]] result<void> infer(std::size_t i);
  [[nodiscard]] result<void> infer_source(std::size_t i, const instruction& one, known& made) const;
  [[nodiscard]] result<void> infer_output(std::size_t i, const instruction& one, known& made) const;

  const function& f_;
  std::span<const dtype> inputs_;
  std::span<const dtype> outputs_;
  std::uint32_t repeated_;
  std::uint32_t reduced_;
  std::array<known, function::most_instructions> all_;
};

result<void> inference::infer_source(std::size_t i, const instruction& one, known& made) const {
  switch (one.op) {
    case opcode::input: {
      const dtype type = inputs_[one.a];
      if (one.b == 1 && !is_complex(type)) {
        return refused(
            errc::type_mismatch, i,
            fmt::format("the imaginary part of inputs[{}], which is {}", one.a, to_string(type)));
      }
      made.result = number_of(type);
      made.uniform = (repeated_ >> one.a & 1) != 0;
      return {};
    }
    case opcode::constant:
      made.constant = true;
      made.real_constant = is_real_constant(f_.constants()[one.a]);
      made.result = made.real_constant ? number::f32 : number::i64;
      made.uniform = true;
      return {};
    default:
      made.result = number::i64;
      made.uniform = one.op == opcode::row_length;
      return {};
  }
}

result<void> inference::infer_output(std::size_t i, const instruction& one, known& made) const {
  const dtype type = outputs_[one.b];
  if (one.c == 1 && !is_complex(type)) {
    return refused(
        errc::type_mismatch, i,
        fmt::format("outputs[{}] takes an imaginary part, and is {}", one.b, to_string(type)));
  }
  if ((reduced_ >> one.b & 1) != 0 && !all_[one.a].uniform) {
    return refused(errc::invalid_argument, i,
                   fmt::format("outputs[{}] has one element for a row, and takes a value that is "
                               "not the same for the whole row",
                               one.b));
  }
  made.type = number_of(type);
  return {};
}

result<void> inference::infer(std::size_t i) {
  const instruction one = f_.at(i);
  const opcode_traits traits = traits_of(one.op);
  known& made = all_[i] = {};
  const std::uint16_t operands[] = {one.a, one.b, one.c};
  made.uniform = true;
  for (int k = 0; k < traits.operands; ++k)
    made.uniform = made.uniform && all_[operands[k]].uniform;
  const auto common_of_all = [&] {
    switch (traits.operands) {
      case 1:
        return common({one.a});
      case 2:
        return common({one.a, one.b});
      default:
        return common({one.a, one.b, one.c});
    }
  };
  switch (traits.family) {
    case opcode_family::source:
      return infer_source(i, one, made);
    case opcode_family::any:
      made.result = made.type = std::max(common_of_all(), number::i64);
      break;
    case opcode_family::real:
      made.result = made.type = std::max(common_of_all(), number::f32);
      break;
    case opcode_family::predicate:
      made.type = std::max(common_of_all(), number::f32);
      made.result = number::boolean;
      break;
    case opcode_family::comparison:
      made.type = std::max(common_of_all(), number::i64);
      made.result = number::boolean;
      break;
    case opcode_family::bits:
    case opcode_family::integer:
      made.type = common_of_all();
      if (made.type > number::i64) {
        return refused(errc::type_mismatch, i,
                       fmt::format("{} takes integers, and an operand is real", traits.name));
      }
      if (traits.family == opcode_family::integer) made.type = number::i64;
      made.result = made.type;
      break;
    case opcode_family::cast:
      made.type = common({one.a});
      made.result = number_of(static_cast<dtype>(one.b));
      break;
    case opcode_family::select:
      made.result = made.type = common({one.b, one.c});
      break;
    case opcode_family::row:
      made.result = made.type = std::max(common({one.a}), number::i64);
      made.uniform = true;
      break;
    case opcode_family::row_index:
      made.type = std::max(common({one.a}), number::i64);
      made.result = number::i64;
      made.uniform = true;
      break;
    case opcode_family::output:
      return infer_output(i, one, made);
  }
  return {};
}

/// Makes the typed instructions of a function, one after the other.
class binder {
 public:
  binder(const function& f, const inference& known, std::span<const dtype> outputs,
         std::uint32_t reduced)
      : f_(f), known_(known), outputs_(outputs), reduced_(reduced), places_(f.size()) {}

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
  /// Value `n` of the function, as a number of that type.
  std::uint16_t as(number type, std::uint16_t n) {
    const instruction one = f_.at(n);
    if (one.op == opcode::constant) {
      return add({opcode::constant, type, type, 0, true, one.a, 0, 0});
    }
    const std::uint16_t place = places_[n];
    if (at(place).result == type) return place;
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
  (void)store(add({opcode::constant, part, part, 0, true, zero_constant, 0, 0}), 1);
}

void binder::bind(std::size_t i) {
  const instruction one = f_.at(i);
  const opcode_traits traits = traits_of(one.op);
  const inference::known& known = known_.of(i);
  if (one.op == opcode::constant) return;  // made for each type that wants it
  if (traits.family == opcode_family::source) {
    places_[i] = add({one.op, known.result, known.result, 0, known.uniform, one.a, one.b, 0});
    return;
  }
  if (one.op == opcode::output) return bind_output(i);
  if (one.op == opcode::cast) {
    const auto type = static_cast<dtype>(one.b);
    const std::uint16_t a = rounded(one.a, type);
    const bool is_number = type == dtype::f32 || type == dtype::f64 || type == dtype::i64;
    places_[i] = is_number ? a : add_on(opcode::cast, a, known.result, one.b);
    return;
  }
  typed_instruction made{
      .op = one.op, .type = known.type, .result = known.result, .uniform = known.uniform};
  const std::uint16_t operands[] = {one.a, one.b, one.c};
  std::uint16_t* const places[] = {&made.a, &made.b, &made.c};
  for (int k = 0; k < traits.operands; ++k) {
    const bool condition = one.op == opcode::select && k == 0;
    *places[k] = as(condition ? number::boolean : known.type, operands[k]);
    made.level = std::max(made.level, at(*places[k]).level);
  }
  if (is_row(one.op)) ++made.level;
  places_[i] = add(made);
}

// Appends what computing `n` takes, operands first, but what is there already.
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
                                          std::uint32_t reduced) {
  inference known(f, inputs, outputs, repeated, reduced);
  if (auto outcome = known.run(); !outcome) return std::move(outcome).error();
  return binder(f, known, outputs, reduced).run();
}

}  // namespace troupe::elementwise
