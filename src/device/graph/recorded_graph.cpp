#include "device/graph/recorded_graph.hpp"

#include "request/description/text.hpp"

#include <troupe/request/fields.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>

namespace troupe::detail {

any_request recorded_graph::request_at(std::uint64_t number) const {
  const graph::node& n = what.nodes[number];
  return graph::request_of(*type_of(n), what, n, roots).value();
}

std::string recorded_graph::text_at(std::uint64_t number) const {
  const graph::node& n = what.nodes[number];
  if (const request_type* const type = type_of(n)) return print(*type, request_at(number).data());
  const std::string condition = roots[what.uses[n.first_use]].to_string();
  switch (n.kind) {
    case graph::node_kind::repeat:
      return fmt::format("repeat_while {}, at most {} rounds", condition, n.at_most);
    case graph::node_kind::when:
      return "run_if " + condition;
    case graph::node_kind::choose:
      return fmt::format("choose {} of {}", condition, n.bodies);
    case graph::node_kind::request:
      break;
  }
  return {};
}

std::optional<std::uint64_t> recorded_graph::use_of(std::uint64_t number,
                                                    std::string_view field) const {
  std::optional<std::uint64_t> found;
  std::uint64_t use = what.nodes[number].first_use;
  any_request one = request_at(number);
  for_each_tensor(one.type(), one.data(), [&](std::string_view tensor, any_tensor& t, access) {
    if (t.null()) return;
    if (tensor == field) found = use;
    ++use;
  });
  return found;
}

result<std::uint64_t> recorded_graph::use_to_narrow(std::uint64_t number,
                                                    std::string_view field) const {
  const auto refuse = [&](std::string_view why) {
    return error{
        .code = errc::invalid_argument,
        .message = fmt::format("graph {}: writes_only of request {}: {}", name, number, why)};
  };
  if (number >= what.nodes.size() || type_of(what.nodes[number]) == nullptr) {
    return refuse("there is no such request");
  }
  const auto use = use_of(number, field);
  if (!use) return refuse(fmt::format("it has no tensor {}", field));
  if (roles[*use] == access::read) return refuse(fmt::format("it only reads {}", field));
  if (std::ranges::find(narrowed, *use, &graph::narrowed_use::use) != narrowed.end()) {
    return refuse(fmt::format("{} has parts already", field));
  }
  return *use;
}

std::string recorded_graph::user_of(std::size_t root) const {
  auto use = static_cast<std::uint64_t>(std::ranges::find(what.uses, root) - what.uses.begin());
  for (const graph::narrowed_use& one : narrowed)
    if (std::ranges::find(one.parts, root) != one.parts.end()) use = one.use;
  const auto n = std::ranges::find_if(what.nodes, [&](const graph::node& one) {
    return use >= one.first_use && use < one.first_use + one.uses;
  });
  if (n == what.nodes.end()) return "the graph";
  const auto number = n - what.nodes.begin();
  const request_type* const type = type_of(*n);
  if (type == nullptr) return fmt::format("request {}: its condition", number);
  std::string field;
  std::uint64_t place = n->first_use;
  any_request one = request_at(static_cast<std::uint64_t>(number));
  for_each_tensor(*type, one.data(), [&](std::string_view tensor, any_tensor& t, access) {
    if (!t.null() && place++ == use) field = tensor;
  });
  return fmt::format("request {}, {}: {}", number, type->name, field);
}

bool recorded_graph::has_parameter(std::string_view parameter_name) const noexcept {
  return parameter_numbers_.contains(parameter_name) ||
         std::ranges::find(value_parameters, parameter_name, &value_parameter::name) !=
             value_parameters.end();
}

result<void> recorded_graph::add_value_parameter(std::string_view parameter_name,
                                                 std::uint64_t number, std::string_view field) {
  const auto refuse = [&](std::string_view why) -> result<void> {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("graph {}: parameter {} {}", name, parameter_name, why)};
  };
  if (has_parameter(parameter_name)) return refuse("is there already");
  if (number >= what.nodes.size() || type_of(what.nodes[number]) == nullptr) {
    return refuse("is of a request of another graph");
  }
  const request_type& type = *type_of(what.nodes[number]);
  const std::vector<field_view> fields = fields_of(type);
  const auto place = std::ranges::find(fields, field, &field_view::name);
  const auto index = static_cast<std::uint64_t>(place - fields.begin());
  auto of = graph::number_field(type, index);
  if (!of) return refuse(fmt::format("must be a number of {}; {} is none", type.name, field));
  any_request one = request_at(number);
  request.values.push_back(graph::number_in(*of, one.data()));
  // Roles may depend on it: an output that is only overwritten where it is 0 is updated.
  for (const std::int64_t value : {0, 1}) {
    graph::set_number(*of, one.data(), value);
    std::uint64_t use = what.nodes[number].first_use;
    for_each_tensor(type, one.data(), [&](std::string_view, any_tensor& t, access role) {
      if (t.null()) return;
      access& merged = roles[use++];
      if (merged != role) merged = access::update;
    });
  }
  what.values.push_back({.node = number, .field = index});
  value_parameters.push_back({.name = std::string(parameter_name), .field = *std::move(of)});
  return {};
}

result<std::vector<scalar>> recorded_graph::values_with(
    const std::vector<graph_argument>& arguments) const {
  std::vector<scalar> all = request.values;
  for (const graph_argument& given : arguments) {
    const auto p = std::ranges::find(value_parameters, given.parameter, &value_parameter::name);
    if (p == value_parameters.end()) continue;
    const auto refuse = [&](errc code, std::string_view why) {
      return error{.code = code, .message = fmt::format("parameter {}: {}", p->name, why)};
    };
    const auto* const value = std::get_if<scalar>(&given.value);
    if (value == nullptr) return refuse(errc::invalid_argument, "it must be a number");
    const auto index = static_cast<std::size_t>(p - value_parameters.begin());
    const std::uint64_t number = what.values[index].node;
    any_request one = request_at(number);
    graph::set_number(p->field, one.data(), *value);
    if (auto valid = one.type().validate(one.data()); !valid) {
      const error why = std::move(valid).error();
      return refuse(why.code, fmt::format("request {}, {}", number, why.message));
    }
    all[index] = *value;
  }
  return all;
}

void recorded_graph::set_values(std::uint64_t number, any_request& request_of_it,
                                const std::vector<scalar>& values) const noexcept {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (what.values[i].node != number) continue;
    graph::set_number(value_parameters[i].field, request_of_it.data(), values[i]);
  }
}

void recorded_graph::list_roots(const std::vector<any_tensor>& all, graph::run& in) const {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const access role = what.roots[i].role;
    auto& list = role == access::read ? in.reads : role == access::write ? in.writes : in.updates;
    list.push_back(all[i]);
  }
}

result<any_tensor> recorded_graph::take_results(const device& of) const {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      any_tensor last = std::move(free_.back());
      free_.pop_back();
      return last;
    }
  }
  return device(of).allocate_host(dtype::u8,
                                  {static_cast<std::int64_t>(what.replies), graph::run::row_bytes});
}

void recorded_graph::give_back(any_tensor results) const {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(results));
}

}  // namespace troupe::detail
