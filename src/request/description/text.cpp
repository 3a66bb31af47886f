#include "request/description/text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <iterator>
#include <utility>

namespace troupe {
namespace {

// "f32", "f32 or f64", "f32, f64 or c64".
std::string alternatives(const std::vector<std::string>& all) {
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) text += i + 1 == all.size() ? " or " : ", ";
    text += all[i];
  }
  return text;
}

std::string text_of(const scalar& v) {
  if (v.has_imaginary()) {
    const auto z = v.as<std::complex<double>>();
    return fmt::format("{}{:+}i", z.real(), z.imag());
  }
  if (v.what() == scalar::kind::integer) return fmt::format("{}", v.as<std::int64_t>());
  if (v.what() == scalar::kind::unsigned_integer) return fmt::format("{}", v.as<std::uint64_t>());
  return fmt::format("{}", v.as<double>());
}

std::string text_of_groups(const group_list& list, const void* at) {
  constexpr std::size_t most_shown = 8;
  // Only read: nothing of a list changes here.
  void* const groups = const_cast<void*>(at);
  const std::size_t count = list.type->size(groups);
  std::string text = "[";
  for (std::size_t i = 0; i < std::min(count, most_shown); ++i) {
    const std::byte* const one = list.type->data(groups) + i * list.type->stride;
    std::string parts;
    for (std::size_t f = 0; f < list.of->fields.size(); ++f) {
      if (is_default(*list.of, list.of->fields[f], one)) continue;
      fmt::format_to(std::back_inserter(parts), "{}{}={}", parts.empty() ? "" : " ",
                     list.of->details[f].name, value_text(*list.of, list.of->fields[f], one));
    }
    text += fmt::format("{}{{{}}}", i == 0 ? "" : ", ", parts);
  }
  return text + (count > most_shown ? fmt::format(", … {}]", count) : "]");
}

}  // namespace

std::string text_of(const description_table& t, const extent& e) {
  if (e.is_number()) return std::to_string(e.plus());
  const symbol& s = t.symbols[static_cast<std::size_t>(e.symbol())];
  if (e.is_smaller()) {
    return fmt::format("min({}, {})", s.name, t.symbols[static_cast<std::size_t>(e.other())].name);
  }
  std::string text = s.name;
  if (s.most > 1) text += "…";
  if (e.times() != 1) text = fmt::format("{}{}", e.times(), text);
  if (e.over() != 1) {
    text = e.rounds_up() ? fmt::format("⌈{}/{}⌉", text, e.over())
                         : fmt::format("{}/{}", text, e.over());
  }
  if (e.plus() != 0) text += fmt::format(" + {}", e.plus());
  return text;
}

std::string text_of(const description_table& t, bool has_shape, std::span<const extent> shape) {
  if (!has_shape) return "any";
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i)
    text += (i == 0 ? "" : ", ") + text_of(t, shape[i]);
  return text + "]";
}

std::string text_of(const description_table& t, const condition& c) {
  const auto name = [&](std::uint32_t offset) -> const std::string& {
    return t.details[t.field_at(offset)].name;
  };
  // A predicate may also hold for numbers that are no enumerators.
  const auto among = [&](std::size_t count, auto word) {
    std::vector<std::string> all;
    for (std::size_t v = 0; v < count; ++v) {
      if ((c.mask >> v & 1) != 0) all.push_back(std::string(word(v)));
    }
    return alternatives(all);
  };
  const std::string_view verb = c.negated ? "is not" : "is";
  switch (c.what) {
    case condition::test::zero:
      return fmt::format("{} {} 0", name(c.field), verb);
    case condition::test::all_zero:
      return fmt::format("{} {} all 0", name(c.field), c.negated ? "are not" : "are");
    case condition::test::set:
      return fmt::format("{} {}", name(c.field), c.negated ? "is false" : "is true");
    case condition::test::one_of: {
      const auto& names = t.details[t.field_at(c.field)].enumerators;
      return fmt::format("{} {} {}", name(c.field), verb,
                         among(names.size(), [&](std::size_t v) { return names[v]; }));
    }
    case condition::test::type_of:
      return fmt::format("{} {} {}", name(c.field), verb, among(dtype_count, [](std::size_t v) {
                           return to_string(static_cast<dtype>(v));
                         }));
    case condition::test::given:
      return fmt::format("{} {} given", name(c.field), verb);
    case condition::test::rank:
      return fmt::format("{} {} rank {}", name(c.field), c.negated ? "has not" : "has", c.mask);
    case condition::test::same_view:
      return fmt::format("{} {} the same view as {}", name(c.field), verb, name(c.other));
    case condition::test::in_place:
      return fmt::format("{} {} at the address of {}", name(c.field), verb, name(c.other));
    case condition::test::not_empty:
      return fmt::format("{} {} given", t.details[t.field_at(c.field)].group, verb);
  }
  return {};
}

std::string value_text(const description_table& t, const field& f, const void* request) {
  switch (f.kind) {
    case field_kind::tensor: {
      const auto& tensor = value_at<any_tensor>(request, f.offset);
      return tensor.null() ? "none" : tensor.to_string();
    }
    case field_kind::tensors: {
      const auto& all = value_at<std::vector<any_tensor>>(request, f.offset);
      return all.empty() ? "[]" : fmt::format("{}×{}", all.size(), all.front().to_string());
    }
    case field_kind::scalar:
      return text_of(value_at<scalar>(request, f.offset));
    case field_kind::integer:
      return fmt::format("{}", value_at<std::int64_t>(request, f.offset));
    case field_kind::unsigned_integer:
      return fmt::format("{}", value_at<std::uint64_t>(request, f.offset));
    case field_kind::real:
      return fmt::format("{}", value_at<double>(request, f.offset));
    case field_kind::boolean:
      return value_at<bool>(request, f.offset) ? "true" : "false";
    case field_kind::enumeration: {
      const auto& names = t.details[t.field_at(f.offset)].enumerators;
      const std::uint32_t value = enumerator_at(f, request);
      return value < names.size() ? names[value] : fmt::format("({})", value);
    }
    case field_kind::text: {
      const std::string_view all = value_at<std::string>(request, f.offset);
      return fmt::format("\"{}\"", all.substr(0, 32));
    }
    case field_kind::integers:
      return fmt::format("[{} numbers]",
                         value_at<std::vector<std::int64_t>>(request, f.offset).size());
    case field_kind::scalars:
      return fmt::format("[{} scalars]", value_at<std::vector<scalar>>(request, f.offset).size());
    case field_kind::groups:
      return text_of_groups(t.lists[static_cast<std::size_t>(f.groups)],
                            static_cast<const std::byte*>(request) + f.offset);
  }
  return {};
}

std::string text_of(const field_details::bounds& range) {
  if (std::isinf(range.least)) return "finite";
  if (std::isinf(range.most)) {
    return fmt::format("{} {}", range.open ? "above" : "at least", range.least);
  }
  return fmt::format("{} to {}", range.least, range.most);
}

std::string_view to_string(field_kind kind) noexcept {
  switch (kind) {
    case field_kind::tensor:
      return "tensor";
    case field_kind::tensors:
      return "tensors";
    case field_kind::scalar:
      return "scalar";
    case field_kind::integer:
      return "integer";
    case field_kind::unsigned_integer:
      return "unsigned integer";
    case field_kind::real:
      return "real";
    case field_kind::boolean:
      return "bool";
    case field_kind::enumeration:
      return "enumeration";
    case field_kind::text:
      return "text";
    case field_kind::integers:
      return "integers";
    case field_kind::scalars:
      return "scalars";
    case field_kind::groups:
      return "groups";
  }
  return "";
}

std::string_view verb_of(access role) noexcept {
  switch (role) {
    case access::read:
      return "reads";
    case access::write:
      return "writes";
    case access::update:
      return "updates";
  }
  return "";
}

std::string print(const request_type& type, const void* request) {
  const description_table& t = *type.fields;
  std::string text(type.name);
  for (std::size_t i = 0; i < t.fields.size(); ++i) {
    if (t.details[i].of_world || is_default(t, t.fields[i], request)) continue;
    fmt::format_to(std::back_inserter(text), " {}={}", t.details[i].name,
                   value_text(t, t.fields[i], request));
  }
  return text;
}

}  // namespace troupe
