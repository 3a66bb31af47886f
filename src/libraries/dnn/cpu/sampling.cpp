#include "libraries/dnn/shared/sampling.hpp"

#include "libraries/dnn/shared/image_view.hpp"
#include "libraries/memory/shared/share_out.hpp"

#include <troupe/plugin/static_registration.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <span>

namespace troupe::cpu {
namespace {

using namespace dnn::sampling;

constexpr std::int64_t row_work_per_thread = std::int64_t{1} << 17;

/// One row of logits in f32.
class sampled_row {
 public:
  sampled_row(std::span<const float> x, const parameters& p) : x_(x), p_(p) {}

  /// The token, or −1.
  [[nodiscard]] std::int32_t draw() {
    if (!p_.valid() || !find_largest()) return -1;
    if (p_.temperature == 0) return first_;
    find_least();
    std::int32_t best = first_;
    float best_score = -std::numeric_limits<float>::infinity();
    rng::words<4> words{};
    std::uint64_t block = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t i = 0; i < x_.size(); ++i) {
      if (!is_left(x_[i])) continue;
      if (i / 4 != block) {
        block = i / 4;
        words = rng::philox_block(p_.seed, p_.position, block);
      }
      const float score = (x_[i] - largest_) / p_.temperature + gumbel(words.word[i % 4]);
      if (score > best_score) {
        best_score = score;
        best = static_cast<std::int32_t>(i);
      }
    }
    return best;
  }

  /// The logarithm of the probability of a token under the softmax of the row.
  [[nodiscard]] float logprob(std::int32_t token) const {
    if (token < 0) return std::numeric_limits<float>::quiet_NaN();
    std::uint64_t sum = 0;
    for (const float x : x_)
      sum += exact(std::exp(x - largest_));
    const auto log_sum = static_cast<float>(std::log(static_cast<double>(sum) / exact_one));
    return x_[static_cast<std::size_t>(token)] - largest_ - log_sum;
  }

 private:
  [[nodiscard]] bool find_largest() {
    largest_ = -std::numeric_limits<float>::infinity();
    bool nan = false;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      nan |= std::isnan(x_[i]);
      if (x_[i] > largest_) {
        largest_ = x_[i];
        first_ = static_cast<std::int32_t>(i);
      }
    }
    return !nan && std::isfinite(largest_);
  }

  [[nodiscard]] float weight(float x) const { return std::exp((x - largest_) / p_.temperature); }
  [[nodiscard]] bool is_left(float x) const {
    return key_of(x) >= least_ && (p_.min_p == 0 || weight(x) >= p_.min_p);
  }

  /// The smallest key that `top_k` and `top_p` leave.
  void find_least() {
    if (p_.top_k > 0 && static_cast<std::size_t>(p_.top_k) < x_.size())
      least_ = where_sum_reaches(static_cast<std::uint64_t>(p_.top_k), [](float) { return 1ULL; });
    if (p_.top_p >= 1) return;
    const auto of = [this](float x) -> std::uint64_t { return exact(weight(x)); };
    std::uint64_t sum = 0;
    for (const float x : x_) {
      if (key_of(x) >= least_) sum += of(x);
    }
    least_ = where_sum_reaches(share_of(sum, p_.top_p), of);
  }

  template <class Of>
  [[nodiscard]] std::uint32_t where_sum_reaches(std::uint64_t wanted, Of of) const {
    std::uint32_t found = 0;
    for (int pass = 0; pass < passes; ++pass) {
      std::array<std::uint64_t, bins> sums{};
      for (const float x : x_) {
        const std::uint32_t key = key_of(x);
        if (key >= least_ && begins(key, found, pass)) sums[key >> shift_of(pass) & 255] += of(x);
      }
      found |= static_cast<std::uint32_t>(reaching(sums.data(), wanted)) << shift_of(pass);
    }
    return std::max(found, least_);
  }

  std::span<const float> x_;
  const parameters& p_;
  float largest_ = 0;
  std::int32_t first_ = 0;
  std::uint32_t least_ = 0;
};

template <class T>
void load_row(const operands& p, std::int64_t row, std::span<float> to) {
  const T* from = reinterpret_cast<const T*>(p.x) + row * p.row_step;
  for (float& one : to) {
    one = static_cast<float>(*from);
    from += p.step;
  }
}

result<void> run_sampling(const dnn::sample_rows& r, lane_context& lane) {
  const operands p(r);
  const std::int64_t threads = threads_for(p.rows, p.rows * p.n, row_work_per_thread);
  auto workspace = lane.workspace(static_cast<std::size_t>(threads * p.n) * sizeof(float));
  if (!workspace) return std::move(workspace).error();
  auto* const room = reinterpret_cast<float*>(workspace->data());
  share_out(threads, p.rows, [&](std::int64_t thread, std::int64_t row) {
    const std::span<float> x(room + thread * p.n, static_cast<std::size_t>(p.n));
    dnn::for_image_type(r.x.type(), [&]<class T>(T) { load_row<T>(p, row, x); });
    const parameters of_row(p, row);
    sampled_row one(x, of_row);
    const std::int32_t token = one.draw();
    p.tokens.set(row, token);
    if (p.logprobs.at != nullptr) p.logprobs.set(row, one.logprob(token));
  });
  return {};
}

const plugin_operations sampling_operations([](operation_table& table) {
  table.add<dnn::sample_rows>(run_sampling, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
