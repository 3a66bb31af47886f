#include "device/graph/recorded_graph.hpp"

#include "request/description/text.hpp"

#include <troupe/request/fields.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace troupe::detail {
namespace {

/// A kernel may count on so much; more helps none.
std::uint64_t alignment_of(const any_tensor& t) noexcept {
  constexpr std::uint64_t most = 256;
  const auto address = reinterpret_cast<std::uintptr_t>(t.address());
  return address == 0 ? most : std::min(most, std::uint64_t{1} << std::countr_zero(address));
}

result<void> fits(const recorded_graph::parameter& p, const any_tensor& given) {
  const any_tensor& recorded = p.tensor;
  const auto refuse = [&](errc code, std::string_view rule) -> result<void> {
    return error{
        .code = code,
        .message = fmt::format("parameter {} {}; it is {}, and {} was recorded", p.name, rule,
                               given.null() ? "null" : given.to_string(), recorded.to_string())};
  };
  if (given.null()) return refuse(errc::invalid_argument, "must be given");
  if (given.type() != recorded.type()) {
    return refuse(errc::type_mismatch, "must have the recorded type");
  }
  if (!std::ranges::equal(given.extents(), recorded.extents())) {
    return refuse(errc::shape_mismatch, "must have the recorded extents");
  }
  if (!std::ranges::equal(given.strides(), recorded.strides())) {
    return refuse(errc::layout_unsupported, "must have the recorded strides");
  }
  if (given.space() != recorded.space()) {
    return refuse(errc::invalid_argument, "must be in the same kind of memory");
  }
  if (alignment_of(given) < alignment_of(recorded)) {
    return refuse(errc::layout_unsupported,
                  fmt::format("must be aligned to {} bytes", alignment_of(recorded)));
  }
  return {};
}

/// The view that lies in `to` where `view` lies in `from`.
result<any_tensor> moved(const any_tensor& view, const any_tensor& from, const any_tensor& to) {
  if (!to.buffer()) return any_tensor(to);  // refused when it is sent
  const std::int64_t size = size_of(view.type());
  const std::int64_t offset =
      (to.address() - to.buffer()->address) + (view.address() - from.address());
  const auto whole = any_tensor::owned(to.buffer(), view.type(),
                                       {static_cast<std::int64_t>(to.buffer()->bytes) / size});
  auto first = whole.slice(0, offset / size, offset / size + 1);
  if (!first) return first;
  return first->as_strided(shape(view.extents()), view.strides());
}

}  // namespace

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

std::string recorded_graph::user_of(std::size_t root) const {
  const auto use =
      static_cast<std::uint64_t>(std::ranges::find(what.uses, root) - what.uses.begin());
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

result<std::vector<any_tensor>> recorded_graph::with(
    const std::vector<graph_argument>& arguments) const {
  std::vector<any_tensor> all = roots;
  std::vector<const parameter*> moved_by(roots.size());
  for (const graph_argument& given : arguments) {
    const auto p = std::ranges::find(parameters, given.parameter, &parameter::name);
    if (p == parameters.end()) {
      if (has_parameter(given.parameter)) continue;  // a number
      return error{
          .code = errc::invalid_argument,
          .message = fmt::format("the graph {} has no parameter {}", name, given.parameter)};
    }
    const auto* const tensor = std::get_if<any_tensor>(&given.value);
    if (auto good = fits(*p, tensor != nullptr ? *tensor : any_tensor()); !good) {
      return std::move(good).error();
    }
    for (const std::size_t root : p->roots) {
      if (moved_by[root] != nullptr) {
        return error{.code = errc::invalid_argument,
                     .message = fmt::format("parameter {} is given twice", given.parameter)};
      }
      moved_by[root] = &*p;
      if (roots[root].empty()) continue;
      auto there = moved(roots[root], p->tensor, *tensor);
      if (!there) return std::move(there).error();
      all[root] = *std::move(there);
    }
  }
  // Views of one parameter lie to each other as they were recorded.
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (moved_by[i] == nullptr) continue;
    for (std::size_t j = 0; j < all.size(); ++j) {
      if (moved_by[j] == moved_by[i] || !all[i].overlaps(all[j])) continue;
      if (what.roots[i].role == access::read && what.roots[j].role == access::read) continue;
      return error{
          .code = errc::aliasing,
          .message = fmt::format("parameter {} overlaps another tensor of the graph, and one "
                                 "of them is written ({}; {})",
                                 moved_by[i]->name, user_of(i), user_of(j))};
    }
  }
  return all;
}

bool recorded_graph::has_parameter(std::string_view parameter_name) const noexcept {
  return std::ranges::find(parameters, parameter_name, &parameter::name) != parameters.end() ||
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
