#include "memory/bound_sets.hpp"

#include "memory/memory_pool.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {
namespace {

error refusal(errc code, const std::string& subject, std::string_view rule) {
  return error{.code = code, .message = fmt::format("{} {}", subject, rule)};
}

// Frozen content does not change, so a tensor that passes now stays valid until it is thawed.
result<void> check(const bound_set& set, const std::string& name, const any_tensor& t) {
  const auto subject = [&] { return fmt::format("{} of the bound set {}", name, set.name); };
  const detail::buffer& b = *t.buffer().get();
  const std::uint32_t state = b.state.load(std::memory_order_seq_cst);
  if ((state & buffer_released) != 0) {
    return refusal(errc::stale_buffer, subject(), "is stale: it was released");
  }
  if ((state & buffer_frozen) == 0 || (state & buffer_settled) == 0) {
    return refusal(errc::invalid_argument, subject(),
                   "is not frozen; freeze it again, or bind another set");
  }
  if ((state & buffer_watched) == 0) return {};
  const auto reach = t.reach();
  const auto first = t.address() - b.address;
  const taint_cause culprit = set.of->taints().tainted_for(
      {.device = set.of.get()}, b, static_cast<std::uint64_t>(first + reach.begin),
      static_cast<std::uint64_t>(first + reach.end));
  if (!culprit) return {};
  return taint_book::refusal(subject(), culprit);
}

}  // namespace

void bound_sets::add(detail::buffer& table, std::shared_ptr<bound_set> set) {
  const std::lock_guard lock(mutex_);
  set->use = new_use();
  by_table_[table.id] = std::move(set);
  table.state.fetch_or(buffer_table, std::memory_order_release);
}

std::shared_ptr<const bound_set> bound_sets::forget(const detail::buffer& table) noexcept {
  if ((table.state.load(std::memory_order_relaxed) & buffer_table) == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = by_table_.find(table.id);
  std::shared_ptr<const bound_set> set = std::move(found->second);
  by_table_.erase(found);
  return set;
}

result<std::shared_ptr<const set_use>> bound_sets::use(const detail::buffer& table,
                                                       const memory_pool& by) {
  const std::lock_guard lock(mutex_);
  bound_set& set = *by_table_.at(table.id);
  if (set.of.get() != &by) {
    return refusal(errc::foreign_buffer, "the bound set " + set.name,
                   set.of->belongs_to_another_than(by));
  }
  const std::uint64_t now = changes_.load(std::memory_order_seq_cst);
  if (set.sound_at != now) {
    for (const auto& [name, tensor] : set.tensors) {
      if (auto sound = check(set, name, tensor); !sound) return std::move(sound).error();
    }
    set.sound_at = now;
  }
  return std::shared_ptr<const set_use>(set.use);
}

std::vector<future<void>> bound_sets::end_uses(const detail::buffer& of_tensor,
                                               completion_driver* driver) {
  std::vector<future<void>> all;
  std::vector<std::shared_ptr<set_use>> over;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  for (const auto& [table, set] : by_table_) {
    const bool has_it = std::ranges::any_of(
        set->tensors, [&](const auto& one) { return one.second.buffer().get() == &of_tensor; });
    if (!has_it) continue;
    set->use->ended = promise<void>(driver);
    all.push_back(set->use->ended.get_future());
    over.push_back(std::exchange(set->use, new_use()));
  }
  return all;
}

}  // namespace troupe
