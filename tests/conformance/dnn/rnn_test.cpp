#include "rnn_cases.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace troupe::conformance {
namespace {

using dnn::rnn_cell;

constexpr dtype rnn_types[] = {dtype::f64, dtype::f32, dtype::f16, dtype::bf16};
struct cell_kind {
  rnn_cell cell{};
  bool linear_before_reset = true;

  [[nodiscard]] dnn::rnn_network with(dnn::rnn_network n) const {
    n.cell = cell;
    n.linear_before_reset = linear_before_reset;
    return n;
  }
};
constexpr cell_kind cells[] = {
    {rnn_cell::relu}, {rnn_cell::tanh}, {rnn_cell::lstm}, {rnn_cell::gru}, {rnn_cell::gru, false}};

void check(const rnn_case& c, bool accumulate = false) {
  rnn_stage stage(c);
  if (!stage.check_forward(false) || testing::Test::HasFailure()) return;
  if (!stage.check_forward(true) || testing::Test::HasFailure()) return;
  stage.check_backward(accumulate);
}

// The reference for the gradients of all other tests.
TEST(DnnRnnReference, HasTheGradientsThatDifferencesShow) {
  for (const cell_kind& kind : cells) {
    for (const std::int64_t projection : {0, 2}) {
      if (projection != 0 && kind.cell != rnn_cell::lstm) continue;
      rnn_case c{.type = dtype::f64, .steps = 3, .batch = 3, .input = 2, .lengths = true};
      c.network = kind.with({.hidden = 3,
                             .layers = 2,
                             .bidirectional = true,
                             .projection = projection,
                             .dropout = 0.25,
                             .seed = 5});
      rnn_stage stage(c);
      rnn_reference::problem p = stage.problem();
      p.training = true;
      const rnn_reference::answer results = rnn_reference::run(p);
      rnn_reference::answer by = results;  // any weights of a sum
      for (auto* some : {&by.y, &by.h_n, &by.c_n}) {
        for (std::size_t i = 0; i < some->size(); ++i)
          (*some)[i] = std::sin(static_cast<double>(i + 1));
      }
      const rnn_reference::gradients g = rnn_reference::differentiate(p, by);
      const auto total = [&] {
        const rnn_reference::answer now = rnn_reference::run(p);
        double sum = 0;
        for (const auto& [a, b] : {std::pair(&now.y, &by.y), std::pair(&now.h_n, &by.h_n),
                                   std::pair(&now.c_n, &by.c_n)}) {
          for (std::size_t i = 0; i < a->size(); ++i)
            sum += (*a)[i] * (*b)[i];
        }
        return sum;
      };
      const auto compare = [&](std::vector<double>& of, const std::vector<double>& gradient) {
        constexpr double step = 1e-6;
        for (std::size_t i = 0; i < of.size(); i += 3) {
          const double before = of[i];
          of[i] = before + step;
          const double up = total();
          of[i] = before - step;
          const double down = total();
          of[i] = before;
          ASSERT_NEAR((up - down) / (2 * step), gradient[i], 1e-7) << c.text() << " " << i;
        }
      };
      compare(p.x, g.x);
      compare(p.weights, g.weights);
      compare(p.h_0, g.h_0);
      compare(p.c_0, g.c_0);
    }
  }
}

TEST(DnnRnn, IsTheDefinitionForEveryCellTypeAndLayout) {
  for (const dtype type : rnn_types) {
    for (const cell_kind& kind : cells) {
      for (const bool batch_first : {false, true}) {
        for (const bool lengths : {false, true}) {
          check({.type = type,
                 .network = kind.with({.hidden = 5}),
                 .batch_first = batch_first,
                 .lengths = lengths});
        }
      }
    }
  }
}

TEST(DnnRnn, IsTheDefinitionForLayersDirectionsAndProjections) {
  for (const dtype type : rnn_types) {
    for (const cell_kind& kind : cells) {
      for (const std::int64_t layers : {1, 2, 3}) {
        for (const bool bidirectional : {false, true}) {
          for (const std::int64_t projection : {0, 3}) {
            if (projection != 0 && kind.cell != rnn_cell::lstm) continue;
            check({.type = type,
                   .network = kind.with({.hidden = 7,
                                         .layers = layers,
                                         .bidirectional = bidirectional,
                                         .projection = projection}),
                   .lengths = layers == 2},
                  layers == 3);
          }
        }
      }
    }
  }
}

TEST(DnnRnn, DropsBetweenLayersWhatTheStreamSays) {
  for (const dtype type : rnn_types) {
    for (const bool batch_first : {false, true}) {
      for (const std::int64_t layers : {1, 2, 3}) {
        check({.type = type,
               .network = {.cell = rnn_cell::gru,
                           .hidden = 5,
                           .layers = layers,
                           .bidirectional = layers == 3,
                           .dropout = 0.4,
                           .seed = 77,
                           .offset = 3,
                           .linear_before_reset = layers != 2},
               .batch_first = batch_first,
               .lengths = layers == 2});
      }
    }
  }
}

TEST(DnnRnn, IsTheDefinitionForOneOfEverything) {
  for (const cell_kind& kind : cells)
    check({.network = kind.with({.hidden = 1}), .steps = 1, .batch = 1, .input = 1});
}

TEST(DnnRnn, IsTheDefinitionForLargerSizes) {
  for (const cell_kind& kind : cells) {
    check({.network = kind.with({.hidden = 33, .layers = 2}),
           .steps = 9,
           .batch = 5,
           .input = 17,
           .lengths = true});
  }
}

// A GPU has another algorithm for small networks and few sequences. The CPU has one for all, which
// one width covers.
TEST(DnnRnn, IsTheDefinitionOnBothSidesOfWhatIsSmall) {
  const auto widths = scene().on_gpu() ? std::vector<std::int64_t>{128, 136, 256, 264}
                                       : std::vector<std::int64_t>{136};
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16}) {
    for (const cell_kind& kind : cells) {
      if (!kind.linear_before_reset) continue;  // has one algorithm there, too
      for (const std::int64_t hidden : widths) {
        check({.type = type,
               .network = kind.with({.hidden = hidden}),
               .steps = 3,
               .batch = 2,
               .input = 8});
      }
      check({.type = type,
             .network = kind.with({.hidden = 12, .layers = 2, .bidirectional = true}),
             .batch = 40,
             .lengths = true});
    }
  }
}

TEST(DnnRnn, IsTheDefinitionForRandomCases) {
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < 100 && !testing::Test::HasFailure(); ++i) {
    const dtype type = rnn_types[random() % std::size(rnn_types)];
    check(rnn_case::random(type, random), random() % 2 == 0);
  }
}

// A GPU records what comes again with the same memory; the content is another one each time.
TEST(DnnRnn, IsTheDefinitionEachTimeThatItComesWithTheSameMemory) {
  for (const dtype type : {dtype::f32, dtype::f16}) {
    for (const std::int64_t projection : {0, 3}) {
      rnn_stage({.type = type,
                 .network = {.hidden = 9, .layers = 2, .projection = projection},
                 .batch = 3,
                 .lengths = true})
          .check_repeated(5);
    }
  }
}

// More of them than a lane remembers, so that one is to be forgotten whose graph still runs.
TEST(DnnRnn, ComesInSoManyFormsThatSomeAreForgottenWhileTheyRun) {
  constexpr std::int64_t steps = 60, batch = 4, width = 32;
  constexpr int forms = 40;
  troupe::system system;
  device gpu = system.device(0);
  dnn::rnn_network network{.hidden = width, .layers = 2, .dropout = 0.25};
  const auto sizes =
      gpu.ask(dnn::rnn_sizes{.network = network, .steps = steps, .batch = batch, .input = width})
          .get();
  const auto zeros = [&](std::initializer_list<std::int64_t> size) {
    return gpu.tensor<float>(size, initial::zero).value();
  };
  const auto x = zeros({steps, batch, width});
  const auto y = zeros({steps, batch, width});
  const auto weights = zeros({sizes.weights});
  const auto reserve = gpu.tensor<std::uint8_t>({sizes.reserve}, initial::zero).value();
  for (int round = 0; round < 3; ++round) {
    std::vector<future<void>> sent;
    for (int form = 0; form < forms; ++form) {
      network.seed = static_cast<std::uint64_t>(form);
      sent.push_back(gpu.ask(dnn::rnn_forward{
          .x = x, .weights = weights, .y = y, .reserve = reserve, .network = network}));
    }
    for (future<void>& one : sent) {
      const auto outcome = one.get_result();
      ASSERT_TRUE(outcome) << round << ": " << outcome.error().to_string();
    }
  }
}

TEST(DnnRnn, CarriesANaNAlongItsSequenceAlone) {
  constexpr std::int64_t steps = 4, batch = 3, width = 5;
  for (const cell_kind& kind : cells) {
    const dnn::rnn_network network = kind.with({.hidden = width});
    scene s;
    s.name("cell " + std::to_string(static_cast<int>(kind.cell)));
    auto& x = s.tensor(dtype::f32, {steps, batch, width}, {batch * width, width, 1});
    const auto& weights = s.vector(dtype::f32, dnn::rnn_weight_count(network, width));
    const auto& y = s.tensor(dtype::f32, {steps, batch, width}, {batch * width, width, 1});
    std::vector<number> content = x.values;
    content[(batch + 1) * width + 2] = std::numeric_limits<double>::quiet_NaN();  // step 1, of 1
    s.fill(x, content);
    if (!s.run_if_offered(dnn::rnn_forward{
            .x = x.view, .weights = weights.view, .y = y.view, .network = network})) {
      continue;
    }
    const auto now = s.elements_now(y);
    for (std::int64_t step = 0; step < steps; ++step) {
      for (std::int64_t n = 0; n < batch; ++n) {
        for (std::int64_t j = 0; j < width; ++j) {
          const double one = now[static_cast<std::size_t>((step * batch + n) * width + j)].real();
          EXPECT_EQ(std::isnan(one), n == 1 && step >= 1) << step << " " << n << s.note();
        }
      }
    }
  }
}

TEST(DnnRnn, KeepsStatesWhereNoSequenceHasAStep) {
  for (const std::int64_t steps : {0, 2}) {
    for (const std::int64_t batch : {0, 3}) {
      if (steps > 0 && batch > 0) continue;
      check({.network = {.hidden = 4, .layers = 2}, .steps = steps, .batch = batch});
    }
  }
  rnn_case c{.network = {.hidden = 4, .layers = 2, .bidirectional = true}, .batch = 2};
  c.lengths = true;
  c.steps = 0;
  check(c);
}

TEST(DnnRnn, GradientsOfWeightsAreZeroWhereNothingRan) {
  const dnn::rnn_network network{.cell = rnn_cell::gru, .hidden = 4};
  const std::int64_t bytes =
      rnn_stage({.network = network, .steps = 2, .batch = 2, .input = 3}).reserve_bytes();
  scene s;
  const auto& x = s.tensor(dtype::f32, {2, 2, 3}, {6, 3, 1});
  const auto& y = s.tensor(dtype::f32, {2, 2, 4}, {8, 4, 1});
  const auto& dweights = s.vector(dtype::f32, dnn::rnn_weight_count(network, 3));
  const auto& reserve = s.vector(dtype::u8, bytes);
  s.run(dnn::rnn_backward_weights{.x = x.view,
                                  .y = y.view,
                                  .reserve = reserve.view,
                                  .dweights = dweights.view,
                                  .network = network,
                                  .lengths = {0, 0}});
  for (const number one : s.elements_now(dweights))
    EXPECT_EQ(one, 0.0);
}

TEST(DnnRnnParameters, LieWithoutGapsInTheOrderThatIsDocumented) {
  dnn::rnn_network n{.hidden = 5, .layers = 2, .bidirectional = true, .projection = 3};
  std::int64_t next = 0;
  bool in_biases = false;
  for (const dnn::rnn_parameter& p : dnn::rnn_parameters(n, 7)) {
    EXPECT_EQ(p.offset, next);
    next += p.count();
    const bool bias = p.columns == 1;
    EXPECT_TRUE(bias || !in_biases);
    in_biases = bias;
    if (p.role == dnn::rnn_role::input_weight) {
      EXPECT_EQ(p.rows, 20);
      EXPECT_EQ(p.columns, p.layer == 0 ? 7 : 6);
    }
  }
  EXPECT_EQ(next, dnn::rnn_weight_count(n, 7));
}

}  // namespace
}  // namespace troupe::conformance
