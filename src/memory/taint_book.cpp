#include "memory/taint_book.hpp"

#include "memory/memory_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace troupe {
namespace {

// The pattern of a remainder, which no operand has.
constexpr std::uint32_t remainder_pattern = 1;

bool overlap(const footprint& a, std::uint64_t begin, std::uint64_t end) noexcept {
  return a.begin < end && begin < a.end;
}

// The rest of `whole` without `by`: up to two pieces.
std::vector<footprint> subtract(const footprint& whole, const footprint& by) {
  if (by.pattern != 0) {
    return by == whole ? std::vector<footprint>{} : std::vector<footprint>{whole};
  }
  if (!overlap(whole, by.begin, by.end)) return {whole};
  const std::uint32_t pattern = whole.pattern == 0 ? 0 : remainder_pattern;
  std::vector<footprint> left;
  if (whole.begin < by.begin) left.push_back({whole.begin, by.begin, pattern});
  if (by.end < whole.end) left.push_back({by.end, whole.end, pattern});
  return left;
}

}  // namespace

// The page of a buffer, with its flag set; the caller raises `changes_` when it is written.
taint_book::page& taint_book::watched_page(detail::buffer& b) {
  b.state.fetch_or(buffer_watched, std::memory_order_release);
  return pages_[b.id];
}

// Removes the page if nothing is left on it.
void taint_book::turn(detail::buffer& b) {
  const auto found = pages_.find(b.id);
  if (found == pages_.end() || !found->second.marks.empty() || !found->second.writers.empty()) {
    return;
  }
  pages_.erase(found);
  b.state.fetch_and(~static_cast<std::uint32_t>(buffer_watched), std::memory_order_release);
}

// For two requests in flight; a request that is being sent comes after all others.
bool taint_book::precedes(const request& one, const request& other) noexcept {
  return one.device == other.device && one.slot != other.slot &&
         (other.ticket == unsent || one.ticket < other.ticket);
}

// Devices do not order their requests among each other.
bool taint_book::concerns(const mark& m, const request& user) noexcept {
  if (m.by.device != user.device) return m.until == for_all;
  return m.by.ticket < user.ticket && (m.until == for_all || user.ticket < m.until);
}

void taint_book::taint(detail::buffer& b, const footprint& where, const request& by,
                       taint_cause culprit, std::uint64_t until) {
  const std::lock_guard lock(mutex_);
  page& known = watched_page(b);
  // A mark within an older one adds nothing, so marks do not pile up; unless an overwrite is in
  // flight between the two, which defines only one of them.
  const auto outlived = [&](const mark& m) {
    return std::ranges::any_of(known.writers, [&](const expectation& e) {
      return e.what.overwrites && precedes(e.writer, by) && concerns(m, e.writer) &&
             overlap(e.where, where.begin, where.end);
    });
  };
  const bool adds_nothing = std::ranges::any_of(known.marks, [&](const mark& m) {
    return concerns(m, by) && until <= m.until &&
           (m.where == where ||
            (m.where.pattern == 0 && m.where.begin <= where.begin && where.end <= m.where.end)) &&
           !outlived(m);
  });
  if (!adds_nothing) known.marks.push_back({where, by, std::move(culprit), until});
  changes_.fetch_add(1, std::memory_order_release);
}

void taint_book::expire(detail::buffer& b, const void* device, std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = pages_.find(b.id);
  if (found == pages_.end()) return;
  std::erase_if(found->second.marks, [&](const mark& m) {
    return m.until != for_all && m.by.device == device && m.until <= ticket;
  });
  turn(b);
}

void taint_book::define(detail::buffer& b, const footprint& where, const request& by) {
  const std::lock_guard lock(mutex_);
  const auto found = pages_.find(b.id);
  if (found == pages_.end()) return;
  std::vector<mark> left;
  for (mark& m : found->second.marks) {
    if (!concerns(m, by)) {
      left.push_back(std::move(m));
      continue;
    }
    for (const footprint& piece : subtract(m.where, where))
      left.push_back({piece, m.by, m.culprit, m.until});
  }
  found->second.marks = std::move(left);
  turn(b);
}

bool taint_book::has_undefined(const detail::buffer& b) const {
  const std::lock_guard lock(mutex_);
  const auto found = pages_.find(b.id);
  return found != pages_.end() && !found->second.marks.empty();
}

taint_cause taint_book::tainted_for(const request& reader, const detail::buffer& b,
                                    std::uint64_t begin, std::uint64_t end) const {
  const std::lock_guard lock(mutex_);
  const auto found = pages_.find(b.id);
  if (found == pages_.end()) return {};
  for (const mark& m : found->second.marks) {
    if (concerns(m, reader) && overlap(m.where, begin, end)) return m.culprit;
  }
  return {};
}

taint_cause taint_book::undefined_for(const request& reader, const detail::buffer& b,
                                      std::uint64_t begin, std::uint64_t end) const {
  const std::lock_guard lock(mutex_);
  const auto found = pages_.find(b.id);
  if (found == pages_.end()) return {};
  for (const mark& m : found->second.marks) {
    if (!concerns(m, reader) || !overlap(m.where, begin, end)) continue;
    std::vector<footprint> left{m.where};
    for (const expectation& e : found->second.writers) {
      // A writer before the mark defines nothing of it.
      if (!e.what.overwrites || !precedes(e.writer, reader) || !concerns(m, e.writer)) continue;
      std::vector<footprint> rest;
      for (const footprint& piece : left)
        std::ranges::copy(subtract(piece, e.where), std::back_inserter(rest));
      left = std::move(rest);
    }
    for (const footprint& piece : left) {
      if (overlap(piece, begin, end)) return m.culprit;
    }
  }
  return {};
}

bool taint_book::doubtful_for(const request& user, const detail::buffer& b, std::uint64_t begin,
                              std::uint64_t end) const {
  const std::lock_guard lock(mutex_);
  const auto found = pages_.find(b.id);
  if (found == pages_.end()) return false;
  return std::ranges::any_of(
             found->second.marks,
             [&](const mark& m) { return concerns(m, user) && overlap(m.where, begin, end); }) ||
         std::ranges::any_of(found->second.writers, [&](const expectation& e) {
           return e.what.uncertain && precedes(e.writer, user) && overlap(e.where, begin, end);
         });
}

void taint_book::expect(detail::buffer& b, const request& writer, const footprint& where,
                        intent what) {
  const std::lock_guard lock(mutex_);
  std::vector<expectation>& writers = watched_page(b).writers;
  const auto known = std::ranges::find_if(writers, [&](const expectation& e) {
    return e.writer.device == writer.device && e.writer.slot == writer.slot && e.where == where;
  });
  if (known != writers.end()) {
    *known = {writer, where, what};
  } else {
    writers.push_back({writer, where, what});
  }
  changes_.fetch_add(1, std::memory_order_release);
}

void taint_book::expect_no_more(detail::buffer& b, const request& writer) {
  const std::lock_guard lock(mutex_);
  const auto found = pages_.find(b.id);
  if (found == pages_.end()) return;
  std::erase_if(found->second.writers, [&](const expectation& e) {
    return e.writer.device == writer.device && e.writer.slot == writer.slot;
  });
  turn(b);
}

error taint_book::refusal(std::string_view subject, const taint_cause& culprit) {
  return error{
      .code = errc::tainted_buffer,
      .message = fmt::format(
          "{} is tainted: {} has not finished writing it; overwrite all of it to clear the taint",
          subject, culprit->name),
      .cause = std::shared_ptr<const error>(culprit, &culprit->why)};
}

void taint_book::forget(const detail::buffer& b) noexcept {
  const std::lock_guard lock(mutex_);
  pages_.erase(b.id);
}

}  // namespace troupe
