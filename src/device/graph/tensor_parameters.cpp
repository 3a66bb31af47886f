// Tensors of a graph that each run may choose.
#include "device/graph/recorded_graph.hpp"
#include "device/graph/roles.hpp"
#include "device/graph/sorted_views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>

namespace troupe::detail {
namespace {

using parameter = recorded_graph::parameter;

/// A kernel may count on so much; more helps none.
std::uint64_t alignment_of(const any_tensor& t) noexcept {
  constexpr std::uint64_t most = 256;
  const auto address = reinterpret_cast<std::uintptr_t>(t.address());
  return address == 0 ? most : std::min(most, std::uint64_t{1} << std::countr_zero(address));
}

result<void> fits(const parameter& p, const any_tensor& given) {
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
  // Rows of a tensor are aligned as they happen to be.
  if (p.within.null() && alignment_of(given) < alignment_of(recorded)) {
    return refuse(errc::layout_unsupported,
                  fmt::format("must be aligned to {} bytes", alignment_of(recorded)));
  }
  return {};
}

/// The view that lies in `to` where `view` lies in `from`. \errors `layout_unsupported` if that is
/// no place of an element: a part of bytes may be anywhere, and a view in it may have larger
/// elements
result<any_tensor> moved(const any_tensor& view, const any_tensor& from, const any_tensor& to) {
  if (!to.buffer()) return any_tensor(to);  // refused when it is sent
  const std::int64_t size = size_of(view.type());
  const std::int64_t offset =
      (to.address() - to.buffer()->address) + (view.address() - from.address());
  if (offset % size != 0) {
    return error{
        .code = errc::layout_unsupported,
        .message = fmt::format("{} would begin at byte {} of its buffer, within an element",
                               view.to_string(), offset)};
  }
  const auto whole = any_tensor::owned(to.buffer(), view.type(),
                                       {static_cast<std::int64_t>(to.buffer()->bytes) / size});
  auto first = whole.slice(0, offset / size, offset / size + 1);
  if (!first) return first;
  return first->as_strided(shape(view.extents()), view.strides());
}

/// True if a parameter is a part of another, which moves it too.
bool is_part_of(const parameter& part, const parameter& whole) noexcept {
  return !part.within.null() && contains(whole.tensor, part.within);
}

/// True if views that these move, null for none, may overlap where one is written.
bool may_overlap(const parameter* a, const parameter* b) noexcept {
  const auto lies_in = [](const parameter* part, const parameter* whole) {
    return part != nullptr && !part->within.null() &&
           (whole == nullptr || is_part_of(*part, *whole));
  };
  return lies_in(a, b) || lies_in(b, a);
}

}  // namespace

result<void> recorded_graph::add_parameter(std::string_view parameter_name, const any_tensor& t,
                                           const any_tensor& within) {
  const auto refuse = [&](errc code, std::string_view why) -> result<void> {
    return error{.code = code,
                 .message = fmt::format("graph {}: parameter {} {}", name, parameter_name, why)};
  };
  if (t.null()) return refuse(errc::invalid_argument, "must not be null");
  if (has_parameter(parameter_name)) return refuse(errc::invalid_argument, "is there already");
  if (!within.null() && !contains(within, t)) {
    return refuse(errc::aliasing,
                  fmt::format("must lie within {}; it is {}", within.to_string(), t.to_string()));
  }
  parameter made{.name = std::string(parameter_name), .tensor = t, .within = within};
  for (const parameter& other : parameters) {
    if (!other.tensor.overlaps(t) || is_part_of(made, other) || is_part_of(other, made)) continue;
    return refuse(errc::aliasing, fmt::format("overlaps parameter {}", other.name));
  }
  parameter_numbers_.emplace(made.name, parameters.size());
  parameters.push_back(std::move(made));
  return {};
}

// A parameter moves all views within it. One that lies partly outside stays where it is, which is
// meant only if the parameter is a part.
result<void> recorded_graph::find_parameters() {
  // Parts come behind what they are a part of, so that they move the views that both move.
  std::ranges::stable_sort(parameters, std::greater<>(), [](const parameter& p) {
    const view_interval all = interval_of(p.tensor);
    return all.end - all.begin;
  });
  for (std::size_t k = 0; k < parameters.size(); ++k)
    parameter_numbers_[parameters[k].name] = k;
  for (std::size_t i = 0; i < roots.size(); ++i)
    recorded_places_.add(i, roots[i]);
  recorded_places_.sort();
  owners_.resize(roots.size());
  users_.resize(roots.size());
  for (std::uint64_t n = 0; n < what.nodes.size(); ++n) {
    const graph::node& one = what.nodes[n];
    for (std::uint64_t i = one.first_use; i < one.first_use + one.uses; ++i)
      users_[what.uses[i]].push_back(n);
  }
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    parameter& p = parameters[k];
    result<void> good;
    recorded_places_.each_at(p.tensor, [&](std::size_t i) {
      if (contains(p.tensor, roots[i])) {
        p.roots.push_back(i);
        owners_[i] = &p;
      } else if (p.within.null()) {
        good = error{.code = errc::aliasing,
                     .message = fmt::format("graph {}: parameter {} is only a part of {} ({}); say "
                                            "what it lies within",
                                            name, p.name, roots[i].to_string(), user_of(i))};
      }
      return good.has_value();
    });
    if (!good) return good;
    if (p.roots.empty()) {
      return error{.code = errc::invalid_argument,
                   .message = fmt::format("graph {}: no request uses parameter {}", name, p.name)};
    }
    if (p.within.null()) continue;
    p.has_parts = true;
    for (std::size_t other = 0; other < parameters.size(); ++other) {
      if (other == k || !is_part_of(p, parameters[other])) continue;
      p.wholes.push_back(other);
      parameters[other].has_parts = true;
    }
  }
  note_places();
  return {};
}

result<std::vector<any_tensor>> recorded_graph::with(
    const std::vector<graph_argument>& arguments) const {
  std::vector<const any_tensor*> given(parameters.size());
  for (const graph_argument& one : arguments) {
    const auto number = parameter_numbers_.find(one.parameter);
    if (number == parameter_numbers_.end()) {
      if (has_parameter(one.parameter)) continue;  // a number
      return error{.code = errc::invalid_argument,
                   .message = fmt::format("the graph {} has no parameter {}", name, one.parameter)};
    }
    static const any_tensor none;
    const auto* const tensor = std::get_if<any_tensor>(&one.value);
    const any_tensor*& place = given[number->second];
    if (place != nullptr) {
      return error{.code = errc::invalid_argument,
                   .message = fmt::format("parameter {} is given twice", one.parameter)};
    }
    place = tensor != nullptr ? tensor : &none;
    if (auto good = fits(parameters[number->second], *place); !good) {
      return std::move(good).error();
    }
  }
  std::vector<any_tensor> all = roots;
  std::vector<const parameter*> moved_by(roots.size());
  const parameter* part = nullptr;
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    if (given[k] == nullptr) continue;
    const parameter& p = parameters[k];
    if (auto good = lies_within(p, given); !good) return std::move(good).error();
    if (p.has_parts) part = &p;
    for (const std::size_t root : p.roots) {
      if (roots[root].empty()) continue;
      auto there = moved(roots[root], p.tensor, *given[k]);
      if (!there) return std::move(there).error();
      all[root] = *std::move(there);
      moved_by[root] = &p;
    }
  }
  auto is_alike = keeps_apart(all, moved_by);
  if (!is_alike) return std::move(is_alike).error();
  if (part != nullptr && !*is_alike) {
    if (auto good = keeps_roles(all, *part); !good) return std::move(good).error();
  }
  return all;
}

// `given`: by parameter, null for one that stays.
result<void> recorded_graph::lies_within(const parameter& p,
                                         const std::vector<const any_tensor*>& given) const {
  if (p.within.null()) return {};
  any_tensor within = p.within;
  for (const std::size_t k : p.wholes) {
    if (given[k] == nullptr) continue;
    auto there = moved(p.within, parameters[k].tensor, *given[k]);
    if (!there) return std::move(there).error();
    within = *std::move(there);
  }
  const any_tensor& it = *given[static_cast<std::size_t>(&p - parameters.data())];
  if (contains(within, it)) return {};
  return error{.code = errc::aliasing,
               .message = fmt::format("parameter {} must lie within {}, as it was recorded; it is "
                                      "{}, elsewhere",
                                      p.name, within.to_string(), it.to_string())};
}

// Views of one parameter lie to each other as they were recorded. True if each moved view lies in
// the same other views as it was recorded, and overlaps no others: then the roles are those that
// were recorded, wherever it lies in them.
result<bool> recorded_graph::keeps_apart(const std::vector<any_tensor>& all,
                                         const std::vector<const parameter*>& moved_by) const {
  sorted_views others;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (moved_by[i] != nullptr) others.add(i, all[i]);
  others.sort();
  result<void> good;
  bool is_alike = true;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (moved_by[i] == nullptr) continue;
    const std::optional<std::vector<std::size_t>>& recorded = recorded_around_[i];
    std::size_t around = 0;
    const auto may_be_at_both = [&](std::size_t j) {
      if (moved_by[j] == moved_by[i]) return true;
      ++around;
      is_alike = is_alike && recorded && std::ranges::binary_search(*recorded, j) &&
                 contains(all[j], all[i]);
      if (may_overlap(moved_by[i], owners_[j])) {
        good = may_be_in_one_request(i, j, all);
        return good.has_value();
      }
      if (what.roots[i].role == access::read && what.roots[j].role == access::read) return true;
      good = error{.code = errc::aliasing,
                   .message = fmt::format("parameter {} overlaps another tensor of the graph, and "
                                          "one of them is written ({}; {})",
                                          moved_by[i]->name, user_of(i), user_of(j))};
      return false;
    };
    others.each_at(all[i], may_be_at_both);
    if (!good) return std::move(good).error();
    recorded_places_.each_at(
        all[i], [&](std::size_t j) { return moved_by[j] != nullptr || may_be_at_both(j); });
    if (!good) return std::move(good).error();
    is_alike = is_alike && recorded && around == recorded->size();
  }
  return is_alike;
}

// For each view that a parameter moves: the views of others that it lies in. None where it overlaps
// one that does not contain it.
void recorded_graph::note_places() {
  recorded_around_.resize(roots.size());
  for (std::size_t i = 0; i < roots.size(); ++i) {
    if (owners_[i] == nullptr) continue;
    std::vector<std::size_t> around;
    bool all_contain = true;
    recorded_places_.each_at(roots[i], [&](std::size_t j) {
      if (owners_[j] == owners_[i]) return true;
      all_contain = contains(roots[j], roots[i]);
      around.push_back(j);
      return all_contain;
    });
    std::ranges::sort(around);
    if (all_contain) recorded_around_[i] = std::move(around);
  }
}

// A request that uses both may not take views that overlap.
result<void> recorded_graph::may_be_in_one_request(std::size_t i, std::size_t j,
                                                   const std::vector<any_tensor>& all) const {
  for (const std::uint64_t number : users_[i]) {
    const request_type* const type = type_of(what.nodes[number]);
    if (type == nullptr || std::ranges::find(users_[j], number) == users_[j].end()) continue;
    auto one = graph::request_of(*type, what, what.nodes[number], all);
    if (!one) return std::move(one).error();
    auto valid = type->validate(one->data());
    if (valid) continue;
    error why = std::move(valid).error();
    why.message = fmt::format("request {}, {}", number, why.message);
    return why;
  }
  return {};
}

// At another place, the graph may read bytes before it overwrites them.
result<void> recorded_graph::keeps_roles(const std::vector<any_tensor>& all,
                                         const parameter& part) const {
  if (!std::ranges::all_of(all, [](const any_tensor& t) { return bool{t.buffer()}; })) {
    return {};  // refused when it is sent
  }
  std::vector<graph::view_bytes> views;
  views.reserve(all.size());
  std::ranges::transform(all, std::back_inserter(views), graph::bytes_of);
  const std::vector<access> found = graph::roles_of(what, roles, views, narrowed);
  std::vector<access> recorded;
  recorded.reserve(all.size());
  for (const graph::root& r : what.roots)
    recorded.push_back(r.role);
  const auto weak = graph::first_too_weak(what, roles, recorded, found, narrowed);
  if (!weak) return {};
  return error{.code = errc::aliasing,
               .message = fmt::format("parameter {}: there, the graph reads what {} ({}) held "
                                      "before; where it was recorded, it did not",
                                      part.name, all[*weak].to_string(), user_of(*weak))};
}

}  // namespace troupe::detail
