// The cost of pooling and batch norms through Troupe on a GPU, and how many bytes a second their
// tensors are, each read or written once. dnn_layers_torch.py measures PyTorch's times for the
// same, in the same run.

#include "random_numbers.hpp"
#include "side_by_side.hpp"

#include <troupe/core/system.hpp>
#include <troupe/device/device.hpp>
#include <troupe/dnn.hpp>
#include <troupe/elementwise/map.hpp>

#include <fmt/format.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

constexpr std::size_t loop = 20;  // requests for each wait, so that the GPU is the bottleneck
constexpr int turns = 15;

/// An image [n, c, side, side].
struct sizes {
  std::int64_t n, c, side;
};

class layers_bench {
 public:
  layers_bench(report& out, const device& gpu, dtype type, bool channels_last)
      : out_(out), gpu_(gpu), type_(type), channels_last_(channels_last) {}

  void pooling(const sizes& s, std::int64_t window, std::int64_t stride, std::int64_t padding) {
    const std::int64_t out = (s.side + 2 * padding - window) / stride + 1;
    const auto x = image(s, s.side);
    const auto dx = image(s, s.side);
    const auto y = image(s, out);
    const auto dy = image(s, out);
    const auto places = image(s, out, dtype::u8);
    const std::string of = fmt::format("pool {}x{} of {}", window, window, text(s));
    measure("max " + of,
            dnn::max_pool_forward{.x = x,
                                  .y = y,
                                  .places = places,
                                  .window = {window},
                                  .stride = {stride},
                                  .padding = {padding}},
            {x, y, places});
    measure("max " + of + ", backward",
            dnn::max_pool_backward{.dy = dy,
                                   .places = places,
                                   .dx = dx,
                                   .window = {window},
                                   .stride = {stride},
                                   .padding = {padding}},
            {dy, places, dx});
    measure("average " + of,
            dnn::average_pool_forward{.x = x,
                                      .y = y,
                                      .window = {window},
                                      .stride = {stride},
                                      .padding = {padding},
                                      .count_padding = true},
            {x, y});
    measure("average " + of + ", backward",
            dnn::average_pool_backward{.dy = dy,
                                       .dx = dx,
                                       .window = {window},
                                       .stride = {stride},
                                       .padding = {padding},
                                       .count_padding = true},
            {dy, dx});
  }
  void global_average(const sizes& s) {
    const auto x = image(s, s.side);
    const auto y = image(s, 1);
    const std::string of = "global average of " + text(s);
    measure(of, dnn::adaptive_average_pool_forward{.x = x, .y = y}, {x, y});
    measure(of + ", backward", dnn::adaptive_average_pool_backward{.dy = y, .dx = x}, {x, y});
  }
  void batch_norm(const sizes& s) {
    const auto x = image(s, s.side);
    const auto y = image(s, s.side);
    const auto dy = image(s, s.side);
    std::vector<any_tensor> c;
    for (int i = 0; i < 8; ++i)
      c.push_back(random(dtype::f32, {s.c}));
    const std::string of = "batch norm of " + text(s);
    measure(of,
            dnn::batch_norm_training{.x = x,
                                     .weight = c[0],
                                     .bias = c[1],
                                     .y = y,
                                     .mean = c[2],
                                     .rstd = c[3],
                                     .running_mean = c[4],
                                     .running_variance = c[5]},
            {x, x, y});
    measure(of + ", backward",
            dnn::batch_norm_backward{.x = x,
                                     .dy = dy,
                                     .mean = c[2],
                                     .rstd = c[3],
                                     .weight = c[0],
                                     .dx = y,
                                     .dweight = c[6],
                                     .dbias = c[7]},
            {x, dy, x, dy, y});
    measure(of + ", inference",
            dnn::batch_norm_inference{
                .x = x, .mean = c[4], .variance = c[3], .weight = c[0], .bias = c[1], .y = y},
            {x, y});
  }
  void resample(const sizes& s) {
    const auto x = image(s, s.side);
    const auto y = image(s, 2 * s.side);
    const std::string of = "bilinear, twice the side of " + text(s);
    measure(of, dnn::resample_forward{.x = x, .y = y, .interpolation = dnn::interpolation::linear},
            {x, y});
    measure(of + ", backward",
            dnn::resample_backward{.dy = y, .dx = x, .interpolation = dnn::interpolation::linear},
            {x, y});
  }

 private:
  [[nodiscard]] std::string text(const sizes& s) const {
    return fmt::format("{}x{}x{}x{} {} {}", s.n, s.c, s.side, s.side, to_string(type_),
                       channels_last_ ? "NHWC" : "NCHW");
  }
  any_tensor image(const sizes& s, std::int64_t side) { return image(s, side, type_); }
  any_tensor image(const sizes& s, std::int64_t side, dtype type) {
    if (!channels_last_) return random(type, {s.n, s.c, side, side});
    return random(type, {s.n, side, side, s.c}).permute({0, 3, 1, 2}).value();
  }
  any_tensor random(dtype type, const shape& extents) {
    any_tensor made = gpu_.allocate(type, extents).value();
    const std::vector<float> numbers =
        random_numbers<float>(static_cast<std::size_t>(made.count()));
    const any_tensor wide = gpu_.allocate(dtype::f32, extents).value();
    gpu_.copy_in(dtype::f32, std::as_bytes(std::span(numbers)), wide).get();
    gpu_.ask(elementwise::map{.inputs = {wide},
                              .outputs = {made},
                              .what = elementwise::function::of(1, [](auto x) { return x[0]; })})
        .get();
    return made;
  }

  template <class R>
  void measure(const std::string& name, const R& r, const std::vector<any_tensor>& moved) {
    section(out_, name, [&] {
      double bytes = 0;
      for (const any_tensor& t : moved)
        bytes += static_cast<double>(t.count() * size_of(t.type()));
      const library_actor lane = gpu_.library("dnn");
      const auto ask = [&] {
        for (std::size_t i = 1; i < loop; ++i)
          lane.tell(r).value();
        lane.ask(r).get();
      };
      ask();
      ask();
      samples times;
      times.take(turns, ask);
      const double us = times.median() / static_cast<double>(loop);
      out_.add({name, us, "us"});
      out_.add({name + ", rate", bytes / us * 1e-3, "GB/s"});
    });
  }

  report& out_;
  device gpu_;
  dtype type_;
  bool channels_last_;
};

}  // namespace

int main() {
  report out("gpu_dnn_layers: pooling and batch norms through Troupe");
  troupe::system system;
  const device gpu = system.device(0, {.backend = backend_kind::cuda, .full = when_full::wait});
  wait_until_settled(gpu, true);
  for (const dtype type : {dtype::bf16, dtype::f32}) {
    for (const bool channels_last : {false, true}) {
      layers_bench layers(out, gpu, type, channels_last);
      layers.pooling({64, 64, 112}, 3, 2, 1);
      layers.pooling({64, 256, 56}, 2, 2, 0);
      layers.global_average({64, 2048, 7});
      layers.batch_norm({64, 64, 112});
      layers.batch_norm({64, 256, 56});
      layers.batch_norm({64, 512, 28});
      layers.batch_norm({64, 2048, 7});
      layers.resample({16, 64, 56});
    }
  }
  return out.finish();
}
