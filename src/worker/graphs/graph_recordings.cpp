#include "worker/graphs/graph_recordings.hpp"

#include <troupe/plugin/measured_recording.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace troupe::worker {
namespace {

// A launch costs about as much as two short requests.
constexpr std::size_t least_requests = 2;
constexpr std::size_t most_variants = 8;
// A graph that needs another variant more often than this is not worth recording.
constexpr std::uint64_t most_misses = 64;
constexpr std::uint64_t window_runs = 256;
// Runs that a segment waits for requests that are called in a way that may change.
constexpr int most_provisional = 32;
constexpr int most_failures = 3;

std::string why_never(const operation* op) {
  if (op == nullptr) return "the worker waits for the value of a condition";
  if (op->effort == effort::blocks_host) return "its call waits for the device";
  if (op->take_turn != nullptr) return "it takes turns with other operations";
  if (op->may_record == nullptr) return "it is not on its library's list";
  return {};
}

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

graph_recordings::graph_recordings(const graph::definition& d,
                                   std::span<const operation* const> operations)
    : definition_(d), used_(d.uses), bodies_(d.bodies.size()) {
  std::ranges::sort(used_);
  used_.erase(std::ranges::unique(used_).begin(), used_.end());
  why_not_.reserve(operations.size());
  for (const operation* const op : operations)
    why_not_.push_back(why_never(op));
  split();
}

// Requests whose recording has failed are called from now on, so segments are others.
void graph_recordings::split() {
  must_split_ = false;
  segments_ = 0;
  std::size_t all = 0;
  for (std::size_t b = 0; b < bodies_.size(); ++b) {
    bodies_[b].clear();
    const std::vector<std::uint64_t>& nodes = definition_.bodies[b];
    for (std::size_t i = 0; i < nodes.size();) {
      segment s{.first = i, .is_recorded = why_not_[nodes[i]].empty()};
      while (i < nodes.size() && why_not_[nodes[i]] == why_not_[nodes[s.first]])
        ++i;
      s.count = i - s.first;
      s.is_recorded = s.is_recorded && s.count >= least_requests;
      if (s.is_recorded) s.number = segments_++;
      bodies_[b].push_back(s);
      ++all;
    }
  }
  is_whole_ = all == 1 && segments_ == 1;
  forget();
  if (segments_ == 0 && gave_up_.empty()) gave_up_ = "no two requests in a row can be recorded";
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
    if (auto done = requests.run_request(n, on); !done) return done;
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
  }
  if (!s.is_warm) return warm_up(nodes, s, requests, lane, *twin);
  for (const std::uint64_t n : nodes) {
    if (requests.may_record(n)) continue;
    why_not_[n] = "its library cannot record it with these fields";
    must_split_ = true;
  }
  if (must_split_) return call(nodes, requests, lane);
  return record(nodes, mine, requests, lane, *twin);
}

// Calls it on the twin, between what the lane does before and after.
result<void> graph_recordings::warm_up(std::span<const std::uint64_t> nodes, segment& s,
                                       graph_requests& requests, accelerator_lane& lane,
                                       accelerator_lane& twin) {
  if (auto waits = twin.wait_for(lane); !waits) return waits;
  result<void> outcome;
  bool changes = false;
  for (const std::uint64_t n : nodes) {
    (void)twin.take_provisional();
    outcome = requests.run_request(n, twin);
    if (!outcome) break;
    if (!twin.take_provisional()) continue;
    changes = true;
    if (s.provisional < most_provisional) continue;
    why_not_[n] = "its library still calls it in a way that may change";
    must_split_ = true;
  }
  if (changes) ++s.provisional;
  s.is_warm = outcome && !changes;
  auto waits = lane.wait_for(twin);
  if (!outcome) return outcome;
  return waits;
}

result<void> graph_recordings::record(std::span<const std::uint64_t> nodes, recording& into,
                                      graph_requests& requests, accelerator_lane& lane,
                                      accelerator_lane& twin) {
  result<void> outcome = twin.begin_recording();
  const bool began = outcome.has_value();
  for (const std::uint64_t n : nodes) {
    if (!outcome) break;
    outcome = requests.run_request(n, twin);
    if (outcome) outcome = twin.check_recording();
    if (outcome) continue;
    why_not_[n] = "recording it failed: " + outcome.error().message;
    must_split_ = true;
  }
  std::unique_ptr<recorded_work> made;
  if (began) {
    auto ended = twin.end_recording(std::move(into.old));
    if (ended) {
      made = *std::move(ended);
    } else if (outcome || is_lost(ended.error())) {
      outcome = std::move(ended).error();
    }
  }
  if (!outcome) {
    if (is_lost(outcome.error())) return outcome;
    // After a call that failed while it was recorded, the next one of that library may fail, too.
    lane.replace_twin();
    if (!must_split_ && ++failures_ == most_failures) gave_up_ = outcome.error().message;
    return call(nodes, requests, lane);
  }
  ++recorded_;
  into.work = std::move(made);
  into.replies.clear();
  for (const std::uint64_t n : nodes) {
    const auto reply = requests.reply_of(n);
    if (!reply.empty()) into.replies.push_back({.node = n, .bytes = {reply.begin(), reply.end()}});
  }
  return launch(into, requests, lane);
}

// The device overwrites what executors have left in the replies.
result<void> graph_recordings::launch(const recording& what, graph_requests& requests,
                                      accelerator_lane& lane) {
  for (const kept_reply& r : what.replies)
    std::memcpy(requests.reply_of(r.node).data(), r.bytes.data(), r.bytes.size());
  ++launches_;
  return lane.launch(*what.work, requests.failure_place());
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
      if (!s.is_recorded) {
        one.why = why_not_[nodes.front()].empty() ? "it is alone" : why_not_[nodes.front()];
      }
      all.segments.push_back(std::move(one));
    }
  }
  return all;
}

}  // namespace troupe::worker
