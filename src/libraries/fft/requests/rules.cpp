#include "libraries/fft/requests/rules.hpp"

#include "libraries/elementwise/requests/rules.hpp"
#include "libraries/elementwise/requests/typed_program.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <span>
#include <string>
#include <utility>

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

/// A function between an operand and the numbers that are transformed.
struct function_field {
  std::string_view name;
  const elementwise::function& what;
  const std::vector<any_tensor>& operands;
  operand between;  ///< in or out
  bool complex;     ///< the numbers are
  bool reads;       ///< it reads `between`
};

void refuse(argument_checks& check, const function_field& f, error why) {
  check.rule(false, why.code, [&] {
    return fmt::format("{}: {}; it is {}", f.name, why.message, f.what.to_string());
  });
}

/// Checks the function alone, and the shapes of its operands.
void function_fits(argument_checks& check, const function_field& f) {
  if (auto valid = f.what.check(); check.good() && !valid) {
    check.rule(false, valid.error().code,
               [&] { return fmt::format("{}: {}", f.name, valid.error().message); });
  }
  if (!check.good() || !given(f.what)) return;
  check.rule(static_cast<std::size_t>(f.what.inputs()) == f.operands.size() + 1 &&
                 f.what.outputs() == 1 && !f.what.has_row_operations(),
             errc::invalid_argument, [&] {
               return fmt::format(
                   "{} must have {} inputs, as it has {} operands, one output and no row "
                   "operations; it has {} inputs and {} outputs: {}",
                   f.name, f.operands.size() + 1, f.operands.size(), f.what.inputs(),
                   f.what.outputs(), f.what.to_string());
             });
  for (std::size_t i = 0; check.good() && i < f.operands.size(); ++i) {
    const std::string name = fmt::format("{}_operands[{}]", f.name, i);
    check.tensor({name, f.operands[i]});
    if (check.good()) elementwise::check_broadcast(check, {name, f.operands[i]}, f.between);
  }
}

/// Checks the function with the types of its inputs and its output.
void types_fit(argument_checks& check, const function_field& f, dtype precision) {
  if (!check.good() || !given(f.what)) return;
  const dtype number = number_type(precision, f.complex);
  std::array<dtype, elementwise::function::most_inputs> inputs{};
  inputs[0] = f.reads ? f.between.view.type() : number;
  for (std::size_t i = 0; i < f.operands.size(); ++i)
    inputs[i + 1] = f.operands[i].type();
  const dtype output = f.reads ? number : f.between.view.type();
  if (auto typed = elementwise::check_types(f.what, std::span(inputs).first(f.operands.size() + 1),
                                            std::span(&output, 1));
      !typed) {
    refuse(check, f, std::move(typed).error());
  }
}

/// A side without a function has the type of the numbers, where the other side has one.
void plain_side_fits(argument_checks& check, const function_field& plain,
                     const function_field& other) {
  if (!check.good() || given(plain.what) || !given(other.what)) return;
  const dtype type = plain.between.view.type();
  const dtype single = number_type(dtype::f32, plain.complex);
  const dtype twice = number_type(dtype::f64, plain.complex);
  check.rule(type == single || type == twice, errc::type_mismatch, [&] {
    return fmt::format("{} must be {} or {} because {} is given and {} is not; it is {}",
                       plain.between.name, to_string(single), to_string(twice), other.name,
                       plain.name, to_string(type));
  });
}

/// Operands overlap neither out nor, for a c2r in place, in.
void operands_apart(argument_checks& check, const function_field& f, const operand& in,
                    const operand& out) {
  for (std::size_t i = 0; check.good() && i < f.operands.size(); ++i) {
    const std::string name = fmt::format("{}_operands[{}]", f.name, i);
    check.apart(out, {name, f.operands[i]});
    if (in_place(in.view, out.view)) check.apart(in, {name, f.operands[i]});
  }
}

}  // namespace

template <class Request>
argument_checks& functions_fit(argument_checks& check, const Request& r, bool complex_in,
                               bool complex_out) {
  const operand in{"in", r.in};
  const operand out{"out", r.out};
  const function_field load{"load", r.load, r.load_operands, in, complex_in, true};
  const function_field store{"store", r.store, r.store_operands, out, complex_out, false};
  function_fits(check, load);
  function_fits(check, store);
  plain_side_fits(check, load, store);
  plain_side_fits(check, store, load);
  check.rule(!given(r.load) || !given(r.store) || r.precision != precision::of_operands,
             errc::invalid_argument, [] {
               return std::string(
                   "precision must be f32 or f64 because load and store are both given; it is "
                   "of_operands");
             });
  if (!check.good()) return check;
  types_fit(check, load, precision_of(r));
  types_fit(check, store, precision_of(r));
  operands_apart(check, load, in, out);
  operands_apart(check, store, in, out);
  return check;
}

template argument_checks& functions_fit(argument_checks&, const c2c&, bool, bool);
template argument_checks& functions_fit(argument_checks&, const r2c&, bool, bool);
template argument_checks& functions_fit(argument_checks&, const c2r&, bool, bool);

argument_checks& pairs_fit(argument_checks& check, const side& s) {
  const any_tensor& t = s.what.view;
  if (!check.good() || !s.in_pairs()) return check;
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
  const int dimensions = view.rank() - (lengths.in_pairs() ? 1 : 0);
  check.rule(dimensions >= rank, errc::shape_mismatch, [&] {
    return fmt::format("{} dimensions are transformed, {} is {}", rank, name, view.to_string());
  });
  if (!check.good()) return check;
  const bool half = is_half(view.type()) && !given(lengths.function);
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

argument_checks& apart_or_in_place(argument_checks& check, const side& in, const side& out,
                                   dtype precision) {
  if (!check.good()) return check;
  const auto has_own_type = [&](const side& s) {
    return !given(s.function) || s.what.view.type() == number_type(precision, s.complex);
  };
  if (!has_own_type(in) || !has_own_type(out)) return check.apart(out.what, in.what);
  const side& real = in.complex ? out : in;
  const side& complex = in.complex ? in : out;
  return on_each_other(real, complex) ? check : check.apart(out.what, in.what);
}

}  // namespace troupe::fft
