#include "ledger.hpp"

#include <fmt/format.h>

namespace troupe::gpu_test {
namespace {

constexpr const char* operation_names[] = {"fill", "add", "copy", "sum", "read"};

void note(findings& out, std::uint64_t& count, const entry& e, std::string_view what) {
  ++count;
  if (!out.first.empty()) return;
  out.first = fmt::format("request {} ({} of cell {}, operand {}): {}", out.requests,
                          operation_names[static_cast<int>(e.what)], e.cell, e.operand, what);
}

bool reads_only(action what) noexcept { return what == action::sum || what == action::read; }

}  // namespace

findings& findings::operator+=(const findings& more) {
  requests += more.requests;
  succeeded += more.succeeded;
  aborted += more.aborted;
  tainted += more.tainted;
  blamed += more.blamed;
  lost += more.lost;
  duplicated += more.duplicated;
  wrong += more.wrong;
  unexpected += more.unexpected;
  if (first.empty()) first = more.first;
  return *this;
}

void ledger::judge(std::span<const entry> entries, findings& out) {
  for (const entry& e : entries) {
    ++out.requests;
    const int ends = e.ends.load(std::memory_order_acquire);
    if (ends == 0) {
      note(out, out.lost, e, "never ended");
      continue;
    }
    if (ends > 1) note(out, out.duplicated, e, fmt::format("ended {} times", ends));
    if (e.code == errc{}) {
      succeeded(e, out);
    } else {
      failed(e, out);
    }
  }
}

void ledger::succeeded(const entry& e, findings& out) {
  ++out.succeeded;
  belief& cell = cells_[e.cell];
  // Its input was there, so it was not undefined.
  belief& read = e.what == action::copy ? cells_[e.source] : cell;
  if (e.what != action::fill) {
    if (!read.may_hold) note(out, out.wrong, e, "succeeded on what a fault had left undefined");
    read.may_hold = true;
    read.may_be_tainted = false;
  }
  switch (e.what) {
    case action::fill:
      cell = {.value = e.operand};
      break;
    case action::add:
      cell.value += e.operand;
      break;
    case action::copy:
      cell = {.value = read.value};
      break;
    case action::sum:
    case action::read: {
      if (e.got == cell.value) break;
      const std::string what = fmt::format("answered {}, expected {}", e.got, cell.value);
      if (e.cell < counters_ && e.got > cell.value) {
        note(out, out.duplicated, e, what);
      } else if (e.cell < counters_ && e.got < cell.value) {
        note(out, out.lost, e, what);
      } else {
        note(out, out.wrong, e, what);
      }
      cell.value = e.got;  // reported once
      break;
    }
  }
}

void ledger::failed(const entry& e, findings& out) {
  belief& cell = cells_[e.cell];
  if (e.code == errc::tainted_buffer) {
    ++out.tainted;
    belief& read = e.what == action::copy ? cells_[e.source] : cell;
    if (e.what == action::fill || !read.may_be_tainted) {
      note(out, out.unexpected, e, "refused as tainted, although nothing has failed");
    }
    read.may_hold = false;
    read.may_be_tainted = true;
    // Refused when it was sent, it has left its cell alone; when its worker was lost, not.
    if (e.what == action::copy) cell.may_be_tainted = true;
    return;
  }
  if (e.code == errc::aborted) {
    ++out.aborted;
    // The work of a worker that lied about it is unknown, so nothing is run again.
    if (e.what != action::add && !hostile_workers_)
      note(out, out.unexpected, e, "aborted, although it may run again");
  } else if (e.code == errc::device_fault || e.code == errc::poisonous ||
             (hostile_workers_ && e.code == errc::protocol_violation)) {
    ++out.blamed;
  } else {
    note(out, out.unexpected, e, fmt::format("failed with {}", troupe::to_string(e.code)));
  }
  if (reads_only(e.what)) return;
  cell.may_hold = e.code == errc::poisonous;  // it may have been refused when it was sent
  cell.may_be_tainted = true;
}

}  // namespace troupe::gpu_test
