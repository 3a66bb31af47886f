#include "request/checker.hpp"

#include "request/description/text.hpp"

#include <troupe/request/argument_checks.hpp>
#include <troupe/request/request.hpp>

#include <fmt/format.h>

#include <utility>

namespace troupe {

result<void> request_type::validate(const void* r) const { return checker(*fields, r).verdict(); }

result<void> checker::verdict() {
  for (const check_step step : t_.checks) {
    if (!passes(step)) [[unlikely]]
      return std::move(*failure_);
  }
  return {};
}

bool checker::passes(check_step step) {
  switch (step.what) {
    case check_step::sort::given:
      return given(step.index);
    case check_step::sort::view:
      return views(step.index);
    case check_step::sort::shape:
      return shape(step.index);
    case check_step::sort::enumerator:
      return enumerator(step.index);
    case check_step::sort::types:
      return types(t_.types[step.index]);
    case check_step::sort::only:
      return only(step.index);
    case check_step::sort::range:
      return range(step.index);
    case check_step::sort::factor:
      return factor(step.index);
    case check_step::sort::groups:
      return groups(step.index);
    case check_step::sort::apart:
      return apart();
    case check_step::sort::rule:
      return own_rule(t_.rules[step.index]);
  }
  return true;
}

bool checker::refuse(errc code, std::string_view what) {
  failure_.emplace(
      error{.code = code,
            .message = t_.name.empty() ? std::string(what) : fmt::format("{}: {}", t_.name, what)});
  return false;
}

std::string checker::value(std::size_t i) const { return value_text(t_, t_.fields[i], request_); }

// The value of the field that a condition depends on, as an addition to a sentence.
std::string checker::reason(const condition& c) const {
  if (c.what == condition::test::type_of) {
    return fmt::format("; {} is {}", name(t_.field_at(c.field)),
                       to_string(value_at<any_tensor>(request_, c.field).type()));
  }
  if (c.what == condition::test::one_of) {
    return fmt::format("; {} is {}", name(t_.field_at(c.field)), value(t_.field_at(c.field)));
  }
  return {};
}

bool checker::given(std::size_t i) {
  const condition& where = condition_of(t_.details[i].given_where);
  const bool is_given = !tensor(i).null();
  if (holds(where, request_) == is_given) return true;
  if (is_given) {
    return refuse(errc::invalid_argument, fmt::format("{} must not be given unless {}{}", name(i),
                                                      text_of(t_, where), reason(where)));
  }
  const std::string because =
      where.what == condition::test::one_of
          ? fmt::format("{} is {}", name(t_.field_at(where.field)), value(t_.field_at(where.field)))
          : text_of(t_, where);
  return refuse(errc::invalid_argument,
                fmt::format("{} must be given because {}", name(i), because));
}

bool checker::groups(std::size_t i) {
  const group_list& list = t_.lists[static_cast<std::size_t>(t_.fields[i].groups)];
  // Only read.
  void* const all =
      const_cast<std::byte*>(static_cast<const std::byte*>(request_)) + t_.fields[i].offset;
  const std::size_t count = list.type->size(all);
  const std::byte* one = list.type->data(all);
  for (std::size_t n = 0; n < count; ++n, one += list.type->stride) {
    if (auto verdict = checker(*list.of, one).verdict(); !verdict) {
      const error why = std::move(verdict).error();
      return refuse(why.code, fmt::format("{}[{}].{}", name(i), n, why.message));
    }
  }
  return true;
}

bool checker::own_rule(const troupe::own_rule& rule) {
  argument_checks own;
  rule.call(rule.function, static_cast<const std::byte*>(request_) + rule.offset, own);
  if (own.good()) return true;
  const error why = std::move(own).verdict().error();
  return refuse(why.code, why.message);
}

}  // namespace troupe
