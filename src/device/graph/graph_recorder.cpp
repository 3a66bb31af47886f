#include "device/endpoint.hpp"
#include "device/graph/recorded_graph.hpp"
#include "device/mailbox/operands.hpp"
#include "request/description/text.hpp"

#include <troupe/device/graph_recorder.hpp>
#include <troupe/lane/mapping.hpp>
#include <troupe/request/fields.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <thread>
#include <utility>

namespace troupe {
namespace {

using graph::node;
using graph::node_kind;

}  // namespace

class graph_recorder::recording {
 public:
  recording(const device& on, std::string_view name) : device_(on) { made_.name = name; }

  [[nodiscard]] const std::optional<error>& failure() const noexcept { return failure_; }

  /// Does what is asked unless an earlier call failed; keeps its failure.
  template <class Step>
  void take(Step&& step) {
    if (failure_) return;
    result<void> outcome;
    if (std::this_thread::get_id() != thread_) {
      outcome = invalid("it is used by a thread that did not make it");
    } else if (is_finished_) {
      outcome = invalid("it has been finished");
    } else {
      outcome = step();
    }
    if (outcome) return;
    failure_ = std::move(outcome).error();
    failure_->device = device_.ordinal();
  }

  [[nodiscard]] result<std::uint64_t> add(const request_type& type, const void* request) {
    auto added = add_checked(type, request);
    if (added) return added;
    error why = std::move(added).error();
    if (why.request.empty()) why.request = print(type, request);
    why.message =
        fmt::format("graph {}, request {}: {}", made_.name, made_.what.nodes.size(), why.message);
    return why;
  }

  [[nodiscard]] result<void> begin(node_kind kind, const any_tensor& condition,
                                   std::int64_t at_most) {
    if (at_most <= 0) {
      return invalid(fmt::format("repeat_options::at_most must be positive; it is {}", at_most));
    }
    if (open_.size() > graph::most_depth) {
      return invalid(fmt::format("conditions may be nested {} deep", graph::most_depth));
    }
    if (auto good = check_condition(condition); !good) return good;
    if (auto good = check_operand("the condition", condition, access::read); !good) return good;
    auto number = add_node({.kind = kind, .at_most = static_cast<std::uint64_t>(at_most)});
    if (!number) return std::move(number).error();
    use(*number, condition, access::read);
    made_.sent_as = &request_type_of<graph::run_conditional>();
    if (device_.core()->memory().on_device()) {
      made_.what.nodes[*number].reply = made_.what.replies++;
    }
    members_.emplace_back();
    blocks_[*number].push_back(members_.size() - 1);
    open_.push_back({*number, members_.size() - 1});
    return {};
  }
  [[nodiscard]] result<void> next_body() {
    if (open_.size() == 1) return invalid("there is no body to end");
    auto& [of, body] = open_.back();
    members_.emplace_back();
    body = members_.size() - 1;
    blocks_[of].push_back(body);
    return {};
  }
  [[nodiscard]] result<void> end() {
    if (open_.size() == 1) return invalid("there is no body to end");
    open_.pop_back();
    return {};
  }

  [[nodiscard]] result<void> splice(const detail::recorded_graph& child,
                                    const std::vector<graph_argument>& arguments) {
    auto roots = child.with(arguments);
    if (!roots) return std::move(roots).error();
    auto values = child.values_with(arguments);
    if (!values) return std::move(values).error();
    return splice_body(child, 0, *roots, *values);
  }

  [[nodiscard]] result<void> parameter(std::string_view name, const any_tensor& t,
                                       const any_tensor* within) {
    if (within == nullptr) return made_.add_parameter(name, t, {});
    if (within->null()) return invalid(fmt::format("parameter {}: within must not be null", name));
    return made_.add_parameter(name, t, *within);
  }
  [[nodiscard]] result<void> narrow(std::uint64_t request, std::string_view field,
                                    const std::vector<any_tensor>& parts) {
    auto use = made_.use_to_narrow(request, field);
    if (!use) return std::move(use).error();
    return narrow(*use, parts);
  }
  [[nodiscard]] result<void> parameter(std::string_view name, std::uint64_t request,
                                       std::string_view field) {
    return made_.add_value_parameter(name, request, field);
  }
  [[nodiscard]] result<request_graph> finish();

 private:
  struct block {
    std::uint64_t of = 0;  ///< the node that the body belongs to
    std::size_t body = 0;  ///< in `members_`
  };

  [[nodiscard]] error invalid(std::string what) const {
    return {.code = errc::invalid_argument,
            .message = fmt::format("graph {}: {}", made_.name, what)};
  }

  [[nodiscard]] result<std::uint64_t> add_checked(const request_type& type, const void* request) {
    if (auto why = device_.core()->refusal_of(type)) return *std::move(why);
    if (type.id == request_type_of<lane::mapping>().id || graph::is_run(type)) {
      return error{.code = errc::unsupported,
                   .message = fmt::format("{} cannot be in a graph", type.name)};
    }
    if (auto valid = type.validate(request); !valid) return std::move(valid).error();
    std::vector<std::pair<const any_tensor*, access>> tensors;
    result<void> good;
    // Only read.
    for_each_tensor(type, const_cast<void*>(request),
                    [&](std::string_view field, any_tensor& t, access role) {
                      if (t.null() || !good) return;
                      good = check_operand(field, t, role);
                      tensors.emplace_back(&t, role);
                    });
    if (!good) return std::move(good).error();
    auto payload = graph::payload_of(type, request);
    if (!payload) return std::move(payload).error();
    auto number = add_node({.type = number_of(type),
                            .payload = made_.what.payloads.size(),
                            .payload_bytes = payload->size()});
    if (!number) return number;
    for (const auto& [t, role] : tensors)
      use(*number, *t, role);
    made_.what.payloads.insert(made_.what.payloads.end(), payload->begin(), payload->end());
    if (type.has_reply()) made_.what.nodes[*number].reply = made_.what.replies++;
    return number;
  }

  // As when it is sent, but its content may be undefined until the graph runs.
  [[nodiscard]] result<void> check_operand(std::string_view field, const any_tensor& t,
                                           access role) {
    operand_list kept;
    outgoing_operands operands(request_type_of<graph::run>(), device_.core()->memory(),
                               device_.core()->host_memory(), kept);
    auto place = operands.locate(field, t, role);
    if (place || place.error().code == errc::tainted_buffer) return {};
    return std::move(place).error();
  }

  [[nodiscard]] result<void> check_condition(const any_tensor& t) const {
    const auto refuse = [&](errc code, std::string_view rule) -> result<void> {
      return error{.code = code,
                   .message = fmt::format("graph {}: a condition must {}; it is {}", made_.name,
                                          rule, t.null() ? "null" : t.to_string())};
    };
    if (t.null()) return refuse(errc::invalid_argument, "be a tensor");
    if (t.count() != 1) return refuse(errc::shape_mismatch, "have one element");
    if (std::ranges::find(graph::condition_types, t.type()) == graph::condition_types.end()) {
      return refuse(errc::type_mismatch, "be of type bool, u8, i32, u32 or i64");
    }
    if (t.space() != memory_space::device) {
      return refuse(errc::invalid_argument, "be in the memory of the device");
    }
    return {};
  }

  [[nodiscard]] result<std::uint64_t> add_node(node n) {
    const std::uint64_t number = made_.what.nodes.size();
    if (number == graph::most_requests) {
      return error{.code = errc::size_overflow,
                   .message = fmt::format("a graph has at most {} requests", graph::most_requests)};
    }
    n.first_use = made_.what.uses.size();
    made_.what.nodes.push_back(n);
    blocks_.emplace_back();
    members_[open_.back().body].push_back(number);
    return number;
  }

  [[nodiscard]] result<void> narrow(std::uint64_t use, const std::vector<any_tensor>& parts) {
    graph::narrowed_use made{.use = use, .parts = {}};
    const any_tensor whole = made_.roots[made_.what.uses[use]];
    for (const any_tensor& part : parts) {
      if (part.null() || !detail::contains(whole, part)) {
        return error{.code = errc::aliasing,
                     .message = fmt::format("graph {}: writes_only: a part must lie within {}; it "
                                            "is {}",
                                            made_.name, whole.to_string(),
                                            part.null() ? "null" : part.to_string())};
      }
      if (auto good = check_operand("a part", part, access::write); !good) return good;
      made.parts.push_back(root_of(part));
    }
    made_.narrowed.push_back(std::move(made));
    return {};
  }

  std::size_t root_of(const any_tensor& t) {
    const auto same = [&](std::size_t i) {
      return made_.roots[i].same_view(t) && made_.roots[i].space() == t.space();
    };
    std::vector<std::size_t>& there = roots_at_[t.address()];
    auto root = std::ranges::find_if(there, same);
    if (root == there.end()) {
      made_.roots.push_back(t);
      root = there.insert(there.end(), made_.roots.size() - 1);
    }
    return *root;
  }
  void use(std::uint64_t number, const any_tensor& t, access role) {
    made_.what.uses.push_back(root_of(t));
    made_.roles.push_back(role);
    ++made_.what.nodes[number].uses;
  }

  [[nodiscard]] std::uint64_t number_of(const request_type& type) {
    const auto [there, is_new] = type_numbers_.try_emplace(type.id, made_.types.size());
    if (is_new) {
      made_.types.push_back(&type);
      made_.what.types.push_back({type.id, std::string(type.name)});
    }
    return there->second;
  }

  [[nodiscard]] result<void> splice_body(const detail::recorded_graph& child, std::uint64_t body,
                                         const std::vector<any_tensor>& roots,
                                         const std::vector<scalar>& values) {
    for (const std::uint64_t number : child.what.bodies[body]) {
      const node& n = child.what.nodes[number];
      if (const request_type* const type = child.type_of(n)) {
        auto request = graph::request_of(*type, child.what, n, roots);
        if (!request) return std::move(request).error();
        child.set_values(number, *request, values);
        auto added = add(*type, request->data());
        if (!added) return std::move(added).error();
        if (auto good = narrow_as(child, n, *added, roots); !good) return good;
        continue;
      }
      auto good =
          begin(n.kind, roots[child.what.uses[n.first_use]], static_cast<std::int64_t>(n.at_most));
      for (std::uint64_t b = n.first_body; good && b < n.first_body + n.bodies; ++b) {
        if (b != n.first_body) good = next_body();
        if (good) good = splice_body(child, b, roots, values);
      }
      if (good) good = end();
      if (!good) return good;
    }
    return {};
  }

  [[nodiscard]] result<void> narrow_as(const detail::recorded_graph& child, const node& of,
                                       std::uint64_t number, const std::vector<any_tensor>& roots) {
    for (const graph::narrowed_use& one : child.narrowed) {
      if (one.use < of.first_use || one.use >= of.first_use + of.uses) continue;
      std::vector<any_tensor> parts;
      std::ranges::transform(one.parts, std::back_inserter(parts),
                             [&](std::uint64_t part) { return roots[part]; });
      const std::uint64_t use = made_.what.nodes[number].first_use + (one.use - of.first_use);
      if (auto good = narrow(use, parts); !good) return good;
    }
    return {};
  }

  device device_;
  const std::thread::id thread_ = std::this_thread::get_id();
  bool is_finished_ = false;
  std::optional<error> failure_;
  const std::shared_ptr<detail::recorded_graph> graph_ = std::make_shared<detail::recorded_graph>();
  detail::recorded_graph& made_ = *graph_;
  std::vector<std::vector<std::uint64_t>> members_{1};  // the nodes of each body, as they came
  std::vector<std::vector<std::size_t>> blocks_;        // the bodies of each node
  std::vector<block> open_{{}};                         // the graph itself, and the open bodies
  std::map<std::uint64_t, std::uint64_t> type_numbers_;
  std::map<const std::byte*, std::vector<std::size_t>> roots_at_;
};

result<request_graph> graph_recorder::recording::finish() {
  if (failure_) return *failure_;
  if (std::exchange(is_finished_, true)) return invalid("it has been finished");
  if (open_.size() != 1) return invalid("a body is not ended");
  if (made_.what.nodes.empty()) return invalid("it has no requests");
  graph::definition& what = made_.what;
  what.bodies.push_back(std::move(members_[0]));
  for (std::size_t i = 0; i < what.nodes.size(); ++i) {
    what.nodes[i].first_body = what.bodies.size();
    what.nodes[i].bodies = blocks_[i].size();
    for (const std::size_t body : blocks_[i])
      what.bodies.push_back(std::move(members_[body]));
  }
  if (auto found = made_.find_parameters(); !found) return std::move(found).error();
  std::vector<graph::view_bytes> views;
  std::ranges::transform(made_.roots, std::back_inserter(views), graph::bytes_of);
  std::array<std::uint64_t, 3> places{};
  for (const access role : graph::roles_of(what, made_.roles, views, made_.narrowed))
    what.roots.push_back({role, places[static_cast<std::size_t>(role)]++});

  made_.bytes = graph::encode(what);
  auto memory = device_.allocate_host(dtype::u8, {static_cast<std::int64_t>(made_.bytes.size())});
  if (!memory) return std::move(memory).error();
  std::memcpy(memory->address(), made_.bytes.data(), made_.bytes.size());
  // Nothing writes it from here on, so that the quarantine may know a run by its bytes.
  memory->buffer()->state.fetch_or(detail::buffer_frozen, std::memory_order_seq_cst);
  made_.request.label = made_.name;
  made_.request.digest = graph::digest_of(made_.bytes);
  made_.request.definition = *std::move(memory);
  made_.list_roots(made_.roots, made_.request);
  return request_graph(graph_);
}

graph_recorder::graph_recorder(const device& on, std::string_view name)
    : recording_(std::make_unique<recording>(on, name)) {}
graph_recorder::graph_recorder(graph_recorder&&) noexcept = default;
graph_recorder& graph_recorder::operator=(graph_recorder&&) noexcept = default;
graph_recorder::~graph_recorder() = default;

std::uint64_t graph_recorder::add(const request_type& type, const void* request) {
  std::uint64_t number = ~std::uint64_t{0};
  recording_->take([&]() -> result<void> {
    auto added = recording_->add(type, request);
    if (!added) return std::move(added).error();
    number = *added;
    return {};
  });
  return number;
}

void graph_recorder::add(const request_graph& child, const std::vector<graph_argument>& arguments) {
  recording_->take([&] { return recording_->splice(*child.recorded(), arguments); });
}

void graph_recorder::begin_repeat(const any_tensor& condition, const repeat_options& options) {
  recording_->take(
      [&] { return recording_->begin(node_kind::repeat, condition, options.at_most); });
}
void graph_recorder::begin_if(const any_tensor& condition) {
  recording_->take([&] { return recording_->begin(node_kind::when, condition, 1); });
}
void graph_recorder::begin_choose(const any_tensor& index) {
  recording_->take([&] { return recording_->begin(node_kind::choose, index, 1); });
}
void graph_recorder::next_body() {
  recording_->take([&] { return recording_->next_body(); });
}
void graph_recorder::end() {
  recording_->take([&] { return recording_->end(); });
}

void graph_recorder::writes_only(std::uint64_t request, std::string_view field,
                                 const std::vector<any_tensor>& parts) {
  recording_->take([&] { return recording_->narrow(request, field, parts); });
}

void graph_recorder::parameter(std::string_view name, const any_tensor& t) {
  recording_->take([&] { return recording_->parameter(name, t, nullptr); });
}

void graph_recorder::parameter(std::string_view name, const any_tensor& t,
                               const any_tensor& within) {
  recording_->take([&] { return recording_->parameter(name, t, &within); });
}

void graph_recorder::parameter(std::string_view name, std::uint64_t request,
                               std::string_view field) {
  recording_->take([&] { return recording_->parameter(name, request, field); });
}

const error* graph_recorder::failure() const noexcept {
  const auto& why = recording_->failure();
  return why ? &*why : nullptr;
}

result<request_graph> graph_recorder::finish() && { return recording_->finish(); }

}  // namespace troupe
