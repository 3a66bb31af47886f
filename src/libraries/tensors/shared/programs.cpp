#include "libraries/tensors/shared/programs.hpp"

#include "libraries/tensors/requests/path.hpp"
#include "libraries/tensors/requests/rules.hpp"
#include "libraries/tensors/shared/functions.hpp"

#include <array>
#include <complex>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace troupe::tensors {
namespace {

/// The target of `contract` and `reduce`: c and d are the operands with these numbers.
template <class R>
target target_of(planner& p, const R& r, std::string_view modes, int c, int d) {
  target to{.d = p.operand(d, r.d, modes), .alpha = r.alpha};
  if (r.beta.is_zero()) return to;
  to.c = p.operand(c, r.c, modes);
  to.in_place = r.c.same_view(r.d);
  to.beta = r.beta;
  return to;
}

/// True if the sum has no terms.
bool adds_nothing(const named_tensors& tensors, const scalar& alpha) {
  mode_set summed = 0;
  for (const std::string& one : tensors.modes.operands)
    summed |= set_of(one);
  return alpha.is_zero() || tensors.extents.count(summed) == 0;
}

program map_of(const named_tensors& tensors, std::span<const any_tensor* const> all,
               std::span<const scaled_operand> operands, std::span<const binary_operator> between,
               const machine& m) {
  planner p(m, tensors.extents);
  std::vector<named_place> inputs;
  inputs.reserve(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i)
    inputs.push_back(p.operand(static_cast<int>(i), *all[i], tensors.modes.operands[i]));
  const int last = static_cast<int>(operands.size());
  p.map(inputs, p.operand(last, *all.back(), tensors.modes.result),
        combined(operands, between, is_complex(all.back()->type())));
  return std::move(p).finish();
}

/// The bytes of numbers, one after the other.
class key_writer {
 public:
  explicit key_writer(std::string_view request, std::string_view modes) : made_(request) {
    made_ += ' ';
    made_ += modes;
    made_ += ' ';
  }
  key_writer& operator<<(std::int64_t number) {
    made_.append(reinterpret_cast<const char*>(&number), sizeof number);
    return *this;
  }
  key_writer& operator<<(const scalar& s) {
    const auto number = s.as<std::complex<double>>();
    made_.append(reinterpret_cast<const char*>(&number), sizeof number);
    return *this << s.as<std::int64_t>();  // which a double may round
  }
  key_writer& operator<<(const std::vector<std::int64_t>& numbers) {
    *this << std::ssize(numbers);
    for (const std::int64_t one : numbers)
      *this << one;
    return *this;
  }
  template <class Enum>
    requires std::is_enum_v<Enum>
  key_writer& operator<<(Enum value) {
    made_ += static_cast<char>(value);
    return *this;
  }
  key_writer& operator<<(const std::vector<const any_tensor*>& tensors) {
    for (const any_tensor* const t : tensors) {
      *this << t->type() << static_cast<std::int64_t>(t->rank());
      for (int i = 0; i < t->rank(); ++i)
        *this << t->extent(i) << t->stride(i);
    }
    return *this;
  }
  [[nodiscard]] std::string operator()() && { return std::move(made_); }

 private:
  std::string made_;
};

template <class R>
key_writer key_with_tensors(const R& r) {
  key_writer made(R::name, r.modes);
  made << tensors_of(r);
  return made;
}

}  // namespace

std::vector<const any_tensor*> tensors_of(const contract& r) { return {&r.a, &r.b, &r.c, &r.d}; }
std::vector<const any_tensor*> tensors_of(const einsum& r) {
  std::vector<const any_tensor*> all;
  all.reserve(r.operands.size() + 1);
  for (const any_tensor& one : r.operands)
    all.push_back(&one);
  all.push_back(&r.d);
  return all;
}
std::vector<const any_tensor*> tensors_of(const contract_blocks& r) {
  return {&r.a, &r.b, &r.c, &r.d};
}
std::vector<const any_tensor*> tensors_of(const reduce& r) { return {&r.a, &r.c, &r.d}; }
std::vector<const any_tensor*> tensors_of(const permute& r) { return {&r.a, &r.d}; }
std::vector<const any_tensor*> tensors_of(const unary& r) { return {&r.a, &r.d}; }
std::vector<const any_tensor*> tensors_of(const binary& r) { return {&r.a, &r.c, &r.d}; }
std::vector<const any_tensor*> tensors_of(const trinary& r) { return {&r.a, &r.b, &r.c, &r.d}; }

program program_of(const contract& r, const machine& m) {
  const named_tensors tensors = named(r).value();
  planner p(m, tensors.extents);
  const target to = target_of(p, r, tensors.modes.result, 2, 3);
  if (adds_nothing(tensors, r.alpha)) {
    p.scale(to);
  } else {
    p.contract(p.operand(0, r.a, tensors.modes.operands[0]),
               p.operand(1, r.b, tensors.modes.operands[1]), to);
  }
  return std::move(p).finish();
}

program program_of(const einsum& r, const machine& m) {
  const named_tensors tensors = named(r).value();
  planner p(m, tensors.extents);
  const auto count = r.operands.size();
  const target to{.d = p.operand(static_cast<int>(count), r.d, tensors.modes.result),
                  .alpha = r.alpha};
  if (adds_nothing(tensors, r.alpha)) {
    p.scale(to);
    return std::move(p).finish();
  }
  std::vector<named_place> all;
  all.reserve(2 * count);
  for (std::size_t i = 0; i < count; ++i)
    all.push_back(p.operand(static_cast<int>(i), r.operands[i], tensors.modes.operands[i]));
  if (count == 1) {
    p.reduce(all[0], reduction::sum, to);
    return std::move(p).finish();
  }
  const auto path = contraction_path::of(tensors.modes, tensors.extents, r.d.type());
  for (const auto& one : path->steps) {
    if (&one == &path->steps.back()) {
      p.contract(all[one.left], all[one.right], to);
    } else {
      all.push_back(p.contract(all[one.left], all[one.right], one.made));
    }
  }
  return std::move(p).finish();
}

program program_of(const reduce& r, const machine& m) {
  const named_tensors tensors = named(r).value();
  planner p(m, tensors.extents);
  const target to = target_of(p, r, tensors.modes.result, 1, 2);
  if (r.alpha.is_zero()) {
    p.scale(to);
  } else {
    p.reduce(p.operand(0, r.a, tensors.modes.operands[0]), r.op, to);
  }
  return std::move(p).finish();
}

program program_of(const permute& r, const machine& m) {
  const named_tensors tensors = named(r).value();
  planner p(m, tensors.extents);
  p.move(p.operand(0, r.a, tensors.modes.operands[0]),
         {.d = p.operand(1, r.d, tensors.modes.result), .alpha = r.alpha});
  return std::move(p).finish();
}

program program_of(const unary& r, const machine& m) {
  const std::array operands{scaled_operand{r.alpha, r.op}};
  return map_of(named(r).value(), tensors_of(r), operands, {}, m);
}
program program_of(const binary& r, const machine& m) {
  const std::array operands{scaled_operand{r.alpha, r.op_a}, scaled_operand{r.gamma, r.op_c}};
  return map_of(named(r).value(), tensors_of(r), operands, {&r.op, 1}, m);
}
program program_of(const trinary& r, const machine& m) {
  const std::array operands{scaled_operand{r.alpha, r.op_a}, scaled_operand{r.beta, r.op_b},
                            scaled_operand{r.gamma, r.op_c}};
  const std::array between{r.op_ab, r.op};
  return map_of(named(r).value(), tensors_of(r), operands, between, m);
}

std::string key_of(const contract& r) {
  const std::int64_t in_place = r.c.same_view(r.d) ? 1 : 0;
  return std::move(key_with_tensors(r) << r.alpha << r.beta << in_place)();
}
std::string key_of(const einsum& r) { return std::move(key_with_tensors(r) << r.alpha)(); }
std::string key_of(const contract_blocks& r) {
  const std::int64_t in_place = r.c.same_view(r.d) ? 1 : 0;
  return std::move(key_with_tensors(r) << r.section_counts << r.sections << r.a_blocks << r.b_blocks
                                       << r.d_blocks << r.alpha << r.beta << in_place)();
}
std::string key_of(const reduce& r) {
  const std::int64_t in_place = r.c.same_view(r.d) ? 1 : 0;
  return std::move(key_with_tensors(r) << r.alpha << r.beta << in_place << r.op)();
}
std::string key_of(const permute& r) { return std::move(key_with_tensors(r) << r.alpha)(); }
std::string key_of(const unary& r) { return std::move(key_with_tensors(r) << r.alpha << r.op)(); }
std::string key_of(const binary& r) {
  return std::move(key_with_tensors(r) << r.alpha << r.gamma << r.op_a << r.op_c << r.op)();
}
std::string key_of(const trinary& r) {
  return std::move(key_with_tensors(r) << r.alpha << r.beta << r.gamma << r.op_a << r.op_b << r.op_c
                                       << r.op_ab << r.op)();
}

}  // namespace troupe::tensors
