// Pooling and batch norms of f32 on the CPU backend, beside oneDNN called directly, with primitives
// made before.

#include "dnn/passive_threads.hpp"
#include "report.hpp"
#include "samples.hpp"

#include <troupe/device/device.hpp>
#include <troupe/dnn/batch_norm.hpp>
#include <troupe/dnn/pooling.hpp>

#include <dnnl.hpp>

#include <algorithm>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

using dims = dnnl::memory::dims;
using tag = dnnl::memory::format_tag;
using arguments = std::unordered_map<int, dnnl::memory>;

constexpr int turns = 20;
constexpr std::size_t loop = 4;  // requests of a run, of which the last one is waited for

/// An image [n, c, side, side], pooled by a window or normalised.
struct layer_case {
  std::int64_t n, c, side;
  bool channels_last;

  [[nodiscard]] std::string text() const {
    return std::to_string(n) + " x " + std::to_string(c) + " x " + std::to_string(side) + "^2 " +
           (channels_last ? "NHWC" : "NCHW");
  }
};

class layers_bench {
 public:
  layers_bench(report& out, device& cpu, const layer_case& what)
      : out_(out), cpu_(cpu), what_(what), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

  void pooling(std::int64_t window, std::int64_t stride, std::int64_t padding) {
    const std::int64_t out = (what_.side + 2 * padding - window) / stride + 1;
    const auto x = image(what_.side);
    const auto y = image(out);
    const auto places = image(out, dtype::u8);
    const auto x_here = memory(what_.side);
    const auto y_here = memory(out);
    const dims windows{window, window};
    const dims strides{stride, stride};
    const dims paddings{padding, padding};
    for (const bool max : {true, false}) {
      using dnnl::algorithm;
      const dnnl::pooling_forward::primitive_desc forward(
          {dnnl::prop_kind::forward_training,
           max ? algorithm::pooling_max : algorithm::pooling_avg_include_padding, x_here.get_desc(),
           y_here.get_desc(), strides, windows, paddings, paddings},
          engine_);
      const dnnl::pooling_backward::primitive_desc backward(
          {max ? algorithm::pooling_max : algorithm::pooling_avg_include_padding, x_here.get_desc(),
           y_here.get_desc(), strides, windows, paddings, paddings},
          engine_, forward);
      const dnnl::memory workspace(forward.workspace_desc(), engine_);
      arguments forwards{{DNNL_ARG_SRC, x_here}, {DNNL_ARG_DST, y_here}};
      arguments backwards{{DNNL_ARG_DIFF_DST, y_here}, {DNNL_ARG_DIFF_SRC, x_here}};
      if (max) {
        forwards.emplace(DNNL_ARG_WORKSPACE, workspace);
        backwards.emplace(DNNL_ARG_WORKSPACE, workspace);
      }
      const std::string of = std::string(max ? "max" : "average") + " pool " +
                             std::to_string(window) + "^2 of " + what_.text();
      if (max) {
        measure(of, dnnl::pooling_forward(forward), forwards,
                dnn::max_pool_forward{.x = x,
                                      .y = y,
                                      .places = places,
                                      .window = {window},
                                      .stride = {stride},
                                      .padding = {padding}});
        measure(of + ", backward", dnnl::pooling_backward(backward), backwards,
                dnn::max_pool_backward{.dy = y,
                                       .places = places,
                                       .dx = x,
                                       .window = {window},
                                       .stride = {stride},
                                       .padding = {padding}});
      } else {
        measure(of, dnnl::pooling_forward(forward), forwards,
                dnn::average_pool_forward{.x = x,
                                          .y = y,
                                          .window = {window},
                                          .stride = {stride},
                                          .padding = {padding},
                                          .count_padding = true});
        measure(of + ", backward", dnnl::pooling_backward(backward), backwards,
                dnn::average_pool_backward{.dy = y,
                                           .dx = x,
                                           .window = {window},
                                           .stride = {stride},
                                           .padding = {padding},
                                           .count_padding = true});
      }
    }
  }

  void batch_norm() {
    const auto x = image(what_.side);
    const auto y = image(what_.side);
    const auto dx = image(what_.side);
    std::vector<any_tensor> c;
    for (int i = 0; i < 6; ++i)
      c.push_back(filled(cpu_.allocate(dtype::f32, {what_.c}).value()));
    const auto x_here = memory(what_.side);
    const auto y_here = memory(what_.side);
    const auto dx_here = memory(what_.side);
    using flags = dnnl::normalization_flags;
    const auto with_weights = flags::use_scale | flags::use_shift;
    const dnnl::batch_normalization_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, x_here.get_desc(), 1e-5F, with_weights}, engine_);
    const dnnl::batch_normalization_backward::primitive_desc backward(
        {dnnl::prop_kind::backward, y_here.get_desc(), x_here.get_desc(), 1e-5F, with_weights},
        engine_, forward);
    const auto channel = [&] {
      return numbers(dnnl::memory({{what_.c}, dnnl::memory::data_type::f32, tag::a}, engine_));
    };
    const auto mean = channel(), variance = channel(), scale = channel(), shift = channel();
    measure("batch norm of " + what_.text(), dnnl::batch_normalization_forward(forward),
            {{DNNL_ARG_SRC, x_here},
             {DNNL_ARG_DST, y_here},
             {DNNL_ARG_MEAN, mean},
             {DNNL_ARG_VARIANCE, variance},
             {DNNL_ARG_SCALE, scale},
             {DNNL_ARG_SHIFT, shift}},
            dnn::batch_norm_training{
                .x = x, .weight = c[0], .bias = c[1], .y = y, .mean = c[2], .rstd = c[3]});
    measure("batch norm of " + what_.text() + ", backward",
            dnnl::batch_normalization_backward(backward),
            {{DNNL_ARG_SRC, x_here},
             {DNNL_ARG_DIFF_DST, y_here},
             {DNNL_ARG_DIFF_SRC, dx_here},
             {DNNL_ARG_MEAN, mean},
             {DNNL_ARG_VARIANCE, variance},
             {DNNL_ARG_SCALE, scale},
             {DNNL_ARG_SHIFT, shift},
             {DNNL_ARG_DIFF_SCALE, channel()},
             {DNNL_ARG_DIFF_SHIFT, channel()}},
            dnn::batch_norm_backward{.x = x,
                                     .dy = y,
                                     .mean = c[2],
                                     .rstd = c[3],
                                     .weight = c[0],
                                     .dx = dx,
                                     .dweight = c[4],
                                     .dbias = c[5]});
  }

 private:
  [[nodiscard]] any_tensor filled(any_tensor t) {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> number(0.1F, 1);
    std::vector<float> all(static_cast<std::size_t>(t.count()));
    std::ranges::generate(all, [&] { return number(random); });
    cpu_.copy(std::span<const float>(all), t).get();
    return t;
  }
  [[nodiscard]] any_tensor image(std::int64_t side, dtype type = dtype::f32) {
    any_tensor made = what_.channels_last
                          ? cpu_.allocate(type, {what_.n, side, side, what_.c}).value()
                          : cpu_.allocate(type, {what_.n, what_.c, side, side}).value();
    if (type == dtype::f32) made = filled(made);
    return what_.channels_last ? made.permute({0, 3, 1, 2}).value() : made;
  }
  [[nodiscard]] dnnl::memory numbers(dnnl::memory of) const {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> number(0.1F, 1);
    auto* const first = static_cast<float*>(of.get_data_handle());
    std::generate_n(first, of.get_desc().get_size() / sizeof(float),
                    [&] { return number(random); });
    return of;
  }
  [[nodiscard]] dnnl::memory memory(std::int64_t side) const {
    return numbers(dnnl::memory({{what_.n, what_.c, side, side},
                                 dnnl::memory::data_type::f32,
                                 what_.channels_last ? tag::nhwc : tag::nchw},
                                engine_));
  }

  template <class R>
  void measure(const std::string& name, const dnnl::primitive& theirs, const arguments& with,
               const R& request) {
    const library_actor lane = cpu_.library("dnn");
    const auto call = [&] {
      for (std::size_t i = 0; i < loop; ++i)
        theirs.execute(stream_, with);
      stream_.wait();
    };
    const auto ask = [&] {
      for (std::size_t i = 1; i < loop; ++i)
        lane.tell(request).value();
      lane.ask(request).get();
    };
    call();
    ask();
    samples direct;
    samples ours;
    samples quotients;  // one for each turn
    for (int turn = 0; turn < turns; ++turn) {
      // Taken in turn, so that both see the same machine.
      samples calls;
      samples asks;
      if (turn % 4 < 2) calls.take(1, call);
      asks.take(1, ask);
      if (turn % 4 >= 2) calls.take(1, call);
      quotients.add(calls.median() / asks.median());
      direct.add(calls);
      ours.add(asks);
    }
    const double each = 1e6 * static_cast<double>(loop);
    out_.add({name, each / ours.middle(), "1/s", "oneDNN called directly", each / direct.middle(),
              ratio_at_least(0.8), quotients.middle()});
  }

  report& out_;
  device& cpu_;
  layer_case what_;
  dnnl::engine engine_;
  dnnl::stream stream_;
};

}  // namespace

int main(int, char** argv) {
  keep_threads_passive(argv);
  report out("dnn_layers: pooling and batch norms of f32 on the CPU backend, beside oneDNN");
  troupe::system system;
  device cpu = system.device(0, {.backend = backend_kind::cpu});
  cpu.wait_until_ready().value();
  for (const bool channels_last : {false, true}) {
    layers_bench(out, cpu, {8, 64, 112, channels_last}).pooling(3, 2, 1);
    layers_bench(out, cpu, {8, 128, 56, channels_last}).pooling(2, 2, 0);
    layers_bench(out, cpu, {8, 64, 112, channels_last}).batch_norm();
    layers_bench(out, cpu, {8, 512, 28, channels_last}).batch_norm();
  }
  return out.finish();
}
