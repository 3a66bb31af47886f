// LSTMs and a GRU on the CPU backend, beside oneDNN called directly: with primitives made before,
// and the layouts that it prefers, to which weights are moved in each call, and their gradients
// back.

#include "dnn/passive_threads.hpp"
#include "report.hpp"
#include "samples.hpp"

#include <troupe/device/device.hpp>
#include <troupe/dnn/rnn.hpp>

#include <dnnl.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

/// As wide inside as its input, for which oneDNN runs all layers by one primitive.
struct lstm_case {
  std::int64_t layers, steps, batch, hidden;
  std::size_t loop;  ///< calls of a run, of which the last one is waited for
};

constexpr int turns = 20;

using desc = dnnl::memory::desc;
using tag = dnnl::memory::format_tag;

/// oneDNN's own calls.
class direct_lstm {
 public:
  explicit direct_lstm(const lstm_case& what)
      : what_(what), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    using dnnl::prop_kind;
    using dnnl::rnn_direction;
    const desc rows = plain({what.steps, what.batch, what.hidden}, tag::tnc);
    const desc weights = any({what.layers, 1, what.hidden, 4, what.hidden});
    const desc bias = plain({what.layers, 1, 4, what.hidden}, tag::ldgo);
    const auto forward = [&](prop_kind kind) {
      return dnnl::lstm_forward::primitive_desc(
          {kind, rnn_direction::unidirectional_left2right, rows, desc(), desc(), weights, weights,
           bias, rows, desc(), desc()},
          engine_);
    };
    const auto inference = forward(prop_kind::forward_inference);
    const auto training = forward(prop_kind::forward_training);
    const dnnl::lstm_backward::primitive_desc backward({prop_kind::backward,
                                                        rnn_direction::unidirectional_left2right,
                                                        rows,
                                                        desc(),
                                                        desc(),
                                                        weights,
                                                        weights,
                                                        bias,
                                                        rows,
                                                        desc(),
                                                        desc(),
                                                        rows,
                                                        desc(),
                                                        desc(),
                                                        weights,
                                                        weights,
                                                        bias,
                                                        rows,
                                                        desc(),
                                                        desc()},
                                                       engine_, training);
    const desc theirs = plain({what.layers, 1, what.hidden, 4, what.hidden}, tag::ldgoi);
    x_ = dnnl::memory(rows, engine_);
    y_ = dnnl::memory(rows, engine_);
    dx_ = dnnl::memory(rows, engine_);
    dy_ = dnnl::memory(rows, engine_);
    w_x_ = dnnl::memory(theirs, engine_);
    w_h_ = dnnl::memory(theirs, engine_);
    dw_x_ = dnnl::memory(theirs, engine_);
    dw_h_ = dnnl::memory(theirs, engine_);
    bias_ = dnnl::memory(bias, engine_);
    dbias_ = dnnl::memory(bias, engine_);
    workspace_ = dnnl::memory(training.workspace_desc(), engine_);
    add_forward(inference_, inference, false);
    add_forward(training_, training, true);
    add_backward(backward);
  }

  [[nodiscard]] std::span<float> x() const { return elements(x_); }
  [[nodiscard]] std::span<float> y() const { return elements(y_); }
  [[nodiscard]] std::span<float> dx() const { return elements(dx_); }
  [[nodiscard]] std::span<float> dy() const { return elements(dy_); }
  /// From our order of weights.
  void set_weights(std::span<const float> all) const {
    const auto size = static_cast<std::size_t>(4 * what_.hidden * what_.hidden);
    const auto rows = static_cast<std::size_t>(4 * what_.hidden);
    const auto layers = static_cast<std::size_t>(what_.layers);
    for (std::size_t l = 0; l < layers; ++l) {
      std::ranges::copy(all.subspan(2 * l * size, size), elements(w_x_).begin() + offset(l * size));
      std::ranges::copy(all.subspan((2 * l + 1) * size, size),
                        elements(w_h_).begin() + offset(l * size));
      for (std::size_t i = 0; i < rows; ++i) {
        const std::size_t first = 2 * layers * size + 2 * l * rows + i;
        elements(bias_)[l * rows + i] = all[first] + all[first + rows];
      }
    }
  }

  void infer() { run(inference_); }
  void train() {
    run(training_);
    run(backward_);
  }

 private:
  using steps = std::vector<std::pair<dnnl::primitive, std::unordered_map<int, dnnl::memory>>>;

  static desc plain(const dnnl::memory::dims& extents, tag how) {
    return {extents, dnnl::memory::data_type::f32, how};
  }
  static desc any(const dnnl::memory::dims& extents) { return plain(extents, tag::any); }
  static std::span<float> elements(const dnnl::memory& of) {
    return {static_cast<float*>(of.get_data_handle()), of.get_desc().get_size() / sizeof(float)};
  }
  static std::ptrdiff_t offset(std::size_t n) { return static_cast<std::ptrdiff_t>(n); }

  dnnl::memory moved(steps& to, const dnnl::memory& from, const desc& wanted) {
    if (from.get_desc() == wanted) return from;
    dnnl::memory there(wanted, engine_);
    to.emplace_back(dnnl::reorder(from, there), std::unordered_map<int, dnnl::memory>{
                                                    {DNNL_ARG_FROM, from}, {DNNL_ARG_TO, there}});
    return there;
  }
  void add_forward(steps& to, const dnnl::lstm_forward::primitive_desc& pd, bool training) {
    std::unordered_map<int, dnnl::memory> all{
        {DNNL_ARG_SRC_LAYER, x_},
        {DNNL_ARG_WEIGHTS_LAYER, moved(to, w_x_, pd.weights_layer_desc())},
        {DNNL_ARG_WEIGHTS_ITER, moved(to, w_h_, pd.weights_iter_desc())},
        {DNNL_ARG_BIAS, bias_},
        {DNNL_ARG_DST_LAYER, y_}};
    if (training) all.emplace(DNNL_ARG_WORKSPACE, workspace_);
    to.emplace_back(dnnl::lstm_forward(pd), std::move(all));
  }
  void add_backward(const dnnl::lstm_backward::primitive_desc& pd) {
    const dnnl::memory dw_x(pd.diff_weights_layer_desc(), engine_);
    const dnnl::memory dw_h(pd.diff_weights_iter_desc(), engine_);
    const auto w_x = moved(backward_, w_x_, pd.weights_layer_desc());
    const auto w_h = moved(backward_, w_h_, pd.weights_iter_desc());
    cleared_ = {dw_x, dw_h, dbias_};
    backward_.emplace_back(dnnl::lstm_backward(pd), std::unordered_map<int, dnnl::memory>{
                                                        {DNNL_ARG_SRC_LAYER, x_},
                                                        {DNNL_ARG_WEIGHTS_LAYER, w_x},
                                                        {DNNL_ARG_WEIGHTS_ITER, w_h},
                                                        {DNNL_ARG_BIAS, bias_},
                                                        {DNNL_ARG_DST_LAYER, y_},
                                                        {DNNL_ARG_DIFF_SRC_LAYER, dx_},
                                                        {DNNL_ARG_DIFF_WEIGHTS_LAYER, dw_x},
                                                        {DNNL_ARG_DIFF_WEIGHTS_ITER, dw_h},
                                                        {DNNL_ARG_DIFF_BIAS, dbias_},
                                                        {DNNL_ARG_DIFF_DST_LAYER, dy_},
                                                        {DNNL_ARG_WORKSPACE, workspace_}});
    for (const auto& [from, to] : {std::pair(dw_x, dw_x_), std::pair(dw_h, dw_h_)})
      backward_.emplace_back(
          dnnl::reorder(from, to),
          std::unordered_map<int, dnnl::memory>{{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
  }
  void run(const steps& all) {
    // It adds to gradients of weights.
    if (&all == &backward_) {
      for (const dnnl::memory& one : cleared_)
        std::ranges::fill(elements(one), 0.0F);
    }
    for (const auto& [what, arguments] : all)
      what.execute(stream_, arguments);
    stream_.wait();
  }

  lstm_case what_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::memory x_, y_, dx_, dy_, w_x_, w_h_, dw_x_, dw_h_, bias_, dbias_, workspace_;
  std::vector<dnnl::memory> cleared_;
  steps inference_, training_, backward_;
};

double difference(std::span<const float> theirs, std::span<const float> ours) {
  double largest = 0;
  double apart = 0;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    largest = std::max<double>(largest, std::abs(theirs[i]));
    apart = std::max<double>(apart, std::abs(theirs[i] - ours[i]));
  }
  return apart / largest;
}

/// Both sides in turn, so that they see the same machine.
template <class Call, class Ask>
void measure(report& out, const std::string& name, std::size_t loop, Call call, Ask ask) {
  call();
  ask(1);
  samples direct;
  samples ours;
  samples quotients;  // one for each turn
  for (int turn = 0; turn < turns; ++turn) {
    samples calls;
    samples asks;
    const auto take = [&] {
      calls.take(1, [&] {
        for (std::size_t i = 0; i < loop; ++i)
          call();
      });
    };
    if (turn % 4 < 2) take();
    asks.take(1, [&] { ask(loop); });
    if (turn % 4 >= 2) take();
    quotients.add(calls.median() / asks.median());
    direct.add(calls);
    ours.add(asks);
  }
  const double each = 1e6 * static_cast<double>(loop);
  out.add({name + ", process", each / ours.middle(), "1/s", "oneDNN called directly",
           each / direct.middle(), ratio_at_least(0.8), quotients.middle()});
}

/// A layer of gru, inference. All numbers are 0, which takes as long.
void measure_gru(report& out, device& cpu, const lstm_case& what) {
  const auto desc_of = [](const dnnl::memory::dims& extents, tag how) {
    return desc(extents, dnnl::memory::data_type::f32, how);
  };
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const desc rows = desc_of({what.steps, what.batch, what.hidden}, tag::tnc);
  const dnnl::memory::dims of_weights{1, 1, what.hidden, 3, what.hidden};
  const desc weights_desc = desc_of(of_weights, tag::any);
  const desc bias_desc = desc_of({1, 1, 4, what.hidden}, tag::ldgo);
  const dnnl::lbr_gru_forward::primitive_desc pd(
      {dnnl::prop_kind::forward_inference, dnnl::rnn_direction::unidirectional_left2right, rows,
       desc(), weights_desc, weights_desc, bias_desc, rows, desc()},
      engine);
  const auto zeros = [&](const desc& of) {
    dnnl::memory made(of, engine);
    std::memset(made.get_data_handle(), 0, of.get_size());
    return made;
  };
  auto w_x = zeros(desc_of(of_weights, tag::ldgoi));
  auto w_h = zeros(desc_of(of_weights, tag::ldgoi));
  auto moved_w_x = zeros(pd.weights_layer_desc());
  auto moved_w_h = zeros(pd.weights_iter_desc());
  const dnnl::reorder move_w_x(w_x, moved_w_x);
  const dnnl::reorder move_w_h(w_h, moved_w_h);
  const dnnl::lbr_gru_forward layer(pd);
  const std::unordered_map<int, dnnl::memory> arguments{{DNNL_ARG_SRC_LAYER, zeros(rows)},
                                                        {DNNL_ARG_WEIGHTS_LAYER, moved_w_x},
                                                        {DNNL_ARG_WEIGHTS_ITER, moved_w_h},
                                                        {DNNL_ARG_BIAS, zeros(bias_desc)},
                                                        {DNNL_ARG_DST_LAYER, zeros(rows)}};
  const dnn::rnn_network network{.cell = dnn::rnn_cell::gru, .hidden = what.hidden};
  const auto tensor = [&](const shape& extents) {
    auto made = cpu.tensor<float>(extents).value();
    const std::vector<float> content(static_cast<std::size_t>(made.count()));
    cpu.copy(std::span<const float>(content), made).get();
    return made;
  };
  const shape extents({what.steps, what.batch, what.hidden});
  const dnn::rnn_forward request{.x = tensor(extents),
                                 .weights = tensor({dnn::rnn_weight_count(network, what.hidden)}),
                                 .y = tensor(extents),
                                 .network = network};
  const library_actor lane = cpu.library("dnn");
  measure(
      out,
      "GRU 1 x " + std::to_string(what.steps) + " steps, batch " + std::to_string(what.batch) +
          ", hidden " + std::to_string(what.hidden) + ", inference",
      what.loop,
      [&] {
        move_w_x.execute(stream, w_x, moved_w_x);
        move_w_h.execute(stream, w_h, moved_w_h);
        layer.execute(stream, arguments);
        stream.wait();
      },
      [&](std::size_t times) {
        for (std::size_t i = 1; i < times; ++i)
          lane.tell(request).value();
        lane.ask(request).get();
      });
}

void measure_all(report& out, device& cpu, const lstm_case& what) {
  direct_lstm theirs(what);
  const dnn::rnn_network network{.hidden = what.hidden, .layers = what.layers};
  const auto sizes =
      cpu
          .ask(dnn::rnn_sizes{
              .network = network, .steps = what.steps, .batch = what.batch, .input = what.hidden})
          .get();
  const shape rows({what.steps, what.batch, what.hidden});
  const auto x = cpu.tensor<float>(rows).value();
  const auto y = cpu.tensor<float>(rows).value();
  const auto dx = cpu.tensor<float>(rows).value();
  const auto dy = cpu.tensor<float>(rows).value();
  const auto weights = cpu.tensor<float>({sizes.weights}).value();
  const auto dweights = cpu.tensor<float>({sizes.weights}).value();
  const auto reserve = cpu.tensor<std::uint8_t>({sizes.reserve}).value();
  std::mt19937 random(7);
  std::uniform_real_distribution<float> number(-0.1F, 0.1F);
  std::vector<float> some(static_cast<std::size_t>(sizes.weights));
  std::ranges::generate(some, [&] { return number(random); });
  theirs.set_weights(some);
  cpu.copy(std::span<const float>(some), weights).get();
  for (const auto& [to, from] : {std::pair(x, theirs.x()), std::pair(dy, theirs.dy())}) {
    std::ranges::generate(from, [&] { return number(random); });
    cpu.copy(std::span<const float>(from), to).get();
  }
  const library_actor lane = cpu.library("dnn");
  const std::string name = "LSTM " + std::to_string(what.layers) + " x " +
                           std::to_string(what.steps) + " steps, batch " +
                           std::to_string(what.batch) + ", hidden " + std::to_string(what.hidden);
  measure(
      out, name + ", inference", what.loop, [&] { theirs.infer(); },
      [&](std::size_t times) {
        const dnn::rnn_forward r{.x = x, .weights = weights, .y = y, .network = network};
        for (std::size_t i = 1; i < times; ++i)
          lane.tell(r).value();
        lane.ask(r).get();
      });
  measure(
      out, name + ", training", what.loop, [&] { theirs.train(); },
      [&](std::size_t times) {
        for (std::size_t i = 0; i < times; ++i) {
          lane.tell(dnn::rnn_forward{
                        .x = x, .weights = weights, .y = y, .reserve = reserve, .network = network})
              .value();
          lane.tell(dnn::rnn_backward_data{.weights = weights,
                                           .y = y,
                                           .dy = dy,
                                           .dx = dx,
                                           .reserve = reserve,
                                           .network = network})
              .value();
          auto last = lane.ask(dnn::rnn_backward_weights{
              .x = x, .y = y, .reserve = reserve, .dweights = dweights, .network = network});
          if (i + 1 == times) last.get();
        }
      });
  std::vector<float> back(static_cast<std::size_t>(y.count()));
  for (const auto& [of, expected, result] :
       {std::tuple(", y", theirs.y(), y), std::tuple(", dx", theirs.dx(), dx)}) {
    cpu.copy(result, std::span(back)).get();
    out.add({name + of + ", largest relative difference",
             difference(expected, back),
             "",
             "",
             {},
             at_most(1e-4)});
  }
}

}  // namespace

int main(int, char** argv) {
  keep_threads_passive(argv);
  report out("dnn_rnn: LSTMs and a GRU of f32 on the CPU backend, beside oneDNN called directly");
  troupe::system system;
  device cpu = system.device(0, {.backend = backend_kind::cpu});
  cpu.wait_until_ready().value();
  measure_all(out, cpu, {2, 50, 32, 256, 1});
  measure_all(out, cpu, {1, 50, 1, 256, 10});
  measure_gru(out, cpu, {1, 50, 32, 256, 1});
  return out.finish();
}
