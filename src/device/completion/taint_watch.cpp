#include "device/completion/taint_watch.hpp"

#include "device/mailbox/operands.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {
namespace {

bool is_watched(const detail::buffer_ref& b) noexcept {
  return (b->state.load(std::memory_order_acquire) & buffer_watched) != 0;
}

std::string explain(const std::string& culprit) {
  return culprit.empty() ? culprit : "an operand " + taint_book::rule(culprit);
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

std::string taint_watch::screen(std::uint16_t slot) {
  const record& r = records_[slot];
  const finding found = look_at(r, named(slot, r.ticket));
  if (found.concerned) {
    watch(slot, found.uncertain);
  } else if (r.watched) {
    cease(slot);
  }
  return explain(found.culprit);
}

bool taint_watch::must_wait(std::uint16_t slot) const {
  const record& later = records_[slot];
  return std::ranges::any_of(watched_, [&](std::uint16_t other) {
    const record& earlier = records_[other];
    return earlier.ticket < later.ticket && in_conflict(earlier.operands, later.operands);
  });
}

std::string taint_watch::conclude(std::uint16_t slot, bool success) {
  const record& r = records_[slot];
  const taint_book::request self = named(slot, r.ticket);
  cease(slot);
  std::string culprit;
  r.operands.for_each([&](const kept_operand& o) {
    if (!culprit.empty() || o.role == access::write || !is_watched(o.buffer)) return;
    culprit = pool_of(o).taints().tainted_for(self, *o.buffer.get(), o.where.begin, o.where.end);
  });
  if (!culprit.empty()) {
    taint_outputs(slot);  // it may have run, whatever its answer is
  } else if (success) {
    r.operands.for_each([&](const kept_operand& o) {
      if (o.role == access::write) pool_of(o).taints().define(*o.buffer.get(), o.where, self);
    });
    reconsider();
    return {};
  }
  invalidated_ = true;
  return success ? explain(culprit) : std::string();
}

void taint_watch::taint_outputs(std::uint16_t slot) {
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
  const std::string name = fmt::format("{} #{}", culprit.type->name, culprit.ticket);
  culprit.operands.for_each([&](const kept_operand& o) {
    if (o.role == access::read || o.where.begin == o.where.end) return;
    pool_of(o).taints().taint(*o.buffer.get(), o.where, named(slot, culprit.ticket), name);
  });
}

void taint_watch::invalidate(std::uint16_t slot) {
  taint_outputs(slot);
  invalidated_ = true;
}

taint_watch::finding taint_watch::look_at(const record& r, const taint_book::request& as) const {
  finding found;
  r.operands.for_each([&](const kept_operand& o) {
    if (!is_watched(o.buffer)) return;
    const taint_book& book = pool_of(o).taints();
    const bool doubtful = book.doubtful_for(as, *o.buffer.get(), o.where.begin, o.where.end);
    found.concerned = found.concerned || doubtful;
    if (o.role == access::write) return;
    found.uncertain = found.uncertain || doubtful;
    if (found.culprit.empty()) {
      found.culprit = book.undefined_for(as, *o.buffer.get(), o.where.begin, o.where.end);
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
