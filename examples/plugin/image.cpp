#include "image.hpp"

namespace image {
namespace {

using troupe::errc;
using troupe::error;

troupe::result<void> check_image(const char* field, const troupe::any_tensor& t) {
  if (t.null() || t.type() != troupe::dtype::f32 || t.rank() != 2) {
    return error{.code = errc::type_mismatch,
                 .message = std::string(field) + " is " + (t.null() ? "null" : t.to_string()) +
                            "; an image is f32[height, width]"};
  }
  return {};
}

}  // namespace

// region: description
void blur::describe(troupe::field_visitor& fields) {
  fields.reads("x", x);
  fields.writes("y", y);
}

troupe::result<void> blur::validate() const {
  if (auto image = check_image("x", x); !image) return image;
  if (auto image = check_image("y", y); !image) return image;
  if (x.extent(0) != y.extent(0) || x.extent(1) != y.extent(1)) {
    return error{.code = errc::shape_mismatch,
                 .message = "x is " + x.to_string() + " but y is " + y.to_string()};
  }
  if (x.overlaps(y)) {
    return error{.code = errc::aliasing, .message = "y is written while x is read"};
  }
  if (!y.injective()) {
    return error{.code = errc::layout_unsupported, .message = "two pixels of y are one element"};
  }
  return {};
}
// endregion: description

void faulty::describe(troupe::field_visitor& fields) { fields.writes("y", y); }

troupe::result<void> faulty::validate() const { return check_image("y", y); }

}  // namespace image
