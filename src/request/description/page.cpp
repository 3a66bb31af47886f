#include "request/description/text.hpp"

#include <troupe/request/catalogue.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace troupe {
namespace {

class page_writer {
 public:
  explicit page_writer(const description_table& t) noexcept : t_(t) {}

  [[nodiscard]] std::string row(std::size_t i) const {
    const field& f = t_.fields[i];
    const field_details& d = t_.details[i];
    if (f.is_tensor()) {
      return fmt::format("| `{}` | {} | {} | {} | | {} |\n", d.name, role(f), shapes(d),
                         types_of(i), meaning(d));
    }
    const std::string values = !d.enumerators.empty()
                                   ? fmt::format("{}", fmt::join(d.enumerators, ", "))
                               : !d.range.empty() ? text_of(d.range.front())
                                                  : "";
    return fmt::format("| `{}` | {} | | {} | {} | {} |\n", d.name, to_string(f.kind), values,
                       value_text(t_, f, t_.defaults), meaning(d));
  }
  /// Rows of types, if it matters which go together.
  [[nodiscard]] std::string types(const type_table& table) const {
    if (table.fields.size() < 2 || (all_same(table) && table.unless.empty())) return {};
    std::vector<std::string> rows;
    for (const std::uint64_t row : table.rows) {
      std::vector<std::string_view> names;
      for (std::size_t place = 0; place < table.fields.size(); ++place)
        names.push_back(to_string(type_table::type_in(row, place)));
      rows.push_back(fmt::format("{}", fmt::join(names, " ")));
    }
    std::vector<std::string> fields;
    for (const std::uint16_t f : table.fields)
      fields.push_back(fmt::format("`{}`", t_.details[f].name));
    return fmt::format("\nTypes of {}: {}{}.\n", fmt::join(fields, ", "), fmt::join(rows, "; "),
                       unless(table));
  }

 private:
  [[nodiscard]] std::string unless(const type_table& table) const {
    std::string text;
    for (const int c : table.unless)
      text += fmt::format("{}{}", text.empty() ? " unless " : " or ", where(c));
    return text;
  }
  [[nodiscard]] std::string where(int index) const {
    return text_of(t_, t_.conditions[static_cast<std::size_t>(index)]);
  }
  [[nodiscard]] std::string role(const field& f) const {
    if (f.role_conditions == 0) return std::string(verb_of(f.role));
    std::string conditions;
    for (int i = 0; i < f.role_conditions; ++i)
      conditions += (i == 0 ? "" : ", or ") + where(f.role_where + i);
    return fmt::format("{} where {}, else {}", verb_of(f.role), conditions, verb_of(f.otherwise));
  }
  [[nodiscard]] std::string shapes(const field_details& d) const {
    std::string text = text_of(t_, d.has_shape, d.shape.extents);
    for (const auto& other : d.other_shapes)
      text +=
          fmt::format("; {} where {}", text_of(t_, true, other.shape.extents), where(other.where));
    return text;
  }
  [[nodiscard]] std::string types_of(std::size_t i) const {
    std::vector<std::string_view> all;
    for (const type_table& table : t_.types) {
      const auto found = std::ranges::find(table.fields, i);
      if (found == table.fields.end()) continue;
      for (const std::uint64_t row : table.rows) {
        const auto place = static_cast<std::size_t>(found - table.fields.begin());
        const std::string_view name = to_string(type_table::type_in(row, place));
        if (std::ranges::find(all, name) == all.end()) all.push_back(name);
      }
    }
    return all.empty() ? "any" : fmt::format("{}", fmt::join(all, ", "));
  }
  [[nodiscard]] std::string meaning(const field_details& d) const {
    std::string text = d.text;
    if (d.given_where >= 0) text += fmt::format("; given exactly where {}", where(d.given_where));
    for (const int c : d.only_where)
      text += fmt::format("; only where {}", where(c));
    if (d.optional && d.given_where < 0 && d.only_where.empty()) text += "; optional";
    if (d.in_host_memory) text += "; in host memory";
    return text;
  }
  [[nodiscard]] static bool all_same(const type_table& table) {
    return std::ranges::all_of(table.rows, [&](std::uint64_t row) {
      for (std::size_t place = 1; place < table.fields.size(); ++place) {
        if (type_table::type_in(row, place) != type_table::type_in(row, 0)) return false;
      }
      return true;
    });
  }

  const description_table& t_;
};

}  // namespace

std::string signature_of(const request_type& type) {
  const description_table& t = *type.fields;
  std::string used;
  std::string written;
  for (std::size_t i = 0; i < t.fields.size(); ++i) {
    const field& f = t.fields[i];
    if (!f.is_tensor() || t.details[i].of_world) continue;
    std::string& side = f.role == access::read && f.otherwise == access::read ? used : written;
    const field_details& d = t.details[i];
    side += fmt::format("{}{}{}{}", side.empty() ? "" : ", ", d.name,
                        d.has_shape ? text_of(t, true, d.shape.extents) : "",
                        f.kind == field_kind::tensors ? " …" : "");
  }
  if (written.empty()) return used;
  return used.empty() ? "→ " + written : fmt::format("{} → {}", used, written);
}

std::string page_of(const request_type& type) {
  const description_table& t = *type.fields;
  const page_writer w(t);
  std::string text = fmt::format("### `{}`\n\n{}", type.name, t.summary);
  if (!t.source.empty()) text += fmt::format(" Source: {}.", t.source);
  if (type.described_reply != nullptr) {
    text += " Replies with";
    const char* before = " ";
    for (const field_details& one : type.described_reply->fields->details)
      text += fmt::format("{}`{}` ({})", std::exchange(before, ", "), one.name, one.text);
    text += ".";
  } else if (type.reply_bytes != 0) {
    text += fmt::format(" Replies with a {}.", type.reply_name);
  }
  text +=
      "\n\n| field | is | shape | types or values | default | |\n| --- | --- | --- | --- | --- | "
      "--- "
      "|\n";
  for (std::size_t i = 0; i < t.fields.size(); ++i)
    text += t.details[i].of_world ? "" : w.row(i);
  for (const type_table& table : t.types)
    text += w.types(table);
  for (std::size_t i = 0; i < t.rules.size(); ++i)
    text += fmt::format("{}- {}\n", i == 0 ? "\nAlso:\n" : "", t.rules[i].text);
  return text;
}

}  // namespace troupe
