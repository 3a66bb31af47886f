// Compares the outcomes of replayed requests with those that a journal has.
#include "journal/session.hpp"
#include "request/description/text.hpp"
#include "wire/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace troupe::journal {
namespace {

constexpr std::size_t most_differences = 100;

// Keeps, of the results of a graph, whether its requests have run and with which outcome. Their
// replies are not the same on other hardware.
void keep_heads(std::vector<std::byte>& rows) {
  for (std::size_t at = 0; at + sizeof(wire::reply_slot) <= rows.size();
       at += sizeof(wire::reply_slot)) {
    constexpr std::size_t head = offsetof(wire::reply_slot, bytes);
    std::memset(rows.data() + at + head, 0, sizeof(wire::reply_slot) - head);
  }
}

}  // namespace

bool ends_worker(errc code) noexcept {
  return code == errc::device_fault || code == errc::poisonous;
}

std::string outcome_text(bool failed, errc code, std::string_view message) {
  if (!failed) return "success";
  return fmt::format("{}: {}", to_string(code), message);
}

result<void> session::settle_all() {
  while (!running_.empty() && !is_done()) {
    if (auto settled = settle_one(); !settled) return settled;
  }
  return {};
}

result<void> session::settle_one() {
  running one = std::move(running_.front());
  running_.pop_front();
  auto got = one.end.get_result();
  if (!got) return std::move(got).error();
  const noted_request& r = *one.noted;
  if (!is_compared(r) || !r.end) return {};
  ++report_.outcomes;
  const bool failed = got->failure.has_value();
  const auto code = static_cast<errc>(r.end->code);
  const bool is_same =
      failed == (r.end->failed != 0) && (!failed || got->failure->code == code ||
                                         (ends_worker(got->failure->code) && ends_worker(code)));
  // Without their data, requests find others.
  const bool has_data = of_.fact("contents") != "0";
  const auto depends = [](errc c) { return c == errc::numerical || c == errc::capacity_exceeded; };
  if (!has_data && (depends(code) || (failed && depends(got->failure->code)))) return {};
  // A writer of its operands has failed, at another moment than then.
  if (failed && got->failure->code == errc::tainted_buffer && r.end->failed == 0) {
    ++report_.skipped;
    return {};
  }
  if (!is_same) {
    note_difference(r, print(*one.type, one.request->data()), "outcome",
                    {.element = -1,
                     .recorded = outcome_text(r.end->failed != 0, code, text_of(r.rest)),
                     .replayed = outcome_text(failed, failed ? got->failure->code : errc{},
                                              failed ? got->failure->message : std::string())});
    return {};
  }
  if (failed) return {};
  if (!has_data) return {};
  if (auto what = reply_difference(*one.type, r.rest, got->reply, how_)) {
    note_difference(r, print(*one.type, one.request->data()), "reply", *std::move(what));
    return {};
  }
  return compare_seen(one);
}

result<std::optional<std::vector<std::byte>>> session::recorded_bytes(const noted_request& r,
                                                                      std::uint8_t pool,
                                                                      std::uint64_t offset,
                                                                      std::uint64_t bytes) const {
  std::vector<std::byte> whole(bytes);
  std::uint64_t there = 0;
  for (const bytes_note& one : r.seen) {
    const std::uint64_t begin = std::max(one.offset, offset);
    const std::uint64_t end = std::min(one.offset + one.bytes, offset + bytes);
    if (one.pool != pool || begin >= end) continue;
    auto part = file_.bytes(one);
    if (!part) return std::move(part).error();
    std::memcpy(whole.data() + (begin - offset), part->data() + (begin - one.offset), end - begin);
    there += end - begin;
  }
  if (there < bytes) return std::optional<std::vector<std::byte>>();
  return std::optional(std::move(whole));
}

result<void> session::compare_seen(const running& one) {
  if (one.noted->seen.empty()) return {};
  const bool is_graph = one.type->library() == "graph";
  for (const auto& [field, view] : one.outputs) {
    const any_tensor::byte_range reach = view.reach();
    const auto bytes = static_cast<std::uint64_t>(reach.end - reach.begin);
    const std::uint64_t offset =
        memory_.place_of(view).offset + static_cast<std::uint64_t>(reach.begin);
    if (bytes == 0) continue;
    auto recorded = recorded_bytes(*one.noted, wire::host_pool, offset, bytes);
    if (!recorded) return std::move(recorded).error();
    if (!*recorded) continue;
    auto there = memory_.bytes_at(wire::host_pool, offset, bytes);
    if (!there) return std::move(there).error();
    std::vector<std::byte> replayed(there->address(), there->address() + bytes);
    if (is_graph && field == "results" && !how_.exact) {
      keep_heads(**recorded);
      keep_heads(replayed);
    }
    report_.elements += static_cast<std::uint64_t>(view.count());
    if (auto what = first_difference(view, **recorded, replayed, how_)) {
      note_difference(*one.noted, print(*one.type, one.request->data()), field, *std::move(what));
      return {};
    }
  }
  return {};
}

void session::note_difference(const noted_request& r, std::string text, std::string field,
                              element_difference what) {
  ++report_.differing;
  if (report_.differences.size() >= most_differences) return;
  report_.differences.push_back({.device = number_,
                                 .ticket = r.about.ticket,
                                 .request = std::move(text),
                                 .field = std::move(field),
                                 .element = what.element,
                                 .recorded = std::move(what.recorded),
                                 .replayed = std::move(what.replayed)});
}

}  // namespace troupe::journal
