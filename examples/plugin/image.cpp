#include "image.hpp"

namespace image {

// region: description
void blur::describe(troupe::description<blur>& d) {
  const troupe::extent height = d.size("height");
  const troupe::extent width = d.size("width");
  d.about("The mean of each pixel and its neighbours, up to nine.");
  d.reads("x", &blur::x, {height, width}, "image");
  d.writes("y", &blur::y, {height, width}, "blurred image");
  d.same_type({&blur::x, &blur::y}, {troupe::dtype::f32});
}
// endregion: description

void faulty::describe(troupe::description<faulty>& d) {
  const troupe::extent height = d.size("height");
  const troupe::extent width = d.size("width");
  d.about("An operation with a mistake in it: it writes where nothing is, and y it never writes.");
  d.writes("y", &faulty::y, {height, width}, "image");
  d.same_type({&faulty::y}, {troupe::dtype::f32});
}

}  // namespace image
