#include "worker/graphs/bound_graph.hpp"

#include "request/description/text.hpp"
#include "wire/codec.hpp"
#include "wire/layout.hpp"

#include <troupe/memory/copy.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

namespace troupe::worker {
namespace {

using graph::node;
using graph::node_kind;

/// A reply has no tensors.
class no_operands final : public wire::operand_source {
 public:
  result<place> locate(std::string_view field, const any_tensor&, access) override {
    return error{.code = errc::unsupported, .message = fmt::format("the reply's {}", field)};
  }
};

wire::reply_slot& row(std::byte* results, std::uint64_t reply) noexcept {
  static_assert(sizeof(wire::reply_slot) == graph::run::row_bytes);
  return *reinterpret_cast<wire::reply_slot*>(results + reply * sizeof(wire::reply_slot));
}

result<void> put_described(const value_type& type, const void* reply, wire::reply_slot& to) {
  no_operands none;
  auto bytes = wire::encode(type, reply, to.bytes, none);
  if (!bytes) return std::move(bytes).error();
  to.reply_bytes = static_cast<std::uint32_t>(*bytes);
  if (*bytes <= sizeof(to.bytes)) return {};
  return error{.code = errc::size_overflow,
               .message = fmt::format("a reply of {} bytes; in a graph it has at most {}", *bytes,
                                      sizeof(to.bytes))};
}

result<void> may_be_in_graph(const operation& op) {
  const char* why = nullptr;
  if (op.ready != nullptr) why = "it decides when it may run";
  if (graph::is_run(*op.type)) why = "a graph holds the requests of another";
  // The failure would be written into the reply's row, which nothing looks at.
  if (op.fails_late && op.type->has_reply()) why = "its failure is found after the call";
  if (why == nullptr) return {};
  return error{.code = errc::unsupported,
               .message = fmt::format("{} cannot be in a graph: {}", op.type->name, why)};
}

}  // namespace

result<std::shared_ptr<bound_graph>> bound_graph::make(graph::definition d,
                                                       const operation_table& operations,
                                                       const accelerator* device) {
  std::vector<step> steps(d.nodes.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const node& n = d.nodes[i];
    if (n.kind != node_kind::request) continue;
    const auto& type = d.types[n.type];
    steps[i].op = operations.find(type.id);
    if (steps[i].op == nullptr) {
      return error{
          .code = errc::library_missing,
          .message = fmt::format("request {}: this worker has no executor for {}", i, type.name)};
    }
    if (auto may = may_be_in_graph(*steps[i].op); !may) return std::move(may).error();
  }
  std::vector<field_view> numbers;
  for (const graph::value_place& v : d.values) {
    auto field = graph::number_field(*steps[v.node].op->type, v.field);
    if (!field) {
      return error{.code = errc::protocol_violation,
                   .message = fmt::format("request {}: field {} is no number", v.node, v.field)};
    }
    numbers.push_back(*std::move(field));
  }
  return std::shared_ptr<bound_graph>(
      new bound_graph(std::move(d), std::move(steps), std::move(numbers), device,
                      operations.find(request_type_of<memory::copy>().id)));
}

bool bound_graph::is_short() const noexcept {
  return std::ranges::all_of(
      steps_, [](const step& s) { return s.op != nullptr && s.op->effort == effort::by_size; });
}

result<void> bound_graph::run(const graph::run& r, lane_context& lane, std::byte* reply,
                              std::atomic<std::uint64_t>& part) {
  if (auto good = check(r); !good) return good;
  auto roots = graph::roots_of(definition_, r);
  if (!roots) return std::move(roots).error();
  lane_ = &lane;
  part_ = &part;
  stepped_ = r.stepped || !on_accelerator_;
  reply_ = reply;
  results_ = r.results.address();
  // A recording with these tensors and values shows that they are good.
  if (stepped_) recordings_.note_called();
  const bool calls = stepped_ || !recordings_.begin(*roots, r.values, results_);
  if (calls) {
    if (auto bound = bind(*std::move(roots), r.values); !bound) return bound;
  }
  // A row without a ticket belongs to a request that did not run.
  if (results_ != nullptr) {
    std::memset(results_, 0, static_cast<std::size_t>(r.results.count()));
  }
  auto outcome = run_body(0, lane);
  // A lost context is shown by the request that lost it.
  if (outcome || outcome.error().code != errc::device_fault) {
    part.store(0, std::memory_order_relaxed);
  }
  return outcome;
}

graph::graph_info bound_graph::info() const {
  auto all = recordings_.info();
  if (on_accelerator_) return all;
  all.segments.clear();
  all.why = "this backend runs requests one by one";
  return all;
}

std::vector<const operation*> bound_graph::operations() const {
  std::vector<const operation*> all;
  all.reserve(steps_.size());
  for (const step& s : steps_)
    all.push_back(s.op);
  return all;
}

bool bound_graph::may_record(std::uint64_t number) {
  const step& s = steps_[number];
  return s.op->may_record(s.request->data());
}

std::span<std::byte> bound_graph::reply_of(std::uint64_t number) {
  const node& n = definition_.nodes[number];
  if (n.reply == node::none || n.kind != node_kind::request) return {};
  wire::reply_slot& reply = row(results_, n.reply);
  // A described reply is made by the call, from the request alone.
  const request_type& type = *steps_[number].op->type;
  const std::size_t bytes = offsetof(wire::reply_slot, bytes) +
                            (type.described_reply == nullptr
                                 ? type.reply_bytes
                                 : std::min<std::size_t>(reply.reply_bytes, sizeof(reply.bytes)));
  return std::as_writable_bytes(std::span(&reply, 1)).first(bytes);
}

result<void> bound_graph::check(const graph::run& r) const {
  if (!r.results.null() && static_cast<std::uint64_t>(r.results.extent(0)) < definition_.replies) {
    return error{.code = errc::protocol_violation, .message = "too few rows for the replies"};
  }
  if (r.results.null() && definition_.replies != 0) {
    return error{.code = errc::protocol_violation, .message = "no rows for the replies"};
  }
  if (r.values.size() != definition_.values.size()) {
    return error{
        .code = errc::protocol_violation,
        .message = fmt::format("{} values of {}", r.values.size(), definition_.values.size())};
  }
  return {};
}

// Requests are checked only when their views or values differ from those that they hold.
result<void> bound_graph::bind(std::vector<any_tensor> roots, const std::vector<scalar>& values) {
  if (is_bound_ && recordings_.are_same(roots, roots_) && values == values_) return {};
  is_bound_ = false;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const node& n = definition_.nodes[i];
    if (n.kind != node_kind::request) {
      const any_tensor& c = roots[definition_.uses[n.first_use]];
      if (c.count() == 1 &&
          std::ranges::find(graph::condition_types, c.type()) != graph::condition_types.end())
        continue;
      return at(i,
                {.code = errc::protocol_violation, .message = "its condition is " + c.to_string()});
    }
    const request_type& type = *steps_[i].op->type;
    if (steps_[i].request) {
      if (auto good = graph::bind(*steps_[i].request, definition_, n, roots); !good) return good;
    } else {
      auto made = graph::request_of(type, definition_, n, roots);
      if (!made) return at(i, std::move(made).error());
      steps_[i].request.emplace(*std::move(made));
    }
  }
  for (std::size_t i = 0; i < numbers_.size(); ++i)
    graph::set_number(numbers_[i], steps_[definition_.values[i].node].request->data(), values[i]);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (!steps_[i].request) continue;
    auto valid = steps_[i].op->type->validate(steps_[i].request->data());
    if (!valid) return at(i, std::move(valid).error());
  }
  roots_ = std::move(roots);
  values_ = values;
  is_bound_ = true;
  return {};
}

result<void> bound_graph::run_body(std::uint64_t body, lane_context& lane) {
  // Bodies of conditions that are recorded have no segments, and are called until then.
  if (!stepped_ && recordings_.records() && &lane == lane_ &&
      !recordings_.segments_of(body).empty())
    return run_segments(body);
  for (const std::uint64_t number : definition_.bodies[body]) {
    if (auto done = run_node(number, lane); !done) return done;
  }
  return {};
}

result<void> bound_graph::run_segments(std::uint64_t body) {
  const auto segments = recordings_.segments_of(body);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].is_recorded) {
      if (auto done = recordings_.run(body, i, *this, queue()); !done) return done;
      continue;
    }
    for (std::size_t k = 0; k < segments[i].count; ++k) {
      const std::uint64_t number = definition_.bodies[body][segments[i].first + k];
      if (auto done = run_node(number, *lane_); !done) return done;
    }
  }
  return {};
}

result<void> bound_graph::run_node(std::uint64_t number, lane_context& lane) {
  const node& n = definition_.nodes[number];
  switch (n.kind) {
    case node_kind::request:
      return run_request(number, lane);
    case node_kind::repeat:
      return repeat(number, lane);
    case node_kind::when:
    case node_kind::choose:
      break;
  }
  auto value = condition(number, lane);
  if (!value) return std::move(value).error();
  const bool is_when = n.kind == node_kind::when;
  const std::int64_t which = is_when ? (*value != 0 ? 0 : 1) : *value;
  const bool is_one = which >= 0 && static_cast<std::uint64_t>(which) < n.bodies;
  return is_one ? run_body(n.first_body + static_cast<std::uint64_t>(which), lane) : result<void>();
}

result<void> bound_graph::repeat(std::uint64_t number, lane_context& lane) {
  const node& n = definition_.nodes[number];
  for (std::uint64_t round = 0;; ++round) {
    auto value = condition(number, lane);
    if (!value) return std::move(value).error();
    if (*value == 0) return {};
    if (round == n.at_most) {
      return at(number, {.code = errc::numerical,
                         .message = fmt::format("repeat_while: the condition still holds after {} "
                                                "rounds",
                                                n.at_most)});
    }
    if (auto done = run_body(n.first_body, lane); !done) return done;
  }
}

result<void> bound_graph::run_request(std::uint64_t number, lane_context& lane) {
  const node& n = definition_.nodes[number];
  const operation& op = *steps_[number].op;
  const void* const request = steps_[number].request->data();
  alignas(wire::cache_line) wire::reply_slot unused;
  wire::reply_slot& reply = n.reply == node::none ? unused : row(results_, n.reply);
  std::byte* late = reply_;
  if (op.fails_late && lane.is_recording()) {
    late = static_cast<accelerator_lane&>(lane).place_for_failure();
    if (late == nullptr) return error{.code = errc::unsupported, .message = "it may fail late"};
  }
  if (stepped_) part_->store(graph::part_of(number), std::memory_order_relaxed);
  const bool on_twin = &lane != lane_;
  if (on_twin) (void)lane.take_provisional();
  result<void> outcome;
  if (op.take_turn != nullptr) op.take_turn(op.executor);
  try {
    if (op.type->described_reply == nullptr) {
      reply.reply_bytes = static_cast<std::uint32_t>(op.type->reply_bytes);
      outcome = op.run(op.executor, request, lane, op.fails_late ? late : reply.bytes);
    } else {
      any_value value(*op.type->described_reply);
      outcome = op.run(op.executor, request, lane, static_cast<std::byte*>(value.data()));
      if (outcome) outcome = put_described(*op.type->described_reply, value.data(), reply);
    }
  } catch (const std::bad_alloc& none) {
    outcome = error{.code = errc::out_of_memory, .message = none.what()};
  } catch (const std::exception& thrown) {
    outcome = error{.code = errc::handler_failed, .message = thrown.what()};
  }
  if (op.end_turn != nullptr) op.end_turn(op.executor);
  if (outcome && stepped_ && on_accelerator_) outcome = queue().finish();
  reply.ticket = graph::part_of(number);
  if (!outcome) return at(number, std::move(outcome).error());
  if (on_twin) recordings_.note_called(number, lane.take_provisional());
  return {};
}

recorded_condition bound_graph::condition_of(std::uint64_t number) {
  using enum recorded_condition::kind;
  const node& n = definition_.nodes[number];
  const any_tensor& c = roots_[definition_.uses[n.first_use]];
  return {.what = n.kind == node_kind::repeat ? repeat
                  : n.kind == node_kind::when ? when
                                              : choose,
          .at = c.address(),
          .type = c.type(),
          .bodies = n.bodies,
          .at_most = n.at_most,
          .number = number};
}

result<std::int64_t> bound_graph::condition(std::uint64_t number, lane_context& lane) {
  const node& n = definition_.nodes[number];
  const any_tensor& c = roots_[definition_.uses[n.first_use]];
  const std::byte* from = c.address();
  if (on_accelerator_) {
    auto there = copied(c, n.reply, lane);
    if (!there) return at(number, std::move(there).error());
    from = *there;
  }
  const auto value = [&]<class T>(T) {
    T read{};
    std::memcpy(&read, from, sizeof(read));
    return static_cast<std::int64_t>(read);
  };
  switch (size_of(c.type())) {
    case 1:
      return value(std::uint8_t{});
    case 4:
      return c.type() == dtype::u32 ? value(std::uint32_t{}) : value(std::int32_t{});
    default:
      return value(std::int64_t{});
  }
}

// The accelerator copies it to its row, once it has run all before it.
result<const std::byte*> bound_graph::copied(const any_tensor& condition, std::uint64_t row_number,
                                             lane_context& lane) {
  if (row_number == node::none) {
    return error{.code = errc::protocol_violation, .message = "the condition has no row"};
  }
  if (copy_ == nullptr) {
    return error{.code = errc::library_missing, .message = "conditions need the library memory"};
  }
  std::byte* const to = row(results_, row_number).bytes;
  const memory::copy request{
      .from = condition,
      .to = any_tensor::unowned(to, condition.type(), shape(condition.extents()), {},
                                memory_space::host)};
  auto done = copy_->run(copy_->executor, &request, lane, nullptr);
  if (done) done = static_cast<accelerator_lane&>(lane).finish();
  if (!done) return std::move(done).error();
  return to;
}

// Names the request. A lost context is the worker's failure, not the request's.
error bound_graph::at(std::uint64_t number, error why) const {
  if (why.code == errc::device_fault) return why;
  const step& s = steps_[number];
  why.message = s.request ? fmt::format("request {}, {}: {}", number,
                                        print(s.request->type(), s.request->data()), why.message)
                          : fmt::format("request {}: {}", number, why.message);
  return why;
}

}  // namespace troupe::worker
