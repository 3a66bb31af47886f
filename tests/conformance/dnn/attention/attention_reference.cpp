#include "attention_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace troupe::conformance::attention_reference {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<double> slopes(std::int64_t heads) {
  const auto of_power = [](std::int64_t n) {
    std::vector<double> all;
    for (std::int64_t i = 1; i <= n; ++i)
      all.push_back(std::pow(2.0, -8.0 * static_cast<double>(i) / static_cast<double>(n)));
    return all;
  };
  std::int64_t power = 1;
  while (power * 2 <= heads)
    power *= 2;
  std::vector<double> all = of_power(power);
  const std::vector<double> finer = of_power(2 * power);
  for (std::size_t i = 0; all.size() < static_cast<std::size_t>(heads); i += 2)
    all.push_back(finer[i]);
  return all;
}

double rounded_e4m3(double x) {
  return static_cast<float>(e4m3(static_cast<float>(std::min(x, 448.0))));
}

}  // namespace

std::uint32_t philox_word(std::uint64_t seed, std::uint64_t number, std::uint64_t subsequence) {
  std::array<std::uint32_t, 4> c{
      static_cast<std::uint32_t>(number / 4), static_cast<std::uint32_t>(number / 4 >> 32),
      static_cast<std::uint32_t>(subsequence), static_cast<std::uint32_t>(subsequence >> 32)};
  std::uint32_t k0 = static_cast<std::uint32_t>(seed);
  std::uint32_t k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c[number % 4];
}

bool problem::attends(std::int64_t b, std::int64_t head, std::int64_t i, std::int64_t j) const {
  const auto n = static_cast<std::size_t>(b);
  if (!allowed.values.empty()) {
    const auto at = [&](std::size_t d, std::int64_t whole) {
      return allowed.size[d] == 1 ? 0 : whole;
    };
    if (allowed(at(0, b), at(1, head), at(2, i), j) == 0) return false;
  }
  if (i >= lengths_q[n] || j >= lengths_kv[n]) return false;
  const std::int64_t c =
      diagonal == dnn::diagonal::bottom_right ? i + lengths_kv[n] - lengths_q[n] : i;
  return (left < 0 || j >= c - left) && (right < 0 || j <= c + right);
}

double problem::kept(std::int64_t b, std::int64_t head, std::int64_t i, std::int64_t j) const {
  if (dropout == 0) return 1;
  if (!seen_kept.values.empty()) return seen_kept(b, head, i, j);
  const std::int64_t place = ((b * heads() + head) * q.size[2] + i) * k.size[2] + j;
  const std::uint32_t word = philox_word(seed, static_cast<std::uint64_t>(offset + place));
  return static_cast<double>(word) >= dropout * 4294967296.0 ? 1 / (1 - dropout) : 0;
}

double problem::factor() const {
  const double d = static_cast<double>(q.size[3]);
  return scale != 0 ? scale : d > 0 ? 1 / std::sqrt(d) : 1;
}

double problem::score(std::int64_t b, std::int64_t head, std::int64_t i, std::int64_t j,
                      double* slope) const {
  const std::int64_t of_k = head / (heads() / k.size[1]);
  double s = 0;
  for (std::int64_t x = 0; x < q.size[3]; ++x)
    s += q(b, head, i, x) * k(b, of_k, j, x);
  s *= descale_scores * factor();
  if (slope != nullptr) *slope = soft_cap == 0 ? 1 : 1 / std::pow(std::cosh(s / soft_cap), 2);
  if (soft_cap != 0) s = soft_cap * std::tanh(s / soft_cap);
  if (!bias.values.empty())
    s += bias(bias.size[0] == 1 ? 0 : b, bias.size[1] == 1 ? 0 : head, i, j);
  if (alibi) {
    const auto n = static_cast<std::size_t>(b);
    const std::int64_t c =
        diagonal == dnn::diagonal::bottom_right ? i + lengths_kv[n] - lengths_q[n] : i;
    s += slopes(heads())[static_cast<std::size_t>(head)] * static_cast<double>(j - c);
  }
  return s;
}

answer attend(const problem& p) {
  const std::int64_t s_kv = p.k.size[2];
  answer a{block({p.batch(), p.heads(), p.q.size[2], p.v.size[3]}),
           block({p.batch(), p.heads(), p.q.size[2], 1}, -infinity),
           block({p.batch(), p.heads(), p.q.size[2], p.v.size[3]})};
  for (std::int64_t b = 0; b < p.batch(); ++b) {
    for (std::int64_t head = 0; head < p.heads(); ++head) {
      const std::int64_t of_v = head / (p.heads() / p.v.size[1]);
      for (std::int64_t i = 0; i < p.q.size[2]; ++i) {
        reals scores(static_cast<std::size_t>(s_kv), -infinity);
        double most = -infinity;
        const bool exists = i < p.lengths_q[static_cast<std::size_t>(b)];
        const double sink = p.sinks.values.empty() || !exists ? -infinity : p.sinks(head, 0, 0, 0);
        most = std::max(most, sink);
        for (std::int64_t j = 0; j < s_kv; ++j) {
          if (!p.attends(b, head, i, j)) continue;
          scores[static_cast<std::size_t>(j)] = p.score(b, head, i, j);
          most = std::max(most, scores[static_cast<std::size_t>(j)]);
        }
        if (most == -infinity) continue;
        double sum = std::exp(sink - most);
        for (const double s : scores)
          sum += std::exp(s - most);
        a.statistics(b, head, i, 0) = most + std::log(sum);
        for (std::int64_t j = 0; j < s_kv; ++j) {
          if (!p.attends(b, head, i, j)) continue;
          double probability =
              std::exp(scores[static_cast<std::size_t>(j)] - most) / sum * p.kept(b, head, i, j);
          a.amax_s = std::max(a.amax_s, probability);
          if (p.fp8) probability = rounded_e4m3(p.scale_s * probability) * p.descale_values;
          for (std::int64_t x = 0; x < p.v.size[3]; ++x) {
            a.o(b, head, i, x) += probability * p.v(b, of_v, j, x);
            a.size_of_o(b, head, i, x) += probability * std::abs(p.v(b, of_v, j, x));
          }
        }
      }
    }
  }
  for (const double o : a.o.values)
    a.amax_o = std::max(a.amax_o, std::abs(o));
  return a;
}

gradients differentiate(const problem& p, const block& o, const block& d_o,
                        const block& statistics) {
  gradients g{block(p.q.size),     block(p.k.size),    block(p.v.size), block(p.bias.size),
              block(p.sinks.size), block(p.q.size),    block(p.k.size), block(p.v.size),
              block(p.bias.size),  block(p.sinks.size)};
  // The slope of a soft cap is 1 - tanh², whose terms are up to 1 however small it is.
  const double size_of_by = std::abs(p.factor()) * (p.soft_cap != 0 ? 2 : 1);
  for (std::int64_t b = 0; b < p.batch(); ++b) {
    for (std::int64_t head = 0; head < p.heads(); ++head) {
      const std::int64_t of_k = head / (p.heads() / p.k.size[1]);
      const std::int64_t of_v = head / (p.heads() / p.v.size[1]);
      for (std::int64_t i = 0; i < p.q.size[2]; ++i) {
        if (statistics(b, head, i, 0) == -infinity) continue;  // attends to nothing
        double delta = 0;
        double size_of_delta = 0;
        for (std::int64_t x = 0; x < p.v.size[3]; ++x) {
          delta += o(b, head, i, x) * d_o(b, head, i, x);
          size_of_delta += std::abs(o(b, head, i, x) * d_o(b, head, i, x));
        }
        if (!p.sinks.values.empty()) {
          const double of_sink = std::exp(p.sinks(head, 0, 0, 0) - statistics(b, head, i, 0));
          g.d_sinks(head, 0, 0, 0) -= of_sink * delta;
          g.size_sinks(head, 0, 0, 0) += of_sink * size_of_delta;
        }
        for (std::int64_t j = 0; j < p.k.size[2]; ++j) {
          if (!p.attends(b, head, i, j)) continue;
          double slope = 1;
          const double probability =
              std::exp(p.score(b, head, i, j, &slope) - statistics(b, head, i, 0));
          const double kept = p.kept(b, head, i, j);
          double d_p = 0;
          double size_of_d_p = 0;
          for (std::int64_t x = 0; x < p.v.size[3]; ++x) {
            d_p += d_o(b, head, i, x) * p.v(b, of_v, j, x);
            size_of_d_p += std::abs(d_o(b, head, i, x) * p.v(b, of_v, j, x));
            g.d_v(b, of_v, j, x) += probability * kept * d_o(b, head, i, x);
            g.size_v(b, of_v, j, x) += probability * kept * std::abs(d_o(b, head, i, x));
          }
          const double d_s = probability * (kept * d_p - delta);
          const double size = probability * (kept * size_of_d_p + size_of_delta);
          if (!p.bias.values.empty()) {
            const std::int64_t bias_b = p.bias.size[0] == 1 ? 0 : b;
            const std::int64_t bias_h = p.bias.size[1] == 1 ? 0 : head;
            g.d_bias(bias_b, bias_h, i, j) += d_s;
            g.size_bias(bias_b, bias_h, i, j) += size;
          }
          for (std::int64_t x = 0; x < p.q.size[3]; ++x) {
            const double by = p.factor() * slope;
            g.d_q(b, head, i, x) += by * d_s * p.k(b, of_k, j, x);
            g.d_k(b, of_k, j, x) += by * d_s * p.q(b, head, i, x);
            g.size_q(b, head, i, x) += size_of_by * size * std::abs(p.k(b, of_k, j, x));
            g.size_k(b, of_k, j, x) += size_of_by * size * std::abs(p.q(b, head, i, x));
          }
        }
      }
    }
  }
  return g;
}

}  // namespace troupe::conformance::attention_reference
