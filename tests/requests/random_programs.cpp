#include "random_programs.hpp"

#include "random_functions.hpp"

#include <troupe/elementwise/map.hpp>
#include <troupe/elementwise/reduce.hpp>
#include <troupe/elementwise/rows.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace troupe::testing_requests {
namespace {

using elementwise::function;
using elementwise::reduction;
using numbers = std::vector<std::int64_t>;

class program_drawing {
 public:
  program_drawing(std::mt19937_64& random, const view_source& views)
      : random_(random), views_(views) {
    extents_.resize(below(4));
    for (std::int64_t& n : extents_)
      n = one_in(8) ? 0 : static_cast<std::int64_t>(1 + below(5));
  }

  void fill(elementwise::map& r) {
    take_inputs(below(4));
    r.inputs = inputs_;
    r.what = random_function(random_, {.inputs = types_, .outputs = count()});
    r.outputs.clear();
    for (int k = 0; k < r.what.outputs(); ++k)
      r.outputs.push_back(view(any_type(), extents_));
    work_in_place(r.outputs);
  }

  void fill(elementwise::rows& r) {
    take_inputs(1 + below(3));
    r.inputs = inputs_;
    r.axes = some_axes();
    r.what = random_function(random_, {.inputs = types_, .outputs = count(), .rows = true});
    const auto kinds = r.what.outputs_for(types_).value();
    r.outputs.clear();
    for (const elementwise::output_kind& one : kinds) {
      const bool reduces = one.same_for_row && !one_in(3);
      r.outputs.push_back(view(any_type(), reduces ? reduced(r.axes, true) : extents_));
    }
    work_in_place(r.outputs);
  }

  void fill(elementwise::reduce& r) {
    take_inputs(1 + below(3));
    r.inputs = inputs_;
    r.axes = some_axes();
    r.op = static_cast<reduction>(below(static_cast<std::size_t>(reduction::all) + 1));
    r.before = {};
    if (!one_in(3)) r.before = random_function(random_, {.inputs = types_, .outputs = count()});
    auto values = static_cast<std::size_t>(r.before.outputs());
    if (r.before == function()) values = inputs_.size();
    // Reduced values may be real, whatever was reduced.
    std::vector<dtype> of_after(values, dtype::f32);
    for (std::size_t i = 0; i < values && r.before == function(); ++i) {
      if (is_complex(types_[i])) of_after[i] = types_[i];
    }
    r.after = {};
    if (one_in(2)) {
      r.after =
          random_function(random_, {.inputs = of_after, .outputs = count(), .positions = false});
      values = static_cast<std::size_t>(r.after.outputs());
    }
    const numbers axes = r.axes.empty() ? all_axes() : r.axes;
    const bool keeps = one_in(2);
    r.outputs.clear();
    for (std::size_t k = 0; k < values; ++k)
      r.outputs.push_back(view(any_type(), reduced(axes, keeps)));
  }

 private:
  [[nodiscard]] std::size_t below(std::size_t n) { return random_() % n; }
  [[nodiscard]] bool one_in(std::size_t n) { return below(n) == 0; }
  [[nodiscard]] dtype any_type() { return static_cast<dtype>(below(dtype_count)); }
  [[nodiscard]] int count() { return static_cast<int>(1 + below(2)); }

  // The first is not broadcast, so that rows know their extents.
  void take_inputs(std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      numbers size = extents_;
      if (i > 0 && one_in(3) && !size.empty()) size[below(size.size())] = 1;
      if (i > 0 && one_in(3) && !size.empty()) size.erase(size.begin());
      types_.push_back(any_type());
      inputs_.push_back(view(types_.back(), size));
    }
  }
  [[nodiscard]] any_tensor view(dtype type, const numbers& size) {
    numbers order(size.size());
    for (std::size_t d = 0; d < order.size(); ++d)
      order[d] = static_cast<std::int64_t>(d);
    if (one_in(3)) std::ranges::reverse(order);
    numbers strides(size.size());
    std::int64_t step = one_in(4) ? 2 : 1;
    for (std::size_t i = order.size(); i-- > 0;) {
      const auto d = static_cast<std::size_t>(order[i]);
      strides[d] = step;
      step *= std::max<std::int64_t>(size[d], 1);
    }
    return views_(type, shape(std::span(size)), strides, memory_space::device);
  }
  void work_in_place(std::vector<any_tensor>& outputs) {
    if (inputs_.empty() || outputs.empty() || !one_in(4)) return;
    if (std::ranges::equal(outputs[0].extents(), inputs_[0].extents())) outputs[0] = inputs_[0];
  }
  [[nodiscard]] numbers all_axes() const {
    numbers axes;
    for (std::size_t d = 0; d < extents_.size(); ++d)
      axes.push_back(static_cast<std::int64_t>(d));
    return axes;
  }
  [[nodiscard]] numbers some_axes() {
    numbers axes;
    for (const std::int64_t d : all_axes()) {
      if (!one_in(2)) continue;
      axes.push_back(one_in(2) ? d : d - static_cast<std::int64_t>(extents_.size()));
    }
    return axes;
  }
  [[nodiscard]] numbers reduced(const numbers& axes, bool keeps) const {
    numbers size;
    for (const std::int64_t d : all_axes()) {
      const auto negative = d - static_cast<std::int64_t>(extents_.size());
      const bool is_axis = std::ranges::any_of(
          axes, [&](std::int64_t axis) { return axis == d || axis == negative; });
      if (!is_axis) size.push_back(extents_[static_cast<std::size_t>(d)]);
      if (is_axis && keeps) size.push_back(1);
    }
    return size;
  }

  std::mt19937_64& random_;
  const view_source& views_;
  numbers extents_;
  std::vector<dtype> types_;
  std::vector<any_tensor> inputs_;
};

}  // namespace

bool draw_program(const request_type& type, void* request, std::mt19937_64& random,
                  const view_source& views) {
  return drawn_by<program_drawing, elementwise::map, elementwise::rows, elementwise::reduce>(
      type, request, random, views);
}

}  // namespace troupe::testing_requests
