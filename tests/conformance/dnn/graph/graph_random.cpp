// Random graphs beside the reference. TROUPE_RANDOM_GRAPHS says how many.
#include "graph_reference.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace troupe::conformance {
namespace {

using dnn::computation;
using elementwise::reduction;
using namespace dnn::nodes;
using namespace graph_reference;

int random_graphs() {
  const char* const wanted = std::getenv("TROUPE_RANDOM_GRAPHS");
  return wanted != nullptr ? std::stoi(wanted) : 250;
}

/// A node while a graph is drawn, and what is known of it.
struct drawn {
  node what;
  numbers extents;
  bool real = true;
};

/// Draws a graph of at most eight nodes over inputs of a few extents, so that many fit together; or
/// of a convolution and what follows it.
class random_graph {
 public:
  random_graph(std::mt19937_64& random, dtype type) : random_(random), type_(type) {
    const numbers sizes{1, 2, 3, 5, 7, 16};
    for (std::int64_t& one : dims_)
      one = sizes[below(sizes.size())];
    convolves_ = below(5) == 0;
    if (convolves_) draw_images();
    const std::size_t inputs = convolves_ ? extents_.size() : 2 + below(4);
    for (std::size_t i = extents_.size(); i < inputs; ++i) {
      numbers extents;
      const std::size_t rank = i == 0 ? 2 + below(2) : 1 + below(3);
      for (std::size_t d = 0; d < rank; ++d)
        extents.push_back(below(5) == 0 ? 1 : dims_[below(dims_.size())]);
      extents_.push_back(std::move(extents));
    }
    what_ = computation::of(static_cast<int>(inputs), [&](std::span<const node> x) {
      for (std::size_t i = 0; i < x.size(); ++i)
        pool_.push_back({x[i], extents_[i]});
      if (convolves_) pool_.push_back({convolution(x[0], x[1], {.padding = {1}}), extents_.back()});
      const std::size_t nodes = convolves_ ? below(5) : 1 + below(8);
      for (std::size_t i = 0; i < nodes; ++i)
        add();
      std::vector<node> results{pool_.back().what};
      results_.push_back(pool_.back().extents);
      while (below(3) == 0 && results.size() < 3) {
        const drawn& also = pool_[below(pool_.size())];
        results.push_back(also.what);
        results_.push_back(also.extents);
      }
      return results;
    });
  }

  bool holds(dnn::graph_engine engine = dnn::graph_engine::automatic) {
    scene s;
    std::vector<test_tensor*> inputs;
    std::vector<test_tensor*> outputs;
    std::vector<any_tensor> views;
    inputs.reserve(extents_.size());
    outputs.reserve(results_.size());
    views.reserve(extents_.size());
    for (const numbers& extents : extents_) {
      // Images and filters have no gaps.
      inputs.push_back(convolves_ ? &packed_tensor(s, extents) : &drawn_tensor(s, type_, extents));
    }
    // A cast factor must not meet one that is not cast.
    for (const test_tensor* const one : inputs)
      views.push_back(one->view);
    const auto forms = what_.outputs_for(views);
    if (!forms && forms.error().code == errc::type_mismatch) return true;
    for (const numbers& extents : results_)
      outputs.push_back(&drawn_tensor(s, below(4) == 0 ? dtype::f32 : type_, extents));
    dnn::graph options{.engine = engine};
    if (type_ == dtype::f16 && below(2) == 0) options.intermediate = dnn::intermediate_type::f16;
    if (type_ == dtype::bf16 && below(2) == 0) options.intermediate = dnn::intermediate_type::bf16;
    return check(s, what_, inputs, outputs, options);
  }

 private:
  [[nodiscard]] std::size_t below(std::size_t n) { return random_() % n; }
  [[nodiscard]] const drawn& any() { return pool_[below(pool_.size())]; }

  // Images, filters of three times three, a number for each of them, and images of the result.
  void draw_images() {
    const std::int64_t filters = dims_[2];
    const numbers images{1 + static_cast<std::int64_t>(below(2)), dims_[0], dims_[1], 5};
    extents_ = {images,
                {filters, images[1], 3, 3},
                {filters, 1, 1},
                {images[0], filters, images[2], images[3]}};
  }
  test_tensor& packed_tensor(scene& s, const numbers& extents) {
    numbers strides(extents.size());
    std::int64_t step = 1;
    for (std::size_t d = extents.size(); d-- > 0; step *= extents[d])
      strides[d] = step;
    return s.tensor(type_, extents, strides);
  }

  static bool fits(const numbers& a, const numbers& b) {
    for (std::size_t d = 0; d < std::min(a.size(), b.size()); ++d) {
      const std::int64_t one = a[a.size() - 1 - d];
      const std::int64_t other = b[b.size() - 1 - d];
      if (one != other && one != 1 && other != 1) return false;
    }
    return true;
  }
  static numbers joined(const numbers& a, const numbers& b) {
    numbers made = a.size() < b.size() ? b : a;
    const numbers& other = a.size() < b.size() ? a : b;
    for (std::size_t d = 0; d < other.size(); ++d) {
      std::int64_t& extent = made[made.size() - other.size() + d];
      if (extent == 1) extent = other[d];
    }
    return made;
  }

  void add() {
    switch (below(8)) {
      case 0:
      case 1:
        return add_product();
      case 2:
        return add_reduction();
      case 3:
        return add_norm();
      case 4:
        return add_transpose();
      case 5:
      case 6:
        return add_pair();
      default:
        return add_single();
    }
  }

  void add_single() {
    const drawn x = any();
    const auto wrap = [&](const node& made) { pool_.push_back({made, x.extents}); };
    switch (below(12)) {
      case 0:
        return wrap(relu(x.what));
      case 1:
        return wrap(gelu(x.what));
      case 2:
        return wrap(gelu_tanh(x.what));
      case 3:
        return wrap(silu(x.what));
      case 4:
        return wrap(sigmoid(x.what));
      case 5:
        return wrap(softplus(x.what));
      case 6:
        return wrap(tanh(x.what));
      case 7:
        return wrap(exp(x.what * 0.25));
      case 8:
        return wrap(-x.what);
      case 9:
        return wrap(abs(x.what));
      case 10:
        return wrap(cast(x.what, type_ == dtype::f64 ? dtype::f64 : dtype::f32));
      default:
        return wrap(sqrt(abs(x.what) + 0.5));
    }
  }

  void add_pair() {
    const drawn a = any();
    for (int tries = 0; tries < 8; ++tries) {
      const drawn b = any();
      if (!fits(a.extents, b.extents)) continue;
      const auto wrap = [&](const node& made) {
        pool_.push_back({made, joined(a.extents, b.extents)});
      };
      switch (below(5)) {
        case 0:
          return wrap(a.what - b.what);
        case 1:
          return wrap(a.what * b.what);
        case 2:
          return wrap(min(a.what, b.what));
        case 3:
          return wrap(a.what / (abs(b.what) + 1));
        default:
          return wrap(a.what + b.what);
      }
    }
    add_single();
  }

  void add_product() {
    for (int tries = 0; tries < 24; ++tries) {
      const drawn a = any();
      const drawn b = any();
      const std::size_t left = a.extents.size();
      const std::size_t right = b.extents.size();
      if (left < 2 || right < 2 || a.extents[left - 1] != b.extents[right - 2]) continue;
      const numbers of_a(a.extents.begin(), a.extents.end() - 2);
      const numbers of_b(b.extents.begin(), b.extents.end() - 2);
      if (!fits(of_a, of_b)) continue;
      numbers extents = joined(of_a, of_b);
      extents.push_back(a.extents[left - 2]);
      extents.push_back(b.extents[right - 1]);
      pool_.push_back({matmul(a.what, b.what), std::move(extents)});
      return;
    }
    add_pair();
  }

  void add_reduction() {
    const drawn x = any();
    const std::size_t axis = below(x.extents.size());
    numbers extents = x.extents;
    extents[axis] = 1;
    numbers axes{static_cast<std::int64_t>(axis)};
    if (below(4) == 0 && x.extents.size() > 1) {
      const std::size_t other = (axis + 1) % x.extents.size();
      extents[other] = 1;
      axes.push_back(static_cast<std::int64_t>(other) -
                     static_cast<std::int64_t>(x.extents.size()));
    }
    constexpr reduction ways[] = {reduction::sum, reduction::mean, reduction::maximum,
                                  reduction::minimum};
    pool_.push_back({reduce(ways[below(4)], x.what, axes), std::move(extents)});
  }

  void add_norm() {
    const drawn x = any();
    const int dimensions = x.extents.size() > 1 && below(4) == 0 ? 2 : 1;
    constexpr double eps = 0.1;
    for (int tries = 0; tries < 8; ++tries) {
      const drawn weight = any();
      if (!fits(weight.extents, x.extents) || joined(weight.extents, x.extents) != x.extents)
        continue;
      pool_.push_back({below(2) == 0 ? layer_norm(x.what, weight.what, weight.what, eps, dimensions)
                                     : rms_norm(x.what, weight.what, eps, dimensions),
                       x.extents});
      return;
    }
    pool_.push_back(
        {below(2) == 0 ? layer_norm(x.what, eps, dimensions) : rms_norm(x.what, eps, dimensions),
         x.extents});
  }

  void add_transpose() {
    const drawn x = any();
    if (x.extents.size() < 2) return add_single();
    numbers order;
    for (std::size_t d = 0; d < x.extents.size(); ++d)
      order.push_back(static_cast<std::int64_t>(d));
    std::ranges::shuffle(order, random_);
    numbers extents;
    for (const std::int64_t d : order)
      extents.push_back(x.extents[static_cast<std::size_t>(d)]);
    pool_.push_back({transpose(x.what, order), std::move(extents)});
  }

  std::mt19937_64& random_;
  dtype type_;
  std::array<std::int64_t, 3> dims_{};
  bool convolves_ = false;
  std::vector<numbers> extents_;  // the inputs'
  std::vector<drawn> pool_;
  std::vector<numbers> results_;
  computation what_;
};

TEST(DnnGraph, OfRandomNodesAgreesWithThem) {
  std::mt19937_64 random(test_seed());
  for (const dtype type : {dtype::f32, dtype::f64, dtype::f16, dtype::bf16}) {
    for (int i = 0; i < random_graphs(); ++i) {
      if (!random_graph(random, type).holds()) return;
    }
  }
}

}  // namespace
}  // namespace troupe::conformance
