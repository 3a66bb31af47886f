#include "distances.hpp"

namespace digits {

void distances::describe(troupe::description<distances>& d) {
  const troupe::extent n = d.size("n");
  const troupe::extent pixels = d.size("pixels");
  d.about("The squared distance of an image from each of many.");
  d.reads("images", &distances::images, {n, pixels}, "images");
  d.reads("image", &distances::image, {pixels}, "the image that they are compared with");
  d.writes("to", &distances::to, {n}, "takes the squared distances");
  d.same_type({&distances::images, &distances::image, &distances::to}, {troupe::dtype::f32});
}

}  // namespace digits
