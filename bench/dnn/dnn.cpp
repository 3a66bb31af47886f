// Convolutions on the CPU backend, beside oneDNN called directly: with primitives made before, and
// the layouts that it prefers, to which operands are moved in each call, and results back.

#include "dnn/passive_threads.hpp"
#include "report.hpp"
#include "samples.hpp"

#include <troupe/device/device.hpp>
#include <troupe/dnn/convolution.hpp>

#include <dnnl.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

/// Images [n, c, side, side] and a filter [k, c, taps, taps], padded so that stride 1 keeps
/// extents.
struct convolution_case {
  std::string name;
  std::int64_t n, c, k, side, taps, stride;
  std::size_t loop;  ///< convolutions of a run, of which the last one is waited for

  [[nodiscard]] std::int64_t padding() const { return taps / 2; }
  [[nodiscard]] std::int64_t out() const { return (side - 1) / stride + 1; }
};

// Both sides have all processors, on which their threads meet.
constexpr int turns = 20;

using desc = dnnl::memory::desc;

/// oneDNN's own calls of one direction.
class direct_convolution {
 public:
  enum class way { forward, backward_data, backward_filter };

  direct_convolution(const convolution_case& what, way direction)
      : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    using dnnl::algorithm;
    using dnnl::prop_kind;
    const dnnl::memory::dims x{what.n, what.c, what.side, what.side};
    const dnnl::memory::dims w{what.k, what.c, what.taps, what.taps};
    const dnnl::memory::dims y{what.n, what.k, what.out(), what.out()};
    const dnnl::memory::dims stride{what.stride, what.stride};
    const dnnl::memory::dims padding{what.padding(), what.padding()};
    const dnnl::convolution_forward::primitive_desc forward(
        {prop_kind::forward_training, algorithm::convolution_direct, any(x), any(w), any(y), stride,
         padding, padding},
        engine_);
    switch (direction) {
      case way::forward: {
        const auto from = moved(plain(x), forward.src_desc());
        const auto by = moved(plain(w), forward.weights_desc());
        const dnnl::memory to(forward.dst_desc(), engine_);
        add(dnnl::convolution_forward(forward),
            {{DNNL_ARG_SRC, from}, {DNNL_ARG_WEIGHTS, by}, {DNNL_ARG_DST, to}});
        move_back(to, plain(y));
        return;
      }
      case way::backward_data: {
        const dnnl::convolution_backward_data::primitive_desc pd(
            {algorithm::convolution_direct, any(x), any(w), any(y), stride, padding, padding},
            engine_, forward);
        const auto from = moved(plain(y), pd.diff_dst_desc());
        const auto by = moved(plain(w), pd.weights_desc());
        const dnnl::memory to(pd.diff_src_desc(), engine_);
        add(dnnl::convolution_backward_data(pd),
            {{DNNL_ARG_DIFF_DST, from}, {DNNL_ARG_WEIGHTS, by}, {DNNL_ARG_DIFF_SRC, to}});
        move_back(to, plain(x));
        return;
      }
      case way::backward_filter: {
        const dnnl::convolution_backward_weights::primitive_desc pd(
            {algorithm::convolution_direct, any(x), any(w), any(y), stride, padding, padding},
            engine_, forward);
        const auto from = moved(plain(x), pd.src_desc());
        const auto by = moved(plain(y), pd.diff_dst_desc());
        const dnnl::memory to(pd.diff_weights_desc(), engine_);
        add(dnnl::convolution_backward_weights(pd),
            {{DNNL_ARG_SRC, from}, {DNNL_ARG_DIFF_DST, by}, {DNNL_ARG_DIFF_WEIGHTS, to}});
        move_back(to, plain(w));
        return;
      }
    }
  }

  /// The operands, in the order in which they were described, and the result.
  [[nodiscard]] std::span<float> operand(std::size_t i) const { return elements(operands_[i]); }
  [[nodiscard]] std::span<const float> result() const { return elements(result_); }

  void run() {
    for (const auto& [what, arguments] : steps_)
      what.execute(stream_, arguments);
    stream_.wait();
  }

 private:
  static desc plain(const dnnl::memory::dims& extents) {
    return {extents, dnnl::memory::data_type::f32, dnnl::memory::format_tag::nchw};
  }
  static desc any(const dnnl::memory::dims& extents) {
    return {extents, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
  }
  static std::span<float> elements(const dnnl::memory& of) {
    return {static_cast<float*>(of.get_data_handle()), of.get_desc().get_size() / sizeof(float)};
  }
  void add(dnnl::primitive what, std::unordered_map<int, dnnl::memory> arguments) {
    steps_.emplace_back(std::move(what), std::move(arguments));
  }
  dnnl::memory moved(const desc& is, const desc& wanted) {
    const dnnl::memory& here = operands_.emplace_back(is, engine_);
    if (is == wanted) return here;
    dnnl::memory there(wanted, engine_);
    add(dnnl::reorder(here, there), {{DNNL_ARG_FROM, here}, {DNNL_ARG_TO, there}});
    return there;
  }
  void move_back(const dnnl::memory& is, const desc& wanted) {
    result_ = is;
    if (is.get_desc() == wanted) return;
    result_ = dnnl::memory(wanted, engine_);
    add(dnnl::reorder(is, result_), {{DNNL_ARG_FROM, is}, {DNNL_ARG_TO, result_}});
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<dnnl::memory> operands_;
  dnnl::memory result_;
  std::vector<std::pair<dnnl::primitive, std::unordered_map<int, dnnl::memory>>> steps_;
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

template <class R>
void measure(report& out, device& cpu, const convolution_case& what, std::string_view direction,
             direct_convolution::way way, const R& request, const std::vector<any_tensor>& operands,
             const any_tensor& result) {
  direct_convolution theirs(what, way);
  std::mt19937 random(7);
  std::uniform_real_distribution<float> number(-1, 1);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::span<float> numbers = theirs.operand(i);
    std::ranges::generate(numbers, [&] { return number(random); });
    cpu.copy(std::span<const float>(numbers), operands[i]).get();
  }
  const library_actor lane = cpu.library("dnn");
  const auto call = [&](std::size_t times) {
    for (std::size_t i = 0; i < times; ++i)
      theirs.run();
  };
  const auto ask = [&](std::size_t times) {
    for (std::size_t i = 1; i < times; ++i)
      lane.tell(request).value();
    lane.ask(request).get();
  };
  call(1);
  ask(1);
  samples direct;
  samples ours;
  samples quotients;  // one for each turn
  for (int turn = 0; turn < turns; ++turn) {
    // Taken in turn, so that both see the same machine.
    samples calls;
    samples asks;
    if (turn % 4 < 2) calls.take(1, [&] { call(what.loop); });
    asks.take(1, [&] { ask(what.loop); });
    if (turn % 4 >= 2) calls.take(1, [&] { call(what.loop); });
    quotients.add(calls.median() / asks.median());
    direct.add(calls);
    ours.add(asks);
  }
  const double each = 1e6 * static_cast<double>(what.loop);
  const std::string name = what.name + ", " + std::string(direction);
  out.add({name + ", process", each / ours.middle(), "1/s", "oneDNN called directly",
           each / direct.middle(), ratio_at_least(0.8), quotients.middle()});
  std::vector<float> back(static_cast<std::size_t>(result.count()));
  cpu.copy(result, std::span(back)).get();
  out.add({name + ", largest relative difference",
           difference(theirs.result(), back),
           "",
           "",
           {},
           at_most(1e-5)});
}

void measure_all(report& out, device& cpu, const convolution_case& what) {
  using way = direct_convolution::way;
  const auto x = cpu.tensor<float>({what.n, what.c, what.side, what.side}).value();
  const auto w = cpu.tensor<float>({what.k, what.c, what.taps, what.taps}).value();
  const auto y = cpu.tensor<float>({what.n, what.k, what.out(), what.out()}).value();
  const std::vector stride{what.stride};
  const std::vector padding{what.padding()};
  // The same padding before and after gives the extents of both sides here.
  measure(out, cpu, what, "forward", way::forward,
          dnn::convolution_forward{.x = x, .w = w, .y = y, .stride = stride, .padding = padding},
          {x, w}, y);
  measure(out, cpu, what, "backward data", way::backward_data,
          dnn::convolution_backward_data{
              .dy = y, .w = w, .dx = x, .stride = stride, .padding = padding},
          {y, w}, x);
  measure(out, cpu, what, "backward filter", way::backward_filter,
          dnn::convolution_backward_filter{
              .x = x, .dy = y, .dw = w, .stride = stride, .padding = padding},
          {x, y}, w);
}

}  // namespace

int main(int, char** argv) {
  keep_threads_passive(argv);
  report out("dnn: convolutions of f32 on the CPU backend, beside oneDNN called directly");
  troupe::system system;
  device cpu = system.device(0, {.backend = backend_kind::cpu});
  cpu.wait_until_ready().value();
  measure_all(out, cpu, {"8 x 64 x 56^2, 64 filters 3^2", 8, 64, 64, 56, 3, 1, 4});
  measure_all(out, cpu, {"8 x 256 x 14^2, 256 filters 3^2", 8, 256, 256, 14, 3, 1, 4});
  measure_all(out, cpu, {"8 x 128 x 28^2, 256 filters 1^2, stride 2", 8, 128, 256, 28, 1, 2, 30});
  return out.finish();
}
