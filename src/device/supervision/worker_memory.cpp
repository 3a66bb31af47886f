#include "device/supervision/worker_memory.hpp"

#include "memory/memory_pool.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

worker_memory::worker_memory(const memory_pool& device_memory, const memory_pool& host_memory) {
  for (const memory_pool* pool : {&device_memory, &host_memory}) {
    if (pool->on_device()) continue;
    picture_.pieces.push_back({.pool = wire::own_pool(pool->space()),
                               .bytes = pool->bytes(),
                               .descriptor = pool->memory().get()});
  }
}

std::uint64_t worker_memory::count_change(wire::pool_number of) noexcept {
  const std::uint64_t number = changes_.load(std::memory_order_relaxed) + 1;  // under the lock
  changes_.store(number, std::memory_order_release);
  versions_[row_of(of)].store(number, std::memory_order_release);
  return number;
}

void worker_memory::change(const memory_change& what, worker_pair workers) {
  picture_.version = what.version;
  if (what.kind == wire::control::share) {
    picture_.host_reach = std::max(picture_.host_reach, what.piece.bytes);
  } else if (what.kind == wire::control::map) {
    picture_.pieces.push_back(what.piece);
  } else {
    std::erase_if(picture_.pieces, [&](const memory_piece& p) {
      return p.pool == what.piece.pool && p.offset == what.piece.offset;
    });
  }
  for (incarnation* worker : {workers.active, workers.next}) {
    if (worker != nullptr) worker->change_memory(what);
  }
}

void worker_memory::protect(std::shared_ptr<promise<void>> done, detail::buffer_ref buffer,
                            bool read_only, worker_pair workers) {
  pending_protect asked{
      .done = std::move(done), .buffer = std::move(buffer), .read_only = read_only};
  have_protected(asked, read_only, workers);
  protects_.push_back(std::move(asked));
}

void worker_memory::have_protected(pending_protect& change, bool read_only, worker_pair workers) {
  const frozen_range range{change.buffer->offset, change.buffer->capacity_bytes};
  std::erase_if(frozen_, [&](const frozen_range& r) { return r.offset == range.offset; });
  if (read_only) frozen_.push_back(range);
  for (incarnation* worker : {workers.active, workers.next}) {
    if (worker == nullptr || worker->where() == incarnation::stage::failed) continue;
    worker->protect(range, read_only);
    change.awaited.emplace_back(worker->number(), worker->protects_sent());
  }
}

// A freeze that one worker's system refuses is undone in all workers. If it cannot be undone,
// because the memory is to be written again or was frozen before the worker came, that worker is of
// no use.
bool worker_memory::on_refused_protect(incarnation& by, incarnation::refused_protect refused,
                                       worker_pair workers) {
  const auto change = std::ranges::find_if(protects_, [&](const pending_protect& p) {
    return std::ranges::find(p.awaited, std::pair(by.number(), refused.number)) != p.awaited.end();
  });
  const bool freezes =
      change != protects_.end() && change->read_only &&
      std::ranges::none_of(change->awaited, [&](const auto& earlier) {  // else it undoes that one
        return earlier.first == by.number() && earlier.second < refused.number;
      });
  if (!freezes) {
    by.fail(std::move(refused.why));
    return true;
  }
  if (change->refused) return false;
  change->refused = std::move(refused.why);
  change->refused->message +=
      fmt::format("; {} are frozen, and each may take two mappings of a process (vm.max_map_count)",
                  frozen_.size() - 1);
  const auto next = static_cast<std::size_t>(change - protects_.begin()) + 1;
  if (!changes_since(next, *change->buffer.get())) have_protected(*change, false, workers);
  return false;
}

// Whether a later change, from that index on, decides about the buffer's rights.
bool worker_memory::changes_since(std::size_t index, const detail::buffer& of) const {
  return std::any_of(protects_.begin() + static_cast<std::ptrdiff_t>(index), protects_.end(),
                     [&](const pending_protect& p) { return p.buffer.get() == &of; });
}

worker_memory::clock::time_point worker_memory::standby_is_left_out(worker_pair workers) {
  constexpr auto timeout = std::chrono::milliseconds(100);
  const auto since = workers.active != nullptr && workers.next != nullptr
                         ? workers.next->unanswered_since()
                         : std::nullopt;
  return since ? *since + timeout : clock::time_point::max();
}

bool worker_memory::finish_protects(worker_pair workers, clock::time_point now) {
  bool has_failed = false;
  for (incarnation* worker : {workers.active, workers.next}) {
    if (worker == nullptr) continue;
    for (incarnation::refused_protect& one : worker->take_refused_protects())
      has_failed = on_refused_protect(*worker, std::move(one), workers) || has_failed;
  }
  const bool without_standby = now >= standby_is_left_out(workers);
  const auto acknowledged = [&](const std::pair<std::uint64_t, std::uint64_t>& awaited) {
    for (const incarnation* worker : {workers.active, workers.next}) {
      if (worker != nullptr && worker->number() == awaited.first) {
        return worker->where() != incarnation::stage::failed &&
               (worker->protects_acknowledged() >= awaited.second ||
                (without_standby && worker == workers.next));
      }
    }
    return true;  // that worker is gone, with its mapping
  };
  for (std::size_t i = 0; i < protects_.size();) {
    if (!std::ranges::all_of(protects_[i].awaited, acknowledged)) {
      ++i;
      continue;
    }
    pending_protect change = std::move(protects_[i]);
    protects_.erase(protects_.begin() + static_cast<std::ptrdiff_t>(i));
    if (change.refused && !changes_since(i, *change.buffer.get())) {
      change.buffer->state.fetch_and(~frozen_flags, std::memory_order_acq_rel);
    }
    change.buffer = {};  // the receiver of the answer may need its memory
    if (change.refused) {
      change.done->set_error(*std::move(change.refused));
    } else {
      change.done->set_value();
    }
  }
  return has_failed;
}

void worker_memory::fail_protects(const error& why) {
  for (pending_protect& one : std::exchange(protects_, {}))
    one.done->set_error(why);
}

}  // namespace troupe
