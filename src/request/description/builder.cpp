#include "request/description/table.hpp"

#include <troupe/request/world_part.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

// The compiler spells "… Values = {x::none, x::conjugate, (x::op)2, …}", or the same between < and
// >. A value without an enumerator is a cast.
std::vector<std::string> enumerators_in(std::string_view spelling) {
  std::vector<std::string> names;
  const auto values = spelling.find("Values = ");
  if (values == std::string_view::npos) return names;
  std::string_view rest = spelling.substr(spelling.find_first_of("{<", values) + 1);
  while (!rest.empty()) {
    const auto end = rest.find_first_of(",}>");
    std::string_view one = rest.substr(0, end);
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    if (one.starts_with('(')) break;
    if (const auto colon = one.rfind(':'); colon != std::string_view::npos) {
      one.remove_prefix(colon + 1);
    }
    names.emplace_back(one);
    if (end == std::string_view::npos || rest[end] != ',') break;
    rest.remove_prefix(end + 1);
  }
  return names;
}

// Moves all references of a group's table to the group's place in another table. Everything is in
// this one place: a forgotten reference would read the wrong bytes.
class relocation {
 public:
  relocation(description_table& to, std::size_t offset) noexcept
      : to_(&to),
        offset_(static_cast<std::uint32_t>(offset)),
        fields_(to.fields.size()),
        symbols_(static_cast<int>(to.symbols.size())),
        lists_(to.lists.size()) {}

  int of_condition(const description_table& from, int index) const {
    condition c = from.conditions[static_cast<std::size_t>(index)];
    c.field += offset_;
    c.other += offset_;
    to_->conditions.push_back(c);
    return static_cast<int>(to_->conditions.size() - 1);
  }
  [[nodiscard]] std::vector<extent> of_shape(std::vector<extent> shape) const {
    for (extent& e : shape)
      e.renumber(symbols_);
    return shape;
  }
  [[nodiscard]] field of_field(const description_table& from, field f) const {
    f.offset += offset_;
    if (f.groups >= 0) f.groups = static_cast<std::int16_t>(f.groups + static_cast<int>(lists_));
    if (f.role_where >= 0) {
      const int first = f.role_where;
      f.role_where = static_cast<std::int16_t>(to_->conditions.size());
      for (int i = 0; i < f.role_conditions; ++i)
        of_condition(from, first + i);
    }
    return f;
  }
  [[nodiscard]] field_details of_details(const description_table& from, field_details d) const {
    d.shape.extents = of_shape(std::move(d.shape.extents));
    for (auto& other : d.other_shapes) {
      other.where = of_condition(from, other.where);
      other.shape.extents = of_shape(std::move(other.shape.extents));
    }
    if (d.given_where >= 0) d.given_where = of_condition(from, d.given_where);
    for (int& where : d.only_where)
      where = of_condition(from, where);
    for (std::size_t& tensor : d.may_be)
      tensor += offset_;
    for (std::size_t& tensor : d.may_share)
      tensor += offset_;
    if (d.factor_of >= 0) d.factor_of += static_cast<int>(fields_);
    if (d.ordered_as >= 0) d.ordered_as += static_cast<int>(fields_);
    return d;
  }
  [[nodiscard]] type_table of_types(const description_table& from, type_table t) const {
    for (std::uint16_t& f : t.fields)
      f = static_cast<std::uint16_t>(f + fields_);
    for (int& where : t.unless)
      where = of_condition(from, where);
    return t;
  }
  [[nodiscard]] own_rule of_rule(own_rule r) const {
    r.offset += offset_;
    return r;
  }
  [[nodiscard]] symbol of_symbol(symbol s) const {
    s.offset += offset_;
    return s;
  }

 private:
  description_table* to_;
  std::uint32_t offset_;
  std::size_t fields_;
  int symbols_;
  std::size_t lists_;
};

}  // namespace

namespace detail {

void description_builder::about(std::string_view summary, std::string_view source) {
  table_->summary = summary;
  table_->source = source;
}

int description_builder::symbol(std::string_view name, int least, int most) {
  table_->symbols.push_back({.name = std::string(name), .least = least, .most = most});
  return static_cast<int>(table_->symbols.size() - 1);
}

void description_builder::add(field_kind kind, std::string_view name, std::size_t offset,
                              std::string_view text) {
  table_->fields.push_back({.kind = kind, .offset = static_cast<std::uint32_t>(offset)});
  field_details& made = table_->details.emplace_back();
  made.name = name;
  made.text = text;
}

void description_builder::add_tensor(field_kind kind, std::string_view name, std::size_t offset,
                                     access role, std::span<const extent> shape,
                                     std::string_view text) {
  add(kind, name, offset, text);
  table_->fields.back().role = table_->fields.back().otherwise = role;
  table_->details.back().shape.extents.assign(shape.begin(), shape.end());
  table_->details.back().has_shape = !shape.empty();
}

void description_builder::add_enumeration(std::string_view name, std::size_t offset,
                                          std::size_t bytes, std::string_view spelling,
                                          std::string_view text) {
  add(field_kind::enumeration, name, offset, text);
  auto& enumerators = table_->details.back().enumerators;
  enumerators = enumerators_in(spelling);
  field& made = table_->fields.back();
  made.enumeration_bytes = static_cast<std::uint8_t>(bytes);
  made.last_enumerator = static_cast<std::uint8_t>(enumerators.size() - 1);
}

void description_builder::add_group(std::string_view name, std::size_t offset,
                                    const description_table& of) {
  const relocation moved(*table_, offset);
  const bool of_world = &of == &description_of<world_part>();
  if (of_world) table_->part_at = offset;
  for (const type_table& t : of.types)
    table_->types.push_back(moved.of_types(of, t));
  for (std::size_t i = 0; i < of.fields.size(); ++i) {
    field_details details = moved.of_details(of, of.details[i]);
    details.name = fmt::format("{}.{}", name, details.name);
    details.group =
        details.group.empty() ? std::string(name) : fmt::format("{}.{}", name, details.group);
    details.of_world = details.of_world || of_world;
    table_->fields.push_back(moved.of_field(of, of.fields[i]));
    table_->details.push_back(std::move(details));
  }
  for (const troupe::symbol& s : of.symbols) {
    troupe::symbol moved_symbol = moved.of_symbol(s);
    moved_symbol.name = fmt::format("{}.{}", name, s.name);
    table_->symbols.push_back(std::move(moved_symbol));
  }
  for (const own_rule& r : of.rules)
    table_->rules.push_back(moved.of_rule(r));
  table_->lists.insert(table_->lists.end(), of.lists.begin(), of.lists.end());
}

void description_builder::add_groups(std::string_view name, std::size_t offset,
                                     const group_list_type& type, const description_table& of,
                                     std::string_view text) {
  add(field_kind::groups, name, offset, text);
  table_->fields.back().groups = static_cast<std::int16_t>(table_->lists.size());
  table_->lists.push_back({.type = &type, .of = &of});
}

void description_builder::role_where(std::span<const condition> any_of, access where) {
  field& f = table_->fields.back();
  f.otherwise = f.role == access::update ? access::write : f.role;
  f.role = where;
  f.role_where = static_cast<std::int16_t>(table_->conditions.size());
  f.role_conditions = static_cast<std::uint8_t>(any_of.size());
  table_->conditions.insert(table_->conditions.end(), any_of.begin(), any_of.end());
}

void description_builder::shape_where(const condition& c, std::span<const extent> shape) {
  table_->details.back().other_shapes.push_back(
      {.where = static_cast<int>(table_->conditions.size()),
       .shape = {.extents = {shape.begin(), shape.end()}}});
  table_->conditions.push_back(c);
}

void description_builder::optional() { table_->details.back().optional = true; }

void description_builder::given_where(const condition& c) {
  table_->details.back().given_where = static_cast<int>(table_->conditions.size());
  table_->details.back().optional = true;
  table_->conditions.push_back(c);
}

void description_builder::only_where(const condition& c) {
  field_details& d = table_->details.back();
  d.only_where.push_back(static_cast<int>(table_->conditions.size()));
  d.optional = d.optional || table_->fields.back().is_tensor();
  table_->conditions.push_back(c);
}

void description_builder::range(double least, double most, bool open) {
  table_->details.back().range = {{.least = least, .most = most, .open = open}};
}

void description_builder::may_be(std::size_t offset) {
  table_->details.back().may_be.push_back(offset);
}

void description_builder::may_share(std::size_t offset) {
  table_->details.back().may_share.push_back(offset);
}

void description_builder::may_repeat() { table_->details.back().may_repeat = true; }

void description_builder::in_host_memory() { table_->details.back().in_host_memory = true; }

void description_builder::ordered_as(std::size_t offset) {
  table_->details.back().ordered_as = table_->field_at(offset);
}

void description_builder::layouts(layout how, std::span<const std::size_t> tensors) {
  for (const std::size_t offset : tensors)
    table_->details[table_->field_at(offset)].layout = how;
}

void description_builder::types(std::span<const std::size_t> tensors, const type_rows& rows) {
  type_table made;
  for (const std::size_t offset : tensors)
    made.fields.push_back(table_->field_at(offset));
  for (const std::vector<dtype>& row : rows.rows) {
    std::uint64_t packed = 0;
    for (std::size_t i = 0; i < row.size(); ++i)
      packed |= static_cast<std::uint64_t>(row[i]) << (type_table::bits * i);
    made.rows.push_back(packed);
  }
  table_->types.push_back(std::move(made));
}

void description_builder::types_unless(std::span<const condition> any_of) {
  for (const condition& c : any_of) {
    table_->types.back().unless.push_back(static_cast<int>(table_->conditions.size()));
    table_->conditions.push_back(c);
  }
}

void description_builder::keeps_on_failure() { table_->keeps_on_failure = true; }

void description_builder::keeps_outcomes(errc of, const condition& where) {
  table_->kept_outcomes.push_back({.of = of, .where = static_cast<int>(table_->conditions.size())});
  table_->conditions.push_back(where);
}

std::size_t description_builder::first_list(const description_table& of) {
  const auto found = std::ranges::find(of.fields, field_kind::integers, &field::kind);
  return found->offset;
}

void description_builder::factors(std::span<const std::size_t> scalars, std::size_t tensor) {
  for (const std::size_t offset : scalars)
    table_->details[table_->field_at(offset)].factor_of = table_->field_at(tensor);
}

void description_builder::real(std::span<const std::size_t> scalars) {
  for (const std::size_t offset : scalars)
    table_->details[table_->field_at(offset)].is_real = true;
}

void description_builder::rule(std::string_view text, any_rule function, rule_caller call) {
  table_->rules.push_back({.text = std::string(text), .function = function, .call = call});
}

void description_builder::derive_extents(int symbol, any_rule function, extents_caller call) {
  troupe::symbol& s = table_->symbols[static_cast<std::size_t>(symbol)];
  s.derive = function;
  s.call = call;
}

void description_builder::derive_forms(std::size_t list, any_rule function, forms_caller call) {
  field_details& d = table_->details[table_->field_at(list)];
  d.derive_forms = function;
  d.call_forms = call;
}

}  // namespace detail
}  // namespace troupe
