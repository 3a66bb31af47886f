#include "random_graphs.hpp"

#include <troupe/dnn/graph.hpp>

#include <vector>

namespace troupe::testing_requests {
namespace {

using dnn::computation;
using dnn::nodes::node;

class graph_drawing {
 public:
  graph_drawing(std::mt19937_64& random, const view_source& views)
      : random_(random), views_(views) {}

  void fill(dnn::graph& r) {
    constexpr dtype types[] = {dtype::f64, dtype::f32, dtype::f16, dtype::bf16};
    const dtype type = types[below(4)];
    if (one_in(4)) {
      images(r, type);
    } else {
      matrices(r, type);
    }
    const auto forms = r.what.outputs_for(r.inputs).value();
    r.outputs.clear();
    for (const tensor_form& one : forms)
      r.outputs.push_back(view(one_in(4) ? types[below(4)] : one.type, one.extents));
    r.intermediate = static_cast<dnn::intermediate_type>(below(3));
    r.engine = static_cast<dnn::graph_engine>(below(3));
  }

 private:
  // Inputs are two factors, a row, and a matrix of the product's extents.
  void matrices(dnn::graph& r, dtype type) {
    const std::int64_t m = extent();
    const std::int64_t n = extent();
    const std::int64_t k = extent();
    const auto in_batch = [&, batch = extent()](std::int64_t rows, std::int64_t columns) {
      return one_in(3) ? shape({batch, rows, columns}) : shape({rows, columns});
    };
    r.inputs = {view(type, in_batch(m, k)), view(type, in_batch(k, n)), view(type, {n}),
                view(type, {m, n})};
    r.what = computation::of(4, [&](std::span<const node> x) {
      node y = matmul(x[0], x[1]);
      const std::size_t steps = below(5);
      for (std::size_t i = 0; i < steps; ++i)
        y = one_in(5) ? matmul(matmul(y, transpose(x[3], {1, 0})), x[3]) : next(y, x);
      std::vector<node> results{y};
      if (one_in(3)) results.push_back(transpose(x[3] + x[2], {1, 0}));
      if (one_in(3)) results.push_back(reduce(way(), y, {-2}));
      return results;
    });
  }

  // Inputs are images, filters of one element, a row, and images of the result's extents.
  void images(dnn::graph& r, dtype type) {
    const std::int64_t batch = extent();
    const std::int64_t channels = 1 + extent();
    const std::int64_t filters = 1 + extent();
    const std::int64_t width = 1 + extent();
    r.inputs = {view(type, {batch, channels, 3, width}), view(type, {filters, channels, 1, 1}),
                view(type, {width}), view(type, {batch, filters, 3, width})};
    r.what = computation::of(4, [&](std::span<const node> x) {
      node y = convolution(x[0], x[1]);
      const std::size_t steps = below(4);
      for (std::size_t i = 0; i < steps; ++i)
        y = next(y, x);
      return std::vector<node>{y};
    });
  }

  [[nodiscard]] elementwise::reduction way() {
    using enum elementwise::reduction;
    constexpr elementwise::reduction ways[] = {sum, mean, maximum, minimum};
    return ways[below(4)];
  }

  [[nodiscard]] std::size_t below(std::size_t n) { return random_() % n; }
  [[nodiscard]] bool one_in(std::size_t n) { return below(n) == 0; }
  [[nodiscard]] std::int64_t extent() {
    return one_in(8) ? 0 : static_cast<std::int64_t>(1 + below(5));
  }
  [[nodiscard]] any_tensor view(dtype type, const shape& size) {
    return views_(type, size, {}, memory_space::device);
  }

  [[nodiscard]] node next(const node& y, std::span<const node> x) {
    switch (below(10)) {
      case 0:
        return y + x[2];
      case 1:
        return gelu(y) * 0.5;
      case 2:
        return y - x[3];
      case 3:
        return layer_norm(y, x[2], 1e-3);
      case 4:
        return y - reduce(way(), y, {-1});
      case 5:
        return select(y < 0.25, x[3], y);
      case 6:
        return rms_norm(y * x[3], 1e-3);
      case 7:
        return relu(y) / (abs(x[3]) + 1);
      case 8:
        return min(y, tanh(x[2]));
      default:
        return dnn::nodes::softmax(y);
    }
  }

  std::mt19937_64& random_;
  const view_source& views_;
};

}  // namespace

bool draw_graph(const request_type& type, void* request, std::mt19937_64& random,
                const view_source& views) {
  return drawn_by<graph_drawing, dnn::graph>(type, request, random, views);
}

}  // namespace troupe::testing_requests
