#include "device/completion/taint_watch.hpp"

#include "device/mailbox/operands.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {
namespace {

bool is_watched(const detail::buffer_ref& b) noexcept {
  return (b->state.load(std::memory_order_acquire) & buffer_watched) != 0;
}

// The failure that a later request gets as its cause. If it was brought about by another one, only
// the first is kept beside it: chains of requests may be of any length.
taint_cause cause_of(const record& culprit, const error& why) {
  auto made = std::make_shared<failed_writer>(
      failed_writer{fmt::format("{} #{}", culprit.type->name, culprit.ticket), why});
  const bool inherited = why.code == errc::tainted_buffer && why.cause != nullptr;
  if (inherited && why.cause->code == errc::tainted_buffer && why.cause->cause != nullptr) {
    made->why.cause = why.cause->cause;
  }
  return made;
}

std::optional<error> refusal(const taint_cause& culprit) {
  if (!culprit) return std::nullopt;
  return taint_book::refusal("an operand", culprit);
}

}  // namespace

taint_watch::taint_watch(std::span<record> records, std::shared_ptr<memory_pool> device_memory,
                         std::shared_ptr<memory_pool> host_memory) noexcept
    : records_(records),
      device_memory_(std::move(device_memory)),
      host_memory_(std::move(host_memory)) {}

void taint_watch::announce(std::uint16_t slot) {
  record& r = records_[slot];
  const taint_book::request sent = named(slot, taint_book::unsent);
  r.watched = true;
  expect_writes(r, sent, look_at(r, sent).uncertain);
}

std::optional<error> taint_watch::screen(std::uint16_t slot) {
  const record& r = records_[slot];
  const finding found = look_at(r, named(slot, r.ticket));
  if (found.concerned) {
    watch(slot, found.uncertain);
  } else if (r.watched) {
    cease(slot);
  }
  return refusal(found.culprit);
}

bool taint_watch::must_wait(std::uint16_t slot) const {
  const record& later = records_[slot];
  return std::ranges::any_of(watched_, [&](std::uint16_t other) {
    const record& earlier = records_[other];
    return earlier.ticket < later.ticket && in_conflict(earlier.operands, later.operands);
  });
}

std::optional<error> taint_watch::conclude(std::uint16_t slot, bool success) {
  const record& r = records_[slot];
  const taint_book::request self = named(slot, r.ticket);
  taint_cause culprit;
  r.operands.for_each([&](const kept_operand& o) {
    if (o.role == access::write || !is_watched(o.buffer)) return;
    for (const footprint& part : read_through(o, *r.type, r.operands)) {
      if (culprit) return;
      culprit = pool_of(o).taints().tainted_for(self, *o.buffer.get(), part.begin, part.end);
    }
  });
  cease(slot);
  invalidated_ = invalidated_ || culprit != nullptr || !success;
  if (culprit) return refusal(culprit);
  if (!success) return std::nullopt;
  r.operands.for_each([&](const kept_operand& o) {
    if (o.role == access::write) pool_of(o).taints().define(*o.buffer.get(), o.where, self);
  });
  reconsider();
  return std::nullopt;
}

int taint_watch::taint_outputs(std::uint16_t slot, const error& why, const taint_limits& until) {
  const record& culprit = records_[slot];
  // Watch later requests first, so that a sender that finds the taint also finds the requests that
  // will overwrite it. Screening them shows how far each is concerned.
  for (std::size_t other = 0; other < records_.size(); ++other) {
    const record& r = records_[other];
    if (r.now == record::stage::in_flight && !r.watched && r.ticket > culprit.ticket &&
        in_conflict(culprit.operands, r.operands)) {
      watch(static_cast<std::uint16_t>(other), true);
    }
  }
  const taint_cause cause = cause_of(culprit, why);
  int tainted = 0;
  culprit.operands.for_each([&](const kept_operand& o) {
    if (o.role == access::read || o.where.begin == o.where.end) return;
    ++tainted;
    pool_of(o).taints().taint(*o.buffer.get(), o.where, named(slot, culprit.ticket), cause,
                              o.role == access::write ? until.overwritten : until.updated);
  });
  expire(culprit);
  return tainted;
}

void taint_watch::invalidate(std::uint16_t slot, const error& why, const taint_limits& until) {
  (void)taint_outputs(slot, why, until);
  invalidated_ = true;
}

// Every request that such content concerns is watched.
void taint_watch::expire(const record& of) {
  std::uint64_t oldest = taint_book::unsent;
  for (const std::uint16_t slot : watched_)
    oldest = std::min(oldest, records_[slot].ticket);
  of.operands.for_each([&](const kept_operand& o) {
    if (is_watched(o.buffer))
      pool_of(o).taints().expire(*o.buffer.get(), device_memory_.get(), oldest);
  });
}

taint_watch::finding taint_watch::look_at(const record& r, const taint_book::request& as) const {
  finding found;
  r.operands.for_each([&](const kept_operand& o) {
    if (!is_watched(o.buffer)) return;
    const taint_book& book = pool_of(o).taints();
    for (const footprint& part : read_through(o, *r.type, r.operands)) {
      const bool doubtful = book.doubtful_for(as, *o.buffer.get(), part.begin, part.end);
      found.concerned = found.concerned || doubtful;
      if (o.role == access::write) continue;
      found.uncertain = found.uncertain || doubtful;
      if (!found.culprit) {
        found.culprit = book.undefined_for(as, *o.buffer.get(), part.begin, part.end);
      }
    }
  });
  return found;
}

void taint_watch::watch(std::uint16_t slot, bool uncertain) {
  record& r = records_[slot];
  r.watched = true;
  if (std::ranges::find(watched_, slot) == watched_.end()) watched_.push_back(slot);
  expect_writes(r, named(slot, r.ticket), uncertain);
}

void taint_watch::cease(std::uint16_t slot) {
  record& r = records_[slot];
  r.watched = false;
  std::erase(watched_, slot);
  r.operands.for_each([&](const kept_operand& o) {
    if (o.role == access::read) return;
    pool_of(o).taints().expect_no_more(*o.buffer.get(), named(slot, r.ticket));
  });
  expire(r);
}

// Less is undefined than before, so there may be less to watch. Without this, an endless stream of
// requests would pass the doubt on for ever.
void taint_watch::reconsider() {
  std::vector<std::uint16_t> slots = watched_;
  std::ranges::sort(slots, {}, [this](std::uint16_t slot) { return records_[slot].ticket; });
  for (const std::uint16_t slot : slots)
    (void)screen(slot);
}

void taint_watch::expect_writes(const record& r, const taint_book::request& writer,
                                bool uncertain) {
  r.operands.for_each([&](const kept_operand& o) {
    if (o.role == access::read) return;
    pool_of(o).taints().expect(*o.buffer.get(), writer, o.where,
                               {.overwrites = o.role == access::write, .uncertain = uncertain});
  });
}

}  // namespace troupe
