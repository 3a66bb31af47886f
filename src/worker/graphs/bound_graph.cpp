#include "worker/graphs/bound_graph.hpp"

#include "request/description/text.hpp"
#include "wire/codec.hpp"
#include "wire/layout.hpp"

#include <troupe/lane/mapping.hpp>

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

bool same(const any_tensor& a, const any_tensor& b) noexcept {
  return a.type() == b.type() && a.space() == b.space() && a.same_view(b);
}

result<void> may_be_in_graph(const operation& op, const node& n, bool on_accelerator) {
  const char* why = nullptr;
  if (op.ready != nullptr) why = "it decides when it may run";
  if (op.type->id == request_type_of<graph::run>().id)
    why = "a graph holds the requests of another";
  if (on_accelerator && op.fails_late && n.reply == node::none)
    why = "the accelerator finds its failure after the call";
  if (why == nullptr) return {};
  return error{.code = errc::unsupported,
               .message = fmt::format("{} cannot be in a graph: {}", op.type->name, why)};
}

}  // namespace

result<std::shared_ptr<bound_graph>> bound_graph::make(graph::definition d,
                                                       const operation_table& operations,
                                                       bool on_accelerator) {
  std::vector<step> steps(d.nodes.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const node& n = d.nodes[i];
    if (n.kind != node_kind::request) {
      if (!on_accelerator) continue;
      return error{.code = errc::unsupported,
                   .message = fmt::format("request {} is a condition, which only the CPU backend "
                                          "runs",
                                          i)};
    }
    const auto& type = d.types[n.type];
    steps[i].op = operations.find(type.id);
    if (steps[i].op == nullptr) {
      return error{
          .code = errc::library_missing,
          .message = fmt::format("request {}: this worker has no executor for {}", i, type.name)};
    }
    if (auto may = may_be_in_graph(*steps[i].op, n, on_accelerator); !may) {
      return std::move(may).error();
    }
  }
  return std::shared_ptr<bound_graph>(new bound_graph(std::move(d), std::move(steps)));
}

result<void> bound_graph::run(const graph::run& r, lane_context& lane,
                              std::atomic<std::uint64_t>& part) {
  if (auto bound = bind(r); !bound) return bound;
  lane_ = &lane;
  part_ = &part;
  results_ = r.results.address();
  // A row without a ticket belongs to a request that did not run.
  if (results_ != nullptr) {
    std::memset(results_, 0, static_cast<std::size_t>(r.results.count()));
  }
  auto outcome = run_body(0);
  part.store(0, std::memory_order_relaxed);
  return outcome;
}

// Requests are checked only when their views differ from those of the run before.
result<void> bound_graph::bind(const graph::run& r) {
  if (!r.results.null() && static_cast<std::uint64_t>(r.results.extent(0)) < definition_.replies) {
    return error{.code = errc::protocol_violation, .message = "too few rows for the replies"};
  }
  if (r.results.null() && definition_.replies != 0) {
    return error{.code = errc::protocol_violation, .message = "no rows for the replies"};
  }
  auto roots = graph::roots_of(definition_, r);
  if (!roots) return std::move(roots).error();
  if (roots->size() == roots_.size() && std::ranges::equal(*roots, roots_, same)) return {};
  roots_.clear();
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const node& n = definition_.nodes[i];
    if (n.kind != node_kind::request) {
      const any_tensor& c = (*roots)[definition_.uses[n.first_use]];
      if (c.count() == 1 &&
          std::ranges::find(graph::condition_types, c.type()) != graph::condition_types.end())
        continue;
      return at(i,
                {.code = errc::protocol_violation, .message = "its condition is " + c.to_string()});
    }
    const request_type& type = *steps_[i].op->type;
    if (steps_[i].request) {
      if (auto good = graph::bind(*steps_[i].request, definition_, n, *roots); !good) return good;
    } else {
      auto made = graph::request_of(type, definition_, n, *roots);
      if (!made) return at(i, std::move(made).error());
      steps_[i].request.emplace(*std::move(made));
    }
    if (auto valid = type.validate(steps_[i].request->data()); !valid) {
      return at(i, std::move(valid).error());
    }
  }
  roots_ = *std::move(roots);
  return {};
}

result<void> bound_graph::run_body(std::uint64_t body) {
  for (const std::uint64_t number : definition_.bodies[body]) {
    if (auto done = run_node(number); !done) return done;
  }
  return {};
}

result<void> bound_graph::run_node(std::uint64_t number) {
  const node& n = definition_.nodes[number];
  switch (n.kind) {
    case node_kind::request:
      return run_request(number);
    case node_kind::repeat:
      return repeat(number);
    case node_kind::when: {
      const std::uint64_t which = condition(n) != 0 ? 0 : 1;
      return which < n.bodies ? run_body(n.first_body + which) : result<void>();
    }
    case node_kind::choose: {
      const std::int64_t which = condition(n);
      const bool is_one = which >= 0 && static_cast<std::uint64_t>(which) < n.bodies;
      return is_one ? run_body(n.first_body + static_cast<std::uint64_t>(which)) : result<void>();
    }
  }
  return {};
}

result<void> bound_graph::repeat(std::uint64_t number) {
  const node& n = definition_.nodes[number];
  for (std::uint64_t round = 0; condition(n) != 0; ++round) {
    if (round == n.at_most) {
      return at(number, {.code = errc::numerical,
                         .message = fmt::format("repeat_while: the condition still holds after {} "
                                                "rounds",
                                                n.at_most)});
    }
    if (auto done = run_body(n.first_body); !done) return done;
  }
  return {};
}

result<void> bound_graph::run_request(std::uint64_t number) {
  const node& n = definition_.nodes[number];
  const operation& op = *steps_[number].op;
  const void* const request = steps_[number].request->data();
  alignas(wire::cache_line) wire::reply_slot unused;
  wire::reply_slot& reply = n.reply == node::none ? unused : row(results_, n.reply);
  part_->store(graph::part_of(number), std::memory_order_relaxed);
  result<void> outcome;
  if (op.take_turn != nullptr) op.take_turn(op.executor);
  try {
    if (op.type->described_reply == nullptr) {
      reply.reply_bytes = static_cast<std::uint32_t>(op.type->reply_bytes);
      outcome = op.run(op.executor, request, *lane_, reply.bytes);
    } else {
      any_value value(*op.type->described_reply);
      outcome = op.run(op.executor, request, *lane_, static_cast<std::byte*>(value.data()));
      if (outcome) outcome = put_described(*op.type->described_reply, value.data(), reply);
    }
  } catch (const std::bad_alloc& none) {
    outcome = error{.code = errc::out_of_memory, .message = none.what()};
  } catch (const std::exception& thrown) {
    outcome = error{.code = errc::handler_failed, .message = thrown.what()};
  }
  if (op.end_turn != nullptr) op.end_turn(op.executor);
  reply.ticket = graph::part_of(number);
  if (!outcome) return at(number, std::move(outcome).error());
  return {};
}

std::int64_t bound_graph::condition(const node& n) const {
  const any_tensor& c = roots_[definition_.uses[n.first_use]];
  const auto value = [&]<class T>(T) {
    T read{};
    std::memcpy(&read, c.address(), sizeof(read));
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
