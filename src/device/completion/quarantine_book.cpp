#include "device/completion/quarantine_book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds longest_term = 1h;
// A suspect that ended one worker and is never sent again is forgotten for a later one.
constexpr std::size_t most_suspects = 256;

// The program writes the table of a bound set only once.
bool may_be_written_in_place(const kept_operand& o) noexcept {
  const std::uint32_t state = o.buffer->state.load(std::memory_order_relaxed);
  return o.buffer->space == memory_space::host && o.role != access::write &&
         (state & (detail::buffer_frozen | detail::buffer_table)) == 0;
}

}  // namespace

std::size_t quarantine_book::place_of(const detail::buffer_ref& buffer) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(buffer.get());
  return (address / sizeof(detail::buffer)) % contents;
}

void quarantine_book::recognise(record& r, std::uint64_t digest) const noexcept {
  std::uint64_t identity = digest;
  bool is_known = r.quarantine != record::trial::is_exempt;
  const auto mix = [&identity](std::uint64_t content) {
    constexpr std::uint64_t spread = 0x9e3779b97f4a7c15u;
    identity = (identity ^ content) * spread;
  };
  r.operands.for_each([&](const kept_operand& o) {
    if (o.role == access::write) return;
    is_known = is_known && !may_be_written_in_place(o);
    mix(contents_[place_of(o.buffer)].load(std::memory_order_relaxed));
  });
  for (const auto& set : r.operands.sets())
    mix(set->number);
  r.identity = is_known ? std::max<std::uint64_t>(identity, 1) : 0;
}

void quarantine_book::note_writes(const record& r) noexcept {
  r.operands.for_each([&](const kept_operand& o) {
    if (o.role == access::read) return;
    contents_[place_of(o.buffer)].fetch_add(1, std::memory_order_relaxed);
  });
}

result<void> quarantine_book::admit(record& r, time_point now) {
  if (r.identity == 0) return {};
  const std::lock_guard lock(mutex_);
  suspect* const found = find(r.identity);
  if (found == nullptr || found->what.faults < poisonous_kills) return {};
  const bool is_over = now >= found->what.until;
  if (is_over && !std::exchange(found->on_trial, true)) {
    r.quarantine = record::trial::decides;
    return {};
  }
  const std::string when =
      is_over ? "while it is being tried again"
              : fmt::format("for another {} s",
                            std::chrono::ceil<std::chrono::seconds>(found->what.until - now) / 1s);
  return error{.code = errc::poisonous,
               .message = fmt::format(
                   "in quarantine {}: the same request with the same input has ended {} workers "
                   "(device::forgive lifts it)",
                   when, found->what.faults)};
}

void quarantine_book::end_trial(const record& r, bool well) {
  if (well) {
    forgive(r.identity);
    return;
  }
  const std::lock_guard lock(mutex_);
  if (suspect* const found = find(r.identity)) found->on_trial = false;
}

std::optional<quarantined_request> quarantine_book::note_fault(const record& r, std::string text,
                                                               time_point now) {
  if (r.identity == 0 || term_ <= 0ns) return std::nullopt;
  const std::lock_guard lock(mutex_);
  suspect* found = find(r.identity);
  if (found == nullptr) {
    if (suspects_.size() == most_suspects) {
      suspects_.erase(std::ranges::min_element(suspects_, {},
                                               [](const suspect& one) { return one.what.until; }));
    }
    found = &suspects_.emplace_back(
        suspect{.what = {.id = r.identity, .request = std::move(text)}, .term = term_});
  }
  quarantined_request& what = found->what;
  what.until = now;
  if (++what.faults < poisonous_kills) return std::nullopt;
  if (what.faults == poisonous_kills) {
    what.since = now;
  } else {
    found->term = found->term > longest_term / 2 ? std::max(term_, longest_term) : 2 * found->term;
  }
  what.until = detail::deadline_after(now, found->term);
  quarantined_request from_now = what;
  from_now.since = now;
  return from_now;
}

std::vector<quarantined_request> quarantine_book::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<quarantined_request> all;
  for (const suspect& one : suspects_) {
    if (one.what.faults >= poisonous_kills) all.push_back(one.what);
  }
  return all;
}

bool quarantine_book::forgive(std::uint64_t identity) {
  suspect gone;
  {
    const std::lock_guard lock(mutex_);
    suspect* const found = find(identity);
    if (found == nullptr) return false;
    gone = std::move(*found);
    suspects_.erase(suspects_.begin() + (found - suspects_.data()));
  }
  report_forgiven({&gone, 1});
  return true;
}

bool quarantine_book::forgive_all() {
  std::vector<suspect> gone;
  {
    const std::lock_guard lock(mutex_);
    gone.swap(suspects_);
  }
  report_forgiven(gone);
  return !gone.empty();
}

void quarantine_book::report_forgiven(std::span<const suspect> all) {
  for (const suspect& one : all) {
    if (forgiven_ && one.what.faults >= poisonous_kills) forgiven_(one.what);
  }
}

quarantine_book::suspect* quarantine_book::find(std::uint64_t identity) {
  const auto found =
      std::ranges::find_if(suspects_, [&](const suspect& s) { return s.what.id == identity; });
  return found == suspects_.end() ? nullptr : &*found;
}

}  // namespace troupe
