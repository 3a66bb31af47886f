#include "random_rnn.hpp"

#include "libraries/dnn/requests/rnn_shape.hpp"

#include <algorithm>
#include <vector>

namespace troupe::testing_requests {
namespace {

using numbers = std::vector<std::int64_t>;

class rnn_drawing {
 public:
  rnn_drawing(std::mt19937_64& random, const view_source& views) : random_(random), views_(views) {
    constexpr dtype types[] = {dtype::f64, dtype::f32, dtype::f16, dtype::bf16};
    type_ = types[from(0, 3)];
    time_first_ = one_in(2);
  }

  void fill(dnn::rnn_forward& r) {
    begin(r);
    r.x = sequence(s_.input);
    r.weights = packed(type_, {dnn::rnn_weight_count(r.network, s_.input)});
    r.y = sequence(s_.width());
    r.h_n = states(false);
    r.c_0 = states(true);
    r.c_n = states(true);
    r.reserve = one_in(2) ? packed(dtype::u8, {from(0, 100)}) : any_tensor();
  }
  void fill(dnn::rnn_backward_data& r) {
    begin(r);
    r.weights = packed(type_, {dnn::rnn_weight_count(r.network, s_.input)});
    r.c_0 = states(true);
    r.y = sequence(s_.width());
    r.dy = sequence(s_.width());
    r.dh_n = states(false);
    r.dc_n = states(true);
    r.dx = sequence(s_.input);
    r.dh_0 = states(false);
    r.dc_0 = states(true);
    r.reserve = packed(dtype::u8, {from(0, 100)});
  }
  void fill(dnn::rnn_backward_weights& r) {
    begin(r);
    r.x = sequence(s_.input);
    r.y = sequence(s_.width());
    r.reserve = packed(dtype::u8, {from(0, 100)});
    r.dweights = packed(type_, {dnn::rnn_weight_count(r.network, s_.input)});
  }
  void fill(dnn::rnn_sizes& r) {
    draw_network(r.network);
    r.type = type_;
  }

 private:
  [[nodiscard]] std::int64_t from(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  [[nodiscard]] bool one_in(std::int64_t n) { return from(1, n) == 1; }

  void draw_network(dnn::rnn_network& n) {
    n.hidden = from(1, 5);
    n.layers = from(1, 3);
    n.projection = n.cell == dnn::rnn_cell::lstm && one_in(2) ? from(0, n.hidden - 1) : 0;
    n.dropout = one_in(2) ? 0.25 : 0;
    n.linear_before_reset = n.cell != dnn::rnn_cell::gru || one_in(2);
  }

  template <class R>
  void begin(R& r) {
    draw_network(r.network);
    s_ = dnn::rnn_shape::of(r.network, from(0, 3), from(0, 3), from(1, 4));
    r.lengths.clear();
    if (one_in(2)) {
      for (std::int64_t n = 0; n < s_.batch; ++n)
        r.lengths.push_back(from(0, s_.steps));
    }
    r.h_0 = states(false);
  }

  [[nodiscard]] any_tensor packed(dtype type, const numbers& extents) {
    numbers strides(extents.size(), 1);
    for (std::size_t d = extents.size(); d-- > 1;)
      strides[d - 1] = strides[d] * std::max<std::int64_t>(1, extents[d]);
    return views_(type, shape(std::span(extents)), strides, memory_space::device);
  }
  [[nodiscard]] any_tensor sequence(std::int64_t width) {
    const numbers extents{s_.steps, s_.batch, width};
    const std::int64_t steps = std::max<std::int64_t>(1, s_.steps);
    const std::int64_t batch = std::max<std::int64_t>(1, s_.batch);
    const numbers strides =
        time_first_ ? numbers{batch * width, width, 1} : numbers{width, steps * width, 1};
    return views_(type_, shape(std::span(extents)), strides, memory_space::device);
  }
  [[nodiscard]] any_tensor states(bool cell) {
    if (one_in(2) || (cell && s_.cell != dnn::rnn_cell::lstm)) return any_tensor();
    return packed(type_, {s_.states(), s_.batch, cell ? s_.hidden : s_.output});
  }

  std::mt19937_64& random_;
  const view_source& views_;
  dtype type_{};
  bool time_first_ = true;
  dnn::rnn_shape s_{};
};

}  // namespace

bool draw_rnn(const request_type& type, void* request, std::mt19937_64& random,
              const view_source& views) {
  return drawn_by<rnn_drawing, dnn::rnn_forward, dnn::rnn_backward_data, dnn::rnn_backward_weights,
                  dnn::rnn_sizes>(type, request, random, views);
}

}  // namespace troupe::testing_requests
