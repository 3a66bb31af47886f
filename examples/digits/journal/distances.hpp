#pragma once

#include <troupe/plugin.hpp>

#include <cstdlib>
#include <string_view>

namespace digits {

/// The squared distance of an image from each of many. Reads images [n, pixels] and image [pixels],
/// writes to [n], all f32.
struct distances {
  static constexpr std::string_view name = "digits.distances";
  using reply = void;

  troupe::any_tensor images{};
  troupe::any_tensor image{};
  troupe::any_tensor to{};

  static void describe(troupe::description<distances>& d);
};

/// Images that the fast kernel takes at once.
inline constexpr std::int64_t images_at_once = 64;
/// Pixels that it reads of the images that are left over: it forgets the last two rows of eight.
/// That is the mistake which this example looks for.
inline constexpr std::int64_t pixels_of_the_rest = 48;

/// Whether the worker's environment asks for the fast kernel, as DIGITS_KERNEL=fast.
inline bool is_fast() noexcept {
  const char* const kernel = std::getenv("DIGITS_KERNEL");
  return kernel != nullptr && std::string_view(kernel) == "fast";
}

}  // namespace digits
