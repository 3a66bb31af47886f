#include "rnn_reference.hpp"

#include "conformance/dnn/attention/attention_reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace troupe::conformance::rnn_reference {
namespace {

/// Numbers and what they were computed from.
class record {
 public:
  struct number {
    std::size_t at = 0;
  };

  number add(double value) { return add(value, {}, 0, {}, 0); }
  number sum(number a, number b) { return add((*this)[a] + (*this)[b], a, 1, b, 1); }
  number product(number a, number b) {
    return add((*this)[a] * (*this)[b], a, (*this)[b], b, (*this)[a]);
  }
  number scaled(number a, double factor) { return add((*this)[a] * factor, a, factor, {}, 0); }
  number complement(number a) { return add(1 - (*this)[a], a, -1, {}, 0); }
  number sigmoid(number a) {
    const double s = 1 / (1 + std::exp(-(*this)[a]));
    return add(s, a, s * (1 - s), {}, 0);
  }
  number tanh(number a) {
    const double t = std::tanh((*this)[a]);
    return add(t, a, 1 - t * t, {}, 0);
  }
  number relu(number a) {
    const bool passes = (*this)[a] > 0;
    return add(passes ? (*this)[a] : 0, a, passes ? 1 : 0, {}, 0);
  }
  double operator[](number n) const { return steps_[n.at].value; }

  /// The gradient of each number, given those of the results.
  std::vector<double> backward(std::vector<double> gradient) const {
    gradient.resize(steps_.size());
    for (std::size_t i = steps_.size(); i-- > 0;) {
      gradient[steps_[i].a.at] += gradient[i] * steps_[i].by_a;
      gradient[steps_[i].b.at] += gradient[i] * steps_[i].by_b;
    }
    return gradient;
  }
  [[nodiscard]] std::size_t size() const { return steps_.size(); }

 private:
  struct step {
    double value;
    number a;
    double by_a;
    number b;
    double by_b;
  };
  number add(double value, number a, double by_a, number b, double by_b) {
    steps_.push_back({value, a, by_a, b, by_b});
    return {steps_.size() - 1};
  }
  std::vector<step> steps_;
};

using number = record::number;
using numbers = std::vector<number>;

class network {
 public:
  explicit network(const problem& p) : p_(p) {
    zero_ = of_.add(0);
    const auto given = [&](const std::vector<double>& from, std::int64_t count) {
      numbers all;
      for (std::int64_t i = 0; i < count; ++i)
        all.push_back(of_.add(from.empty() ? 0 : from[static_cast<std::size_t>(i)]));
      return all;
    };
    x = given(p.x, p.steps * p.batch * p.input);
    weights = given(p.weights, static_cast<std::int64_t>(p.weights.size()));
    h_0 = given(p.h_0, p.states() * p.batch * p.output());
    c_0 = given(p.c_0, p.states() * p.batch * p.network.hidden);
    h_n = h_0;
    c_n = c_0;
    y.assign(static_cast<std::size_t>(p.steps * p.batch * width()), zero_);
    for (std::int64_t n = 0; n < p.batch; ++n)
      run_sequence(n);
  }

  [[nodiscard]] std::vector<double> values(const numbers& of) const {
    std::vector<double> all;
    for (const number n : of)
      all.push_back(of_[n]);
    return all;
  }
  [[nodiscard]] gradients backward(const answer& by) const {
    std::vector<double> all(of_.size());
    const auto add = [&](const numbers& to, const std::vector<double>& from) {
      for (std::size_t i = 0; i < from.size(); ++i)
        all[to[i].at] += from[i];
    };
    add(y, by.y);
    add(h_n, by.h_n);
    add(c_n, by.c_n);
    all[zero_.at] = 0;
    all = of_.backward(std::move(all));
    const auto get = [&](const numbers& from) {
      std::vector<double> some;
      for (const number n : from)
        some.push_back(all[n.at]);
      return some;
    };
    return {.x = get(x), .weights = get(weights), .h_0 = get(h_0), .c_0 = get(c_0)};
  }

  numbers x, weights, h_0, c_0, y, h_n, c_n;
  double nearest_kink = std::numeric_limits<double>::max();

 private:
  [[nodiscard]] std::int64_t width() const { return p_.directions() * p_.output(); }
  static number& at(numbers& all, std::int64_t i) { return all[static_cast<std::size_t>(i)]; }

  void run_sequence(std::int64_t n) {
    const std::int64_t length = p_.lengths[static_cast<std::size_t>(n)];
    std::vector<numbers> rows;
    for (std::int64_t t = 0; t < length; ++t) {
      const auto first = x.begin() + (t * p_.batch + n) * p_.input;
      rows.emplace_back(first, first + p_.input);
    }
    for (std::int64_t layer = 0; layer < p_.network.layers; ++layer) {
      if (layer > 0 && p_.training) drop(layer - 1, n, rows);
      std::vector<numbers> results(rows.size());
      for (std::int64_t k = 0; k < p_.directions(); ++k)
        run_direction(layer, k, n, rows, results);
      rows = results;
    }
    for (std::int64_t t = 0; t < length; ++t) {
      for (std::int64_t j = 0; j < width(); ++j)
        at(y, (t * p_.batch + n) * width() + j) =
            rows[static_cast<std::size_t>(t)][static_cast<std::size_t>(j)];
    }
  }

  void drop(std::int64_t layer, std::int64_t n, std::vector<numbers>& rows) {
    if (p_.network.dropout == 0) return;
    for (std::size_t t = 0; t < rows.size(); ++t) {
      for (std::int64_t j = 0; j < width(); ++j) {
        const std::int64_t row = (layer * p_.steps + static_cast<std::int64_t>(t)) * p_.batch + n;
        const auto word = static_cast<std::uint64_t>(p_.network.offset + row * width() + j);
        const auto drawn = attention_reference::philox_word(p_.network.seed, word);
        const bool kept = static_cast<double>(drawn) >= p_.network.dropout * 4294967296.0;
        number& one = at(rows[t], j);
        one = of_.scaled(one, kept ? 1 / (1 - p_.network.dropout) : 0);
      }
    }
  }

  /// The first weight of a tensor, by the documented order.
  [[nodiscard]] std::int64_t place(std::int64_t layer, std::int64_t k, dnn::rnn_role role) const {
    std::int64_t rows = p_.network.hidden;
    if (p_.network.cell == dnn::rnn_cell::lstm) rows *= 4;
    if (p_.network.cell == dnn::rnn_cell::gru) rows *= 3;
    std::int64_t at = 0;
    for (const bool biases : {false, true}) {
      for (std::int64_t l = 0; l < p_.network.layers; ++l) {
        for (std::int64_t d = 0; d < p_.directions(); ++d) {
          using enum dnn::rnn_role;
          const auto here = [&](dnn::rnn_role one, std::int64_t count) {
            if (l == layer && d == k && one == role) return true;
            at += count;
            return false;
          };
          if (biases) {
            if (here(input_bias, rows) || here(hidden_bias, rows)) return at;
            continue;
          }
          if (here(input_weight, rows * (l == 0 ? p_.input : width()))) return at;
          if (here(hidden_weight, rows * p_.output())) return at;
          if (p_.network.projection != 0 &&
              here(projection_weight, p_.output() * p_.network.hidden))
            return at;
        }
      }
    }
    return at;
  }
  number dot(std::int64_t first, std::int64_t row, const numbers& v) {
    number total = zero_;
    for (std::size_t i = 0; i < v.size(); ++i) {
      const number w = at(weights, first + row * static_cast<std::int64_t>(v.size()) +
                                       static_cast<std::int64_t>(i));
      total = of_.sum(total, of_.product(w, v[i]));
    }
    return total;
  }

  void run_direction(std::int64_t layer, std::int64_t k, std::int64_t n,
                     const std::vector<numbers>& rows, std::vector<numbers>& results) {
    using enum dnn::rnn_role;
    const std::int64_t hidden = p_.network.hidden;
    const std::int64_t state = (layer * p_.directions() + k) * p_.batch + n;
    const std::int64_t w_x = place(layer, k, input_weight);
    const std::int64_t w_h = place(layer, k, hidden_weight);
    const std::int64_t w_p = place(layer, k, projection_weight);
    const std::int64_t b_x = place(layer, k, input_bias);
    const std::int64_t b_h = place(layer, k, hidden_bias);
    const auto part = [](const numbers& all, std::int64_t row, std::int64_t count) {
      return numbers(all.begin() + row * count, all.begin() + (row + 1) * count);
    };
    numbers h = part(h_0, state, p_.output());
    numbers c = part(c_0, state, hidden);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t t = k == 0 ? i : rows.size() - 1 - i;
      const auto of_x = [&](std::int64_t row) {
        return of_.sum(dot(w_x, row, rows[t]), at(weights, b_x + row));
      };
      const auto of_h = [&](std::int64_t row) {
        return of_.sum(dot(w_h, row, h), at(weights, b_h + row));
      };
      const auto sum = [&](std::int64_t gate, std::int64_t j) {
        return of_.sum(of_x(gate * hidden + j), of_h(gate * hidden + j));
      };
      numbers reset;  // r · h of gru
      for (std::int64_t j = 0; j < hidden && !p_.network.linear_before_reset; ++j)
        reset.push_back(of_.product(of_.sigmoid(sum(0, j)), at(h, j)));
      numbers next;
      for (std::int64_t j = 0; j < hidden; ++j) {
        switch (p_.network.cell) {
          case dnn::rnn_cell::relu:
            next.push_back(sum(0, j));
            nearest_kink = std::min(nearest_kink, std::abs(of_[next.back()]));
            next.back() = of_.relu(next.back());
            break;
          case dnn::rnn_cell::tanh:
            next.push_back(of_.tanh(sum(0, j)));
            break;
          case dnn::rnn_cell::lstm: {
            const number kept = of_.product(of_.sigmoid(sum(1, j)), at(c, j));
            const number fresh = of_.product(of_.sigmoid(sum(0, j)), of_.tanh(sum(2, j)));
            at(c, j) = of_.sum(kept, fresh);
            next.push_back(of_.product(of_.sigmoid(sum(3, j)), of_.tanh(at(c, j))));
            break;
          }
          case dnn::rnn_cell::gru: {
            const number z = of_.sigmoid(sum(1, j));
            const std::int64_t row = 2 * hidden + j;
            const number of_state = p_.network.linear_before_reset
                                        ? of_.product(of_.sigmoid(sum(0, j)), of_h(row))
                                        : of_.sum(dot(w_h, row, reset), at(weights, b_h + row));
            const number fresh = of_.tanh(of_.sum(of_x(row), of_state));
            next.push_back(
                of_.sum(of_.product(of_.complement(z), fresh), of_.product(z, at(h, j))));
            break;
          }
        }
      }
      h = next;
      if (p_.network.projection != 0) {
        h.clear();
        for (std::int64_t j = 0; j < p_.output(); ++j)
          h.push_back(dot(w_p, j, next));
      }
      results[t].insert(results[t].end(), h.begin(), h.end());
    }
    std::copy(h.begin(), h.end(), h_n.begin() + state * p_.output());
    std::copy(c.begin(), c.end(), c_n.begin() + state * hidden);
  }

  const problem& p_;
  record of_;
  number zero_;
};

}  // namespace

answer run(const problem& p) {
  const network all(p);
  return {.y = all.values(all.y),
          .h_n = all.values(all.h_n),
          .c_n = all.values(all.c_n),
          .nearest_kink = all.nearest_kink};
}

gradients differentiate(const problem& p, const answer& by) { return network(p).backward(by); }

}  // namespace troupe::conformance::rnn_reference
