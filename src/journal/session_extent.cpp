// Which requests of a journal are replayed.
#include "journal/session.hpp"

#include <troupe/request/catalogue.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe::journal {
namespace {

// Time, or what happened to other requests, has decided this outcome.
bool is_accidental(errc code) noexcept {
  switch (code) {
    case errc::cancelled:
    case errc::timed_out:
    case errc::deadline_exceeded:
    case errc::aborted:
    case errc::tainted_buffer:
    case errc::stale_buffer:
    case errc::device_stopped:
    case errc::device_unavailable:
    case errc::device_condemned:
    case errc::mailbox_full:
    case errc::no_reply:
    case errc::actor_stopped:
    case errc::protocol_violation:
    case errc::system_error:
      return true;
    default:
      return false;
  }
}

}  // namespace

result<const request_type*> session::type_of(const noted_request& r) const {
  const auto name = of_.types.find(r.about.type);
  const request_type* const type = name == of_.types.end() ? nullptr : request_named(name->second);
  if (type == nullptr) {
    return unusable(r, errc::unsupported,
                    "this program does not know the request; give the plugin that has it");
  }
  if (type->id != r.about.type) {
    return unusable(r, errc::unsupported, "this version describes the request differently");
  }
  return type;
}

// The last requests of a journal that was not closed may not be whole: their ends are missing, or
// other senders' requests between them.
void session::find_end() {
  if (file_.damage().empty() || options_.over_gaps || of_.requests.empty()) return;
  std::uint64_t whole = of_.requests.begin()->first;
  std::uint64_t ended = 0;
  std::uint64_t next = whole;
  for (const auto& [ticket, r] : of_.requests) {
    if (r.about.type == 0 || ticket != next) break;
    whole = next++;
    if (r.end) ended = ticket;
  }
  const bool is_gap = std::ranges::any_of(of_.gaps, [&](const gap_note& gap) {
    return gap.what == gap_note::requests && gap.first <= next && next <= gap.last;
  });
  if (is_gap || ended >= std::min(options_.to, of_.requests.rbegin()->first)) return;
  last_ = std::min(options_.to, ended);
  report_.remarks.push_back(
      fmt::format("device {}: what was sent after request {} is not whole, and is not replayed",
                  number_, ended));
}

result<void> session::check_gaps() const {
  if (options_.over_gaps || of_.fact("excerpt") == "1") return {};
  const auto refuse = [&](std::uint64_t ticket, std::string_view what) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("the journal of device {} has a gap: {} request {}; "
                                        "over_gaps goes on all the same",
                                        number_, what, ticket)};
  };
  for (const gap_note& gap : of_.gaps) {
    if (begin_ && gap.last < begin_->first) continue;
    if (gap.first > last_ || gap.what == gap_note::ends) continue;
    return refuse(gap.first, gap.what == gap_note::contents ? "data are missing from" : "without");
  }
  std::optional<std::uint64_t> before;
  for (const auto& [ticket, r] : of_.requests) {
    if (ticket > last_) break;
    if (begin_ && ticket < begin_->first) continue;
    if (r.about.type == 0) return refuse(ticket, "without");
    if (before && ticket != *before + 1) return refuse(*before + 1, "without");
    before = ticket;
  }
  return {};
}

auto session::plan_of(const noted_request& r) noexcept -> plan {
  if (!r.end || r.end->failed == 0) return plan::run;
  const auto code = static_cast<errc>(r.end->code);
  if (is_accidental(code)) return plan::pass_over;
  return ends_worker(code) ? plan::run_alone : plan::run;
}

}  // namespace troupe::journal
