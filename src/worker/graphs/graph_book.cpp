#include "worker/graphs/graph_book.hpp"

#include "builtin/graph/requests/definition.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace troupe::worker {

void graph_book::add_to(operation_table& operations) noexcept {
  operation one{.type = &request_type_of<graph::run>(),
                .run =
                    [](void* book, const void* request, lane_context& lane, std::byte* reply) {
                      return static_cast<graph_book*>(book)->run(
                          *static_cast<const graph::run*>(request), lane, reply);
                    },
                .executor = this,
                .fails_late = device_ != nullptr};
  operations.insert(one);
  one.type = &request_type_of<graph::run_conditional>();
  one.effort = effort::blocks_host;
  operations.insert(one);
  operations.insert({.type = &request_type_of<graph::info>(),
                     .run = [](void* book, const void* request, lane_context& lane,
                               std::byte* reply) -> result<void> {
                       *reinterpret_cast<graph::graph_info*>(reply) =
                           static_cast<graph_book*>(book)->info(
                               *static_cast<const graph::info*>(request), lane.lane());
                       return {};
                     },
                     .executor = this});
}

result<void> graph_book::run(const graph::run& r, lane_context& lane, std::byte* reply) {
  auto found = find(r, lane.lane());
  if (!found) return std::move(found).error();
  (*found)->note_unmapped(unmapped_.load(std::memory_order_relaxed));
  return (*found)->run(r, lane, reply, lanes_[lane.lane()].part);
}

graph::graph_info graph_book::info(const graph::info& r, int lane) {
  const auto there = known(r.digest, lane);
  return there ? there->info() : graph::graph_info{.why = "it has not run on this lane"};
}

std::shared_ptr<bound_graph> graph_book::known(const std::vector<std::int64_t>& digest, int lane) {
  const std::lock_guard lock(mutex_);
  const auto there = std::ranges::find_if(
      entries_, [&](const entry& e) { return e.lane == lane && e.digest == digest; });
  if (there == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, there);
  return there->graph;
}

bool graph_book::is_short(const graph::run& r) {
  constexpr std::int64_t most_bytes = 65'536;
  if (r.definition.count() > most_bytes) return false;
  constexpr int no_lane = -1;  // a copy that is only looked at
  auto found = find(r, no_lane);
  return found && (*found)->is_short();
}

result<std::shared_ptr<bound_graph>> graph_book::find(const graph::run& r, int lane) {
  if (auto there = known(r.digest, lane)) return there;
  // A copy, so that what is checked is what is decoded.
  const std::span shared(r.definition.address(), static_cast<std::size_t>(r.definition.count()));
  const std::vector<std::byte> bytes(shared.begin(), shared.end());
  if (graph::digest_of(bytes) != r.digest) {
    return error{.code = errc::protocol_violation,
                 .message = "the definition of the graph was overwritten"};
  }
  auto decoded = graph::decode(bytes);
  if (!decoded) return std::move(decoded).error();
  auto made = bound_graph::make(*std::move(decoded), operations_, device_);
  if (!made) return std::move(made).error();
  std::shared_ptr<bound_graph> dropped;  // it may wait for its recordings, without the lock
  const std::lock_guard lock(mutex_);
  entries_.push_front({.lane = lane, .digest = r.digest, .graph = *made});
  if (entries_.size() > most_graphs) {
    dropped = std::move(entries_.back().graph);
    entries_.pop_back();
  }
  return *std::move(made);
}

}  // namespace troupe::worker
