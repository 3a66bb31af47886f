// Element types, and the rules of values.
#include "request/checker.hpp"
#include "request/description/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace troupe {
namespace {

constexpr std::uint64_t byte_mask = 0xff;

}  // namespace

bool checker::enumerator(std::size_t i) {
  const field& f = t_.fields[i];
  const std::uint32_t is = enumerator_at(f, request_);
  if (is <= f.last_enumerator) return true;
  return refuse(errc::invalid_argument,
                fmt::format("{} must be one of {}; it is {}, which is no enumerator", name(i),
                            fmt::join(t_.details[i].enumerators, ", "), is));
}

bool checker::types(const type_table& table) {
  for (const int where : table.unless) {
    if (holds(condition_of(where), request_)) return true;
  }
  std::uint64_t types = 0;
  std::uint64_t asked = 0;
  unsigned shift = 0;
  for (const std::uint16_t i : table.fields) {
    const any_tensor& x = tensor(i);
    if (!x.null() || !t_.details[i].optional) {
      types |= static_cast<std::uint64_t>(x.type()) << shift;
      asked |= byte_mask << shift;
    }
    shift += type_table::bits;
  }
  for (const std::uint64_t row : table.rows) {
    if (((row ^ types) & asked) == 0) return true;
  }
  return wrong_types(table, false);
}

result<void> checker::types_of_given() {
  for (const type_table& table : t_.types) {
    const bool counts = std::ranges::none_of(
        table.unless, [&](int where) { return holds(condition_of(where), request_); });
    if (counts && !wrong_types(table, true)) return std::move(*failure_);
  }
  return {};
}

// "c must be one of f16, f32 because a is f16 and b is f16; it is bf16": the first field whose type
// matches no row with the types before it.
bool checker::wrong_types(const type_table& table, bool only_given) {
  std::vector<std::uint64_t> rows = table.rows;
  std::vector<std::string> because;
  for (std::size_t place = 0; place < table.fields.size(); ++place) {
    const std::uint16_t i = table.fields[place];
    if (tensor(i).null() && (only_given || t_.details[i].optional)) continue;
    const dtype type = tensor(i).type();
    std::vector<std::string_view> could;
    for (const std::uint64_t row : rows) {
      const std::string_view one = to_string(type_table::type_in(row, place));
      if (std::ranges::find(could, one) == could.end()) could.push_back(one);
    }
    std::erase_if(rows, [&](std::uint64_t row) { return type_table::type_in(row, place) != type; });
    if (rows.empty()) {
      return refuse(
          errc::type_mismatch,
          fmt::format("{} must be {}{}{}{}; it is {}", name(i), could.size() == 1 ? "" : "one of ",
                      fmt::join(could, ", "), because.empty() ? "" : " because ",
                      fmt::join(because, " and "), to_string(type)));
    }
    because.push_back(fmt::format("{} is {}", name(i), to_string(type)));
  }
  return true;
}

bool checker::only(std::size_t i) {
  const field& f = t_.fields[i];
  if (is_default(t_, f, request_)) return true;
  for (const int where : t_.details[i].only_where) {
    const condition& c = condition_of(where);
    if (holds(c, request_)) continue;
    const std::string wrong =
        f.is_tensor() ? fmt::format("{} must not be given unless {}", name(i), text_of(t_, c))
                      : fmt::format("{} is {}, but it must be {} unless {}", name(i), value(i),
                                    value_text(t_, f, t_.defaults), text_of(t_, c));
    return refuse(errc::invalid_argument, wrong + reason(c));
  }
  return true;
}

bool checker::range(std::size_t i) {
  const field& f = t_.fields[i];
  const field_details::bounds& bounds = t_.details[i].range.front();
  double is = 0;
  switch (f.kind) {
    case field_kind::real:
      is = value_at<double>(request_, f.offset);
      break;
    case field_kind::integer:
      is = static_cast<double>(value_at<std::int64_t>(request_, f.offset));
      break;
    case field_kind::unsigned_integer:
      is = static_cast<double>(value_at<std::uint64_t>(request_, f.offset));
      break;
    case field_kind::text:
      is = static_cast<double>(value_at<std::string>(request_, f.offset).size());
      break;
    case field_kind::integers:
      is = static_cast<double>(value_at<std::vector<std::int64_t>>(request_, f.offset).size());
      break;
    case field_kind::scalars:
      is = static_cast<double>(value_at<std::vector<scalar>>(request_, f.offset).size());
      break;
    case field_kind::tensors:
      is = static_cast<double>(value_at<std::vector<any_tensor>>(request_, f.offset).size());
      break;
    default:
      break;
  }
  const bool from_least = bounds.open ? is > bounds.least : is >= bounds.least;
  if (std::isfinite(is) && from_least && is <= bounds.most) return true;
  return refuse(errc::invalid_argument,
                fmt::format("{} is {}, it must be {}", name(i), value(i), text_of(bounds)));
}

bool checker::factor(std::size_t i) {
  if (t_.details[i].is_real && value_at<scalar>(request_, t_.fields[i].offset).has_imaginary()) {
    return refuse(errc::invalid_argument,
                  fmt::format("{} is {}, it must be real", name(i), value(i)));
  }
  if (t_.details[i].factor_of < 0) return true;
  const auto of = static_cast<std::size_t>(t_.details[i].factor_of);
  const dtype type = tensor(of).type();
  if (is_complex(type)) return true;
  const scalar& v = value_at<scalar>(request_, t_.fields[i].offset);
  if (v.has_imaginary()) {
    return refuse(errc::invalid_argument,
                  fmt::format("{} must be real because {} is {}; it is {}", name(i), name(of),
                              to_string(type), value(i)));
  }
  if (type != dtype::i32 && type != dtype::i64) return true;
  const int bits = type == dtype::i32 ? 32 : 64;
  const double number = v.as<double>();
  const double bound = std::ldexp(1.0, bits - 1);
  const bool is_whole = v.what() == scalar::kind::integer || std::trunc(number) == number;
  // Near 2^63 an integer may become the bound when it is rounded.
  const bool in_range =
      (number >= -bound && number < bound) || (bits == 64 && v.what() == scalar::kind::integer);
  if (is_whole && in_range) return true;
  return refuse(errc::invalid_argument,
                fmt::format("{} is {}, it must be a {}-bit integer where {} is {}", name(i),
                            value(i), bits, name(of), to_string(type)));
}

}  // namespace troupe
