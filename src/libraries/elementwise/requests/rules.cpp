#include "libraries/elementwise/requests/rules.hpp"

#include "libraries/elementwise/requests/space.hpp"

#include <troupe/elementwise/reduce.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>

namespace troupe::elementwise {
namespace {

void refuse(argument_checks& check, error why) {
  check.rule(false, why.code, [&] { return std::move(why.message); });
}

bool is_whole(const any_tensor& t, const space& s) noexcept {
  return std::ranges::equal(t.extents(),
                            std::span(s.extents.data(), static_cast<std::size_t>(s.rank)));
}

// The thread that reads an element writes it afterwards: so an output may be the very view that an
// input is. A broadcast input is read by other threads, too.
template <class R>
void check_aliasing(argument_checks& check, const R& r, const space& s) {
  for (std::size_t o = 0; o < r.outputs.size(); ++o) {
    const std::string name = fmt::format("outputs[{}]", o);
    const operand output{name, r.outputs[o]};
    for (std::size_t i = 0; i < r.inputs.size(); ++i) {
      if (!r.outputs[o].overlaps(r.inputs[i])) continue;
      const std::string other = fmt::format("inputs[{}]", i);
      if (is_whole(r.inputs[i], s)) {
        check.apart_or_same(output, {other, r.inputs[i]});
      } else {
        check.apart(output, {other, r.inputs[i]});
      }
    }
    for (std::size_t i = 0; i < o; ++i) {
      if (!r.outputs[o].overlaps(r.outputs[i])) continue;
      check.apart(output, {fmt::format("outputs[{}]", i), r.outputs[i]});
    }
  }
}

template <class R>
void check_all(argument_checks& check, const R& r) {
  if (auto valid = r.what.check(); !valid) return refuse(check, std::move(valid).error());
  auto over = space::of(r);
  if (!over) return refuse(check, std::move(over).error());
  std::array<dtype, function::most_inputs> inputs{};
  std::array<dtype, function::most_outputs> outputs{};
  for (std::size_t i = 0; i < r.inputs.size(); ++i)
    inputs[i] = r.inputs[i].type();
  for (std::size_t i = 0; i < r.outputs.size(); ++i)
    outputs[i] = r.outputs[i].type();
  if (auto typed =
          check_types(r.what, std::span(inputs).first(r.inputs.size()),
                      std::span(outputs).first(r.outputs.size()), over->repeated, over->reduced);
      !typed) {
    error why = std::move(typed).error();
    why.message = fmt::format("{}; the function is {}", why.message, r.what.to_string());
    return refuse(check, std::move(why));
  }
  check_aliasing(check, r, *over);
}

}  // namespace

void check_request(argument_checks& check, const map& r) {
  check.rule(!r.what.has_row_operations(), errc::invalid_argument, [&] {
    return fmt::format("the function has row operations, which elementwise.rows takes: {}",
                       r.what.to_string());
  });
  if (check.good()) check_all(check, r);
}
void check_request(argument_checks& check, const rows& r) { check_all(check, r); }
void check_request(argument_checks& check, const reduce& r) {
  auto made = rows_of(r);
  if (!made) return refuse(check, std::move(made).error());
  check_all(check, *made);
}

void check_axis(argument_checks& check, std::int64_t axis, int rank) {
  check.rule(axis >= -rank && axis < rank, errc::invalid_argument, [&] {
    return fmt::format("axis must be from {} to {}; it is {}", -rank, rank - 1, axis);
  });
}

void check_broadcast(argument_checks& check, const operand& t, const operand& y) {
  const int missing = y.view.rank() - t.view.rank();
  bool fits = missing >= 0;
  for (int d = 0; fits && d < t.view.rank(); ++d)
    fits = t.view.extent(d) == 1 || t.view.extent(d) == y.view.extent(d + missing);
  check.rule(fits, errc::shape_mismatch, [&] {
    return fmt::format("{} is [{}] and cannot be broadcast to {}, which is [{}]", t.name,
                       fmt::join(t.view.extents(), ", "), y.name,
                       fmt::join(y.view.extents(), ", "));
  });
}

}  // namespace troupe::elementwise
