#include "libraries/dnn/requests/pooling.hpp"

#include "libraries/dnn/requests/rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe::dnn {
namespace {

using enum dtype;

constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t most_byte_places = 255;

constexpr std::string_view window_rule =
    "window has one number, or one for each dimension of space; stride, dilation, padding and "
    "post_padding have none, too; all from 1, paddings from 0, to 2^31 − 1";
constexpr std::string_view windows_rule =
    "x and y have as many dimensions of space, only n may be 0, the padded image has at most 2^31 "
    "− 1 places in each, and the response has an element for each window";

void windows_fit(argument_checks& check, const pooling& p) {
  extents_fit(check, p.image, p.response);
  for (int i = 0; check.good() && i < p.space(); ++i) {
    const auto d = static_cast<std::size_t>(i);
    check.rule(p.in(i) <= most - p.padding[d] - p.post_padding[d], errc::unsupported, [&] {
      return fmt::format(
          "the padded {} must have at most {} places in dimension {}; {} padded by "
          "{} and {} is more",
          p.image.name, most, i + 2, p.in(i), p.padding[d], p.post_padding[d]);
    });
    if (!check.good()) return;
    const std::int64_t out = p.windows(d, p.in(i));
    check.rule(out >= 1, errc::shape_mismatch, [&] {
      return fmt::format(
          "window exceeds the padded {} in dimension {}: {} dilated by {} is {} long, {} padded by "
          "{} and {} is {}",
          p.image.name, i + 2, p.window[d], p.dilation[d], spread(p.window[d], p.dilation[d]),
          p.in(i), p.padding[d], p.post_padding[d], p.in(i) + p.padding[d] + p.post_padding[d]);
    });
    check.rule(out == p.out(i), errc::shape_mismatch, [&] {
      return fmt::format(
          "{} must have extent {} in dimension {} because {} has {}, window is {}, stride {}, "
          "dilation {}, padding {} and {}, ceil_mode {}; {}",
          p.response.name, out, i + 2, p.image.name, p.in(i), p.window[d], p.stride[d],
          p.dilation[d], p.padding[d], p.post_padding[d], p.ceil_mode, extents_text(p.response));
    });
  }
}

template <class R>
constexpr bool averages = requires(R r) { r.count_padding; };

template <class R>
void describe_dilation(description<R>& d) {
  d.value("dilation", &R::dilation, "steps within the window; 1 where empty");
}
template <class R>
void describe_windows(description<R>& d) {
  d.value("window", &R::window, "extents of the window").range(1, most_space);
  d.value("stride", &R::stride, "from one window to the next; as window where empty");
  // Averages got it later, so they have it at the end.
  if constexpr (!averages<R>) describe_dilation(d);
  d.value("padding", &R::padding, "places before each dimension of space; 0 where empty");
  d.value("post_padding", &R::post_padding, "places after each; as padding where empty");
  d.value("ceil_mode", &R::ceil_mode, "a last window may reach beyond the padded image");
  if constexpr (averages<R>) {
    d.value("count_padding", &R::count_padding,
            "divides by the window's places in the padded image");
    describe_dilation(d);
    d.value("divisor", &R::divisor, "divides by this where it is not 0")
        .range(0, static_cast<double>(most));
  }
  d.rule(window_rule, [](argument_checks& check, const R& r) {
    const int space = pooling_of(r).space();
    numbers_fit(check, "window", r.window, space, 1);
    numbers_fit(check, "stride", r.stride, space, 1);
    numbers_fit(check, "dilation", r.dilation, space, 1);
    numbers_fit(check, "padding", r.padding, space, 0);
    numbers_fit(check, "post_padding", r.post_padding, space, 0);
  });
  d.rule(windows_rule,
         [](argument_checks& check, const R& r) { windows_fit(check, pooling_of(r)); });
}

template <class R>
void derive_windows(const R& r, std::vector<std::int64_t>& out) {
  const pooling p = pooling_of(r);
  const auto within = [&](const space_numbers& all, std::int64_t least) {
    return std::all_of(all.begin(), all.begin() + p.space(),
                       [&](std::int64_t n) { return n >= least && n <= most; });
  };
  if (p.space() < 1 || p.space() > most_space || r.window.empty() || !within(p.window, 1) ||
      !within(p.stride, 1) || !within(p.dilation, 1) || !within(p.padding, 0) ||
      !within(p.post_padding, 0))
    return;
  for (int d = 0; d < p.space(); ++d)
    out.push_back(p.windows(static_cast<std::size_t>(d), std::min(p.in(d), beyond)));
  if (std::ranges::any_of(out, [](std::int64_t n) { return n < 1; })) out.clear();
}

template <class R>
void describe_forward(description<R>& d) {
  const extent n = d.size("n"), c = d.size("c");
  const extent in = d.sizes("in", 1, most_space), out = d.sizes("out", 1, most_space);
  d.reads("x", &R::x, {n, c, in}, "images");
  d.writes("y", &R::y, {n, c, out}, "result").ordered_as(&R::x);
  if constexpr (requires(R r) { r.places; }) {
    d.writes(
         "places", &R::places, {n, c, out},
         requires(R r) { r.window; } ? "the place in the window that has the maximum"
                                     : "the place in the image that has the maximum")
        .optional();
  }
  if constexpr (requires(R r) { r.window; }) d.derived(out, derive_windows<R>);
}
template <class R>
void describe_backward(description<R>& d) {
  const extent n = d.size("n"), c = d.size("c");
  const extent in = d.sizes("in", 1, most_space), out = d.sizes("out", 1, most_space);
  d.reads("dy", &R::dy, {n, c, out}, "gradient of y");
  if constexpr (requires(R r) { r.places; })
    d.reads("places", &R::places, {n, c, out}, "as the forward request wrote it");
  d.writes("dx", &R::dx, {n, c, in}, "gradient of x").ordered_as(&R::dy);
}

template <class R>
void describe_places(description<R>& d, any_tensor R::* one, any_tensor R::* other) {
  type_rows rows({});
  for (const dtype type : {f64, f32, f16, bf16}) {
    for (const dtype places : {u8, i32})
      rows.rows.push_back({type, type, places});
  }
  d.types({one, other, &R::places}, rows);
  d.rule("a window has at most 255 places where they are u8, and 2^31 − 1 otherwise",
         [](argument_checks& check, const R& r) {
           if (!check.good() || r.places.null()) return;
           const std::int64_t limit = r.places.type() == u8 ? most_byte_places : most;
           const std::int64_t all = pooling_of(r).window_places();
           check.rule(all <= limit, errc::invalid_argument, [&] {
             return fmt::format("window must have at most {} places for places of {}; it is [{}]",
                                limit, to_string(r.places.type()), fmt::join(r.window, ", "));
           });
         });
}

void adaptive_extents_fit(argument_checks& check, const operand& image, const operand& response) {
  extents_fit(check, image, response);
  for (const operand* t : {&image, &response}) {
    for (int d = 2; check.good() && d < t->view.rank(); ++d) {
      check.rule(t->view.extent(d) <= most, errc::unsupported, [&] {
        return fmt::format("dimension {} of {} must have an extent of at most {}: {}", d, t->name,
                           most, extents_text(*t));
      });
    }
  }
}
constexpr std::string_view adaptive_rule =
    "x and y have as many dimensions of space, of at most 2^31 − 1 places, and only n may be 0";

template <class R>
void describe_adaptive_places(description<R>& d, any_tensor R::* image, any_tensor R::* response) {
  d.types({image, response, &R::places},
          {{f64, f64, i32}, {f32, f32, i32}, {f16, f16, i32}, {bf16, bf16, i32}});
  d.rule("an image whose maxima have places has at most 2^31 − 1 elements of space",
         [](argument_checks& check, const R& r) {
           if (!check.good() || r.places.null()) return;
           const auto [name, view] = [&]() -> operand {
             if constexpr (requires { r.dx; }) {
               return {"dx", r.dx};
             } else {
               return {"x", r.x};
             }
           }();
           std::int64_t all = 1;
           for (int i = 2; i < view.rank() && all <= most; ++i)
             all *= view.extent(i);
           check.rule(all <= most, errc::unsupported, [&] {
             return fmt::format("{} must have at most {} elements of space where places are given",
                                name, most);
           });
         });
}

}  // namespace

void max_pool_forward::describe(description<max_pool_forward>& d) {
  d.about("The largest element of each window.",
          "PyTorch documentation, MaxPool2d; cuDNN documentation, cudnnPoolingForward");
  describe_forward(d);
  describe_windows(d);
  describe_places(d, &max_pool_forward::x, &max_pool_forward::y);
}
void max_pool_backward::describe(description<max_pool_backward>& d) {
  d.about("The gradient of max_pool_forward by its images.");
  describe_backward(d);
  describe_windows(d);
  describe_places(d, &max_pool_backward::dy, &max_pool_backward::dx);
}

void average_pool_forward::describe(description<average_pool_forward>& d) {
  using R = average_pool_forward;
  d.about("The average of each window.", "PyTorch documentation, AvgPool2d");
  describe_forward(d);
  describe_windows(d);
  d.same_type({&R::x, &R::y}, {f64, f32, f16, bf16});
}
void average_pool_backward::describe(description<average_pool_backward>& d) {
  using R = average_pool_backward;
  d.about("The gradient of average_pool_forward by its images.");
  describe_backward(d);
  describe_windows(d);
  d.same_type({&R::dy, &R::dx}, {f64, f32, f16, bf16});
}

void adaptive_average_pool_forward::describe(description<adaptive_average_pool_forward>& d) {
  using R = adaptive_average_pool_forward;
  d.about("The average over windows that divide the image into as many as y has elements.",
          "PyTorch documentation, AdaptiveAvgPool2d");
  describe_forward(d);
  d.same_type({&R::x, &R::y}, {f64, f32, f16, bf16});
  d.rule(adaptive_rule, [](argument_checks& check, const R& r) {
    adaptive_extents_fit(check, {"x", r.x}, {"y", r.y});
  });
}
void adaptive_average_pool_backward::describe(description<adaptive_average_pool_backward>& d) {
  using R = adaptive_average_pool_backward;
  d.about("The gradient of adaptive_average_pool_forward by its images.");
  describe_backward(d);
  d.same_type({&R::dy, &R::dx}, {f64, f32, f16, bf16});
  d.rule(adaptive_rule, [](argument_checks& check, const R& r) {
    adaptive_extents_fit(check, {"dx", r.dx}, {"dy", r.dy});
  });
}

void adaptive_max_pool_forward::describe(description<adaptive_max_pool_forward>& d) {
  using R = adaptive_max_pool_forward;
  d.about("The largest element of windows that divide the image into as many as y has elements.",
          "PyTorch documentation, AdaptiveMaxPool2d");
  describe_forward(d);
  d.rule(adaptive_rule, [](argument_checks& check, const R& r) {
    adaptive_extents_fit(check, {"x", r.x}, {"y", r.y});
  });
  describe_adaptive_places(d, &R::x, &R::y);
}
void adaptive_max_pool_backward::describe(description<adaptive_max_pool_backward>& d) {
  using R = adaptive_max_pool_backward;
  d.about("The gradient of adaptive_max_pool_forward by its images.");
  describe_backward(d);
  d.rule(adaptive_rule, [](argument_checks& check, const R& r) {
    adaptive_extents_fit(check, {"dx", r.dx}, {"dy", r.dy});
  });
  describe_adaptive_places(d, &R::dx, &R::dy);
}

}  // namespace troupe::dnn
