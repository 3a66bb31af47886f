#include "worker/graphs/graph_recordings.hpp"

#include "wire/layout.hpp"
#include "worker/graphs/requests_within.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace troupe::worker {
namespace {

constexpr std::size_t most_variants = 8;
// A graph that needs another variant more often than this is not worth recording.
constexpr std::uint64_t most_misses = 64;
constexpr std::uint64_t window_runs = 256;
// Runs that a segment waits for requests that are called in a way that may change, or not at all.
constexpr int most_unsettled = 32;
constexpr int most_failures = 3;
constexpr std::size_t ticket_at = offsetof(wire::reply_slot, ticket);

bool is_lost(const error& why) noexcept { return why.code == errc::device_fault; }

}  // namespace

bool is_same_operand(const any_tensor& a, const any_tensor& b) noexcept {
  return a.type() == b.type() && a.space() == b.space() && a.same_view(b);
}

bool graph_recordings::is_of(const variant& v, std::span<const any_tensor> roots,
                             std::span<const scalar> values,
                             const std::byte* results) const noexcept {
  return v.results == results && std::ranges::equal(v.values, values) && are_same(v.roots, roots);
}

bool graph_recordings::are_same(std::span<const any_tensor> a,
                                std::span<const any_tensor> b) const noexcept {
  return a.size() == b.size() && std::ranges::all_of(used_, [&](std::uint64_t root) {
           return is_same_operand(a[root], b[root]);
         });
}

bool graph_recordings::variant::is_running() const {
  return std::ranges::any_of(recordings,
                             [](const recording& r) { return r.work && r.work->is_running(); });
}

void graph_recordings::forget() {
  current_ = nullptr;
  std::ranges::move(variants_, std::back_inserter(retired_));
  variants_.clear();
  std::erase_if(retired_, [](const auto& one) { return !one->is_running(); });
}

void graph_recordings::give_up(std::string why) {
  gave_up_ = std::move(why);
  forget();
}

bool graph_recordings::begin(std::span<const any_tensor> roots, std::span<const scalar> values,
                             const std::byte* results) {
  ++runs_;
  if (must_split_) split();
  if (!gave_up_.empty()) {
    forget();
    return false;
  }
  if (current_ == nullptr || !is_of(*current_, roots, values, results)) {
    current_ = find(roots, values, results);
    if (current_ == nullptr) return false;
  }
  current_->used = runs_;
  return is_whole_ && current_->recordings.front().work != nullptr;
}

graph_recordings::variant* graph_recordings::find(std::span<const any_tensor> roots,
                                                  std::span<const scalar> values,
                                                  const std::byte* results) {
  for (const auto& one : variants_)
    if (is_of(*one, roots, values, results)) return one.get();
  if (runs_ - window_ > window_runs) {
    window_ = runs_;
    misses_ = 0;
  }
  if (++misses_ > most_misses) {
    give_up("its tensors or values change at every run");
    return nullptr;
  }
  variant* const place = place_for_another();
  if (place == nullptr) return nullptr;
  place->roots.assign(roots.begin(), roots.end());
  place->values.assign(values.begin(), values.end());
  place->results = results;
  return place;
}

// A new one, or the one that was used least recently. Null if all of them run.
graph_recordings::variant* graph_recordings::place_for_another() {
  if (variants_.size() < most_variants) {
    variants_.push_back(std::make_unique<variant>());
    variants_.back()->recordings.resize(segments_);
    return variants_.back().get();
  }
  variant* oldest = nullptr;
  for (const auto& one : variants_) {
    if (oldest != nullptr && one->used >= oldest->used) continue;
    if (!one->is_running()) oldest = one.get();
  }
  if (oldest == nullptr) return nullptr;
  for (recording& r : oldest->recordings)
    if (r.work) r.old = std::move(r.work);
  return oldest;
}

std::span<const std::uint64_t> graph_recordings::nodes_of(std::uint64_t body,
                                                          const segment& s) const noexcept {
  return std::span(definition_.bodies[body]).subspan(s.first, s.count);
}

namespace {

result<void> call(std::span<const std::uint64_t> nodes, graph_requests& requests,
                  accelerator_lane& on) {
  for (const std::uint64_t n : nodes)
    if (auto done = requests.call(n, on); !done) return done;
  return {};
}

}  // namespace

result<void> graph_recordings::run(std::uint64_t body, std::size_t segment_in_body,
                                   graph_requests& requests, accelerator_lane& lane) {
  segment& s = bodies_[body][segment_in_body];
  recording& mine = current_->recordings[s.number];
  if (mine.work) return launch(mine, requests, lane);
  const auto nodes = nodes_of(body, s);
  accelerator_lane* const twin = lane.twin();
  if (twin == nullptr) {
    gave_up_ = "this backend records nothing, or its recordings have failed too often";
    return call(nodes, requests, lane);
  }
  if (twin != std::exchange(twin_, twin)) {
    for (auto& segments : bodies_)
      for (segment& one : segments)
        one.is_warm = false;
    readiness_.assign(readiness_.size(), readiness::cold);
  }
  if (!s.is_warm) return warm_up(nodes, s, requests, lane, *twin);
  for_each_request(nodes, [&](std::uint64_t n, bool) {
    if (requests.may_record(n)) return;
    why_not_[n] = "its library cannot record it with these fields";
    must_split_ = true;
  });
  if (must_split_) return call(nodes, requests, lane);
  return record(nodes, mine, requests, lane, *twin);
}

// Calls it on the twin, between what the lane does before and after.
result<void> graph_recordings::warm_up(std::span<const std::uint64_t> nodes, segment& s,
                                       graph_requests& requests, accelerator_lane& lane,
                                       accelerator_lane& twin) {
  if (auto waits = twin.wait_for(lane); !waits) return waits;
  auto outcome = call(nodes, requests, twin);
  if (outcome) settle(nodes, s);
  auto waits = lane.wait_for(twin);
  if (!outcome) return outcome;
  return waits;
}

void graph_recordings::note_called(std::uint64_t number, bool is_provisional) {
  readiness_[number] = is_provisional ? readiness::provisional : readiness::warm;
}

// Whether its next run can be recorded.
void graph_recordings::settle(std::span<const std::uint64_t> nodes, segment& s) {
  s.is_warm = true;
  for_each_request(nodes, [&](std::uint64_t n, bool) {
    if (readiness_[n] != readiness::warm) s.is_warm = false;
  });
  if (s.is_warm || ++s.unsettled <= most_unsettled) return;
  for_each_request(nodes, [&](std::uint64_t n, bool) {
    if (readiness_[n] == readiness::cold) why_not_[n] = "it did not run in the first runs";
    if (readiness_[n] == readiness::provisional)
      why_not_[n] = "its library still calls it in a way that may change";
  });
  must_split_ = true;
}

result<void> graph_recordings::record(std::span<const std::uint64_t> nodes, recording& into,
                                      graph_requests& requests, accelerator_lane& lane,
                                      accelerator_lane& twin) {
  tries_again_ = false;
  result<void> outcome = twin.begin_recording();
  const bool began = outcome.has_value();
  for (const std::uint64_t n : nodes) {
    if (!outcome) break;
    outcome = record(n, requests, twin);
  }
  std::unique_ptr<recorded_work> made;
  if (began) {
    auto ended = twin.end_recording(std::move(into.old));
    if (ended) {
      made = *std::move(ended);
    } else if (outcome || is_lost(ended.error())) {
      outcome = std::move(ended).error();
      // The driver says only now what it does not take in a body.
      for (const std::uint64_t n : nodes)
        if (definition_.nodes[n].bodies != 0) leave_out(n, outcome.error());
    }
  }
  if (!outcome) {
    if (is_lost(outcome.error())) return outcome;
    // After a call that failed while it was recorded, the next one of that library may fail, too.
    lane.replace_twin();
    if (!must_split_ && !tries_again_ && ++failures_ == most_failures)
      gave_up_ = outcome.error().message;
    return call(nodes, requests, lane);
  }
  ++recorded_;
  into.work = std::move(made);
  into.replies.clear();
  for_each_request(nodes, [&](std::uint64_t n, bool in_a_body) {
    const auto reply = requests.reply_of(n);
    if (reply.empty()) return;
    kept_reply kept{.node = n, .bytes = {reply.begin(), reply.end()}};
    // The body says that it has run.
    if (in_a_body) std::memset(kept.bytes.data() + ticket_at, 0, sizeof(std::uint64_t));
    into.replies.push_back(std::move(kept));
  });
  return launch(into, requests, lane);
}

// Another thread may have disturbed the recording, so it is tried twice.
void graph_recordings::leave_out(std::uint64_t number, const error& why) {
  if (!has_failed_[number]) {
    has_failed_[number] = tries_again_ = true;
    return;
  }
  why_not_[number] = "recording it failed: " + why.message;
  if (!why.call.empty()) why_not_[number] += " (" + why.call + ' ' + why.code_name + ')';
  must_split_ = true;
}

result<void> graph_recordings::record(std::uint64_t number, graph_requests& requests,
                                      accelerator_lane& twin) {
  if (definition_.nodes[number].kind != graph::node_kind::request)
    return record_condition(number, requests, twin);
  auto outcome = requests.call(number, twin);
  if (outcome) outcome = twin.check_recording();
  if (!outcome) leave_out(number, outcome.error());
  return outcome;
}

result<void> graph_recordings::record_condition(std::uint64_t number, graph_requests& requests,
                                                accelerator_lane& twin) {
  const graph::node& n = definition_.nodes[number];
  auto outcome = twin.begin_condition(requests.condition_of(number));
  for (std::uint64_t b = 0; outcome && b < n.bodies; ++b) {
    outcome = twin.begin_body(b);
    for (const std::uint64_t member : definition_.bodies[n.first_body + b]) {
      if (!outcome) break;
      if (auto recorded = record(member, requests, twin); !recorded) return recorded;
      const auto reply = requests.reply_of(member);
      if (reply.empty()) continue;
      outcome = twin.record_store(reinterpret_cast<std::uint64_t*>(reply.data() + ticket_at),
                                  graph::part_of(member));
    }
    if (outcome) outcome = twin.end_body();
  }
  if (outcome) outcome = twin.end_condition();
  if (!outcome) leave_out(number, outcome.error());
  return outcome;
}

// The device overwrites what executors have left in the replies.
result<void> graph_recordings::launch(const recording& what, graph_requests& requests,
                                      accelerator_lane& lane) {
  for (const kept_reply& r : what.replies)
    std::memcpy(requests.reply_of(r.node).data(), r.bytes.data(), r.bytes.size());
  ++launches_;
  return lane.launch(*what.work, requests.failure_place());
}

}  // namespace troupe::worker
