#include "streams.hpp"

#include <memory>
#include <numeric>

namespace troupe::conformance {
namespace {

class own_lane final : public lane_context {
 public:
  int lane() const noexcept override { return 0; }
  result<std::span<std::byte>> workspace(std::size_t bytes) override {
    memory_.resize(bytes / sizeof(std::max_align_t) + 1);
    return std::as_writable_bytes(std::span(memory_)).first(bytes);
  }
  result<std::span<std::byte>> host_workspace(std::size_t bytes) override {
    return workspace(bytes);  // drawing needs none
  }

 private:
  std::vector<std::max_align_t> memory_;
};

}  // namespace

std::uint32_t reference_word(std::uint64_t seed, std::uint64_t subsequence, std::uint64_t index) {
  const auto half = [](std::uint64_t of, int which) {
    return static_cast<std::uint32_t>(of >> (32 * which));
  };
  std::array<std::uint32_t, 4> c{half(index / 4, 0), half(index / 4, 1), half(subsequence, 0),
                                 half(subsequence, 1)};
  std::array<std::uint32_t, 2> k{half(seed, 0), half(seed, 1)};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{c[0]} * 0xD2511F53;
    const std::uint64_t b = std::uint64_t{c[2]} * 0xCD9E8D57;
    c = {half(b, 1) ^ c[1] ^ k[0], half(b, 0), half(a, 1) ^ c[3] ^ k[1], half(a, 0)};
    k = {k[0] + 0x9E3779B9, k[1] + 0xBB67AE85};
  }
  return c.at(index % 4);
}

std::vector<std::byte> cpu_bytes(const request_type& type, void* request, any_tensor& to,
                                 std::int64_t count) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count * size_of(to.type())));
  to = any_tensor::unowned(bytes.data(), to.type(), {count});
  const operation* const found = backend_operations().find(type.id);
  own_lane lane;
  EXPECT_TRUE(found != nullptr && found->run(found->executor, request, lane, nullptr));
  return bytes;
}

double ks_statistic(std::vector<double> values, const std::function<double(double)>& below) {
  std::ranges::sort(values);
  const auto n = static_cast<double>(values.size());
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = below(values[i]);
    const auto rank = static_cast<double>(i);
    largest = std::max({largest, expected - rank / n, (rank + 1) / n - expected});
  }
  return largest * std::sqrt(n);
}

void expect_frequencies(const std::vector<double>& counts, const std::vector<double>& probabilities,
                        const std::string& what) {
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  double statistic = 0;
  double freedom = -1;
  double rare_counts = 0;
  double rare_expected = 0;
  const auto add = [&](double count, double expected) {
    statistic += (count - expected) * (count - expected) / expected;
    ++freedom;
  };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = all * probabilities[i];
    if (expected >= 8) {
      add(counts[i], expected);
    } else {
      rare_counts += counts[i];
      rare_expected += expected;
    }
  }
  if (rare_expected >= 8) {
    add(rare_counts, rare_expected);
  } else {
    EXPECT_LE(rare_counts, rare_expected + 30) << what;
  }
  EXPECT_LT(statistic, freedom + 4 * std::sqrt(2 * freedom) + 8) << what;
}

std::vector<double> real_parts(const std::vector<number>& values) {
  std::vector<double> parts;
  parts.reserve(values.size());
  for (const number& one : values)
    parts.push_back(one.real());
  return parts;
}

}  // namespace troupe::conformance
