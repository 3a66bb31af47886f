#pragma once

#include <troupe/base/error.hpp>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe::gpu_test {

/// The effect of a request on a cell: a vector whose elements are all equal.
enum class action : std::uint8_t {
  fill,  ///< every element becomes `operand`
  add,   ///< `operand` is added to every element, in place: done twice, it shows
  copy,  ///< the cell becomes what `source` is
  sum,   ///< answers the sum of the elements
  read,  ///< copies the elements to host memory
};

/// One request: written by its sender, then by its completion.
struct entry {
  action what{};
  std::uint16_t cell = 0;
  std::uint16_t source = 0;
  double operand = 0;
  std::int64_t sent_ns = 0;
  // Written by the completion, which counts itself last (release).
  double got = 0;  ///< for `sum` and `read`: the elements' value, or NaN if they differ
  errc code{};     ///< nothing when it succeeded
  std::int64_t ended_ns = 0;
  std::atomic<std::uint8_t> ends{0};
};

/// The outcomes of many requests.
struct findings {
  std::uint64_t requests = 0;
  std::uint64_t succeeded = 0;
  // Promised: each has a typed error.
  std::uint64_t aborted = 0;  ///< in-place updates that a lost worker may have begun
  std::uint64_t tainted = 0;  ///< would have read what a fault left undefined
  std::uint64_t blamed = 0;   ///< took the blame for what another request did
  // Never.
  std::uint64_t lost = 0;        ///< no answer, or a success whose work is missing
  std::uint64_t duplicated = 0;  ///< answered twice, or done twice
  std::uint64_t wrong = 0;       ///< a wrong value, or a success that cannot be one
  std::uint64_t unexpected = 0;  ///< a failure for which there is no reason
  std::string first{};           ///< of those that may never be, in words

  [[nodiscard]] bool clean() const noexcept { return lost + duplicated + wrong + unexpected == 0; }
  findings& operator+=(const findings& more);
};

/// Checks the history of a set of cells that one thread sends requests for: each answer must be the
/// result of running the successful requests one after the other, in the order sent. Content that
/// is undefined since a failure must be refused as tainted until it is overwritten, and nothing
/// else may be refused.
class ledger {
 public:
  /// Only `add`s change the value of cells 0 to `counters - 1`, so that too high a value shows work
  /// done twice. Every cell holds zeros. Only if workers are hostile may a request take the blame
  /// for a broken protocol.
  ledger(std::size_t cells, std::size_t counters, bool hostile_workers = false)
      : cells_(cells), counters_(counters), hostile_workers_(hostile_workers) {}

  /// Judges entries in the order sent; none of them may be in flight.
  void judge(std::span<const entry> entries, findings& out);

  [[nodiscard]] bool may_be_tainted(std::size_t cell) const { return cells_[cell].may_be_tainted; }

 private:
  struct belief {
    double value = 0;
    bool may_hold = true;         ///< the value may be there
    bool may_be_tainted = false;  ///< reads may be refused
  };
  void succeeded(const entry& e, findings& out);
  void failed(const entry& e, findings& out);

  std::vector<belief> cells_;
  std::size_t counters_;
  bool hostile_workers_;
};

}  // namespace troupe::gpu_test
