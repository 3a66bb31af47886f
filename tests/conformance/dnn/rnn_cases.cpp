#include "rnn_cases.hpp"

#include "conformance/coverage.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

namespace troupe::conformance {
namespace {

constexpr double not_used = std::numeric_limits<double>::quiet_NaN();

any_tensor view_or_none(const test_tensor* t) { return t == nullptr ? any_tensor() : t->view; }

}  // namespace

std::string rnn_case::text() const {
  constexpr const char* cells[] = {"relu", "tanh", "lstm", "gru"};
  std::ostringstream t;
  t << cells[static_cast<int>(network.cell)] << ' ' << to_string(type) << " t " << steps << " b "
    << batch << " i " << input << " hidden " << network.hidden << " layers " << network.layers
    << (network.bidirectional ? " bidirectional" : "") << " projection " << network.projection
    << " dropout " << network.dropout << (network.linear_before_reset ? "" : " reset before linear")
    << (batch_first ? " batch first" : "") << (lengths ? " lengths" : "")
    << (states ? " states" : "");
  return t.str();
}

rnn_case rnn_case::random(dtype type, std::mt19937_64& from) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(from() % n); };
  rnn_case c{.type = type};
  c.network.cell = static_cast<dnn::rnn_cell>(below(4));
  if (c.network.cell == dnn::rnn_cell::gru) c.network.linear_before_reset = below(2) == 0;
  c.network.hidden = 1 + below(9);
  c.network.layers = 1 + below(3);
  c.network.bidirectional = below(2) == 0;
  if (c.network.cell == dnn::rnn_cell::lstm && c.network.hidden > 1 && below(3) == 0)
    c.network.projection = 1 + below(static_cast<std::uint64_t>(c.network.hidden - 1));
  if (below(3) == 0) {
    c.network.dropout = 0.5;
    c.network.seed = from();
    c.network.offset = below(100);
  }
  c.steps = 1 + below(6);
  c.batch = 1 + below(4);
  c.input = 1 + below(9);
  c.batch_first = below(2) == 0;
  c.lengths = below(2) == 0;
  c.states = below(2) == 0;
  return c;
}

rnn_stage::rnn_stage(const rnn_case& c) : c_(c), random_(test_seed()) {
  problem_ = {.network = c.network, .steps = c.steps, .batch = c.batch, .input = c.input};
  problem_.lengths.assign(static_cast<std::size_t>(c.batch), c.steps);
  if (c.lengths) {
    for (std::size_t n = 0; n < problem_.lengths.size(); ++n) {
      const auto drawn =
          static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(c.steps + 1));
      problem_.lengths[n] = n == 0 ? drawn : n == 1 ? 0 : n == 2 ? c.steps : drawn;
    }
    given_lengths_ = problem_.lengths;
  }
  // If rounding decides whether a relu passes, the gradient is not unique. Measured: the rounding
  // of a GPU in f16 was decisive for 4e-6.
  do {
    draw();
  } while (c.network.cell == dnn::rnn_cell::relu &&
           rnn_reference::run(problem_).nearest_kink < epsilon(c.type) / 10);
}

void rnn_stage::draw() {
  problem_.x = random_values(c_.steps * c_.batch * c_.input, 1);
  problem_.weights = random_values(dnn::rnn_weight_count(c_.network, c_.input),
                                   1 / std::sqrt(static_cast<double>(c_.network.hidden)));
  if (!c_.states) return;
  problem_.h_0 = random_values(problem_.states() * c_.batch * problem_.output(), 1);
  if (lstm()) problem_.c_0 = random_values(problem_.states() * c_.batch * c_.network.hidden, 1);
}

rnn_stage::values rnn_stage::random_values(std::int64_t count, double size) {
  std::uniform_real_distribution<double> any(-size, size);
  values all(static_cast<std::size_t>(count));
  for (double& one : all) {
    // As it is stored.
    std::array<std::byte, sizeof(double)> stored{};
    store(c_.type, stored.data(), any(random_));
    one = load(c_.type, stored.data()).real();
  }
  return all;
}

test_tensor& rnn_stage::filled(scene& s, test_tensor& t, const values& content) {
  s.fill(t, std::vector<number>(content.begin(), content.end()));
  return t;
}

test_tensor& rnn_stage::sequence(scene& s, std::int64_t width, const values* content) {
  const std::int64_t row = std::max<std::int64_t>(width, 1);
  test_tensor& t = s.tensor(c_.type, {c_.steps, c_.batch, width},
                            c_.batch_first ? scene::extents{row, c_.steps * row, 1}
                                           : scene::extents{c_.batch * row, row, 1});
  if (content == nullptr) return t;
  values with_ends = *content;
  for (std::int64_t step = 0; step < c_.steps; ++step) {
    for (std::int64_t n = 0; n < c_.batch; ++n) {
      if (step < problem_.lengths[static_cast<std::size_t>(n)]) continue;
      const auto first = with_ends.begin() + (step * c_.batch + n) * width;
      std::fill(first, first + width, not_used);
    }
  }
  return filled(s, t, with_ends);
}

test_tensor* rnn_stage::states(scene& s, std::int64_t width, const values* content, bool wanted) {
  if (!wanted) return nullptr;
  test_tensor& t =
      s.tensor(c_.type, {problem_.states(), c_.batch, width}, {c_.batch * width, width, 1});
  if (content != nullptr) filled(s, t, *content);
  return &t;
}

std::int64_t rnn_stage::reserve_bytes() const {
  scene s;
  s.name(c_.text());
  const auto counts = s.run(dnn::rnn_sizes{.network = c_.network,
                                           .type = c_.type,
                                           .steps = c_.steps,
                                           .batch = c_.batch,
                                           .input = c_.input});
  EXPECT_EQ(counts.weights, static_cast<std::int64_t>(problem_.weights.size())) << s.note();
  cover("dnn.rnn_sizes", c_.type);
  cover_layout("dnn.rnn_sizes", true);
  return counts.reserve;
}

void rnn_stage::expect(scene& s, const test_tensor& t, const values& expected, std::int64_t depth) {
  // An error of one step is one of all that follow; sums of `depth` terms have no more than the
  // largest of the results. A GPU rounds each step to the type.
  double most = 1;
  for (const double one : expected)
    most = std::max(most, std::abs(one));
  const bool rounds = s.as_on_gpu() || c_.type == dtype::f64;
  const auto now = s.elements_now(t);
  ASSERT_EQ(now.size(), expected.size()) << s.note();
  const std::int64_t terms = 4 * c_.network.layers * c_.steps +
                             (rounds && c_.type != dtype::f64 && c_.type != dtype::f32 ? 0 : depth);
  for (std::size_t i = 0; i < now.size(); ++i) {
    s.expect_near(c_.type, now[i], expected[i], most, terms, rounds ? c_.type : dtype::f32,
                  t.view.to_string() + " element " + std::to_string(i));
    if (testing::Test::HasFailure()) return;
  }
}

bool rnn_stage::check_forward(bool training) {
  const std::int64_t bytes = training ? reserve_bytes() : 0;  // one scene at a time
  scene s;
  s.name(c_.text() + (training ? " training" : " inference"));
  problem_.training = training;
  const rnn_reference::answer expected = rnn_reference::run(problem_);
  const std::int64_t hidden = c_.network.hidden;
  const auto& x = sequence(s, c_.input, &problem_.x);
  const auto& weights = filled(
      s, s.vector(c_.type, static_cast<std::int64_t>(problem_.weights.size())), problem_.weights);
  const auto* h_0 = states(s, problem_.output(), &problem_.h_0, c_.states);
  const auto* c_0 = states(s, hidden, &problem_.c_0, c_.states && lstm());
  const auto& y = sequence(s, width(), nullptr);
  const auto* h_n = states(s, problem_.output(), nullptr, c_.states);
  const auto* c_n = states(s, hidden, nullptr, c_.states && lstm());
  const test_tensor* reserve = training ? &s.vector(dtype::u8, bytes) : nullptr;
  if (!s.run_if_offered(dnn::rnn_forward{.x = x.view,
                                         .weights = weights.view,
                                         .h_0 = view_or_none(h_0),
                                         .c_0 = view_or_none(c_0),
                                         .y = y.view,
                                         .h_n = view_or_none(h_n),
                                         .c_n = view_or_none(c_n),
                                         .reserve = view_or_none(reserve),
                                         .network = c_.network,
                                         .lengths = given_lengths_})) {
    return false;
  }
  const std::int64_t depth = c_.input + 2 * hidden + width();
  expect(s, y, expected.y, depth);
  if (h_n != nullptr) expect(s, *h_n, expected.h_n, depth);
  if (c_n != nullptr) expect(s, *c_n, expected.c_n, depth);
  y_.clear();
  for (const number one : s.elements_now(y))
    y_.push_back(one.real());
  if (reserve != nullptr) reserve_ = s.elements_now(*reserve);
  return true;
}

void rnn_stage::check_backward(bool accumulate) {
  const std::int64_t hidden = c_.network.hidden;
  const std::int64_t depth = 4 * (c_.input + 2 * hidden + width() + c_.steps * c_.batch);
  rnn_reference::answer by;
  by.y = random_values(c_.steps * c_.batch * width(), 1);
  if (c_.states) {
    by.h_n = random_values(problem_.states() * c_.batch * problem_.output(), 1);
    if (lstm()) by.c_n = random_values(problem_.states() * c_.batch * hidden, 1);
  }
  const rnn_reference::gradients expected = rnn_reference::differentiate(problem_, by);
  {
    scene s;
    s.name(c_.text() + " backward data");
    const auto& weights = filled(
        s, s.vector(c_.type, static_cast<std::int64_t>(problem_.weights.size())), problem_.weights);
    const auto* h_0 = states(s, problem_.output(), &problem_.h_0, c_.states);
    const auto* c_0 = states(s, hidden, &problem_.c_0, c_.states && lstm());
    const auto& y = filled(s, sequence(s, width(), nullptr), y_);
    const auto& dy = sequence(s, width(), &by.y);
    const auto* dh_n = states(s, problem_.output(), &by.h_n, c_.states);
    const auto* dc_n = states(s, hidden, &by.c_n, c_.states && lstm());
    const auto& dx = sequence(s, c_.input, nullptr);
    const auto* dh_0 = states(s, problem_.output(), nullptr, c_.states);
    const auto* dc_0 = states(s, hidden, nullptr, c_.states && lstm());
    auto& reserve = s.vector(dtype::u8, static_cast<std::int64_t>(reserve_.size()));
    s.fill(reserve, reserve_);
    s.run(dnn::rnn_backward_data{.weights = weights.view,
                                 .h_0 = view_or_none(h_0),
                                 .c_0 = view_or_none(c_0),
                                 .y = y.view,
                                 .dy = dy.view,
                                 .dh_n = view_or_none(dh_n),
                                 .dc_n = view_or_none(dc_n),
                                 .dx = dx.view,
                                 .dh_0 = view_or_none(dh_0),
                                 .dc_0 = view_or_none(dc_0),
                                 .reserve = reserve.view,
                                 .network = c_.network,
                                 .lengths = given_lengths_});
    if (testing::Test::HasFailure()) return;
    expect(s, dx, expected.x, depth);
    if (dh_0 != nullptr) expect(s, *dh_0, expected.h_0, depth);
    if (dc_0 != nullptr) expect(s, *dc_0, expected.c_0, depth);
    reserve_ = s.elements_now(reserve);
  }
  scene s;
  s.name(c_.text() + " backward weights");
  const auto& x = sequence(s, c_.input, &problem_.x);
  const auto* h_0 = states(s, problem_.output(), &problem_.h_0, c_.states);
  const auto& y = filled(s, sequence(s, width(), nullptr), y_);
  auto& reserve = s.vector(dtype::u8, static_cast<std::int64_t>(reserve_.size()));
  s.fill(reserve, reserve_);
  auto& dweights = s.vector(c_.type, static_cast<std::int64_t>(problem_.weights.size()));
  values sums = expected.weights;
  if (accumulate) {
    const values before = random_values(static_cast<std::int64_t>(sums.size()), 1);
    filled(s, dweights, before);
    std::ranges::transform(sums, before, sums.begin(), std::plus<>());
  }
  s.run(dnn::rnn_backward_weights{.x = x.view,
                                  .h_0 = view_or_none(h_0),
                                  .y = y.view,
                                  .reserve = reserve.view,
                                  .dweights = dweights.view,
                                  .network = c_.network,
                                  .lengths = given_lengths_,
                                  .accumulate = accumulate});
  if (testing::Test::HasFailure()) return;
  expect(s, dweights, sums, depth);
}

void rnn_stage::check_repeated(int times) {
  const std::int64_t bytes = reserve_bytes();
  scene s;
  s.name(c_.text() + " repeated");
  s.keep_layouts();
  auto& x = sequence(s, c_.input, nullptr);
  auto& weights = s.vector(c_.type, static_cast<std::int64_t>(problem_.weights.size()));
  auto& y = sequence(s, width(), nullptr);
  auto& dy = sequence(s, width(), nullptr);
  auto& dx = sequence(s, c_.input, nullptr);
  auto& dweights = s.vector(c_.type, weights.view.extent(0));
  auto& reserve = s.vector(dtype::u8, bytes);
  problem_.training = true;
  problem_.h_0.clear();
  problem_.c_0.clear();
  const std::int64_t depth = 4 * (c_.input + 2 * c_.network.hidden + c_.steps * c_.batch);
  for (int i = 0; i < times && !testing::Test::HasFailure(); ++i) {
    problem_.x = random_values(c_.steps * c_.batch * c_.input, 1);
    const rnn_reference::answer expected = rnn_reference::run(problem_);
    rnn_reference::answer by;
    by.y = random_values(c_.steps * c_.batch * width(), 1);
    const rnn_reference::gradients gradients = rnn_reference::differentiate(problem_, by);
    filled(s, x, problem_.x);
    filled(s, weights, problem_.weights);
    filled(s, dy, by.y);
    const auto keep = [&](test_tensor& t) { s.fill(t, s.elements_now(t)); };
    s.run(dnn::rnn_forward{.x = x.view,
                           .weights = weights.view,
                           .y = y.view,
                           .reserve = reserve.view,
                           .network = c_.network,
                           .lengths = given_lengths_});
    expect(s, y, expected.y, depth);
    keep(y);
    keep(reserve);
    s.run(dnn::rnn_backward_data{.weights = weights.view,
                                 .y = y.view,
                                 .dy = dy.view,
                                 .dx = dx.view,
                                 .reserve = reserve.view,
                                 .network = c_.network,
                                 .lengths = given_lengths_});
    expect(s, dx, gradients.x, depth);
    keep(reserve);
    s.run(dnn::rnn_backward_weights{.x = x.view,
                                    .y = y.view,
                                    .reserve = reserve.view,
                                    .dweights = dweights.view,
                                    .network = c_.network,
                                    .lengths = given_lengths_});
    expect(s, dweights, gradients.weights, depth);
  }
}

}  // namespace troupe::conformance
