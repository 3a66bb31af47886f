// What workers are told of memory: which there is, and what they may write.
#include "device/supervisor.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

// From whatever thread allocates.
void supervisor::change_memory(wire::control kind, memory_piece piece) {
  {
    // The number and the place in the queue under one lock, so that workers count in order.
    const std::lock_guard lock(mutex_);
    const std::uint64_t version = memory_version_.load(std::memory_order_relaxed) + 1;
    memory_version_.store(version, std::memory_order_release);
    if (ended_) return;
    commands_.emplace_back([this, change = memory_change{kind, std::move(piece), version}] {
      picture_.version = change.version;
      if (change.kind == wire::control::share) {
        picture_.host_reach = std::max(picture_.host_reach, change.piece.bytes);
      } else if (change.kind == wire::control::map) {
        picture_.pieces.push_back(change.piece);
      } else {
        std::erase_if(picture_.pieces, [&](const memory_piece& p) {
          return p.space == change.piece.space && p.offset == change.piece.offset;
        });
      }
      for (incarnation* worker : {active_.get(), next_.get()}) {
        if (worker != nullptr) worker->change_memory(change);
      }
    });
  }
  wake();
}

future<void> supervisor::protect(detail::buffer_ref buffer, bool read_only) {
  promise<void> done;
  future<void> answer = done.get_future();
  auto shared = std::make_shared<promise<void>>(std::move(done));
  const bool taken = execute([this, shared, held = std::move(buffer), read_only]() mutable {
    const frozen_range range{held->offset, held->capacity_bytes};
    std::erase_if(frozen_, [&](const frozen_range& r) { return r.offset == range.offset; });
    if (read_only) frozen_.push_back(range);
    pending_protect pending{.done = std::move(*shared), .awaited = {}};
    for (incarnation* worker : {active_.get(), next_.get()}) {
      if (worker == nullptr || worker->where() == incarnation::stage::failed) continue;
      worker->protect(range, read_only);
      if (worker->is_process()) {
        pending.awaited.emplace_back(worker->number(), worker->protects_sent());
      }
    }
    protects_.push_back(std::move(pending));
    finish_protects();
  });
  if (!taken) return make_failed_future<void>(stop_reason());
  return answer;
}

void supervisor::finish_protects() {
  const auto acknowledged = [&](const std::pair<std::uint64_t, std::uint64_t>& awaited) {
    for (const incarnation* worker : {active_.get(), next_.get()}) {
      if (worker != nullptr && worker->number() == awaited.first) {
        return worker->protects_acknowledged() >= awaited.second;
      }
    }
    return true;  // that worker is gone, and its mapping with it
  };
  for (std::size_t i = 0; i < protects_.size();) {
    if (std::ranges::all_of(protects_[i].awaited, acknowledged)) {
      promise<void> done = std::move(protects_[i].done);
      protects_.erase(protects_.begin() + static_cast<std::ptrdiff_t>(i));
      done.set_value();
    } else {
      ++i;
    }
  }
}

}  // namespace troupe
