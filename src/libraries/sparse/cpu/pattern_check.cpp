#include "libraries/sparse/cpu/pattern_check.hpp"

#include "libraries/memory/shared/share_out.hpp"

#include <atomic>
#include <string>
#include <string_view>

namespace troupe::cpu {
namespace {

constexpr std::int64_t least_checks = 1 << 16;

class message {
 public:
  void add(std::string_view text) { text_ += text; }
  void add(std::int64_t number) { text_ += std::to_string(number); }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string text_of(const sparse::pattern_fault& f, sparse_format format) {
  message made;
  sparse::tell(f, sparse::major_word(format), sparse::minor_word(format),
               [&](const auto&... parts) { (made.add(parts), ...); });
  return made.take();
}

/// The number of the first check that finds a fault, or that of all checks.
std::int64_t first_fault(const sparse::pattern_checks& checks) {
  const std::int64_t n = checks.number();
  std::atomic<std::int64_t> first{n};
  const std::int64_t threads = threads_for(n, n, least_checks);
  share_out(threads, threads, [&](std::int64_t, std::int64_t t) {
    const std::int64_t end = t + 1 == threads ? n : n / threads * (t + 1);
    for (std::int64_t i = n / threads * t; i < end; ++i) {
      if (checks.check(i).what == sparse::pattern_fault::kind::none) continue;
      std::int64_t known = first.load(std::memory_order_relaxed);
      while (i < known && !first.compare_exchange_weak(known, i, std::memory_order_relaxed)) {
      }
      return;
    }
  });
  return first.load(std::memory_order_relaxed);
}

}  // namespace

result<void> check_pattern(const sparse_matrix& a, sparse::pattern_claim claim) {
  const sparse::pattern_checks checks(sparse::pattern_of(a), claim);
  const std::int64_t first = first_fault(checks);
  if (first == checks.number()) return {};
  return error{.code = errc::invalid_argument, .message = text_of(checks.check(first), a.format)};
}

}  // namespace troupe::cpu
