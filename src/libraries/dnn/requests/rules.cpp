#include "libraries/dnn/requests/rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <string>

namespace troupe::dnn {
namespace {

constexpr std::int64_t longest = std::numeric_limits<std::int32_t>::max();

}  // namespace

std::string extents_text(const operand& t) {
  return fmt::format("{} is [{}]", t.name, fmt::join(t.view.extents(), ", "));
}

void extents_fit(argument_checks& check, const operand& image, const operand& response) {
  check.rule(image.view.rank() == response.view.rank(), errc::shape_mismatch, [&] {
    return fmt::format("{} and {} must have as many dimensions of space: {}, {}", image.name,
                       response.name, extents_text(image), extents_text(response));
  });
  for (const operand* t : {&image, &response}) {
    for (int d = 1; d < t->view.rank(); ++d) {
      check.rule(t->view.extent(d) >= 1, errc::shape_mismatch, [&] {
        return fmt::format("dimension {} of {} must have an extent of at least 1: {}", d, t->name,
                           extents_text(*t));
      });
    }
  }
}

argument_checks& numbers_fit(argument_checks& check, std::string_view name,
                             const std::vector<std::int64_t>& list, int space, std::int64_t least) {
  check.rule(list.size() <= 1 || list.size() == static_cast<std::size_t>(space),
             errc::invalid_argument, [&] {
               return fmt::format(
                   "{} must have one number for each of {} dimensions of space, one for all, or "
                   "none; it is [{}]",
                   name, space, fmt::join(list, ", "));
             });
  for (const std::int64_t number : list) {
    check.rule(number >= least && number <= longest, errc::invalid_argument, [&] {
      return fmt::format("{} must have numbers from {} to {}; it is [{}]", name, least, longest,
                         fmt::join(list, ", "));
    });
  }
  return check;
}

argument_checks& extents_fit(argument_checks& check, const convolution& c) {
  for (const operand* t : {&c.image, &c.response}) {
    check.rule(t->view.rank() == c.filter.view.rank(), errc::shape_mismatch, [&] {
      return fmt::format("{} and {} must have as many dimensions of space: {}, {}", c.filter.name,
                         t->name, extents_text(c.filter), extents_text(*t));
    });
  }
  for (const operand* t : {&c.image, &c.filter, &c.response}) {
    for (int d = t == &c.filter ? 0 : 1; d < t->view.rank(); ++d) {
      check.rule(t->view.extent(d) >= 1, errc::shape_mismatch, [&] {
        return fmt::format("dimension {} of {} must have an extent of at least 1: {}", d, t->name,
                           extents_text(*t));
      });
    }
  }
  return check;
}

argument_checks& channels_fit(argument_checks& check, const convolution& c) {
  if (!check.good()) return check;
  for (const operand* t : {&c.image, &c.response}) {
    check.rule(t->view.extent(1) % c.groups == 0, errc::shape_mismatch, [&] {
      return fmt::format("groups {} does not divide the {} channels of {}: {}", c.groups,
                         t->view.extent(1), t->name, extents_text(*t));
    });
  }
  return check.rule(c.filter.view.extent(1) == c.channels() / c.groups, errc::shape_mismatch, [&] {
    return fmt::format(
        "{} must have extent {} in dimension 1, the channels of {} divided by groups {}: {}, {}",
        c.filter.name, c.channels() / c.groups, c.image.name, c.groups, extents_text(c.filter),
        extents_text(c.image));
  });
}

argument_checks& space_fits(argument_checks& check, const convolution& c) {
  for (int i = 0; check.good() && i < c.space(); ++i) {
    const auto d = static_cast<std::size_t>(i);
    const std::int64_t out = response_extent(c, c.in(i), c.taps(i), d);
    check.rule(out >= 1, errc::shape_mismatch, [&] {
      return fmt::format(
          "{} exceeds the padded {} in dimension {}: {} dilated by {} is {} long, {} padded by {} "
          "and {} is {}",
          c.filter.name, c.image.name, i + 2, c.taps(i), c.dilation[d],
          spread(c.taps(i), c.dilation[d]), c.in(i), c.padding[d], c.post_padding[d],
          c.in(i) + c.padding[d] + c.post_padding[d]);
    });
    check.rule(out == c.out(i), errc::shape_mismatch, [&] {
      return fmt::format(
          "{} must have extent {} in dimension {} because {} has {}, {} has {}, stride is {}, "
          "dilation {}, padding {} and {}; {}",
          c.response.name, out, i + 2, c.image.name, c.in(i), c.filter.name, c.taps(i), c.stride[d],
          c.dilation[d], c.padding[d], c.post_padding[d], extents_text(c.response));
    });
  }
  return check;
}

argument_checks& transposed_space_fits(argument_checks& check, const convolution& c,
                                       const std::vector<std::int64_t>& output_padding) {
  numbers_fit(check, "output_padding", output_padding, c.space(), 0);
  const space_numbers more = numbers_of(output_padding, 0);
  for (int i = 0; check.good() && i < c.space(); ++i) {
    const auto d = static_cast<std::size_t>(i);
    check.rule(more[d] < c.stride[d], errc::invalid_argument, [&] {
      return fmt::format("output_padding must be below stride, {}, in dimension {}; it is {}",
                         c.stride[d], i + 2, more[d]);
    });
    const std::int64_t in = image_extent(c, c.out(i), c.taps(i), d) + more[d];
    check.rule(in >= 1, errc::shape_mismatch, [&] {
      return fmt::format("padding {} and {} leaves nothing of {} in dimension {}: {}, {}",
                         c.padding[d], c.post_padding[d], c.image.name, i + 2,
                         extents_text(c.response), extents_text(c.filter));
    });
    check.rule(in == c.in(i), errc::shape_mismatch, [&] {
      return fmt::format(
          "{} must have extent {} in dimension {} because {} has {}, {} has {}, stride is {}, "
          "dilation {}, padding {} and {}, output_padding {}; {}",
          c.image.name, in, i + 2, c.response.name, c.out(i), c.filter.name, c.taps(i), c.stride[d],
          c.dilation[d], c.padding[d], c.post_padding[d], more[d], extents_text(c.image));
    });
  }
  return check;
}

argument_checks& types_fit(argument_checks& check, const convolution& c, const combination& types,
                           bool plain) {
  check.rule(!types.plain || plain, errc::unsupported, [&] {
    return fmt::format(
        "nothing follows the sums of {} in {}: alpha must be 1, beta 0, activation none, and bias "
        "not given",
        to_string(types.x), to_string(types.y));
  });
  if (types.channel_unit == 1) return check;
  check.rule(c.groups == 1, errc::unsupported, [&] {
    return fmt::format("groups must be 1 for {}, it is {}", to_string(types.x), c.groups);
  });
  for (const operand* t : {&c.image, &c.response}) {
    check.rule(t->view.extent(1) % types.channel_unit == 0, errc::unsupported, [&] {
      return fmt::format("the channels of {} must be a multiple of {} for {}: {}", t->name,
                         types.channel_unit, to_string(types.x), extents_text(*t));
    });
  }
  for (const operand* t : {&c.image, &c.filter, &c.response}) {
    check.rule(order_of(t->view, dimension_order::channels_last) == dimension_order::channels_last,
               errc::layout_unsupported, [&] {
                 return fmt::format(
                     "{} must be channels-last for {} (stride 1 in dimension 1, then the "
                     "dimensions of space from the last on): {}",
                     t->name, to_string(types.x), t->view.to_string());
               });
  }
  return check;
}

}  // namespace troupe::dnn
