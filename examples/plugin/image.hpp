#pragma once

// region: requests
#include <troupe/plugin.hpp>

/// Operations on images of f32[height, width] in any layout: shared by program and workers.
namespace image {

/// The mean of each pixel and its neighbours, up to nine. Reads x, writes y, of x's extents.
struct blur {
  static constexpr std::string_view name = "image.blur";
  using reply = void;

  troupe::any_tensor x{};
  troupe::any_tensor y{};

  static void describe(troupe::description<blur>& d);
};

/// An operation with a mistake in it: it writes where nothing is, and y it never writes.
struct faulty {
  static constexpr std::string_view name = "image.faulty";
  using reply = void;

  troupe::any_tensor y{};

  static void describe(troupe::description<faulty>& d);
};

}  // namespace image
// endregion: requests
