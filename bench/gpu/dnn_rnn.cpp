// The cost of an LSTM through Troupe, beside cuDNN called directly.

#include "gpu/dnn/direct_rnn.hpp"
#include "side_by_side.hpp"

#include <troupe/core/system.hpp>
#include <troupe/dnn/rnn.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/memory/fill.hpp>

#include <fmt/format.h>

#include <string>

namespace {

using namespace troupe;
using namespace troupe::bench;

void compare(report& out, device& gpu, raw::stream& stream, const raw::lstm_sizes& what) {
  const std::string name =
      fmt::format("LSTM {} x {} steps, batch {}, hidden {}, {}", what.layers, what.steps,
                  what.batch, what.hidden, what.tf32 ? "tf32" : to_string(what.type));
  section(out, name, [&] {
    raw::cudnn_lstm theirs(stream, what);
    const dnn::rnn_network network{
        .hidden = what.hidden,
        .layers = what.layers,
        .math = what.tf32 ? dnn::math_mode::tf32 : dnn::math_mode::strict};
    const auto zeros = [&](std::vector<std::int64_t> extents) {
      auto made = gpu.allocate(what.type, shape(extents)).value();
      gpu.ask(memory::fill{.to = made, .value = 0}).get();
      return made;
    };
    const auto sizes = gpu.ask(dnn::rnn_sizes{.network = network,
                                              .type = what.type,
                                              .steps = what.steps,
                                              .batch = what.batch,
                                              .input = what.hidden})
                           .get();
    const std::vector rows{what.steps, what.batch, what.hidden};
    const auto x = zeros(rows);
    const auto y = zeros(rows);
    const auto dy = zeros(rows);
    const auto dx = zeros(rows);
    const auto weights = zeros({sizes.weights});
    const auto dweights = zeros({sizes.weights});
    const auto reserve = gpu.allocate(dtype::u8, shape({sizes.reserve})).value();
    const library_actor lane = gpu.library("dnn");
    constexpr std::size_t loop = 8;
    const auto measure = [&](const std::string& way, auto call, auto ask) {
      auto times = take_in_turn(
          {.blocks = 8, .warm_up = 1, .per_block = 3},
          [&] {
            for (std::size_t i = 0; i < loop; ++i)
              call();
            stream.synchronize();
          },
          [&] {
            for (std::size_t i = 0; i < loop; ++i)
              ask();
            lane.ask(troupe::lane::marker{}).get();
          });
      add_times(out, times,
                {.name = name + ", " + way,
                 .reference = "cuDNN called directly",
                 .unit = "us",
                 .per_microsecond = 1.0 / static_cast<double>(loop),
                 .median = ratio_at_most(1.02)});
    };
    measure(
        "inference", [&] { theirs.infer(); },
        [&] {
          lane.tell(dnn::rnn_forward{.x = x, .weights = weights, .y = y, .network = network})
              .value();
        });
    measure(
        "training", [&] { theirs.train(); },
        [&] {
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
          lane
              .tell(dnn::rnn_backward_weights{
                  .x = x, .y = y, .reserve = reserve, .dweights = dweights, .network = network})
              .value();
        });
  });
}

}  // namespace

int main() {
  report out("gpu_dnn_rnn: LSTMs through Troupe, beside cuDNN called directly");
  section(out, "everything", [&] {
    fmt::print("{}\n", raw::open_device());
    {
      troupe::system system;
      device gpu = system.device(0, {.backend = backend_kind::cuda, .full = when_full::wait});
      wait_until_settled(gpu, true);
      raw::stream stream;
      compare(out, gpu, stream, {});
      compare(out, gpu, stream, {.tf32 = true});
      compare(out, gpu, stream, {.type = dtype::f16});
      compare(out, gpu, stream, {.batch = 8, .hidden = 128});
      compare(out, gpu, stream, {.tf32 = true, .batch = 8, .hidden = 128});
      compare(out, gpu, stream, {.type = dtype::f16, .batch = 8, .hidden = 128});
    }
    raw::close_device();
  });
  return out.finish();
}
