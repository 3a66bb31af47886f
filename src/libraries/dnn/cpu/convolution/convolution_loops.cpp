#include "libraries/dnn/cpu/convolution/convolution_loops.hpp"

#include <numeric>

namespace troupe::cpu {
namespace {

/// The common part of all directions: `a` and `b` are multiplied, `c` is computed.
implicit_product between(const any_tensor& a, const any_tensor& b, const any_tensor& c,
                         const dnn::convolution& shape) {
  implicit_product p;
  p.a = a.address();
  p.b = b.address();
  p.c = c.address();
  p.type = a.type();
  p.result_type = c.type();
  p.bounds.fill(1);
  p.groups = shape.groups;
  return p;
}

/// The rows and columns of a result, and of z, which has its extents: rows along `dimension`.
template <class AddColumns>
void place_results(implicit_product& p, const any_tensor& c, const any_tensor& z, int dimension,
                   std::int64_t rows, AddColumns add_columns) {
  p.c_rows.add(rows, c.stride(dimension));
  add_columns(p.c_columns, c);
  if (z.null()) return;
  p.z_rows.add(rows, z.stride(dimension));
  add_columns(p.z_columns, z);
}

/// The images of a batch and the places of their space, in a tensor of images.
void add_places(axes& to, const any_tensor& t) {
  to.add(t.extent(0), t.stride(0));
  for (int d = 2; d < t.rank(); ++d)
    to.add(t.extent(d), t.stride(d));
}

/// The first place of filters: in the padding.
point first_place(const dnn::convolution& c) {
  point first;
  for (int i = 0; i < c.space(); ++i) {
    const auto d = static_cast<std::size_t>(i);
    first.place[d] = -c.padding[d];
    first.offset -= c.padding[d] * c.image.view.stride(i + 2);
  }
  return first;
}

/// The elements of an image that one of the response's places begins at, or one of the filter's is
/// at from there.
void add_beginnings(axes& to, const dnn::convolution& c) {
  const any_tensor& image = c.image.view;
  to.add(c.n(), image.stride(0));
  for (int i = 0; i < c.space(); ++i) {
    const std::int64_t stride = c.stride[static_cast<std::size_t>(i)];
    to.add(c.out(i), stride * image.stride(i + 2), i, stride);
  }
}
void add_taps(axes& to, const dnn::convolution& c) {
  const any_tensor& image = c.image.view;
  to.add(c.channels() / c.groups, image.stride(1));
  for (int i = 0; i < c.space(); ++i) {
    const std::int64_t dilation = c.dilation[static_cast<std::size_t>(i)];
    to.add(c.taps(i), dilation * image.stride(i + 2), i, dilation);
  }
}

void bound_by(implicit_product& p, const any_tensor& images) {
  for (int d = 2; d < images.rank(); ++d)
    p.bounds[static_cast<std::size_t>(d - 2)] = images.extent(d);
}

/// In a dimension of space: every `stride`-th element of the image from `first` on, and the taps of
/// the filter that reach them.
struct phase {
  std::int64_t first, count;             // elements of the image
  std::int64_t first_tap, taps, period;  // those that reach them
  std::int64_t place, step;  // of the response's element for the first tap, and for each more
};

phase phase_of(const dnn::convolution& c, int i, std::int64_t first) {
  const auto d = static_cast<std::size_t>(i);
  const std::int64_t stride = c.stride[d];
  const std::int64_t dilation = c.dilation[d];
  const std::int64_t from = first + c.padding[d];
  phase made{.first = first,
             .count = (c.in(i)-1 - first) / stride + 1,
             .first_tap = 0,
             .taps = 0,
             .period = stride / std::gcd(stride, dilation),
             .place = 0,
             .step = 0};
  // A tap reaches element `first` from a place of the response if the rest is a multiple of stride.
  const std::int64_t most = std::min(made.period, c.taps(i));
  for (std::int64_t tap = 0; tap < most; ++tap) {
    const std::int64_t rest = from - tap * dilation;
    if (rest % stride != 0) continue;
    made.first_tap = tap;
    made.taps = (c.taps(i) - 1 - tap) / made.period + 1;
    made.place = rest / stride;
    made.step = -(made.period * dilation / stride);
    break;
  }
  return made;
}

/// One phase in each dimension of space: a product by itself.
implicit_product backward_product(const dnn::convolution& c, const any_tensor& z,
                                  const std::array<phase, dnn::most_space>& phases) {
  const any_tensor& image = c.image.view;
  const any_tensor& filter = c.filter.view;
  const any_tensor& response = c.response.view;
  implicit_product p = between(filter, response, image, c);
  const std::int64_t channels = c.channels() / c.groups;
  const std::int64_t responses = c.responses() / c.groups;
  p.a_group = responses * filter.stride(0);
  p.b_group = responses * response.stride(1);
  p.c_group = channels * image.stride(1);
  if (!z.null()) p.z_group = channels * z.stride(1);
  p.a_rows.add(channels, filter.stride(1));
  p.a_depth.add(responses, filter.stride(0));
  p.b_depth.add(responses, response.stride(1));
  p.b_columns.add(c.n(), response.stride(0));
  point first_tap;
  point first_place;
  for (int i = 0; i < c.space(); ++i) {
    const phase& at = phases[static_cast<std::size_t>(i)];
    const std::int64_t step = response.stride(i + 2);
    p.a_depth.add(at.taps, at.period * filter.stride(i + 2));
    p.b_depth.add(at.taps, at.step * step, i, at.step);
    p.b_columns.add(at.count, step, i, 1);
    first_tap.offset += at.first_tap * filter.stride(i + 2);
    first_place.place[static_cast<std::size_t>(i)] = at.place;
    first_place.offset += at.place * step;
  }
  p.a_depth.begin_at(first_tap);
  p.b_columns.begin_at(first_place);
  bound_by(p, response);
  const auto add_columns = [&](axes& to, const any_tensor& t) {
    point first;
    to.add(t.extent(0), t.stride(0));
    for (int i = 0; i < c.space(); ++i) {
      const auto d = static_cast<std::size_t>(i);
      to.add(phases[d].count, c.stride[d] * t.stride(i + 2));
      first.offset += phases[d].first * t.stride(i + 2);
    }
    to.begin_at(first);
  };
  place_results(p, image, z, 1, channels, add_columns);
  return p;
}

}  // namespace

result<void> convolve_forward(const dnn::convolution& c, const epilogue& after,
                              lane_context& lane) {
  const any_tensor& image = c.image.view;
  const any_tensor& filter = c.filter.view;
  const any_tensor& response = c.response.view;
  implicit_product p = between(filter, image, response, c);
  const std::int64_t responses = c.responses() / c.groups;
  p.a_group = responses * filter.stride(0);
  p.b_group = c.channels() / c.groups * image.stride(1);
  p.c_group = responses * response.stride(1);
  if (!after.z.null()) p.z_group = responses * after.z.stride(1);
  p.a_rows.add(responses, filter.stride(0));
  for (int d = 1; d < filter.rank(); ++d)
    p.a_depth.add(filter.extent(d), filter.stride(d));
  add_taps(p.b_depth, c);
  p.b_columns.begin_at(first_place(c));
  add_beginnings(p.b_columns, c);
  bound_by(p, image);
  place_results(p, response, after.z, 1, responses, add_places);
  return p.run(after, lane);
}

result<void> convolve_backward(const dnn::convolution& c, const epilogue& after,
                               lane_context& lane) {
  std::array<std::int64_t, dnn::most_space> counts{1, 1, 1};
  for (int i = 0; i < c.space(); ++i) {
    const auto d = static_cast<std::size_t>(i);
    counts[d] = std::min(c.stride[d], c.in(i));
  }
  std::array<phase, dnn::most_space> phases{};
  for (std::int64_t all = 0; all < counts[0] * counts[1] * counts[2]; ++all) {
    std::int64_t rest = all;
    for (int i = 0; i < c.space(); ++i) {
      const auto d = static_cast<std::size_t>(i);
      phases[d] = phase_of(c, i, rest % counts[d]);
      rest /= counts[d];
    }
    if (auto done = backward_product(c, after.z, phases).run(after, lane); !done) return done;
  }
  return {};
}

result<void> correlate_filter(const dnn::convolution& c, const epilogue& after,
                              lane_context& lane) {
  const any_tensor& image = c.image.view;
  const any_tensor& filter = c.filter.view;
  const any_tensor& response = c.response.view;
  implicit_product p = between(response, image, filter, c);
  const std::int64_t responses = c.responses() / c.groups;
  p.a_group = responses * response.stride(1);
  p.b_group = c.channels() / c.groups * image.stride(1);
  p.c_group = responses * filter.stride(0);
  if (!after.z.null()) p.z_group = responses * after.z.stride(0);
  p.a_rows.add(responses, response.stride(1));
  add_places(p.a_depth, response);
  p.b_depth.begin_at(first_place(c));
  add_beginnings(p.b_depth, c);
  add_taps(p.b_columns, c);
  bound_by(p, image);
  place_results(p, filter, after.z, 0, responses, [](axes& to, const any_tensor& t) {
    for (int d = 1; d < t.rank(); ++d)
      to.add(t.extent(d), t.stride(d));
  });
  return p.run(after, lane);
}

}  // namespace troupe::cpu
