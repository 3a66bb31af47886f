#pragma once

#include <troupe/base/error.hpp>
#include <troupe/tensor/buffer.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace troupe {

/// The bytes of a buffer that an operand uses: all of [begin, end), or those of a pattern with
/// gaps.
struct footprint {
  std::uint64_t begin = 0;    ///< bytes from the start of the buffer
  std::uint64_t end = 0;      ///< past the last
  std::uint32_t pattern = 0;  ///< names the pattern; 0: no gaps

  bool operator==(const footprint&) const = default;
};

/// A request that has not written what it was to write: the cause of its readers' failures.
struct failed_writer {
  std::string name;  ///< its type and ticket
  error why;
};
using taint_cause = std::shared_ptr<const failed_writer>;

/// The content of a pool's buffers that is undefined since a fault or failure, and the requests in
/// flight that may change that. A buffer with an entry has `buffer_watched` set, so that requests
/// on all others need not ask.
///
/// One mutex guards everything; `changes` is raised after its cause can be found.
class taint_book {
 public:
  /// The ticket of a request that has none yet: it comes after all that have one.
  static constexpr std::uint64_t unsent = ~std::uint64_t{0};
  static constexpr std::uint64_t for_all = ~std::uint64_t{0};
  static constexpr std::uint16_t no_slot = 0xffff;

  /// A request of a device: in flight, or about to be sent and without a slot. Tickets are compared
  /// only within a device.
  struct request {
    const void* device = nullptr;
    std::uint16_t slot = no_slot;
    std::uint64_t ticket = unsent;
  };

  /// For requests after `by` the content is undefined, because of `culprit`; `until` a ticket, if
  /// the content is intact and only requests that were sent before that one expect it changed.
  /// Every place keeps its own culprit.
  void taint(detail::buffer& b, const footprint& where, const request& by, taint_cause culprit,
             std::uint64_t until = for_all);
  /// No request before `ticket` is in flight any more, so content that is tainted until then is
  /// defined.
  void expire(detail::buffer& b, const void* device, std::uint64_t ticket);
  /// `by` has overwritten it. An overwrite with gaps defines only content that was tainted in the
  /// same pattern: nothing is known of the bytes between.
  void define(detail::buffer& b, const footprint& where, const request& by);

  /// Whether any part of it is undefined for somebody.
  [[nodiscard]] bool has_undefined(const detail::buffer& b) const;
  /// The first culprit if any byte of [begin, end) is undefined for that request, else null:
  /// content that later requests of its device have left undefined was defined before them.
  [[nodiscard]] taint_cause tainted_for(const request& reader, const detail::buffer& b,
                                        std::uint64_t begin, std::uint64_t end) const;
  /// The same, but content that earlier requests in flight will overwrite counts as defined.
  [[nodiscard]] taint_cause undefined_for(const request& reader, const detail::buffer& b,
                                          std::uint64_t begin, std::uint64_t end) const;

  /// True if something in [begin, end) is undefined, or an earlier request in flight writes there
  /// and is itself `uncertain`.
  [[nodiscard]] bool doubtful_for(const request& user, const detail::buffer& b, std::uint64_t begin,
                                  std::uint64_t end) const;

  /// The effect of a request in flight on a place.
  struct intent {
    bool overwrites = false;  ///< writes all of it, reads nothing of it
    bool uncertain = false;   ///< reads doubtful content, so it may leave something undefined
  };
  void expect(detail::buffer& b, const request& writer, const footprint& where, intent what);
  /// The request has ended, successfully or not.
  void expect_no_more(detail::buffer& b, const request& writer);

  /// The failure of a request that reads what the culprit was to write, as its operand `subject`.
  [[nodiscard]] static error refusal(std::string_view subject, const taint_cause& culprit);

  /// The buffer is given back.
  void forget(const detail::buffer& b) noexcept;

  /// Changes when some buffer becomes watched or tainted. Acquire: a thread that sees the new
  /// number finds the cause.
  [[nodiscard]] std::uint32_t changes() const noexcept {
    return changes_.load(std::memory_order_acquire);
  }

 private:
  struct mark {
    footprint where;
    request by;
    taint_cause culprit;
    std::uint64_t until = for_all;
  };
  struct expectation {
    request writer;
    footprint where;
    intent what;
  };
  struct page {
    std::vector<mark> marks;
    std::vector<expectation> writers;
  };

  [[nodiscard]] page& watched_page(detail::buffer& b);
  void turn(detail::buffer& b);
  [[nodiscard]] static bool concerns(const mark& m, const request& user) noexcept;
  [[nodiscard]] static bool precedes(const request& one, const request& other) noexcept;

  mutable std::mutex mutex_;
  std::unordered_map<std::uint32_t, page> pages_;  // by buffer
  std::atomic<std::uint32_t> changes_{0};
};

}  // namespace troupe
