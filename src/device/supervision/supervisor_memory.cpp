// What workers are told of memory: which there is, and what they may write.
#include "device/supervision/supervisor.hpp"

#include <fmt/format.h>

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
  auto done = std::make_shared<promise<void>>();
  future<void> answer = done->get_future();
  parts_.completions.track_promise(done);
  pending_protect asked{
      .done = std::move(done), .buffer = std::move(buffer), .read_only = read_only};
  const bool taken = execute([this, change = std::move(asked)]() mutable {
    have_protected(change, change.read_only);
    protects_.push_back(std::move(change));
    finish_protects();
  });
  if (!taken) return make_failed_future<void>(stop_reason());
  return answer;
}

void supervisor::have_protected(pending_protect& change, bool read_only) {
  const frozen_range range{change.buffer->offset, change.buffer->capacity_bytes};
  std::erase_if(frozen_, [&](const frozen_range& r) { return r.offset == range.offset; });
  if (read_only) frozen_.push_back(range);
  for (incarnation* worker : {active_.get(), next_.get()}) {
    if (worker == nullptr || worker->where() == incarnation::stage::failed) continue;
    worker->protect(range, read_only);
    change.awaited.emplace_back(worker->number(), worker->protects_sent());
  }
}

void supervisor::handle_refused_protects() {
  for (incarnation* worker : {active_.get(), next_.get()}) {
    if (worker == nullptr) continue;
    for (incarnation::refused_protect& one : worker->take_refused_protects())
      on_refused_protect(*worker, std::move(one));
  }
}

// A freeze that one worker has no room for is undone in all of them. Where that cannot be, because
// memory is to be written again or was frozen before the worker came, it is the worker that is of
// no use.
void supervisor::on_refused_protect(incarnation& by, incarnation::refused_protect refused) {
  const auto change = std::ranges::find_if(protects_, [&](const pending_protect& p) {
    return std::ranges::find(p.awaited, std::pair(by.number(), refused.number)) != p.awaited.end();
  });
  const bool freezes =
      change != protects_.end() && change->read_only &&
      std::ranges::none_of(change->awaited, [&](const auto& earlier) {  // else it undoes that
        return earlier.first == by.number() && earlier.second < refused.number;
      });
  if (!freezes) {
    by.fail(std::move(refused.why));
    return wake();  // so that it is heard of
  }
  if (change->refused) return;
  change->refused = std::move(refused.why);
  change->refused->message += fmt::format(
      "; {} are frozen, each of which may take two mappings of a process (vm.max_map_count)",
      frozen_.size() - 1);
  const auto next = static_cast<std::size_t>(change - protects_.begin()) + 1;
  if (!changes_since(next, *change->buffer.get())) have_protected(*change, false);
}

// Whether a later change, from that index on, decides about the buffer's rights.
bool supervisor::changes_since(std::size_t index, const detail::buffer& of) const {
  return std::any_of(protects_.begin() + static_cast<std::ptrdiff_t>(index), protects_.end(),
                     [&](const pending_protect& p) { return p.buffer.get() == &of; });
}

// A standby that keeps silent for so long is not waited for: it has to answer before it takes over.
supervisor::clock::time_point supervisor::standby_is_left_out() const {
  constexpr auto timeout = std::chrono::milliseconds(100);
  const auto since = active_ && next_ ? next_->unanswered_since() : std::nullopt;
  return since ? *since + timeout : clock::time_point::max();
}

void supervisor::finish_protects() {
  handle_refused_protects();
  const bool without_standby = current_time() >= standby_is_left_out();
  const auto acknowledged = [&](const std::pair<std::uint64_t, std::uint64_t>& awaited) {
    for (const incarnation* worker : {active_.get(), next_.get()}) {
      if (worker != nullptr && worker->number() == awaited.first) {
        return worker->where() != incarnation::stage::failed &&
               (worker->protects_acknowledged() >= awaited.second ||
                (without_standby && worker == next_.get()));
      }
    }
    return true;  // that worker is gone, and its mapping with it
  };
  for (std::size_t i = 0; i < protects_.size();) {
    if (std::ranges::all_of(protects_[i].awaited, acknowledged)) {
      pending_protect change = std::move(protects_[i]);
      protects_.erase(protects_.begin() + static_cast<std::ptrdiff_t>(i));
      if (change.refused && !changes_since(i, *change.buffer.get())) {
        change.buffer->state.fetch_and(~std::uint32_t{buffer_frozen}, std::memory_order_acq_rel);
      }
      change.buffer = {};  // whoever is answered may need its memory
      if (change.refused) {
        change.done->set_error(*std::move(change.refused));
      } else {
        change.done->set_value();
      }
    } else {
      ++i;
    }
  }
}

}  // namespace troupe
