#pragma once

#include "libraries/dnn/requests/combinations.hpp"
#include "libraries/dnn/requests/geometry.hpp"

/// Rules of convolutions, in the order in which they are checked: each may rely on those before it.
namespace troupe::dnn {

/// Beyond, offsets of random numbers could not be added up; the same for the streams of rng.
inline constexpr std::int64_t longest_stream = std::int64_t{1} << 62;

inline constexpr std::string_view numbers_rule =
    "stride, dilation, padding and post_padding have no number, one, or one for each dimension of "
    "space, stride and dilation from 1, the others from 0, to 2^31 − 1";
inline constexpr std::string_view extents_rule =
    "images and filter have as many dimensions of space, and only n may be 0";
inline constexpr std::string_view channels_rule =
    "groups divides the channels on both sides, and the filter has those of one group";
inline constexpr std::string_view space_rule =
    "the response has an element for each place of the dilated filter in the padded image";
inline constexpr std::string_view types_rule =
    "i8 and e4m3: channels are contiguous, multiples of 4 and of 16, in one group; i8 → i32: "
    "nothing follows the sums";

/// The list has no number, one, or `space`, each in [least, 2^31 − 1].
argument_checks& numbers_fit(argument_checks& check, std::string_view name,
                             const std::vector<std::int64_t>& list, int space, std::int64_t least);
argument_checks& extents_fit(argument_checks& check, const convolution& c);
/// Two tensors of images have as many dimensions of space, none of them empty.
void extents_fit(argument_checks& check, const operand& image, const operand& response);
/// "x is [2, 3]"
[[nodiscard]] std::string extents_text(const operand& t);
argument_checks& channels_fit(argument_checks& check, const convolution& c);
argument_checks& space_fits(argument_checks& check, const convolution& c);
/// The same of a transposed convolution, whose extents are chosen by `output_padding`.
argument_checks& transposed_space_fits(argument_checks& check, const convolution& c,
                                       const std::vector<std::int64_t>& output_padding);
/// The further requirements of the types. `plain`: there is no epilogue.
argument_checks& types_fit(argument_checks& check, const convolution& c, const combination& types,
                           bool plain);

}  // namespace troupe::dnn
