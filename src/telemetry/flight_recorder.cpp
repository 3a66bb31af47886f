#include "telemetry/flight_recorder.hpp"

#include <algorithm>
#include <bit>

namespace troupe {

flight_recorder::flight_recorder(std::size_t capacity) : places_(capacity) {}

void flight_recorder::note(const flight_record& r) noexcept {
  const std::uint64_t number = next_.load(std::memory_order_relaxed);
  place& to = places_[number % places_.size()];
  to.number.store(2 * number + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  const auto content = std::bit_cast<std::array<std::uint64_t, words>>(r);
  for (std::size_t i = 0; i < words; ++i)
    to.content[i].store(content[i], std::memory_order_relaxed);
  to.number.store(2 * number + 2, std::memory_order_release);
  next_.store(number + 1, std::memory_order_release);
}

// Backwards from the newest one, until one is too old, or was overwritten meanwhile.
std::vector<flight_record> flight_recorder::since(
    std::chrono::steady_clock::time_point then) const {
  std::vector<flight_record> found;
  const std::uint64_t end = next_.load(std::memory_order_acquire);
  const std::uint64_t oldest = end - std::min<std::uint64_t>(end, places_.size());
  for (std::uint64_t number = end; number > oldest; --number) {
    const place& from = places_[(number - 1) % places_.size()];
    const std::uint64_t before = from.number.load(std::memory_order_acquire);
    std::array<std::uint64_t, words> content;
    for (std::size_t i = 0; i < words; ++i)
      content[i] = from.content[i].load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before != 2 * number || from.number.load(std::memory_order_relaxed) != before) break;
    const auto one = std::bit_cast<flight_record>(content);
    if (one.ended < then) break;
    found.push_back(one);
  }
  std::ranges::reverse(found);
  return found;
}

void flight_recorder::keep(const device_event& loss) {
  black_box fresh{.loss = loss, .requests = since(std::chrono::steady_clock::now() - kept_time)};
  const std::lock_guard lock(mutex_);
  if (kept_.size() == kept_losses) kept_.pop_front();
  kept_.push_back(std::move(fresh));
}

auto flight_recorder::of_loss(std::uint64_t event) const -> std::optional<black_box> {
  const std::lock_guard lock(mutex_);
  const auto is_it = [event](const black_box& one) { return one.loss.number == event; };
  const auto found = std::ranges::find_if(kept_, is_it);
  return found == kept_.end() ? std::nullopt : std::optional(*found);
}

}  // namespace troupe
