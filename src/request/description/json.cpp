#include "request/description/text.hpp"

#include <troupe/request/catalogue.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <iterator>

namespace troupe {
namespace {

std::string in_quotes(std::string_view text) {
  std::string all = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') all += '\\';
    all += c;
  }
  return all + '"';
}

template <class Range, class Text>
std::string array_of(const Range& range, Text text) {
  std::string all;
  for (const auto& one : range)
    fmt::format_to(std::back_inserter(all), "{}{}", all.empty() ? "" : ", ", text(one));
  return '[' + all + ']';
}

class json_writer {
 public:
  explicit json_writer(const description_table& t) noexcept : t_(t) {}

  [[nodiscard]] std::string fields() const {
    std::string all;
    for (std::size_t i = 0; i < t_.fields.size(); ++i) {
      if (t_.details[i].of_world) continue;
      all += (all.empty() ? "\n    " : ",\n    ") + field_text(i);
    }
    return '[' + all + ']';
  }
  [[nodiscard]] std::string types() const {
    return array_of(t_.types, [&](const type_table& table) {
      return fmt::format(
          "{{\"fields\": {}, \"rows\": {}, \"unless\": {}}}",
          array_of(table.fields, [&](std::uint16_t f) { return in_quotes(t_.details[f].name); }),
          array_of(table.rows,
                   [&](std::uint64_t row) {
                     std::string names;
                     for (std::size_t place = 0; place < table.fields.size(); ++place) {
                       names += place == 0 ? "" : ", ";
                       names += in_quotes(to_string(type_table::type_in(row, place)));
                     }
                     return '[' + names + ']';
                   }),
          array_of(table.unless, [&](int c) {
            return in_quotes(text_of(t_, t_.conditions[static_cast<std::size_t>(c)]));
          }));
    });
  }
  [[nodiscard]] std::string rules() const {
    return array_of(t_.rules, [](const own_rule& rule) { return in_quotes(rule.text); });
  }

 private:
  [[nodiscard]] std::string field_text(std::size_t i) const {
    const field& f = t_.fields[i];
    const field_details& d = t_.details[i];
    std::string text = fmt::format("{{\"name\": {}, \"kind\": {}", in_quotes(d.name),
                                   in_quotes(to_string(f.kind)));
    const auto add = [&](std::string_view key, std::string_view value) {
      fmt::format_to(std::back_inserter(text), ", \"{}\": {}", key, value);
    };
    if (f.is_tensor()) {
      add("role", in_quotes(verb_of(f.role)));
      if (f.role_conditions > 0) {
        add("role_where", array_of(role_conditions(f), [&](int c) { return of(c); }));
        add("role_otherwise", in_quotes(verb_of(f.otherwise)));
      }
      if (d.has_shape) add("shape", shape_text(d.shape.extents));
      if (!d.other_shapes.empty()) {
        add("other_shapes", array_of(d.other_shapes, [&](const auto& other) {
              return fmt::format("{{\"where\": {}, \"shape\": {}}}", of(other.where),
                                 shape_text(other.shape.extents));
            }));
      }
      if (d.optional) add("optional", "true");
      if (d.in_host_memory) add("in_host_memory", "true");
      if (t_.is_per_rank(i)) add("per_rank", "true");
    } else {
      add("default", default_text(f));
    }
    if (!d.enumerators.empty()) {
      add("enumerators",
          array_of(d.enumerators, [](const std::string& e) { return in_quotes(e); }));
    }
    for (const auto& range : d.range)
      add("range", in_quotes(text_of(range)));
    if (d.given_where >= 0) add("given_where", of(d.given_where));
    if (!d.only_where.empty()) {
      add("only_where", array_of(d.only_where, [&](int c) { return of(c); }));
    }
    add("text", in_quotes(d.text));
    return text + '}';
  }

  [[nodiscard]] std::string of(int index) const {
    return in_quotes(text_of(t_, t_.conditions[static_cast<std::size_t>(index)]));
  }
  [[nodiscard]] static std::vector<int> role_conditions(const field& f) {
    std::vector<int> all;
    for (int i = 0; i < f.role_conditions; ++i)
      all.push_back(f.role_where + i);
    return all;
  }
  [[nodiscard]] std::string shape_text(std::span<const extent> shape) const {
    return array_of(shape, [&](const extent& e) { return in_quotes(text_of(t_, e)); });
  }
  // Numbers and bools are JSON literals.
  [[nodiscard]] std::string default_text(const field& f) const {
    const std::string text = value_text(t_, f, t_.defaults);
    switch (f.kind) {
      case field_kind::integer:
      case field_kind::unsigned_integer:
      case field_kind::boolean:
        return text;
      case field_kind::real:
        return std::isfinite(value_at<double>(t_.defaults, f.offset)) ? text : in_quotes(text);
      case field_kind::scalar:
        return value_at<scalar>(t_.defaults, f.offset).has_imaginary() ? in_quotes(text) : text;
      case field_kind::integers:
      case field_kind::scalars:
      case field_kind::groups:
        return "[]";
      case field_kind::text:
        return text;
      default:
        return in_quotes(text);
    }
  }

  const description_table& t_;
};

}  // namespace

std::string json_of(const request_type& type) {
  const description_table& t = *type.fields;
  const json_writer w(t);
  return fmt::format(
      "{{\"name\": {}, \"summary\": {}, \"source\": {}, \"reply\": {},\n  \"reply_fields\": {},\n  "
      "\"for_world\": {}, \"fields\": {},\n"
      "  \"types\": {},\n  \"rules\": {}}}",
      in_quotes(type.name), in_quotes(t.summary), in_quotes(t.source), in_quotes(type.reply_name),
      type.described_reply != nullptr ? json_writer(*type.described_reply->fields).fields() : "[]",
      t.part_at.has_value(), w.fields(), w.types(), w.rules());
}

}  // namespace troupe
