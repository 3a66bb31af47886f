#include "graph_reference.hpp"

#include "conformance/dnn/convolution_cases.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>

namespace troupe::conformance::graph_reference {
namespace {

using dnn::nodes::entry;
using dnn::nodes::kind;
using elementwise::opcode;

constexpr double too_large = 2e4;

std::int64_t count_of(const numbers& extents) {
  std::int64_t count = 1;
  for (const std::int64_t extent : extents)
    count *= extent;
  return count;
}

/// Calls `f(flat, index)` for each index in row-major order.
template <class F>
void for_each_index(const numbers& extents, F f) {
  numbers index(extents.size(), 0);
  const std::int64_t count = count_of(extents);
  for (std::int64_t flat = 0; flat < count; ++flat) {
    f(static_cast<std::size_t>(flat), std::as_const(index));
    for (std::size_t d = extents.size(); d-- > 0;) {
      if (++index[d] < extents[d]) break;
      index[d] = 0;
    }
  }
}

/// The element that an index of a tensor of more or larger dimensions is broadcast from.
std::size_t place(const numbers& extents, std::span<const std::int64_t> index) {
  std::int64_t flat = 0;
  const std::size_t missing = index.size() - extents.size();
  for (std::size_t d = 0; d < extents.size(); ++d)
    flat = flat * extents[d] + (extents[d] == 1 ? 0 : index[d + missing]);
  return static_cast<std::size_t>(flat);
}

numbers broadcast(const numbers& a, const numbers& b) {
  numbers made = a.size() < b.size() ? b : a;
  const numbers& other = a.size() < b.size() ? a : b;
  const std::size_t missing = made.size() - other.size();
  for (std::size_t d = 0; d < other.size(); ++d) {
    if (made[d + missing] == 1) made[d + missing] = other[d];
  }
  return made;
}

double applied(opcode op, double a, double b, double c) {
  switch (op) {
    case opcode::add:
      return a + b;
    case opcode::subtract:
      return a - b;
    case opcode::multiply:
      return a * b;
    case opcode::divide:
      return a / b;
    case opcode::negative:
      return -a;
    case opcode::absolute:
      return std::abs(a);
    case opcode::exp:
      return std::exp(a);
    case opcode::log:
      return std::log(a);
    case opcode::sqrt:
      return std::sqrt(a);
    case opcode::rsqrt:
      return 1 / std::sqrt(a);
    case opcode::tanh:
      return std::tanh(a);
    case opcode::erf:
      return std::erf(a);
    case opcode::sin:
      return std::sin(a);
    case opcode::minimum:
      return std::min(a, b);
    case opcode::maximum:
      return std::max(a, b);
    case opcode::less:
      return a < b ? 1 : 0;
    case opcode::select:
      return a != 0 ? b : c;
    default:
      ADD_FAILURE() << "the reference has no opcode " << static_cast<int>(op);
      return 0;
  }
}

class evaluation {
 public:
  evaluation(const dnn::computation& what, std::span<test_tensor* const> inputs, dtype intermediate)
      : what_(what), inputs_(inputs), intermediate_(intermediate) {}

  std::optional<std::vector<tensor_value>> run() {
    for (const entry& one : what_.entries()) {
      all_.push_back(computed(one));
      tensor_value& made = all_.back();
      // Computed values may go through memory.
      const bool kept = made.settled || made.constant || one.what == kind::transpose;
      for (uncertain& x : made.elements) {
        if (!(std::abs(x.value) < too_large)) return std::nullopt;
        if (!kept && !made.twice) round(x, intermediate_);
      }
    }
    std::vector<tensor_value> made;
    for (const std::uint16_t n : what_.results())
      made.push_back(all_[n]);
    return made;
  }

 private:
  [[nodiscard]] static double eps(const tensor_value& t) {
    return epsilon(t.twice ? dtype::f64 : dtype::f32);
  }
  static void round(uncertain& x, dtype type) {
    x.off += (std::abs(x.value) + x.off) * epsilon(type) + smallest(type);
  }

  /// Each element of the operands, which are broadcast; a function may be off by some roundings.
  tensor_value pointwise(std::span<const std::uint16_t> operands,
                         const std::function<double(const double*)>& f) {
    tensor_value made;
    made.constant = true;
    for (const std::uint16_t n : operands) {
      made.extents = broadcast(made.extents, all_[n].extents);
      made.constant = made.constant && all_[n].constant;
      made.twice = made.twice || (all_[n].twice && !all_[n].constant);
    }
    made.elements.resize(static_cast<std::size_t>(count_of(made.extents)));
    for_each_index(made.extents, [&](std::size_t flat, const numbers& index) {
      double at[3] = {};
      double off[3] = {};
      for (std::size_t k = 0; k < operands.size(); ++k) {
        const uncertain& x = all_[operands[k]].elements[place(all_[operands[k]].extents, index)];
        at[k] = x.value;
        off[k] = x.off;
      }
      uncertain& y = made.elements[flat];
      y.value = f(at);
      // As far as the function goes when its operands move.
      for (int corner = 0; corner < 1 << operands.size(); ++corner) {
        double moved[3] = {};
        for (std::size_t k = 0; k < operands.size(); ++k)
          moved[k] = at[k] + ((corner >> k & 1) != 0 ? off[k] : -off[k]);
        y.off = std::max(y.off, std::abs(f(moved) - y.value));
      }
      y.off = y.off * 1.5 + 16 * eps(made) * (std::abs(y.value) + most_of(at)) + 1e-30;
    });
    return made;
  }
  static double most_of(const double* at) {
    return std::min(1.0, std::max({std::abs(at[0]), std::abs(at[1]), std::abs(at[2])}));
  }

  tensor_value computed(const entry& one) {
    switch (one.what) {
      case kind::input:
        return input(static_cast<std::size_t>(one.numbers[0]));
      case kind::constant: {
        const double value =
            what_.constants()[static_cast<std::size_t>(one.numbers[0])].as<double>();
        return {.extents = {}, .elements = {{value, 0}}, .constant = true};
      }
      case kind::pointwise:
        return pointwise(one.operands, [&](const double* x) {
          return applied(static_cast<opcode>(one.detail), x[0], x[1], x[2]);
        });
      case kind::activation:
        return activated(one);
      case kind::cast:
        return rounded(one);
      case kind::matmul:
        return product(one);
      case kind::convolution:
        return convolution(one);
      case kind::reduction:
        return reduced(all_[one.operands[0]], axes(one),
                       static_cast<elementwise::reduction>(one.detail));
      case kind::layer_norm:
      case kind::rms_norm:
        return norm(one);
      case kind::transpose:
        return transposed(one);
    }
    return {};
  }

  tensor_value input(std::size_t i) const {
    const test_tensor& t = *inputs_[i];
    tensor_value made{.extents = {t.view.extents().begin(), t.view.extents().end()},
                      .elements = {},
                      .twice = t.view.type() == dtype::f64,
                      .settled = true,
                      .type = t.view.type()};
    for (const number& x : t.values)
      made.elements.push_back({x.real(), 0});
    return made;
  }

  tensor_value rounded(const entry& one) {
    tensor_value made = all_[one.operands[0]];
    made.type = static_cast<dtype>(one.detail);
    made.settled = true;
    made.constant = false;
    made.twice = made.type == dtype::f64;
    for (uncertain& x : made.elements)
      round(x, made.type);
    return made;
  }

  /// The type of both factors.
  [[nodiscard]] dtype factor_type(const tensor_value& a, const tensor_value& b) const {
    if (a.settled) return b.settled || !b.twice ? a.type : dtype::f64;
    if (b.settled) return b.type;
    return a.twice ? dtype::f64 : intermediate_;
  }
  /// A factor as it is multiplied.
  [[nodiscard]] static tensor_value factor(tensor_value t, dtype type) {
    if (t.settled && t.type == type) return t;
    for (uncertain& x : t.elements)
      round(x, type);
    return t;
  }

  tensor_value product(const entry& one) {
    const dtype type = factor_type(all_[one.operands[0]], all_[one.operands[1]]);
    const tensor_value a = factor(all_[one.operands[0]], type);
    const tensor_value b = factor(all_[one.operands[1]], type);
    tensor_value made{.twice = type == dtype::f64};
    const std::int64_t k = a.extents.back();
    made.extents = broadcast({a.extents.begin(), a.extents.end() - 2},
                             {b.extents.begin(), b.extents.end() - 2});
    made.extents.push_back(a.extents[a.extents.size() - 2]);
    made.extents.push_back(b.extents.back());
    made.elements.resize(static_cast<std::size_t>(count_of(made.extents)));
    for_each_index(made.extents, [&](std::size_t flat, const numbers& index) {
      numbers left(index);
      numbers right(index);
      for (std::int64_t i = 0; i < k; ++i) {
        left.back() = i;
        right[right.size() - 2] = i;
        add_product(made.elements[flat], element(a, left), element(b, right),
                    static_cast<double>(k + 8) * eps(made));
      }
      round(made.elements[flat], type);  // its sums may be rounded to that
    });
    return made;
  }
  static uncertain element(const tensor_value& t, const numbers& index) {
    return t.elements[place(t.extents, index)];
  }
  static void add_product(uncertain& sum, const uncertain& a, const uncertain& b, double unit) {
    sum.value += a.value * b.value;
    sum.off += std::abs(a.value) * b.off + std::abs(b.value) * a.off + a.off * b.off +
               std::abs(a.value * b.value) * unit;
  }

  tensor_value convolution(const entry& one) {
    const dtype type = factor_type(all_[one.operands[0]], all_[one.operands[1]]);
    const tensor_value x = factor(all_[one.operands[0]], type);
    const tensor_value w = factor(all_[one.operands[1]], type);
    const std::int64_t groups = one.numbers[0];
    std::vector<numbers> lists;
    std::size_t at = 1;
    for (int list = 0; list < 4; ++list) {
      const auto first = one.numbers.begin() + static_cast<std::ptrdiff_t>(at) + 1;
      lists.emplace_back(first, first + one.numbers[at]);
      at += 1 + lists.back().size();
    }
    if (lists[3].empty()) lists[3] = lists[2];
    const auto number = [&](std::size_t list, std::size_t d) {
      return convolution_case::number(lists[list], d, list < 2 ? 1 : 0);
    };
    tensor_value made{.extents = {x.extents[0], w.extents[0]}, .twice = type == dtype::f64};
    const std::size_t space = x.extents.size() - 2;
    numbers window(w.extents.begin() + 1, w.extents.end());
    for (std::size_t d = 0; d < space; ++d) {
      const std::int64_t room = x.extents[d + 2] + number(2, d) + number(3, d) -
                                number(1, d) * (w.extents[d + 2] - 1) - 1;
      made.extents.push_back(room / number(0, d) + 1);
    }
    made.elements.resize(static_cast<std::size_t>(count_of(made.extents)));
    const double unit = static_cast<double>(count_of(window) + 8) * eps(made);
    for_each_index(made.extents, [&](std::size_t flat, const numbers& index) {
      for_each_index(window, [&](std::size_t, const numbers& tap) {
        numbers from(x.extents.size());
        numbers weight(w.extents.size());
        const std::int64_t group = index[1] / (w.extents[0] / groups);
        from[0] = index[0];
        from[1] = group * w.extents[1] + tap[0];
        weight[0] = index[1];
        weight[1] = tap[0];
        for (std::size_t d = 0; d < space; ++d) {
          from[d + 2] = index[d + 2] * number(0, d) - number(2, d) + tap[d + 1] * number(1, d);
          weight[d + 2] = tap[d + 1];
          if (from[d + 2] < 0 || from[d + 2] >= x.extents[d + 2]) return;
        }
        add_product(made.elements[flat], element(x, from), element(w, weight), unit);
      });
      round(made.elements[flat], type);  // its sums may be rounded to that
    });
    return made;
  }

  [[nodiscard]] numbers axes(const entry& one) const {
    const auto rank = static_cast<std::int64_t>(all_[one.operands[0]].extents.size());
    numbers made;
    if (one.what == kind::reduction) {
      for (const std::int64_t axis : one.numbers)
        made.push_back(axis < 0 ? axis + rank : axis);
    } else {
      for (std::int64_t d = rank - one.numbers[0]; d < rank; ++d)
        made.push_back(d);
    }
    return made;
  }

  static tensor_value reduced(const tensor_value& x, const numbers& along,
                              elementwise::reduction how) {
    tensor_value made{.extents = x.extents, .twice = x.twice};
    std::int64_t row = 1;
    for (const std::int64_t d : along) {
      row *= x.extents[static_cast<std::size_t>(d)];
      made.extents[static_cast<std::size_t>(d)] = 1;
    }
    const bool sums = how == elementwise::reduction::sum || how == elementwise::reduction::mean;
    const bool least = how == elementwise::reduction::minimum;
    made.elements.resize(static_cast<std::size_t>(count_of(made.extents)), {sums    ? 0
                                                                            : least ? HUGE_VAL
                                                                                    : -HUGE_VAL,
                                                                            0});
    for_each_index(x.extents, [&](std::size_t flat, const numbers& index) {
      uncertain& y = made.elements[place(made.extents, index)];
      const uncertain& from = x.elements[flat];
      if (sums) {
        y.value += from.value;
        y.off += from.off + static_cast<double>(row + 8) * eps(x) * std::abs(from.value);
      } else {
        y.value = least ? std::min(y.value, from.value) : std::max(y.value, from.value);
        y.off = std::max(y.off, from.off);
      }
    });
    if (how == elementwise::reduction::mean) {
      for (uncertain& y : made.elements) {
        y.value /= static_cast<double>(row);
        y.off = y.off / static_cast<double>(row) + 4 * eps(x) * std::abs(y.value);
      }
    }
    return made;
  }

  /// Appends a value that is no node, for `pointwise`.
  std::uint16_t keep(tensor_value t) {
    all_.push_back(std::move(t));
    return static_cast<std::uint16_t>(all_.size() - 1);
  }

  tensor_value norm(const entry& one) {
    const std::size_t before = all_.size();
    const double eps_given = std::bit_cast<double>(one.numbers[1]);
    const numbers along = axes(one);
    std::uint16_t x = one.operands[0];
    if (one.what == kind::layer_norm) {
      const auto mean = keep(reduced(all_[x], along, elementwise::reduction::mean));
      x = keep(pointwise(std::array{x, mean}, [](const double* v) { return v[0] - v[1]; }));
    }
    const auto squares =
        keep(pointwise(std::array{x}, [](const double* v) { return v[0] * v[0]; }));
    const auto variance = keep(reduced(all_[squares], along, elementwise::reduction::mean));
    auto y = keep(pointwise(std::array{x, variance}, [&](const double* v) {
      return v[0] / std::sqrt(std::max(v[1], 0.0) + eps_given);
    }));
    if (one.operands.size() > 1)
      y = keep(
          pointwise(std::array{y, one.operands[1]}, [](const double* v) { return v[0] * v[1]; }));
    if (one.operands.size() > 2)
      y = keep(
          pointwise(std::array{y, one.operands[2]}, [](const double* v) { return v[0] + v[1]; }));
    tensor_value made = all_[y];
    made.constant = false;
    made.twice = false;
    for (const std::uint16_t n : one.operands)
      made.twice = made.twice || all_[n].twice;
    all_.resize(before);
    return made;
  }

  tensor_value activated(const entry& one) {
    const auto what = static_cast<dnn::activation>(one.detail);
    tensor_value made = pointwise(
        one.operands, [&](const double* x) { return reference_activation(what, x[0], 0, 0, 0); });
    if (what != dnn::activation::gelu_tanh) return made;
    // With half of the error of the tanh that cuBLASLt takes for short types, as in blaslt's tests.
    const dtype type = inputs_[0]->view.type();
    const double error = type == dtype::bf16 ? 0x1p-9 : type == dtype::f16 ? 0x1p-10 : 0;
    for (std::size_t i = 0; i < made.elements.size(); ++i)
      made.elements[i].off += error * std::abs(all_[one.operands[0]].elements[i].value);
    return made;
  }

  tensor_value transposed(const entry& one) {
    const tensor_value& x = all_[one.operands[0]];
    tensor_value made = x;
    for (std::size_t d = 0; d < one.numbers.size(); ++d)
      made.extents[d] = x.extents[static_cast<std::size_t>(one.numbers[d])];
    for_each_index(made.extents, [&](std::size_t flat, const numbers& index) {
      numbers from(index.size());
      for (std::size_t d = 0; d < index.size(); ++d)
        from[static_cast<std::size_t>(one.numbers[d])] = index[d];
      made.elements[flat] = x.elements[place(x.extents, from)];
    });
    return made;
  }

  const dnn::computation& what_;
  std::span<test_tensor* const> inputs_;
  dtype intermediate_;
  std::vector<tensor_value> all_;
};

dtype type_of(dnn::intermediate_type type) {
  return type == dnn::intermediate_type::f32   ? dtype::f32
         : type == dnn::intermediate_type::f16 ? dtype::f16
                                               : dtype::bf16;
}

}  // namespace

std::optional<std::vector<tensor_value>> run(const dnn::computation& what,
                                             std::span<test_tensor* const> inputs,
                                             dtype intermediate) {
  return evaluation(what, inputs, intermediate).run();
}

bool check(scene& s, const dnn::computation& what, const std::vector<test_tensor*>& inputs,
           const std::vector<test_tensor*>& outputs, dnn::graph options) {
  const auto expected = run(what, inputs, type_of(options.intermediate));
  if (!expected) return true;
  for (const test_tensor* const t : inputs)
    options.inputs.push_back(t->view);
  for (const test_tensor* const t : outputs)
    options.outputs.push_back(t->view);
  options.what = what;
  s.name(what.to_string());
  // Only cuDNN knows which convolutions it has.
  if (options.engine == dnn::graph_engine::plan ||
      s.note().find("convolution") != std::string::npos) {
    if (!s.run_if_offered(options)) return true;
  } else {
    (void)s.run(options);
  }
  if (testing::Test::HasFailure()) return false;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const auto now = s.elements_now(*outputs[o]);
    const dtype type = outputs[o]->view.type();
    for (std::size_t i = 0; i < now.size(); ++i) {
      const uncertain& wanted = (*expected)[o].elements[i];
      const double limit =
          2 * wanted.off + epsilon(type) * (std::abs(wanted.value) + wanted.off) + smallest(type);
      if (std::abs(now[i].real() - wanted.value) <= limit) continue;
      ADD_FAILURE() << "element " << i << " of output " << o << ", " << to_string(type) << ", is "
                    << now[i].real() << ", expected " << wanted.value << ", limit " << limit
                    << s.note();
      return false;
    }
  }
  return true;
}

test_tensor& drawn_tensor(scene& s, dtype type, const numbers& extents) {
  numbers strides(extents.size());
  const auto drawn = s.generator()() % 4;
  std::vector<std::size_t> order(extents.size());
  for (std::size_t d = 0; d < order.size(); ++d)
    order[d] = d;
  if (drawn == 1 && extents.size() > 1) std::swap(order[order.size() - 1], order[order.size() - 2]);
  std::int64_t step = drawn == 2 ? 2 : 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = step;
    step *= extents[order[i]];
    if (drawn == 3) step += 3;
  }
  return s.tensor(type, extents, strides);
}

}  // namespace troupe::conformance::graph_reference
