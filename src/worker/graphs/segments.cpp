// How a graph is split into segments, and what is said about it.

#include "worker/graphs/graph_recordings.hpp"
#include "worker/graphs/requests_within.hpp"

#include <troupe/plugin/measured_recording.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace troupe::worker {
namespace {

// A launch costs about as much as two short requests. A condition is worth more: the worker need
// not wait for it.
constexpr std::size_t least_requests = 2;
constexpr std::string_view waits = "the worker waits for the value of a condition";

std::string why_never(const operation& op) {
  if (op.effort == effort::blocks_host) return "its call waits for the device";
  if (op.take_turn != nullptr) return "it takes turns with other operations";
  if (op.may_record == nullptr) return "it is not on its library's list";
  return {};
}

}  // namespace

graph_recordings::graph_recordings(const graph::definition& d,
                                   std::span<const operation* const> operations,
                                   bool records_conditions)
    : definition_(d),
      used_(d.uses),
      has_failed_(d.nodes.size()),
      readiness_(d.nodes.size()),
      bodies_(d.bodies.size()) {
  std::ranges::sort(used_);
  used_.erase(std::ranges::unique(used_).begin(), used_.end());
  why_not_.reserve(operations.size());
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const bool waits_for_it = !records_conditions || d.nodes[i].bodies == 0;
    why_not_.push_back(operations[i] != nullptr ? why_never(*operations[i])
                       : waits_for_it           ? std::string(waits)
                                                : std::string());
  }
  split();
}

// Why a node is called; empty if it can be recorded.
std::string graph_recordings::why_called(std::uint64_t number) const {
  const graph::node& n = definition_.nodes[number];
  if (!why_not_[number].empty() || n.kind == graph::node_kind::request) return why_not_[number];
  for (std::uint64_t b = n.first_body; b < n.first_body + n.bodies; ++b) {
    for (const std::uint64_t member : definition_.bodies[b]) {
      std::string why = why_called(member);
      if (why.empty()) continue;
      if (why.starts_with(waits)) return why;
      return fmt::format("{}: request {} of a body: {}", waits, member, why);
    }
  }
  return {};
}

// Requests whose recording has failed are called from now on, so segments are others.
void graph_recordings::split() {
  must_split_ = false;
  segments_ = 0;
  all_segments_ = 0;
  for (auto& segments : bodies_)
    segments.clear();
  split(0);
  is_whole_ = all_segments_ == 1 && segments_ == 1;
  forget();
  if (segments_ == 0 && gave_up_.empty()) gave_up_ = "no two requests in a row can be recorded";
}

void graph_recordings::split(std::uint64_t body) {
  const std::vector<std::uint64_t>& nodes = definition_.bodies[body];
  const auto is_request = [&](std::uint64_t n) {
    return definition_.nodes[n].kind == graph::node_kind::request;
  };
  for (std::size_t i = 0; i < nodes.size();) {
    const std::string why = why_called(nodes[i]);
    segment s{.first = i};
    do {
      ++i;
    } while (i < nodes.size() && why_called(nodes[i]) == why);
    s.count = i - s.first;
    const auto all = std::span(nodes).subspan(s.first, s.count);
    s.is_recorded =
        why.empty() && (s.count >= least_requests || !std::ranges::all_of(all, is_request));
    if (s.is_recorded) s.number = segments_++;
    bodies_[body].push_back(s);
    ++all_segments_;
    if (s.is_recorded) continue;
    for (const std::uint64_t n : all) {
      const graph::node& one = definition_.nodes[n];
      for (std::uint64_t b = one.first_body; b < one.first_body + one.bodies; ++b)
        split(b);
    }
  }
}

graph::graph_info graph_recordings::info() const {
  graph::graph_info all{.runs = static_cast<std::int64_t>(runs_),
                        .recordings = static_cast<std::int64_t>(recorded_),
                        .launches = static_cast<std::int64_t>(launches_),
                        .variants = static_cast<std::int64_t>(variants_.size()),
                        .why = gave_up_};
  const auto count = [&](const recorded_work& work) {
    const auto* const measured = dynamic_cast<const measured_recording*>(&work);
    if (measured != nullptr) all.bytes += static_cast<std::int64_t>(measured->bytes());
  };
  for (const auto& v : variants_) {
    for (const recording& r : v->recordings) {
      if (r.old) count(*r.old);
      if (!r.work) continue;
      count(*r.work);
      all.operations += static_cast<std::int64_t>(r.work->size());
    }
  }
  for (std::size_t b = 0; b < bodies_.size(); ++b) {
    for (const segment& s : bodies_[b]) {
      const auto nodes = nodes_of(b, s);
      graph::segment one{.first = static_cast<std::int64_t>(nodes.front()),
                         .requests = static_cast<std::int64_t>(nodes.size()),
                         .is_recorded = s.is_recorded};
      if (s.is_recorded) {
        one.requests = 0;
        for_each_request(nodes, [&](std::uint64_t, bool) { ++one.requests; });
      } else {
        one.why = why_called(nodes.front());
        if (one.why.empty()) one.why = "it is alone";
      }
      all.segments.push_back(std::move(one));
    }
  }
  return all;
}

}  // namespace troupe::worker
